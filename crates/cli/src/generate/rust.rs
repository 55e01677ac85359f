//! A client in Rust, on the crate `sabir`.

use std::collections::HashMap;
use std::fmt::Write;

use super::circles::{self, Graph};
use super::escape::rust::{comment, doc, string};
use super::model::{Api, Body, Call, Field, Params, Type, TypeDef};
use super::names::{self, Taken};

const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

pub(super) fn client(api: &Api) -> String {
    let name = &api.name;
    let mut out = format!(
        "// A client for {title}. Made by `sabir generate --lang rust`; needs the crates sabir, serde and serde_json.\n\
         //\n\
         // let client = {name}::new(sabir::connect(transport, sabir::Router::new()).await?);\n\n\
         /// Calls the methods of {documented} at a peer.\n\
         #[derive(Debug, Clone)]\n\
         pub struct {name} {{\n    peer: sabir::Peer,\n}}\n\n\
         #[allow(clippy::all)]\n\
         impl {name} {{\n    \
         /// A client of this peer.\n    \
         pub fn new(peer: sabir::Peer) -> Self {{\n        {name} {{ peer }}\n    }}\n",
        title = comment(&api.title),
        documented = doc(&api.title).collect::<Vec<_>>().join(" "),
    );
    let mut taken = Taken::with(KEYWORDS);
    taken.free("new");
    for call in &api.methods {
        method(&mut out, call, &taken.free(&names::snake(&call.method)));
    }
    out.push_str("}\n");
    let boxes = Boxes::new(api);
    for type_ in &api.types {
        definition(&mut out, type_, &boxes);
    }
    if api.methods.iter().any(|call| required_positions(&call.params).is_some()) {
        out.push_str(POSITIONS);
    }
    out
}

/// What serde has an implementation for.
const LONGEST_TUPLE: usize = 16;

const POSITIONS: &str = "
/// Arguments by position. Those that are left out at the end are not sent.
fn positions(required: usize, params: impl serde::Serialize) -> Vec<serde_json::Value> {
    let mut list = match serde_json::to_value(params) {
        Ok(serde_json::Value::Array(list)) => list,
        _ => Vec::new(),
    };
    while list.len() > required && list.last().is_some_and(serde_json::Value::is_null) {
        list.pop();
    }
    list
}
";

/// How many positions cannot be left out at the end, if some can.
fn required_positions(params: &Params) -> Option<usize> {
    let Params::Positions(fields) = params else { return None };
    let required = fields.iter().rposition(|field| field.required).map_or(0, |last| last + 1);
    (required < fields.len()).then_some(required)
}

fn method(out: &mut String, call: &Call, name: &str) {
    out.push('\n');
    documented(out, "    ", &call.doc);
    if call.deprecated {
        out.push_str("    #[deprecated]\n");
    }
    let wire = string(&call.method);
    let (arguments, prepare, params) = arguments(&call.params);
    let _ = match &call.result {
        Some(result) => write!(
            out,
            "    pub fn {name}(&self{arguments}) -> sabir::Call<{}> {{\n{prepare}        self.peer.call({wire}, {params})\n    }}\n",
            spelt(result)
        ),
        None => write!(
            out,
            "    pub async fn {name}(&self{arguments}) -> Result<(), sabir::SendError> {{\n{prepare}        self.peer.notify({wire}, {params}).await\n    }}\n"
        ),
    };
}

/// The arguments of a method, what is done before the call, and its params.
fn arguments(params: &Params) -> (String, String, String) {
    let (Params::Named(fields) | Params::Positions(fields)) = params else {
        let Params::Whole(type_) = params else { unreachable!("the other two are above") };
        let type_ = match type_ {
            Type::Any => "impl serde::Serialize".to_owned(),
            other => spelt(other),
        };
        return (format!(", params: {type_}"), String::new(), "params".to_owned());
    };
    let mut taken = Taken::with(KEYWORDS);
    let named: Vec<_> = fields.iter().map(|field| (taken.free(&names::snake(&field.name)), field)).collect();
    let arguments = named.iter().map(|(name, field)| format!(", {name}: {}", field_type(field))).collect();
    let list: Vec<_> = named.iter().map(|(name, _)| name.as_str()).collect();
    match params {
        _ if fields.is_empty() => (arguments, String::new(), "()".to_owned()),
        Params::Positions(_) => {
            let list = list.join(", ");
            // Longer tuples cannot be serialized; a struct without names can.
            let (prepare, list) = match fields.len() > LONGEST_TUPLE {
                true => {
                    let types = fields.iter().map(field_type).collect::<Vec<_>>().join(", ");
                    let prepare =
                        format!("        #[derive(serde::Serialize)]\n        struct Params({types});\n");
                    (prepare, format!("Params({list})"))
                }
                false => (String::new(), format!("({list},)")),
            };
            let params = match required_positions(params) {
                Some(required) => format!("positions({required}, {list})"),
                None => list,
            };
            (arguments, prepare, params)
        }
        _ => {
            let mut prepare = "        #[derive(serde::Serialize)]\n        struct Params {\n".to_owned();
            for (name, field) in &named {
                member(&mut prepare, "            ", name, field, &field_type(field));
            }
            prepare.push_str("        }\n");
            (arguments, prepare, format!("Params {{ {} }}", list.join(", ")))
        }
    }
}

fn member(out: &mut String, indent: &str, name: &str, field: &Field, type_: &str) {
    if name != field.name {
        let _ = writeln!(out, "{indent}#[serde(rename = {})]", string(&field.name));
    }
    if !field.required {
        let _ = writeln!(out, "{indent}#[serde(default, skip_serializing_if = \"Option::is_none\")]");
    }
    let _ = writeln!(out, "{indent}{name}: {type_},");
}

