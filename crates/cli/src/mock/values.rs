//! Values that fit a JSON Schema, the same each time.

use std::collections::HashSet;

use serde_json::{Map, Number, Value, json};

use super::fault::Random;

/// How deep a value gets; below it only what is required is made.
const DEEPEST: usize = 24;

/// Nothing larger is made: a schema may ask for a million elements.
const MOST: usize = 4096;

/// Bytes of a text that count as much as another value.
const TEXT: usize = 64;

/// Parts of schemas that are looked at or copied for one answer.
const WORK: usize = 1 << 20;

/// Makes values for the schemas of one document, to which references lead.
///
/// An answer has `MOST` values, and takes `WORK` steps. A schema that asks for more gets a part of it, which need not fit.
pub(super) struct Maker<'a> {
    document: &'a Value,
    random: Random,
    left: usize,
    work: usize,
}

impl<'a> Maker<'a> {
    pub(super) fn new(document: &'a Value, seed: u64) -> Self {
        Maker { document, random: Random::new(seed), left: MOST, work: WORK }
    }

    /// A value for a schema.
    pub(super) fn value(&mut self, schema: &Value) -> Value {
        self.make(schema, 0)
    }

    /// Nothing more is made.
    fn is_spent(&self) -> bool {
        self.left == 0 || self.work == 0
    }

    /// A value that the document gives counts for all that is in it.
    fn given(&mut self, value: &Value) -> Value {
        let weight = weight(value, self.left + 1);
        if weight > self.left {
            self.left = 0;
            return Value::Null;
        }
        self.left -= weight;
        value.clone()
    }

    fn make(&mut self, schema: &Value, depth: usize) -> Value {
        if self.is_spent() {
            return Value::Null;
        }
        self.left -= 1;
        self.work -= 1;
        let Some(schema) = schema.as_object() else {
            // `true`, and what is not a schema at all.
            return Value::Null;
        };
        if let Some(fixed) = schema.get("const") {
            return self.given(fixed);
        }
        if depth > DEEPEST {
            return Value::Null;
        }
        if let Some(example) = examples(schema) {
            return self.given(example);
        }
        if let Some(Value::Array(all)) = schema.get("enum")
            && let Some(one) = self.pick(all)
        {
            return self.given(one);
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return match self.resolved(reference) {
                Some(found) if depth < DEEPEST => self.make(found, depth + 1),
                _ => Value::Null,
            };
        }
        if let Some(Value::Array(parts)) = schema.get("allOf") {
            let merged = self.merged(schema, parts, depth);
            return self.make(&merged, depth + 1);
        }
        for choice in ["oneOf", "anyOf"] {
            if let Some(Value::Array(all)) = schema.get(choice) {
                // Deep down the shortest way out is `null`, or else the last, which is often the plain one.
                let simple = all.iter().find(|one| is_simple(one)).filter(|_| depth > 3);
                let chosen = simple.or_else(|| all.first());
                if let Some(chosen) = chosen.cloned() {
                    let merged = self.merged(schema, &[chosen], depth);
                    return self.make(&merged, depth + 1);
                }
            }
        }
        match kind(schema).as_str() {
            "null" => Value::Null,
            "boolean" => Value::Bool(self.random.next().is_multiple_of(2)),
            "integer" => self.number(schema, true),
            "number" => self.number(schema, false),
            "string" => Value::String(self.string(schema)),
            "array" => self.array(schema, depth),
            "object" => self.object(schema, depth),
            _ => Value::Null,
        }
    }

