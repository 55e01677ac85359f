//! The part of a context that one message needs, for documents that are read without the files beside them.

use serde_json::{Map, Value, json};

/// A context that says the same of this message as the whole one.
pub(crate) fn context_for(message: &Value, context: &Value) -> Value {
    let mut terms = match context["@context"].as_object() {
        Some(terms) => used(terms, vec![message]),
        None => Map::new(),
    };
    terms.insert("@version".to_owned(), json!(1.1));
    terms.into()
}

/// The terms that the members of these values need. What has no scope of its own is looked up in that of what it is in.
fn used(terms: &Map<String, Value>, mut waiting: Vec<&Value>) -> Map<String, Value> {
    let mut scoped: Map<String, Value> = Map::new();
    let mut inner: Vec<(&str, &Value)> = Vec::new();
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(members) => {
                for (name, member) in members {
                    let Some(term) = terms.get(name).filter(|_| !name.starts_with('@')) else { continue };
                    scoped.entry(name.clone()).or_insert_with(|| term.clone());
                    if term["@context"].is_array() {
                        inner.push((name, member));
                    } else if term["@type"] != "@json" {
                        waiting.push(member);
                    }
                }
            }
            _ => {}
        }
    }
    for (name, term) in &mut scoped {
        if let Some(scope) = term["@context"].get(1).and_then(Value::as_object) {
            let values = inner.iter().filter(|(of, _)| of == name).map(|(_, value)| *value).collect();
            term["@context"] = json!([null, used(scope, values)]);
        }
    }
    scoped
}
