//! Converts schemas to types. A schema with members or alternatives becomes a named definition.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::circles::{self, Graph};
use super::model::{Body, Field, Type, TypeDef};
use super::names::{self, Taken};
use crate::discovery::words::{fields, reference_name};

/// Schemas that are nested deeper become the type for any value.
const DEEPEST: usize = 32;

/// A longer tuple is a list: in Rust, nothing can be derived for it.
const LONGEST: usize = 12;

/// The definitions so far.
pub(super) struct Types<'d> {
    schemas: &'d Map<String, Value>,
    /// The names of the document's own definitions, as they are spelt in clients.
    names: HashMap<&'d str, String>,
    taken: &'d mut Taken,
    definitions: Vec<TypeDef>,
    depth: usize,
}

impl<'d> Types<'d> {
    pub(super) fn new(schemas: &'d Map<String, Value>, taken: &'d mut Taken) -> Self {
        let names = schemas.keys().map(|name| (name.as_str(), taken.free(&names::pascal(name)))).collect();
        let mut types = Types { schemas, names, taken, definitions: Vec::new(), depth: 0 };
        for (name, schema) in schemas {
            let name = types.names[name.as_str()].clone();
            let body = types.body(schema, &name);
            types.define(name, schema, body);
        }
        types
    }

    pub(super) fn finish(mut self) -> Vec<TypeDef> {
        self.definitions.sort_by(|a, b| a.name.cmp(&b.name));
        // Definitions that stand for nothing but themselves are what no compiler takes: by other names alone (in Rust
        // even with lists between them), or by alternatives without a list or a map between (in TypeScript).
        self.cut(|body, out| {
            if let Body::Alias(type_) = body {
                circles::names(type_, true, true, out);
            }
        });
        self.cut(|body, out| match body {
            Body::Alias(type_) => circles::names(type_, false, false, out),
            Body::Union(types) => types.iter().for_each(|type_| circles::names(type_, false, false, out)),
            _ => {}
        });
        self.definitions
    }

    /// Makes the type for any value of some definitions, so that no circle of these references is left.
    fn cut(&mut self, references: for<'t> fn(&'t Body, &mut Vec<&'t str>)) {
        let cuts = Graph::new(&self.definitions, |type_, out| references(&type_.body, out)).cuts();
        for cut in cuts {
            self.definitions[cut].body = Body::Alias(Type::Any);
        }
    }

    fn define(&mut self, name: String, schema: &Value, body: Body) {
        let doc = schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.definitions.push(TypeDef { name, doc, body });
    }

    /// The type of a schema. `context` names it, if it needs a name.
    pub(super) fn of(&mut self, schema: &Value, context: &str) -> Type {
        if self.depth == DEEPEST {
            return Type::Any;
        }
        self.depth += 1;
        let type_ = match self.body(schema, context) {
            Body::Alias(type_) => type_,
            body => {
                let name = self.taken.free(context);
                self.define(name.clone(), schema, body);
                Type::Named(name)
            }
        };
        self.depth -= 1;
        type_
    }