    fn pick<'v>(&mut self, all: &'v [Value]) -> Option<&'v Value> {
        let at = usize::try_from(self.random.next()).unwrap_or_default();
        all.get(at.checked_rem(all.len())?)
    }

    /// What a reference within the document leads to.
    fn resolved(&self, reference: &str) -> Option<&'a Value> {
        let pointer = reference.strip_prefix('#')?;
        self.document.pointer(pointer)
    }

    /// A schema with its parts in one, as far as that can be done: members and required names are joined.
    fn merged(&mut self, schema: &Map<String, Value>, parts: &[Value], depth: usize) -> Value {
        self.worked(schema.values().chain(parts));
        if self.is_spent() {
            return Value::Null;
        }
        let mut all = schema.clone();
        for name in ["allOf", "oneOf", "anyOf"] {
            if all
                .get(name)
                .and_then(Value::as_array)
                .is_some_and(|of| parts.iter().all(|part| of.contains(part)))
            {
                all.remove(name);
            }
        }
        for mut part in parts {
            for _ in depth..DEEPEST {
                match part.get("$ref").and_then(Value::as_str).and_then(|reference| self.resolved(reference))
                {
                    Some(found) => part = found,
                    None => break,
                }
            }
            self.worked(std::iter::once(part));
            if self.is_spent() {
                break;
            }
            for (name, value) in part.as_object().into_iter().flatten() {
                match (all.get_mut(name), value) {
                    (Some(Value::Object(old)), Value::Object(new)) => {
                        for (name, value) in new {
                            old.entry(name).or_insert_with(|| value.clone());
                        }
                    }
                    (Some(Value::Array(old)), Value::Array(new)) if name == "required" => {
                        old.extend(new.iter().cloned());
                    }
                    (Some(_), _) => {}
                    (None, value) => drop(all.insert(name.clone(), value.clone())),
                }
            }
        }
        Value::Object(all)
    }

    /// Counts what is looked at or copied.
    fn worked<'v>(&mut self, schemas: impl IntoIterator<Item = &'v Value>) {
        for schema in schemas {
            self.work -= weight(schema, self.work);
        }
    }

    fn number(&mut self, schema: &Map<String, Value>, whole: bool) -> Value {
        let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
        let step = bound("multipleOf").filter(|step| *step > 0.0);
        let (mut low, mut high) = (bound("minimum"), bound("maximum"));
        let unit = step.unwrap_or(if whole { 1.0 } else { 0.5 });
        // Draft 4 has `exclusiveMinimum: true`; later ones have the bound itself.
        let is_exclusive = |name: &str| schema.get(name) == Some(&Value::Bool(true));
        if let Some(above) = bound("exclusiveMinimum").or(low.filter(|_| is_exclusive("exclusiveMinimum"))) {
            low = Some(low.map_or(above + unit, |low| low.max(above + unit)));
        }
        if let Some(below) = bound("exclusiveMaximum").or(high.filter(|_| is_exclusive("exclusiveMaximum"))) {
            high = Some(high.map_or(below - unit, |high| high.min(below - unit)));
        }
        let offset = (self.random.next() % 100) as f64 * unit;
        let wanted = match (low, high) {
            (Some(low), Some(high)) if low + offset > high => low,
            (Some(low), _) => low + offset,
            (None, Some(high)) => high - offset,
            (None, None) => offset,
        };
        let wanted = match step {
            Some(step) => (wanted / step).ceil() * step,
            None if whole => wanted.ceil(),
            None => wanted,
        };
        // An integer that has no fraction is written without one.
        match wanted.fract() == 0.0 && wanted.abs() < 9e15 {
            true => json!(wanted as i64),
            false => Number::from_f64(wanted).map_or(Value::Null, Value::Number),
        }
    }

    fn string(&mut self, schema: &Map<String, Value>) -> String {
        let length = |name: &str| schema.get(name).and_then(Value::as_u64).map(|count| count as usize);
        let text = match schema.get("format").and_then(Value::as_str) {
            Some("date-time") => "2026-01-02T03:04:05Z".to_owned(),
            Some("date") => "2026-01-02".to_owned(),
            Some("time") => "03:04:05Z".to_owned(),
            Some("duration") => "PT1S".to_owned(),
            Some("email" | "idn-email") => "user@example.org".to_owned(),
            Some("hostname" | "idn-hostname") => "example.org".to_owned(),
            Some("ipv4") => "192.0.2.1".to_owned(),
            Some("ipv6") => "2001:db8::1".to_owned(),
            Some("uri" | "uri-reference" | "iri" | "iri-reference") => "https://example.org/".to_owned(),
            Some("uuid") => format!("00000000-0000-4000-8000-{:012x}", self.random.next() & 0xFFFF_FFFF_FFFF),
            Some("json-pointer") => "/a".to_owned(),
            Some("regex") => "a".to_owned(),
            _ => match schema.get("pattern").and_then(Value::as_str).and_then(super::pattern::text) {
                Some(text) => text,
                None => format!("text {}", self.random.next() % 100),
            },
        };
        let (least, most) = (length("minLength").unwrap_or(0).min(MOST), length("maxLength").unwrap_or(MOST));
        let mut text: String = text.chars().take(most).collect();
        let missing = least.saturating_sub(text.chars().count());
        text.extend(std::iter::repeat_n('x', missing));
        self.left = self.left.saturating_sub(text.len() / TEXT);
        text
    }

    fn array(&mut self, schema: &Map<String, Value>, depth: usize) -> Value {
        let count = |name: &str| schema.get(name).and_then(Value::as_u64).map(|count| count as usize);
        let least = count("minItems").unwrap_or(0);
        let wanted = if depth > 3 { least } else { least.max(1) };
        let wanted = wanted.min(count("maxItems").unwrap_or(MOST)).min(self.left);
        // Draft 2020-12 has `prefixItems`; before it was `items` with an array.
        let first =
            schema.get("prefixItems").or_else(|| schema.get("items").filter(|items| items.is_array()));
        let mut all: Vec<Value> = Vec::new();
        for part in first.and_then(Value::as_array).into_iter().flatten() {
            if self.is_spent() {
                break;
            }
            all.push(self.make(part, depth + 1));
        }
        let rest = schema.get("items").filter(|items| !items.is_array());
        let rest =
            rest.or_else(|| schema.get("additionalItems")).cloned().unwrap_or(json!({"type": "integer"}));
        let is_set = schema.get("uniqueItems") == Some(&Value::Bool(true));
        if rest == Value::Bool(false) {
            return Value::Array(all);
        }
        let mut attempts = 0;
        while all.len() < wanted && attempts < wanted * 8 + 8 && !self.is_spent() {
            attempts += 1;
            let one = self.make(&rest, depth + 1);
            if !is_set || !all.contains(&one) {
                all.push(one);
            }
        }
        Value::Array(all)
    }

    fn object(&mut self, schema: &Map<String, Value>, depth: usize) -> Value {
        let named = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let properties = schema.get("properties").and_then(Value::as_object);
        self.work = self.work.saturating_sub(named.len() + properties.map_or(0, Map::len));
        if self.is_spent() {
            return Value::Object(Map::new());
        }
        let required: HashSet<&str> = named.iter().filter_map(Value::as_str).collect();
        let mut made = Map::new();
        if let Some(properties) = properties {
            for (name, of) in properties {
                if self.is_spent() {
                    break;
                }
                // What need not be there is left out where a schema may lead into itself.
                if of == &Value::Bool(false) || (depth > 3 && !required.contains(&**name)) {
                    continue;
                }
                made.insert(name.clone(), self.make(of, depth + 1));
            }
        }
        let more = schema.get("additionalProperties").cloned().unwrap_or(json!({"type": "string"}));
        for name in named.iter().filter_map(Value::as_str) {
            if !made.contains_key(name) && !self.is_spent() {
                made.insert(name.to_owned(), self.make(&more, depth + 1));
            }
        }
        let least = schema.get("minProperties").and_then(Value::as_u64).unwrap_or(0) as usize;
        for at in 0..least.min(MOST) {
            if made.len() >= least || self.is_spent() {
                break;
            }
            made.insert(format!("member{at}"), self.make(&more, depth + 1));
        }
        Value::Object(made)
    }
}

