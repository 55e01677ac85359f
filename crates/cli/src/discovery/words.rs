//! Short descriptions of schemas.

use std::collections::HashSet;

use sabir::RawJson;
use sabir::openrpc::{Content, Method, ParamStructure};
use serde_json::Value;

use crate::json::escape_controls;
use crate::platform::word;

/// Schemas that are nested deeper are not shown.
const DEEPEST: usize = 6;

/// The type that a schema describes, on one line.
pub(crate) fn type_words(schema: &Value) -> String {
    one_line(&at_depth(schema, 0))
}

/// What a peer wrote and what is shown on one line: with its ends of lines escaped, it cannot look like more.
pub(crate) fn one_line(text: &str) -> String {
    escape_controls(text).into_owned()
}

fn at_depth(schema: &Value, depth: usize) -> String {
    let Some(members) = schema.as_object() else {
        return if schema == &Value::Bool(false) { "nothing" } else { "any" }.to_owned();
    };
    if depth > DEEPEST {
        return "…".to_owned();
    }
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return reference_name(name).to_owned();
    }
    if let Some(value) = members.get("const") {
        return value.to_string();
    }
    if let Some(values) = members.get("enum").and_then(Value::as_array) {
        return joined(values.iter().map(Value::to_string), " or ");
    }
    for (keyword, word) in [("anyOf", " or "), ("oneOf", " or "), ("allOf", " and ")] {
        if let Some(options) = members.get(keyword).and_then(Value::as_array) {
            return joined(options.iter().map(|option| at_depth(option, depth + 1)), word);
        }
    }
    match members.get("type") {
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            joined(kinds.map(|kind| of_kind(kind, schema, depth)), " or ")
        }
        Some(Value::String(kind)) => of_kind(kind, schema, depth),
        _ if members.contains_key("properties") => of_kind("object", schema, depth),
        _ => "any".to_owned(),
    }
}

fn of_kind(kind: &str, schema: &Value, depth: usize) -> String {
    match kind {
        "array" => match (schema.get("prefixItems"), schema.get("items")) {
            (Some(Value::Array(items)), _) | (_, Some(Value::Array(items))) => {
                format!("[{}]", joined(items.iter().map(|item| at_depth(item, depth + 1)), ", "))
            }
            (_, Some(items)) => format!("array of {}", at_depth(items, depth + 1)),
            _ => "array".to_owned(),
        },
        "object" => {
            let fields = fields(schema);
            match (fields.as_slice(), schema.get("additionalProperties")) {
                ([], Some(values @ Value::Object(_))) => format!("map of {}", at_depth(values, depth + 1)),
                ([], _) => "object".to_owned(),
                (fields, _) => {
                    let words = fields.iter().map(|field| {
                        let mark = if field.required { "" } else { "?" };
                        format!("{}{mark}: {}", field.name, at_depth(field.schema, depth + 1))
                    });
                    format!("{{{}}}", joined(words, ", "))
                }
            }
        }
        other => other.to_owned(),
    }
}

fn joined(words: impl Iterator<Item = String>, with: &str) -> String {
    words.collect::<Vec<_>>().join(with)
}

/// The last part of a reference.
pub(crate) fn reference_name(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

/// A member of an object.
pub(crate) struct Field<'a> {
    pub(crate) name: &'a str,
    pub(crate) schema: &'a Value,
    pub(crate) required: bool,
}

/// The members that an object's schema names.
pub(crate) fn fields(schema: &Value) -> Vec<Field<'_>> {
    let required = schema.get("required").and_then(Value::as_array);
    let required: HashSet<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    let is_required = |name: &str| required.contains(name);
    let properties = schema.get("properties").and_then(Value::as_object);
    let fields = properties.into_iter().flatten();
    fields.map(|(name, schema)| Field { name, schema, required: is_required(name) }).collect()
}

/// `add(a: number, b?: number) -> number`
pub(crate) fn signature(method: &Method) -> String {
    let params = method.params.iter().map(|param| {
        let mark = if param.required || param.whole { "" } else { "?" };
        let dots = if param.whole { "…" } else { "" };
        format!("{dots}{}{mark}: {}", param.name, type_words(&param.schema))
    });
    let result = method.result.as_ref().map(|result| format!(" -> {}", type_words(&result.schema)));
    one_line(&format!("{}({}){}", method.name, joined(params, ", "), result.unwrap_or_default()))
}