    fn body(&mut self, schema: &Value, context: &str) -> Body {
        let any = Body::Alias(Type::Any);
        let Some(members) = schema.as_object() else { return any };
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            let name = reference.strip_prefix("#/components/schemas/").map(reference_name);
            return name
                .and_then(|name| self.names.get(name))
                .map_or(any, |name| Body::Alias(Type::Named(name.clone())));
        }
        if let Some(values) = literals(schema) {
            return Body::Literals(once(values));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(options) = members.get(keyword).and_then(Value::as_array) {
                return self.union(options, context);
            }
        }
        match members.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            Some([only]) => return self.body(only, context),
            Some(parts) => return self.merged(parts, context),
            None => {}
        }
        match members.get("type") {
            Some(Value::Array(kinds)) => {
                let kinds: Vec<_> = kinds.iter().filter_map(Value::as_str).collect();
                let types = kinds.iter().map(|kind| self.of_kind(kind, schema, context)).collect();
                self.one_of(types, context)
            }
            Some(Value::String(kind)) => self.of_kind(kind, schema, context),
            _ if members.contains_key("properties") => self.of_kind("object", schema, context),
            _ => any,
        }
    }

    fn of_kind(&mut self, kind: &str, schema: &Value, context: &str) -> Body {
        let item = format!("{context}Item");
        Body::Alias(match kind {
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "integer" if schema.get("minimum").and_then(Value::as_f64).is_some_and(|least| least >= 0.0) => {
                Type::Unsigned
            }
            "integer" => Type::Integer,
            "number" => Type::Number,
            "string" => Type::String,
            "array" => match (schema.get("prefixItems"), schema.get("items")) {
                (Some(Value::Array(items)), _) | (_, Some(Value::Array(items))) if items.len() <= LONGEST => {
                    Type::Tuple(items.iter().map(|one| self.of(one, &item)).collect())
                }
                (None, Some(items)) if !items.is_array() => Type::List(Box::new(self.of(items, &item))),
                _ => Type::List(Box::new(Type::Any)),
            },
            "object" => match (fields(schema).is_empty(), schema.get("additionalProperties")) {
                (true, Some(values)) => Type::Map(Box::new(self.of(values, &item))),
                (true, None) => Type::Map(Box::new(Type::Any)),
                (false, _) => return Body::Record(self.record(schema, context)),
            },
            _ => Type::Any,
        })
    }

    fn record(&mut self, schema: &Value, context: &str) -> Vec<Field> {
        let fields = fields(schema).into_iter().map(|field| Field {
            name: field.name.to_owned(),
            doc: field.schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
            type_: self.of(field.schema, &format!("{context}{}", names::pascal(field.name))),
            required: field.required,
        });
        fields.collect()
    }

    fn union(&mut self, options: &[Value], context: &str) -> Body {
        if let Some(values) = options.iter().map(literals).collect::<Option<Vec<_>>>() {
            return Body::Literals(once(values.concat()));
        }
        let bodies = options.iter().enumerate();
        let bodies =
            bodies.map(|(i, option)| Body::Alias(self.of(option, &format!("{context}{}", i + 1)))).collect();
        self.one_of(bodies, context)
    }

    fn one_of(&mut self, bodies: Vec<Body>, context: &str) -> Body {
        let mut types = Vec::new();
        let mut seen = HashSet::new();
        let (mut nullable, mut anything) = (false, false);
        for body in bodies {
            match body {
                Body::Alias(Type::Null) => nullable = true,
                Body::Alias(Type::Any) => anything = true,
                Body::Alias(Type::Nullable(type_)) => {
                    nullable = true;
                    if seen.insert((*type_).clone()) {
                        types.push(*type_);
                    }
                }
                Body::Alias(type_) => {
                    if seen.insert(type_.clone()) {
                        types.push(type_);
                    }
                }
                body => {
                    let name = self.taken.free(&format!("{context}Object"));
                    self.define(name.clone(), &Value::Null, body);
                    types.push(Type::Named(name));
                }
            }
        }
        let one = match types.pop() {
            _ if anything => return Body::Alias(Type::Any),
            None => return Body::Alias(Type::Null),
            Some(only) if types.is_empty() => only,
            Some(last) => {
                types.push(last);
                if !nullable {
                    return Body::Union(types);
                }
                let name = self.taken.free(&format!("{context}Value"));
                self.define(name.clone(), &Value::Null, Body::Union(types));
                Type::Named(name)
            }
        };
        Body::Alias(if nullable { Type::Nullable(Box::new(one)) } else { one })
    }

    /// All of the parts at once, if all of them are objects.
    fn merged(&mut self, parts: &[Value], context: &str) -> Body {
        let mut all: Vec<Field> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for part in parts {
            let reference = part.get("$ref").and_then(Value::as_str).map(reference_name);
            let part = reference.and_then(|name| self.schemas.get(name)).unwrap_or(part);
            if part.get("properties").is_none() {
                return Body::Alias(Type::Any);
            }
            for field in self.record(part, context) {
                match known.get(&field.name) {
                    Some(&index) => all[index].required |= field.required,
                    None => {
                        known.insert(field.name.clone(), all.len());
                        all.push(field);
                    }
                }
            }
        }
        Body::Record(all)
    }
}

/// The strings that a schema allows, if it allows nothing else.
fn literals(schema: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match (schema.get("const"), schema.get("enum").and_then(Value::as_array)) {
        (Some(value), _) => Some(vec![text(value)?]),
        (None, Some(values)) if !values.is_empty() => values.iter().map(text).collect(),
        _ => None,
    }
}

fn once(values: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    values.into_iter().filter(|value| seen.insert(value.clone())).collect()
}
