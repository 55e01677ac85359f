//! The schema of all params together, taken apart into one for each.

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::schema::describe::Description;
use crate::schema::openrpc::{Content, ParamStructure, any};

/// What the params of a method look like.
pub(crate) enum Shape {
    /// Each has a name, and a position too.
    Named(Vec<Content>),
    /// Each has a name, and no position: parts of the type are flattened into it, which serde reads from an
    /// object alone.
    Names(Vec<Content>),
    /// Positions only.
    Positions(Vec<Content>),
    /// A list, a map, or anything else that is only known as a whole.
    Whole(Value),
}

impl Shape {
    pub(crate) fn of(description: &Description, generator: &mut SchemaGenerator) -> Shape {
        match description.make_params() {
            Some(make) => {
                let schema = resolved(make(generator), generator);
                match take_apart(schema.to_value(), description.param_names()) {
                    Shape::Named(contents) if description.is_by_name() => Shape::Names(contents),
                    shape => shape,
                }
            }
            None => Shape::Whole(any()),
        }
    }

    pub(crate) fn structure(&self) -> Option<ParamStructure> {
        match self {
            Shape::Named(contents) | Shape::Positions(contents) if contents.is_empty() => None,
            Shape::Names(_) => Some(ParamStructure::ByName),
            Shape::Named(_) => Some(ParamStructure::Either),
            Shape::Positions(_) => Some(ParamStructure::ByPosition),
            Shape::Whole(schema) => match schema.get("type").and_then(Value::as_str) {
                Some("array") => Some(ParamStructure::ByPosition),
                Some("object") => Some(ParamStructure::ByName),
                _ => Some(ParamStructure::Either),
            },
        }
    }

    pub(crate) fn into_contents(self) -> Vec<Content> {
        match self {
            Shape::Named(contents) | Shape::Names(contents) | Shape::Positions(contents) => contents,
            Shape::Whole(schema) => {
                vec![Content { name: "params".to_owned(), schema, whole: true, ..Content::default() }]
            }
        }
    }
}

/// A type that only stands for another refers to it.
fn resolved(mut schema: Schema, generator: &SchemaGenerator) -> Schema {
    while let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next())
    {
        match generator.definitions().get(name).and_then(|found| Schema::try_from(found.clone()).ok()) {
            Some(found) => schema = found,
            None => break,
        }
    }
    schema
}

fn take_apart(mut schema: Value, names: &[&str]) -> Shape {
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => match kinds.as_slice() {
            [Value::String(kind), Value::String(null)] if null == "null" && is_scalar(kind) => {
                return Shape::Positions(vec![positional(schema, 0, names, false)]);
            }
            _ => return Shape::Whole(schema),
        },
        _ => return Shape::Whole(schema),
    };
    match kind.as_str() {
        "null" => Shape::Named(Vec::new()),
        "object" => match schema.get_mut("properties").map(Value::take) {
            Some(Value::Object(properties)) => Shape::Named(named(properties, &schema)),
            _ if schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) => {
                Shape::Whole(schema)
            }
            _ => Shape::Named(Vec::new()),
        },
        "array" => match schema.get_mut("prefixItems").map(Value::take) {
            Some(Value::Array(items)) => {
                let items = items.into_iter().enumerate();
                Shape::Positions(items.map(|(i, item)| positional(item, i, names, true)).collect())
            }
            _ => Shape::Whole(schema),
        },
        _ => Shape::Positions(vec![positional(schema, 0, names, true)]),
    }
}

fn is_scalar(kind: &str) -> bool {
    matches!(kind, "string" | "integer" | "number" | "boolean")
}

fn named(properties: Map<String, Value>, whole: &Value) -> Vec<Content> {
    let required = |name: &String| {
        whole.get("required").and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one == name))
    };
    properties
        .into_iter()
        // It travels beside the arguments.
        .filter(|(name, _)| name != "_meta")
        .map(|(name, schema)| content(required(&name), name, schema))
        .collect()
}

fn positional(schema: Value, index: usize, names: &[&str], required: bool) -> Content {
    let name = names.get(index).map_or_else(|| format!("arg{}", index + 1), |&name| name.to_owned());
    content(required, name, schema)
}

/// The words of a param are its own, not its schema's.
fn content(required: bool, name: String, mut schema: Value) -> Content {
    let (mut description, mut deprecated) = (None, false);
    if let Some(members) = schema.as_object_mut() {
        if let Some(Value::String(text)) = members.shift_remove("description") {
            description = Some(text);
        }
        deprecated = members.shift_remove("deprecated") == Some(Value::Bool(true));
        // That nothing is given is what may be left out means already.
        if members.get("default") == Some(&Value::Null) {
            members.shift_remove("default");
        }
    }
    let schema = if schema == Value::Bool(true) { any() } else { schema };
    Content { name, description, required, deprecated, schema, ..Content::default() }
}
