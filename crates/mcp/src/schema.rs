//! Types to JSON Schemas, as MCP wants them.

use sabir::RawJson;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::types::PromptArgument;

fn schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()
}

/// What a type's schema says about arguments.
pub(crate) struct Input {
    pub(crate) schema: RawJson<'static>,
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
        return Input { schema, description: None, nothing: true };
    }
    assert!(is_object(&schema), "the arguments of tool `{tool}` must be a struct or a map");
    // A struct with variants has an object's schema without saying so.
    schema.insert("type".to_owned(), json!("object"));
    schema.remove("title");
    let description = schema.remove("description").and_then(|text| text.as_str().map(str::to_owned));
    Input { schema: raw(schema.as_value()), description, nothing: false }
}

/// The schema of a tool's structured output.
///
/// # Panics
/// If it is not an object, which revisions before 2026-07-28 do not allow.
pub(crate) fn output<T: JsonSchema>() -> RawJson<'static> {
    let mut schema = schema::<T>();
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
