//! Parameters of methods and tools, as far as their schemas say which JSON types they take.

use std::collections::HashSet;

use sabir::openrpc::{Content, Document};
use serde_json::Value as Json;

/// Schemas and values of enumerations that are looked at for all parameters of a method: references may lead anywhere, in
/// circles, or all to the same long list.
const MOST_LOOKS: usize = 10_000;

/// How many schemas may be inside of each other, or refer to each other.
const DEEPEST: usize = 32;

/// A parameter of a method or a tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// The JSON types that it may have. None if it may have all, or its schema says it in a way that is not looked into.
    pub(super) kinds: Vec<&'static str>,
    /// The values that it may have, if they are listed.
    pub(super) choices: Option<Vec<Json>>,
    pub(crate) required: bool,
}

impl Parameter {
    /// One that is text.
    pub(crate) fn text(name: String, required: bool) -> Parameter {
        Parameter { name, kinds: vec!["string"], choices: None, required }
    }

    /// Whether a value has one of its types.
    pub(super) fn allows(&self, json: &Json) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kind| is_of(json, kind))
    }
}

/// The parameters that the schema of an object describes, in its order.
pub(crate) fn parameters(schema: &Json) -> Vec<Parameter> {
    Schemas::new(&|reference| schema.pointer(reference.strip_prefix('#')?)).members(schema)
}

/// The parameters of a method, if the document describes them.
pub(crate) fn method_parameters<'d>(document: &'d Document, method: &str) -> Option<Vec<Parameter>> {
    let method = document.methods.iter().find(|known| known.name == method)?;
    let find = |reference: &str| {
        let name = reference.strip_prefix("#/components/schemas/")?;
        document.components.schemas.get(&name.replace("~1", "/").replace("~0", "~"))
    };
    let mut schemas = Schemas::new(&find);
    match method.params.as_slice() {
        // One that stands for all has no name.
        [whole] if whole.whole => {
            Some(schemas.members(&whole.schema)).filter(|parameters| !parameters.is_empty())
        }
        params => {
            let parameter =
                |param: &'d Content| schemas.parameter(&param.name, &param.schema, param.required);
            Some(params.iter().map(parameter).collect())
        }
    }
}

/// Looks into schemas, as long as that is bounded.
struct Schemas<'f, 's> {
    /// What a reference stands for.
    find: &'f dyn Fn(&str) -> Option<&'s Json>,
    left: usize,
}

impl<'f, 's> Schemas<'f, 's> {
    fn new(find: &'f dyn Fn(&str) -> Option<&'s Json>) -> Self {
        Schemas { find, left: MOST_LOOKS }
    }

    fn members(&mut self, schema: &'s Json) -> Vec<Parameter> {
        let required = schema.get("required").and_then(Json::as_array).into_iter().flatten();
        let required: HashSet<&str> = required.filter_map(Json::as_str).collect();
        let properties = schema.get("properties").and_then(Json::as_object).into_iter().flatten();
        properties
            .map(|(name, schema)| self.parameter(name, schema, required.contains(name.as_str())))
            .collect()
    }

    fn parameter(&mut self, name: &str, schema: &'s Json, required: bool) -> Parameter {
        let mut kinds = Vec::new();
        if !self.collect_kinds(schema, &mut kinds, 0) {
            kinds.clear();
        }
        Parameter { name: name.to_owned(), kinds, choices: self.choices(schema), required }
    }

    /// Adds the types that a schema names. `false`: it allows all, or says it in a way that is not looked into.
    fn collect_kinds(&mut self, schema: &'s Json, kinds: &mut Vec<&'static str>, depth: usize) -> bool {
        let list = |key: &str| schema.get(key).and_then(Json::as_array);
        if depth == DEEPEST || !self.looks_at(1) {
            return false;
        }
        if let Some(named) = schema.get("type") {
            let names = named.as_array().map_or(std::slice::from_ref(named), Vec::as_slice);
            return self.looks_at(names.len())
                && names.iter().all(|name| add(kinds, name.as_str().and_then(kind_named)));
        }
        if let Some(values) = list("enum") {
            return self.looks_at(values.len())
                && values.iter().all(|value| add(kinds, Some(kind_of(value))));
        }
        if let Some(value) = schema.get("const") {
            return add(kinds, Some(kind_of(value)));
        }
        if let Some(choices) = list("anyOf").or_else(|| list("oneOf")) {
            return choices.iter().all(|choice| self.collect_kinds(choice, kinds, depth + 1));
        }
        self.elsewhere(schema).is_some_and(|schema| self.collect_kinds(schema, kinds, depth + 1))
    }

