//! Documents of others: methods, params and errors may stand elsewhere and be referred to.

use serde::Deserialize;
use serde_json::Value;

use crate::schema::openrpc::Document;

impl Document {
    /// Reads a document. References to methods, params, results and errors that it keeps under `components`
    /// are followed; those inside schemas are left as they are.
    ///
    /// # Errors
    /// If it is no JSON, no OpenRPC document, or refers to what is not in it.
    pub fn from_json(text: &str) -> Result<Document, String> {
        let mut root: Value = serde_json::from_str(text).map_err(|e| format!("it is no JSON: {e}"))?;
        if !root.get("openrpc").is_some_and(Value::is_string)
            || !root.get("methods").is_some_and(Value::is_array)
        {
            return Err("it is no OpenRPC document: `openrpc` and `methods` are missing".to_owned());
        }
        let components = root.get("components").cloned().unwrap_or_default();
        for method in root["methods"].as_array_mut().into_iter().flatten() {
            follow(method, &components)?;
            for list in ["params", "errors"] {
                for entry in method.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                    follow(entry, &components)?;
                }
            }
            if let Some(result) = method.get_mut("result") {
                follow(result, &components)?;
            }
        }
        Document::deserialize(root).map_err(|e| format!("it is no OpenRPC document: {e}"))
    }
}

/// How many references may lead to each other.
const STEPS: usize = 16;

/// Puts what is referred to in the place of the reference.
fn follow(value: &mut Value, components: &Value) -> Result<(), String> {
    for _ in 0..STEPS {
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Ok(()) };
        let found = reference.strip_prefix("#/components").and_then(|pointer| components.pointer(pointer));
        *value = found.cloned().ok_or_else(|| format!("it refers to `{reference}`, which is not in it"))?;
    }
    Err("its references go round in a circle".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: Result<&str, &str>) {
        let got = Document::from_json(text)
            .map(|document| serde_json::to_string(&document.methods).expect("a document is JSON"));
        assert_eq!(got.as_deref().map_err(String::as_str), want, "{text}");
    }

    #[test]
    fn documents_of_others_are_read() {
        check(r#"{"openrpc":"1.0.0","methods":[]}"#, Ok("[]"));
        check(
            r##"{"openrpc":"1.2.6","info":{"title":"x","version":"1"},"methods":[{"$ref":"#/components/m/a"}],
            "components":{"m":{"a":{"name":"a","params":[{"$ref":"#/components/contentDescriptors/B"}]}},
            "contentDescriptors":{"B":{"name":"b","schema":{"type":"string"}}}}}"##,
            Ok(r#"[{"name":"a","params":[{"name":"b","schema":{"type":"string"}}]}]"#),
        );
        check("[]", Err("it is no OpenRPC document: `openrpc` and `methods` are missing"));
        check("{", Err("it is no JSON: EOF while parsing an object at line 1 column 1"));
        check(
            r##"{"openrpc":"1.0.0","methods":[{"$ref":"#/components/m/a"}]}"##,
            Err("it refers to `#/components/m/a`, which is not in it"),
        );
        check(
            r##"{"openrpc":"1.0.0","methods":[{"$ref":"#/components/a"}],"components":{"a":{"$ref":"#/components/a"}}}"##,
            Err("its references go round in a circle"),
        );
        check(
            r#"{"openrpc":"1.0.0","methods":[{"params":[]}]}"#,
            Err("it is no OpenRPC document: missing field `name`"),
        );
    }
}
