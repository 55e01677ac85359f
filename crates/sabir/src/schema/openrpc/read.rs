//! Documents of others: methods, params and errors may stand elsewhere and be referred to.

use std::fmt;

use sabir_proto::error_reason;
use serde::Deserialize;
use serde_json::Value;

use crate::schema::openrpc::Document;

impl Document {
    /// Reads a document. References to methods, params, results and errors that it keeps under `components`
    /// are followed; those inside schemas are left as they are.
    ///
    /// # Errors
    /// If the text is not JSON, not an OpenRPC document, or refers to what is not in it.
    pub fn from_json(text: &str) -> Result<Document, DocumentError> {
        let mut root: Value = serde_json::from_str(text).map_err(DocumentError::NotJson)?;
        if !root.get("openrpc").is_some_and(Value::is_string)
            || !root.get("methods").is_some_and(Value::is_array)
        {
            return Err(DocumentError::NotOpenRpc);
        }
        let components = root.get("components").cloned().unwrap_or_default();
        let mut room = ROOM;
        for method in root["methods"].as_array_mut().into_iter().flatten() {
            follow(method, &components, &mut room)?;
            for list in ["params", "errors"] {
                for entry in method.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                    follow(entry, &components, &mut room)?;
                }
            }
            if let Some(result) = method.get_mut("result") {
                follow(result, &components, &mut room)?;
            }
        }
        Document::deserialize(root).map_err(DocumentError::Invalid)
    }
}

/// How many references may lead to each other.
const STEPS: usize = 16;

/// How many values references may put into a document: one that many refer to is copied as often.
const ROOM: usize = 1_000_000;

/// How many values a value is made of.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// Puts what is referred to in the place of the reference, as long as there is room.
fn follow(value: &mut Value, components: &Value, room: &mut usize) -> Result<(), DocumentError> {
    for _ in 0..STEPS {
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Ok(()) };
        let found = reference.strip_prefix("#/components").and_then(|pointer| components.pointer(pointer));
        let found = found.ok_or_else(|| DocumentError::UnknownReference(reference.to_owned()))?;
        *room = room.checked_sub(size(found)).ok_or(DocumentError::TooLarge)?;
        *value = found.clone();
    }
    Err(DocumentError::CyclicReferences)
}

/// Why a text is not an OpenRPC document.
#[derive(Debug)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is not JSON.
    NotJson(serde_json::Error),
    /// It is JSON, and has no `openrpc` or no `methods`.
    NotOpenRpc,
    /// A member is missing, or has a value of the wrong type.
    Invalid(serde_json::Error),
    /// It refers to this, which is not in it.
    UnknownReference(String),
    /// Its references form a cycle, or a chain that is too long.
    CyclicReferences,
    /// Its references repeat more than a million values.
    TooLarge,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DocumentError::NotJson(error) => write!(f, "this is not JSON: {error}"),
            DocumentError::NotOpenRpc => {
                f.write_str("this is not an OpenRPC document: `openrpc` and `methods` are missing")
            }
            DocumentError::Invalid(error) => {
                write!(f, "this is not an OpenRPC document: {}", error_reason(error))
            }
            DocumentError::UnknownReference(reference) => {
                write!(f, "it refers to `{reference}`, which is not in it")
            }
            DocumentError::CyclicReferences => f.write_str("its references form a cycle"),
            DocumentError::TooLarge => write!(f, "its references repeat more than {ROOM} values"),
        }
    }
}

impl std::error::Error for DocumentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DocumentError::NotJson(error) | DocumentError::Invalid(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: Result<&str, &str>) {
        let got = Document::from_json(text)
            .map(|document| serde_json::to_string(&document.methods).expect("a document is JSON"));
        assert_eq!(
            got.map_err(|error| error.to_string()),
            want.map(str::to_owned).map_err(str::to_owned),
            "{text}"
        );
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
        check("[]", Err("this is not an OpenRPC document: `openrpc` and `methods` are missing"));
        check("{", Err("this is not JSON: EOF while parsing an object at line 1 column 1"));
        check(
            r##"{"openrpc":"1.0.0","methods":[{"$ref":"#/components/m/a"}]}"##,
            Err("it refers to `#/components/m/a`, which is not in it"),
        );
        check(
            r##"{"openrpc":"1.0.0","methods":[{"$ref":"#/components/a"}],"components":{"a":{"$ref":"#/components/a"}}}"##,
            Err("its references form a cycle"),
        );
        check(
            r#"{"openrpc":"1.0.0","methods":[{"params":[]}]}"#,
            Err("this is not an OpenRPC document: missing field `name`"),
        );
    }
}
