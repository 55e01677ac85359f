//! The schemas of a whole document: what comes in and what goes out, under names that do not clash.

use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::schema::openrpc::Method;

const PATH: &str = "#/components/schemas/";

/// What a type looks like when it is read may differ from what it looks like when it is written, so there are
/// two generators.
pub(crate) struct Schemas {
    pub(crate) input: SchemaGenerator,
    pub(crate) output: SchemaGenerator,
}

impl Schemas {
    pub(crate) fn new() -> Self {
        let settings =
            || SchemaSettings::draft07().with(|s| s.definitions_path = "/components/schemas".into());
        Schemas {
            input: settings().for_deserialize().into_generator(),
            output: settings().for_serialize().into_generator(),
        }
    }

    /// Makes the schemas of the methods final, and returns what they refer to.
    pub(crate) fn finish(mut self, methods: &mut [Method]) -> Map<String, Value> {
        let mut shared = self.input.take_definitions(true);
        let written = self.output.take_definitions(true);
        let clashing = clashes(&shared, &written);
        for (name, mut schema) in written {
            rename(&mut schema, &clashing);
            let name = if clashing.contains(&name) { out_name(&name) } else { name };
            shared.insert(name, schema);
        }
        for method in methods {
            for param in &mut method.params {
                lower(&mut param.schema, &mut self.input);
            }
            let results = method.result.iter_mut().map(|result| &mut result.schema);
            for schema in results.chain(&mut method.progress).chain(method.error_data.values_mut()) {
                lower(schema, &mut self.output);
                rename(schema, &clashing);
            }
        }
        shared.sort_keys();
        shared
    }
}

/// The older draft that OpenRPC wants says some things in other words.
fn lower(schema: &mut Value, generator: &mut SchemaGenerator) {
    if let Ok(schema) = <&mut Schema>::try_from(schema) {
        for transform in generator.transforms_mut() {
            transform.transform(schema);
        }
    }
}

/// The names that mean one thing when read and another when written, directly or by what they refer to.
fn clashes(read: &Map<String, Value>, written: &Map<String, Value>) -> BTreeSet<String> {
    let mut clashing: BTreeSet<_> = written
        .iter()
        .filter(|(name, schema)| read.get(*name).is_some_and(|other| other != *schema))
        .map(|(name, _)| name.clone())
        .collect();
    loop {
        let more: Vec<_> = written
            .iter()
            .filter(|(name, schema)| {
                read.contains_key(*name) && !clashing.contains(*name) && refers(schema, &clashing)
            })
            .map(|(name, _)| name.clone())
            .collect();
        if more.is_empty() {
            return clashing;
        }
        clashing.extend(more);
    }
}

fn refers(schema: &Value, names: &BTreeSet<String>) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(key, value)| match value {
            Value::String(path) if key == "$ref" => {
                path.strip_prefix(PATH).is_some_and(|name| names.contains(name))
            }
            _ => refers(value, names),
        }),
        Value::Array(items) => items.iter().any(|item| refers(item, names)),
        _ => false,
    }
}

fn rename(schema: &mut Value, names: &BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(path) if key == "$ref" => {
                        if let Some(name) = path.strip_prefix(PATH).filter(|name| names.contains(*name)) {
                            *path = format!("{PATH}{}", out_name(name));
                        }
                    }
                    _ => rename(value, names),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        _ => {}
    }
}

fn out_name(name: &str) -> String {
    format!("{name}Output")
}