/// How params may be given.
pub(crate) fn structure(method: &Method) -> &'static str {
    match method.param_structure {
        _ if is_undescribed(method) => "not described",
        Some(ParamStructure::ByName) => "by name",
        Some(ParamStructure::ByPosition) => "by position",
        Some(ParamStructure::Either) | None => "by name or by position",
    }
}

/// Whether only the name of a method is known.
fn is_undescribed(method: &Method) -> bool {
    let is_any = |schema: &Value| schema.as_object().is_some_and(serde_json::Map::is_empty);
    matches!(&method.params[..], [only] if only.whole && is_any(&only.schema))
}

/// The arguments of a `sabir call`, with made-up values.
pub(crate) fn example(method: &Method) -> String {
    let by_name = method.param_structure == Some(ParamStructure::ByName);
    let words = method.params.iter().filter(|param| param.required || param.whole).filter_map(|param| {
        let value = sample(param)?;
        Some(match (&value, by_name && !param.whole) {
            (Value::String(text), true) => word(&format!("{}={text}", param.name)),
            (value, true) => word(&format!("{}:={value}", param.name)),
            (Value::String(text), false) => word(&by_position(text)),
            (value, false) => word(&value.to_string()),
        })
    });
    joined(words, " ")
}

/// A string as an argument by position: bare, unless that would be taken for something else.
fn by_position(text: &str) -> String {
    let is_bare =
        !text.is_empty() && text.chars().all(|c| c.is_alphanumeric()) && RawJson::new(text).is_err();
    if is_bare { text.to_owned() } else { format!("={text}") }
}

/// The required arguments by name, with made-up values.
pub(crate) fn example_object(method: &Method) -> Value {
    let required = method.params.iter().filter(|param| param.required);
    Value::Object(required.map(|param| (param.name.clone(), sample_of(&param.schema))).collect())
}

fn sample(param: &Content) -> Option<Value> {
    if param.whole {
        return match param.schema.get("type").and_then(Value::as_str) {
            Some("array") => param.schema.get("items").map(sample_of),
            _ => None,
        };
    }
    Some(sample_of(&param.schema))
}

fn sample_of(schema: &Value) -> Value {
    if let Some(value) = schema.get("default").or_else(|| schema.get("const")) {
        return value.clone();
    }
    if let Some(value) = schema.get("enum").and_then(Value::as_array).and_then(|values| values.first()) {
        return value.clone();
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
        Some(kind) => kind.as_str(),
        None => None,
    };
    match kind {
        Some("integer" | "number") => Value::from(1),
        Some("boolean") => Value::Bool(true),
        Some("array") => Value::Array(Vec::new()),
        Some("object") => Value::Object(serde_json::Map::new()),
        _ => match super::hex_digits(schema) {
            Some(count) => Value::from(format!("0x{}", "0".repeat(count.unwrap_or(1)))),
            None => Value::from("text"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_in_words() {
        for (schema, want) in [
            ("{}", "any"),
            ("true", "any"),
            ("false", "nothing"),
            (r#"{"type":"string"}"#, "string"),
            (r#"{"type":["string","null"]}"#, "string or null"),
            (r#"{"enum":["a",1]}"#, r#""a" or 1"#),
            (r#"{"type":"array","items":{"type":"number"}}"#, "array of number"),
            (r#"{"type":"array","items":[{"type":"number"},{}]}"#, "[number, any]"),
            (r#"{"type":"object","additionalProperties":{"type":"number"}}"#, "map of number"),
            (r#"{"type":"object","properties":{"a":{},"b":{}},"required":["b"]}"#, "{a?: any, b: any}"),
            (r##"{"anyOf":[{"$ref":"#/components/schemas/X"},{"type":"null"}]}"##, "X or null"),
        ] {
            let schema: Value = serde_json::from_str(schema).expect("the case is JSON");
            assert_eq!(type_words(&schema), want, "{schema}");
        }
    }

    #[test]
    fn what_is_nested_for_ever_ends() {
        let mut schema = Value::Bool(true);
        for _ in 0..100 {
            schema = serde_json::json!({"type": "array", "items": schema});
        }
        assert!(type_words(&schema).ends_with("array of …"));
    }
}