/// A value that the schema itself gives.
fn examples(schema: &Map<String, Value>) -> Option<&Value> {
    let first = schema.get("examples").and_then(Value::as_array).and_then(|all| all.first());
    first.or_else(|| schema.get("example")).or_else(|| schema.get("default"))
}

/// How many values there are in one, with long texts as some, but no more than `most`.
fn weight(value: &Value, most: usize) -> usize {
    let text = |text: &str| 1 + text.len() / TEXT;
    let inner = |total: usize, value: &Value| match total < most {
        true => total + weight(value, most - total),
        false => total,
    };
    let all = match value {
        Value::String(value) => text(value),
        Value::Array(all) => all.iter().fold(1, inner),
        Value::Object(all) => {
            all.iter().fold(1, |total, (name, value)| inner(total + name.len() / TEXT, value))
        }
        _ => 1,
    };
    all.min(most)
}

/// The type of a value: the first that is allowed, or what the other members are about.
fn kind(schema: &Map<String, Value>) -> String {
    match schema.get("type") {
        Some(Value::String(kind)) => return kind.clone(),
        Some(Value::Array(kinds)) => {
            let names = || kinds.iter().filter_map(Value::as_str);
            if let Some(kind) = names().find(|kind| *kind != "null").or_else(|| names().next()) {
                return kind.to_owned();
            }
        }
        _ => {}
    }
    let has = |names: &[&str]| names.iter().any(|name| schema.contains_key(*name));
    let kind = match schema {
        _ if has(&["properties", "required", "additionalProperties", "minProperties"]) => "object",
        _ if has(&["items", "prefixItems", "minItems"]) => "array",
        _ if has(&["pattern", "minLength", "maxLength", "format"]) => "string",
        _ if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) => "number",
        _ => "null",
    };
    kind.to_owned()
}