    fn choices(&mut self, schema: &'s Json) -> Option<Vec<Json>> {
        let mut all = std::iter::successors(Some(schema), |schema| self.elsewhere(schema)).take(DEEPEST);
        let values = all.find_map(|schema| schema.get("enum")?.as_array())?;
        self.looks_at(values.len()).then(|| values.clone())
    }

    /// The schema that one stands for, if it is only a reference, or a list of one.
    fn elsewhere(&self, schema: &'s Json) -> Option<&'s Json> {
        if let Some(reference) = schema.get("$ref") {
            return (self.find)(reference.as_str()?);
        }
        match schema.get("allOf")?.as_array()?.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Whether so much more may be looked at.
    fn looks_at(&mut self, count: usize) -> bool {
        let left = self.left.checked_sub(count);
        self.left = left.unwrap_or_default();
        left.is_some()
    }
}

fn add(kinds: &mut Vec<&'static str>, kind: Option<&'static str>) -> bool {
    if let Some(kind) = kind.filter(|kind| !kinds.contains(kind)) {
        kinds.push(kind);
    }
    kind.is_some()
}

/// A type by its name. One that JSON Schema does not have says nothing.
fn kind_named(name: &str) -> Option<&'static str> {
    let kinds = ["null", "boolean", "integer", "number", "string", "array", "object"];
    kinds.into_iter().find(|kind| *kind == name)
}

fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn is_of(json: &Json, kind: &str) -> bool {
    match json {
        Json::Number(number) if kind == "integer" => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        json => kind_of(json) == kind,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_types_of_a_parameter() {
        let rest = json!({
            "Count": {"type": "integer"},
            "Circle": {"$ref": "#/components/schemas/Circle"},
            "Level": {"enum": ["low", "high"]},
            "Many": {"anyOf": vec![json!({"$ref": "#/components/schemas/Many"}); 100]},
        });
        for (schema, want) in [
            (json!({"type": "integer"}), vec!["integer"]),
            (json!({"type": ["integer", "null"]}), vec!["integer", "null"]),
            (json!({"type": "money"}), vec![]),
            (json!({}), vec![]),
            (json!(true), vec![]),
            (json!({"enum": [1, 2, "all"]}), vec!["number", "string"]),
            (json!({"const": true}), vec!["boolean"]),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), vec!["string", "null"]),
            (json!({"anyOf": [{"type": "string"}, {}]}), vec![]),
            (json!({"$ref": "#/components/schemas/Count"}), vec!["integer"]),
            (json!({"allOf": [{"$ref": "#/components/schemas/Count"}]}), vec!["integer"]),
            (
                json!({"oneOf": [{"$ref": "#/components/schemas/Level"}, {"type": "null"}]}),
                vec!["string", "null"],
            ),
            (json!({"$ref": "#/components/schemas/Nowhere"}), vec![]),
            (json!({"$ref": "#/components/schemas/Circle"}), vec![]),
            (json!({"$ref": "#/components/schemas/Many"}), vec![]),
        ] {
            let document = json!({
                "openrpc": "1.3.2",
                "methods": [{"name": "m", "params": [{"name": "p", "schema": schema}]}],
                "components": {"schemas": rest},
            });
            let document = Document::from_json(&document.to_string()).expect("a document");
            let known = method_parameters(&document, "m").expect("a method");
            assert_eq!(known[0].kinds, want, "{schema}");
        }
    }

    #[test]
    fn references_of_a_tool_are_followed() {
        let schema = json!({
            "properties": {"level": {"$ref": "#/$defs/Level"}},
            "$defs": {"Level": {"type": "string", "enum": ["low", "high"]}},
        });
        let known = parameters(&schema);
        assert_eq!(known[0].kinds, ["string"]);
        assert_eq!(known[0].choices, Some(vec![json!("low"), json!("high")]));
    }
}
