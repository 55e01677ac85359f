//! Types to JSON Schemas, as MCP wants them.

use sabir::RawJson;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::types::PromptArgument;

/// Nested types are written where they are used: not every client follows a `$ref`. Types that contain themselves have one
/// all the same.
fn schema<T: JsonSchema>() -> Schema {
    of::<T>(SchemaSettings::draft2020_12())
}

fn of<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.with_transform(RecursiveTransform(leave_out_number_format)).into_generator();
    schema.root_schema_for::<T>()
}

/// `uint32` and its like are not of JSON Schema: validators of clients warn of them, or refuse the whole schema. What they
/// say is in `minimum` and `maximum`.
fn leave_out_number_format(schema: &mut Schema) {
    let is_number = |kind: &Value| matches!(kind.as_str(), Some("integer" | "number"));
    let is_number = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_number),
        Some(kind) => is_number(kind),
        None => false,
    };
    if is_number {
        schema.remove("format");
    }
}

/// What a type's schema says about arguments.
pub(crate) struct Input {
    pub(crate) schema: RawJson<'static>,
    /// The same, and `null` will do for what may be left out: models send that, too.
    pub(crate) tolerant: RawJson<'static>,
    /// The documentation of the type.
    pub(crate) description: Option<String>,
    /// It is `()`: there are no arguments to read.
    pub(crate) nothing: bool,
}

/// The schema of a tool's arguments.
///
/// # Panics
/// If they are not an object: arguments always have names.
pub(crate) fn input<T: JsonSchema>(tool: &str) -> Input {
    let mut schema = schema::<T>();
    if schema.get("type") == Some(&json!("null")) {
        let schema = raw(&json!({"type": "object", "properties": {}}));
        return Input { tolerant: schema.clone(), schema, description: None, nothing: true };
    }
    assert!(is_object(&schema), "the arguments of tool `{tool}` must be a struct or a map");
    // A struct with variants has an object's schema without saying so.
    schema.insert("type".to_owned(), json!("object"));
    schema.remove("title");
    let description = schema.remove("description").and_then(|text| text.as_str().map(str::to_owned));
    let tolerant = raw(schema.as_value());
    let mut schema = schema.to_value();
    leave_out_null(&mut schema);
    Input { schema: raw(&schema), tolerant, description, nothing: false }
}

/// What may be left out is not said to be `null`, too: some clients take one type per schema only.
fn leave_out_null(schema: &mut Value) {
    let required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                for (_, property) in
                    properties.iter_mut().filter(|(name, _)| !required.contains(&json!(name)))
                {
                    not_null(property);
                }
            }
            members.values_mut().for_each(leave_out_null);
        }
        Value::Array(items) => items.iter_mut().for_each(leave_out_null),
        _ => {}
    }
}

fn not_null(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            members.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
    if let Some(Value::Array(kinds)) = members.get_mut("anyOf") {
        kinds.retain(|kind| kind["type"] != "null");
        if let [Value::Object(only)] = &kinds[..] {
            let only = only.clone();
            members.remove("anyOf");
            // What is said of the member comes before what is said of its type.
            for (key, value) in only {
                members.entry(key).or_insert(value);
            }
        }
    }
}

/// The arguments of a prompt that are one of a few words, and these words.
pub(crate) fn choices<T: JsonSchema>() -> Vec<(String, Vec<String>)> {
    let schema = schema::<T>();
    let properties = schema.get("properties").and_then(Value::as_object);
    let choices = |(name, property): (&String, &Value)| Some((name.clone(), words(property)?));
    properties.into_iter().flatten().filter_map(choices).collect()
}

/// The texts that fit a schema, if it says which.
fn words(schema: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(value) = schema.get("const") {
        return Some(vec![text(value)?]);
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().filter(|value| !value.is_null()).map(text).collect();
    }
    let kinds = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())?;
    let kinds: Option<Vec<_>> = kinds.iter().filter(|kind| kind["type"] != "null").map(words).collect();
    kinds.map(|kinds| kinds.concat())
}

/// The schema of a tool's structured output: of what is written, which may differ from what is read. What may be `null` is said
/// to be, since clients check what comes.
///
/// # Panics
/// If it is not an object, which revisions before 2026-07-28 do not allow.
pub(crate) fn output<T: JsonSchema>() -> RawJson<'static> {
    let mut schema = of::<T>(SchemaSettings::draft2020_12().for_serialize());
    assert!(
        is_object(&schema),
        "structured output must be an object: wrap `{}` in a struct",
        std::any::type_name::<T>()
    );
    schema.insert("type".to_owned(), json!("object"));
    schema.remove("title");
    raw(schema.as_value())
}

/// What can be filled into a prompt, from the type that takes it.
pub(crate) fn prompt_arguments<T: JsonSchema>() -> Vec<PromptArgument> {
    let schema = schema::<T>();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |of: &Value, name| of.get(name).and_then(Value::as_str).map(str::to_owned);
    let properties = schema.get("properties").and_then(Value::as_object);
    let argument = |(name, property): (&String, &Value)| PromptArgument {
        name: name.clone(),
        title: text(property, "title"),
        description: text(property, "description"),
        required: required.iter().any(|required| required == name.as_str()),
    };
    properties.into_iter().flatten().map(argument).collect()
}

/// Whether an object may fit. What says nothing of its type, such as any JSON, is taken for one.
fn is_object(schema: &Schema) -> bool {
    schema.get("type").is_none_or(|kind| kind == "object")
}

fn raw(schema: &Value) -> RawJson<'static> {
    RawJson::from_value(schema).unwrap_or(RawJson::NULL)
}