fn is_simple(schema: &Value) -> bool {
    let kind = schema.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| !matches!(kind, "object" | "array")) || schema.get("const").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_their_schemas() {
        let document = json!({"$defs": {
            "node": {"type": "object", "required": ["value"], "properties": {
                "value": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}},
            "id": {"type": "string", "pattern": "^0x[0-9a-f]{1,64}$"},
        }});
        for schema in [
            json!(true),
            json!({}),
            json!({"type": "string", "minLength": 3, "maxLength": 5}),
            json!({"type": "string", "pattern": "^[a-z]{3}-\\d+$"}),
            json!({"type": "string", "pattern": "(foo|bar)+\\.txt"}),
            json!({"type": "string", "format": "date-time"}),
            json!({"type": "string", "format": "uuid"}),
            json!({"type": "integer", "minimum": 5, "maximum": 6}),
            json!({"type": "integer", "exclusiveMinimum": 5, "exclusiveMaximum": 7}),
            json!({"type": "integer", "multipleOf": 7, "minimum": 50}),
            json!({"type": "number", "minimum": -1.5, "maximum": -1.25}),
            json!({"type": ["null", "boolean"]}),
            json!({"enum": ["a", 1, null]}),
            json!({"const": {"a": 1}}),
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": true}),
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}),
            json!({"type": "object", "required": ["a", "z"], "properties": {"a": {"type": "string"}}}),
            json!({"type": "object", "minProperties": 3, "additionalProperties": {"type": "integer"}}),
            json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false}),
            json!({"allOf": [{"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
                             {"required": ["b"], "properties": {"b": {"$ref": "#/$defs/id"}}}]}),
            json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
            json!({"$ref": "#/$defs/node"}),
            json!({"type": "array", "items": {"$ref": "#/$defs/node"}}),
            json!({"$ref": "#/$defs/id"}),
        ] {
            let mut whole = schema.clone();
            if let (Some(whole), Some(defs)) = (whole.as_object_mut(), document.get("$defs")) {
                whole.insert("$defs".to_owned(), defs.clone());
            }
            let validator = jsonschema::validator_for(&whole).expect("a schema");
            for seed in 0..8 {
                let value = Maker::new(&document, seed).value(&schema);
                assert!(validator.is_valid(&value), "{schema}\n{value}");
                assert_eq!(value, Maker::new(&document, seed).value(&schema), "{schema}");
            }
        }
    }

    #[test]
    fn hostile_schemas_take_little() {
        let document = json!({"$defs": {
            "wide": {"type": "array", "minItems": 1000, "items": {"$ref": "#/$defs/wide"}},
            "circle": {"$ref": "#/$defs/circle"},
            "all": {"allOf": [{"$ref": "#/$defs/all"}]},
            "three": {"type": "object", "required": ["a", "b", "c"],
                "additionalProperties": {"$ref": "#/$defs/three"}},
            "many": {"type": "object", "required": vec!["name"; 50_000],
                "properties": {"name": {"$ref": "#/$defs/many"}, "more": {"$ref": "#/$defs/many"}}},
            "prefixed": {"prefixItems": vec![json!({"$ref": "#/$defs/prefixed"}); 8]},
            "chosen": {"required": ["a", "b"], "additionalProperties": {"anyOf": [{"$ref": "#/$defs/chosen"}]}},
            "optional": {"type": "array", "minItems": 60, "items": {"type": "object", "required": ["next"],
                "properties": (0..5000).map(|at| (format!("p{at}"), json!({"$ref": "#/$defs/optional"})))
                    .chain([("next".to_owned(), json!({"$ref": "#/$defs/optional"}))])
                    .collect::<Map<_, _>>()}},
            "given": {"type": "array", "minItems": 4096, "items": {"default": "x".repeat(100_000)}},
            "long": {"type": "array", "minItems": 4096, "items": {"type": "string", "minLength": 4096}},
        }});
        for name in document.get("$defs").and_then(Value::as_object).into_iter().flatten() {
            let mut maker = Maker::new(&document, 0);
            let value = maker.value(&json!({"$ref": format!("#/$defs/{}", name.0)}));
            assert!(weight(&value, usize::MAX) <= 2 * MOST, "{}", name.0);
            assert!(value.to_string().len() < 1 << 20, "{}", name.0);
        }
        for schema in [
            json!({"type": "string", "minLength": 1u64 << 60}),
            json!({"type": "array", "minItems": 1u64 << 60}),
            json!({"type": "object", "minProperties": 1u64 << 60}),
            json!({"type": "string", "pattern": "((a{1000}){1000}){1000}"}),
        ] {
            let value = Maker::new(&document, 0).value(&schema);
            assert!(value.to_string().len() < 1 << 20, "{schema}");
        }
    }
}