fn field_type(field: &Field) -> String {
    match &field.type_ {
        type_ if field.required => spelt(type_),
        Type::Nullable(type_) => format!("Option<{}>", spelt(type_)),
        type_ => format!("Option<{}>", spelt(type_)),
    }
}

fn spelt(type_: &Type) -> String {
    match type_ {
        Type::Any => "serde_json::Value".to_owned(),
        Type::Null => "()".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Integer => "i64".to_owned(),
        Type::Unsigned => "u64".to_owned(),
        Type::Number => "f64".to_owned(),
        Type::String => "String".to_owned(),
        Type::List(item) => format!("Vec<{}>", spelt(item)),
        Type::Tuple(items) => match items.iter().map(spelt).collect::<Vec<_>>().as_slice() {
            [only] => format!("({only},)"),
            items => format!("({})", items.join(", ")),
        },
        Type::Map(item) => format!("std::collections::BTreeMap<String, {}>", spelt(item)),
        Type::Nullable(type_) => format!("Option<{}>", spelt(type_)),
        Type::Named(name) => name.clone(),
    }
}

fn definition(out: &mut String, type_: &TypeDef, boxes: &Boxes<'_>) {
    out.push('\n');
    documented(out, "", if type_.doc.is_empty() { &type_.name } else { &type_.doc });
    let name = &type_.name;
    let derives = "#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]\n";
    match &type_.body {
        Body::Alias(Type::Named(other)) if other == name => {
            let _ = writeln!(out, "pub type {name} = serde_json::Value;");
        }
        Body::Alias(other) => {
            let _ = writeln!(out, "pub type {name} = {};", spelt(other));
        }
        Body::Record(fields) => {
            let _ = writeln!(out, "{derives}pub struct {name} {{");
            let mut taken = Taken::with(KEYWORDS);
            for field in fields {
                documented(out, "    ", if field.doc.is_empty() { &field.name } else { &field.doc });
                let spelling = format!("pub {}", taken.free(&names::snake(&field.name)));
                let type_ = boxed(field, name, boxes);
                // The keyword before it is not part of the name.
                let renamed = Field { name: format!("pub {}", field.name), ..field.clone() };
                match spelling == renamed.name {
                    true => member(out, "    ", &spelling, &renamed, &type_),
                    false => member(out, "    ", &spelling, field, &type_),
                }
            }
            out.push_str("}\n");
        }
        Body::Union(types) => {
            let _ = writeln!(out, "{derives}#[serde(untagged)]\n#[allow(missing_docs)]\npub enum {name} {{");
            let mut taken = Taken::with(&["Self"]);
            for type_ in types {
                let variant = taken.free(&names::pascal(&variant(type_)));
                let held = match boxes.reaches(type_, name) {
                    true => format!("Box<{}>", spelt(type_)),
                    false => spelt(type_),
                };
                let _ = writeln!(out, "    {variant}({held}),");
            }
            out.push_str("}\n");
        }
        Body::Literals(values) => {
            let _ = writeln!(out, "{derives}#[allow(missing_docs)]\npub enum {name} {{");
            let mut taken = Taken::with(&["Self"]);
            for value in values {
                let _ = writeln!(
                    out,
                    "    #[serde(rename = {})]\n    {},",
                    string(value),
                    taken.free(&names::pascal(value))
                );
            }
            out.push_str("}\n");
        }
    }
}

/// The type of a member, in a box if it would contain itself without one.
fn boxed(field: &Field, inside: &str, boxes: &Boxes<'_>) -> String {
    let inner = match &field.type_ {
        Type::Nullable(inner) => inner,
        other => other,
    };
    if !boxes.reaches(inner, inside) {
        return field_type(field);
    }
    match field.required && !matches!(field.type_, Type::Nullable(_)) {
        true => format!("Box<{}>", spelt(inner)),
        false => format!("Option<Box<{}>>", spelt(inner)),
    }
}

/// Which types would contain themselves without a box.
struct Boxes<'a> {
    indices: HashMap<&'a str, usize>,
    groups: Vec<usize>,
}

impl<'a> Boxes<'a> {
    fn new(api: &'a Api) -> Self {
        let graph = Graph::new(&api.types, |type_, out| match &type_.body {
            Body::Record(fields) => {
                fields.iter().for_each(|field| circles::names(&field.type_, false, true, out))
            }
            Body::Union(types) => types.iter().for_each(|type_| circles::names(type_, false, true, out)),
            Body::Alias(type_) => circles::names(type_, false, true, out),
            Body::Literals(_) => {}
        });
        let indices = api.types.iter().enumerate().map(|(index, type_)| (type_.name.as_str(), index));
        Boxes { indices: indices.collect(), groups: graph.groups() }
    }

    /// Whether a value of the type, which is in the one called `name`, has one of that inside, with no list or map
    /// between.
    fn reaches(&self, type_: &Type, name: &str) -> bool {
        let group = |name: &str| self.indices.get(name).map(|index| self.groups[*index]);
        let mut names = Vec::new();
        circles::names(type_, false, true, &mut names);
        names.iter().any(|found| *found == name || group(found).is_some() && group(found) == group(name))
    }
}

fn variant(type_: &Type) -> String {
    match type_ {
        Type::Named(name) => name.clone(),
        Type::List(_) | Type::Tuple(_) => "list".to_owned(),
        Type::Map(_) => "map".to_owned(),
        Type::Number => "number".to_owned(),
        Type::Integer | Type::Unsigned => "integer".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::String => "text".to_owned(),
        Type::Any | Type::Null | Type::Nullable(_) => "other".to_owned(),
    }
}

fn documented(out: &mut String, indent: &str, text: &str) {
    for text in doc(text) {
        let _ = writeln!(out, "{}", format!("{indent}/// {text}").trim_end());
    }
}
