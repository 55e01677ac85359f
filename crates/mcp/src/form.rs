//! Forms that a user is asked to fill in: what elicitation allows of JSON Schema, which is little. Clients refuse anything
//! else, so it is never sent to them.

use std::fmt;

use sabir::RawJson;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::McpRevision;

type Object = Map<String, Value>;

/// Why something cannot be asked for in a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotAForm(String);

impl fmt::Display for NotAForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The form with the members of a struct.
pub(crate) fn of<T: JsonSchema>(revision: McpRevision) -> Result<RawJson<'static>, NotAForm> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let name = std::any::type_name::<T>();
    form(schema.as_value(), revision)
        .map_err(|why| NotAForm(format!("`{name}` cannot be asked for in a form: {why}")))
}

/// Whether a schema that somebody wrote is that of a form.
pub(crate) fn check(schema: &RawJson<'_>, revision: McpRevision) -> Result<(), NotAForm> {
    let not_a_form = |why: String| NotAForm(format!("the schema is not one of a form: {why}"));
    let schema: Value = schema.parse().map_err(|error: serde_json::Error| not_a_form(error.to_string()))?;
    form(&schema, revision).map(drop).map_err(not_a_form)
}

fn form(schema: &Value, revision: McpRevision) -> Result<RawJson<'static>, String> {
    const COMBINED: [&str; 6] = ["oneOf", "anyOf", "allOf", "$ref", "if", "not"];
    let is_object = schema.get("type") == Some(&json!("object"));
    let has_names = schema.get("additionalProperties").is_none_or(|others| *others == json!(false));
    let properties = schema.get("properties").and_then(Value::as_object);
    if !is_object || COMBINED.iter().any(|word| schema.get(word).is_some()) || !has_names {
        return Err("it must be a struct whose members have fixed names".to_owned());
    }
    let mut fields = Object::new();
    for (name, property) in properties.into_iter().flatten() {
        let field = property.as_object().and_then(|property| field(property.clone(), revision));
        let field = field.ok_or_else(|| {
            format!(
                "its member `{name}` is {}; a form has texts, numbers, booleans and enums only",
                kind(property)
            )
        })?;
        fields.insert(name.clone(), Value::Object(field));
    }
    let mut form = Object::new();
    form.insert("type".to_owned(), json!("object"));
    form.insert("properties".to_owned(), Value::Object(fields));
    if let Some(required) = schema.get("required") {
        form.insert("required".to_owned(), required.clone());
    }
    RawJson::from_value(&form).map_err(|error| error.to_string())
}

/// A member as forms have it, if they do.
fn field(property: Object, revision: McpRevision) -> Option<Object> {
    let mut property = without_null(property);
    collect_choices(&mut property);
    let words: &[&str] = match property.get("type")?.as_str()? {
        "boolean" => &[],
        "integer" | "number" if property.contains_key("enum") => return None,
        "integer" | "number" => &["minimum", "maximum"],
        "string" => &["minLength", "maxLength", "format", "enum", "oneOf", "enumNames"],
        // Lists of choices came late.
        "array" if revision >= McpRevision::V2025_11_25 => {
            let mut items = property.get("items")?.as_object()?.clone();
            collect_choices(&mut items);
            if !is_choice(&items) && !is_titled(items.get("anyOf")) {
                return None;
            }
            items.retain(|word, _| matches!(&**word, "type" | "enum" | "anyOf"));
            property.insert("items".to_owned(), Value::Object(items));
            &["items", "minItems", "maxItems"]
        }
        _ => return None,
    };
    if property.contains_key("enum") && !is_choice(&property)
        || property.contains_key("oneOf") && !is_titled(property.get("oneOf"))
    {
        return None;
    }
    property.retain(|word, value| match &**word {
        "type" | "title" | "description" => true,
        "default" => !value.is_null(),
        // Formats that clients know. Others are left to the type, which reads the answer.
        "format" => {
            words.contains(&"format")
                && ["email", "uri", "date", "date-time"].iter().any(|known| value == known)
        }
        word => words.contains(&word),
    });
    Some(property)
}

/// An optional member may be left out of an answer. It is never null there.
fn without_null(mut property: Object) -> Object {
    for word in ["anyOf", "oneOf"] {
        let Some(Value::Array(kinds)) = property.get_mut(word) else { continue };
        let before = kinds.len();
        kinds.retain(|kind| kind.get("type") != Some(&json!("null")));
        if let ([Value::Object(only)], true) = (kinds.as_slice(), kinds.len() < before) {
            let only = without_null(only.clone());
            property.remove(word);
            // What is said of the member itself counts.
            for (word, value) in only {
                property.entry(word).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            property.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    property
}

/// The variants of an enum, each with words of its own, become one list. Titled ones stay as they are.
fn collect_choices(property: &mut Object) {
    if let Some(only) = property.get("const").filter(|only| only.is_string()).cloned() {
        property.remove("const");
        property.insert("enum".to_owned(), json!([only]));
    }
    let Some(Value::Array(variants)) = property.get("oneOf") else { return };
    if is_titled(property.get("oneOf")) && property.get("type") == Some(&json!("string")) {
        return;
    }
    let mut choices = Vec::new();
    for variant in variants {
        match (variant.get("const"), variant.get("enum").and_then(Value::as_array)) {
            (Some(choice), None) => choices.push(choice.clone()),
            (None, Some(several)) => choices.extend(several.iter().cloned()),
            _ => return,
        }
    }
    property.remove("oneOf");
    property.insert("type".to_owned(), json!("string"));
    property.insert("enum".to_owned(), Value::Array(choices));
}

fn is_choice(property: &Object) -> bool {
    let values = property.get("enum").and_then(Value::as_array);
    property.get("type") == Some(&json!("string"))
        && values.is_some_and(|values| !values.is_empty() && values.iter().all(Value::is_string))
}

/// Choices that each have a title: `[{"const": …, "title": …}]`.
fn is_titled(variants: Option<&Value>) -> bool {
    let titled = |variant: &Value| {
        variant.get("const").is_some_and(Value::is_string)
            && variant.get("title").is_some_and(Value::is_string)
    };
    variants.and_then(Value::as_array).is_some_and(|all| !all.is_empty() && all.iter().all(titled))
}

/// What a property is, for people.
fn kind(property: &Value) -> &'static str {
    match property.get("type").and_then(Value::as_str) {
        Some("object") => "an object",
        Some("array") => "a list",
        _ if property.get("$ref").is_some() => "a recursive type",
        _ => "of an unsupported type",
    }
}

#[cfg(test)]
mod tests {
    #![expect(dead_code, reason = "only their schemas are wanted")]

    use super::*;

    #[derive(JsonSchema)]
    enum Plain {
        Red,
        Green,
    }

    #[derive(JsonSchema)]
    enum Documented {
        /// Like blood
        Red,
        /// Like grass
        Green,
        Blue,
    }

    #[derive(JsonSchema)]
    enum One {
        Only,
    }

    #[derive(JsonSchema)]
    enum WithData {
        Red(u8),
        Green,
    }

    #[derive(JsonSchema)]
    struct Name(String);

    #[derive(JsonSchema)]
    struct Inner {
        street: String,
    }

    #[derive(JsonSchema)]
    struct Tree {
        children: Vec<Tree>,
    }

    #[derive(JsonSchema)]
    struct Of<T> {
        member: T,
    }

    /// The form of a struct whose only member is a `T`: the member's schema, and whether it is required.
    fn check<T: JsonSchema>(revision: McpRevision, want: Result<(&str, bool), &str>) {
        let got = of::<Of<T>>(revision).map(|form| {
            let property = form.get("properties").and_then(|p| Some(p.get("member")?.as_str().to_owned()));
            (property.unwrap_or_default(), form.get("required").is_some())
        });
        match (&got, want) {
            (Ok((got, required)), Ok((want, needed))) => {
                let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
                assert_eq!(
                    (parsed(got), *required),
                    (parsed(want), needed),
                    "{}",
                    std::any::type_name::<T>()
                );
            }
            (Err(NotAForm(why)), Err(want)) => assert!(why.contains(want), "{why}"),
            _ => panic!("{}: {got:?}", std::any::type_name::<T>()),
        }
    }

    #[test]
    fn members_become_fields() {
        let newest = McpRevision::NEWEST_LEGACY;
        check::<String>(newest, Ok((r#"{"type":"string"}"#, true)));
        check::<Option<String>>(newest, Ok((r#"{"type":"string"}"#, false)));
        check::<u8>(newest, Ok((r#"{"type":"integer","minimum":0,"maximum":255}"#, true)));
        check::<Option<u8>>(newest, Ok((r#"{"type":"integer","minimum":0,"maximum":255}"#, false)));
        check::<f64>(newest, Ok((r#"{"type":"number"}"#, true)));
        check::<Option<bool>>(newest, Ok((r#"{"type":"boolean"}"#, false)));
        check::<Name>(newest, Ok((r#"{"type":"string"}"#, true)));
        let colours = r#"{"type":"string","enum":["Red","Green"]}"#;
        check::<Plain>(newest, Ok((colours, true)));
        check::<Option<Plain>>(newest, Ok((colours, false)));
        check::<Box<Option<Plain>>>(newest, Ok((colours, false)));
        let three = r#"{"type":"string","enum":["Blue","Red","Green"]}"#;
        check::<Documented>(newest, Ok((three, true)));
        check::<Option<Documented>>(newest, Ok((three, false)));
        check::<One>(newest, Ok((r#"{"type":"string","enum":["Only"]}"#, true)));
        check::<Option<One>>(newest, Ok((r#"{"type":"string","enum":["Only"]}"#, false)));
        check::<Vec<Plain>>(newest, Ok((&format!(r#"{{"type":"array","items":{colours}}}"#), true)));
    }

    #[test]
    fn what_no_form_has_is_refused() {
        let newest = McpRevision::NEWEST_LEGACY;
        check::<Inner>(newest, Err("its member `member` is an object"));
        check::<Option<Inner>>(newest, Err("its member `member` is"));
        check::<Vec<String>>(newest, Err("its member `member` is a list"));
        check::<Vec<Inner>>(newest, Err("its member `member` is a list"));
        check::<Vec<Plain>>(McpRevision::V2025_06_18, Err("its member `member` is a list"));
        check::<WithData>(newest, Err("its member `member` is"));
        check::<Tree>(newest, Err("its member `member` is"));
        check::<Value>(newest, Err("its member `member` is"));
        check::<std::collections::BTreeMap<String, String>>(newest, Err("its member `member` is an object"));
        for refused in [
            of::<()>(newest),
            of::<String>(newest),
            of::<Plain>(newest),
            of::<WithData>(newest),
            of::<Vec<Plain>>(newest),
            of::<std::collections::BTreeMap<String, String>>(newest),
            of::<Value>(newest),
        ] {
            assert!(refused.is_err_and(|NotAForm(why)| why.contains("must be a struct")));
        }
    }

    #[test]
    fn schemas_by_hand_are_forms_too() {
        let newest = McpRevision::NEWEST_LEGACY;
        for (schema, want) in [
            (r#"{"type":"object","properties":{}}"#, true),
            (
                r#"{"type":"object","properties":{"a":{"type":"string","format":"email","default":"x"}}}"#,
                true,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"r","title":"Red"}]}}}"#,
                true,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"const":"r","title":"R"}]}}}}"#,
                true,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string","enum":["a"],"enumNames":["A"]}}}"#,
                true,
            ),
            (r#"{"type":"object","properties":{"a":{"type":"object","properties":{}}}}"#, false),
            (r#"{"type":"object","properties":{"a":{"type":"string","enum":["a",1]}}}"#, false),
            (r#"{"type":"object","properties":{"a":{}}}"#, false),
            (r#"{"type":"object","properties":{"a":true}}"#, false),
            (r#"{"type":"string"}"#, false),
            ("[]", false),
        ] {
            let raw = RawJson::new(schema).expect("JSON");
            assert_eq!(super::check(&raw, newest).is_ok(), want, "{schema}");
        }
    }
}
