//! A client in Rust, on the crate `sabir`.

use std::collections::HashMap;
use std::fmt::Write;

use super::circles::{self, Graph};
use super::escape::rust::{comment, doc, string};
use super::filled;
use super::format::{RUST, listed, stacked, width};
use super::model::{Api, Body, Call, Field, Flavour, Params, Type, TypeDef};
use super::names::{self, Taken};

const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

/// Arguments are wider than this only below each other.
const CALL: usize = 60;
/// The same of the fields of a value.
const FIELDS: usize = 18;
/// The same of what is inside an attribute.
const ATTRIBUTE: usize = 70;

pub(super) fn client(api: &Api) -> String {
    let name = &api.name;
    let values = [
        ("__TITLE__", &*comment(&api.title)),
        ("__DOCUMENTED__", &*doc(&api.title).collect::<Vec<_>>().join(" ")),
        ("__NAME__", name),
    ];
    let head = match api.flavour {
        Flavour::JsonRpc => include_str!("head.rs.txt"),
        Flavour::Mcp => include_str!("mcp_head.rs.txt"),
    };
    let mut out = filled(head, &values);
    let mut taken = Taken::with(KEYWORDS);
    taken.free("new");
    for call in &api.methods {
        method(&mut out, call, &taken.free(&names::snake(&call.method)), api.flavour);
    }
    out.push_str("}\n");
    let boxes = Boxes::new(api);
    for type_ in &api.types {
        definition(&mut out, type_, &boxes);
    }
    if api.methods.iter().any(|call| required_positions(&call.params).is_some()) {
        out.push_str(POSITIONS);
    }
    if api.flavour == Flavour::Mcp && api.methods.iter().any(|call| call.result != Some(Type::Any)) {
        out.push_str(include_str!("mcp_tail.rs.txt"));
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

fn method(out: &mut String, call: &Call, name: &str, flavour: Flavour) {
    out.push('\n');
    documented(out, "    ", &call.doc);
    if call.deprecated {
        out.push_str("    #[deprecated]\n");
    }
    let wire = string(&call.method);
    let (mut arguments, prepare, params) = arguments(&call.params);
    arguments.insert(0, "&self".to_owned());
    let (head, result, object, verb, tail) = match (&call.result, flavour) {
        (Some(Type::Any), Flavour::Mcp) => {
            ("pub fn", "sabir_mcp::McpCall<sabir_mcp::ToolResult>".to_owned(), "session", "call", "")
        }
        (Some(result), Flavour::Mcp) => {
            let result = format!("Result<{}, NoResult>", spelt(result));
            ("pub async fn", result, "session", "call", "")
        }
        (Some(result), _) => ("pub fn", format!("sabir::Call<{}>", spelt(result)), "peer", "call", ""),
        (None, _) => ("pub async fn", "Result<(), sabir::SendError>".to_owned(), "peer", "notify", ".await"),
    };
    let is_typed = flavour == Flavour::Mcp && call.result != Some(Type::Any);
    out.push_str(&listed(4, &format!("{head} {name}("), &arguments, &format!(") -> {result} {{"), 4, RUST));
    out.push_str(&prepare);
    let short = format!("self.{object}.{verb}({wire}, {params}){tail}");
    let is_short = width(&short) <= CALL && width(&short) + 8 <= RUST;
    let (params, before) = match is_short {
        true => (params.as_str(), String::new()),
        false if params == "params" || params == "()" => (params.as_str(), String::new()),
        false => ("params", format!("        let params = {params};\n")),
    };
    out.push_str(&before);
    let chain = format!("self.{object}.{verb}({wire}, {params}){tail}");
    let lines = match width(&chain) <= CALL {
        true => format!("        {chain}\n"),
        false if tail.is_empty() => format!("        self.{object}\n            .{verb}({wire}, {params})\n"),
        false => {
            format!("        self.{object}\n            .{verb}({wire}, {params})\n            {tail}\n")
        }
    };
    match is_typed {
        false => out.push_str(&lines),
        true => {
            let _ = writeln!(out, "        let call = {};", lines.trim());
            out.push_str("        structured(call).await\n");
        }
    }
    out.push_str("    }\n");
}

/// The arguments of a method, what is done before the call, and its params.
fn arguments(params: &Params) -> (Vec<String>, String, String) {
    let (Params::Named(fields) | Params::Positions(fields)) = params else {
        let Params::Whole(type_) = params else { unreachable!("the other two are above") };
        let type_ = match type_ {
            Type::Any => "impl serde::Serialize".to_owned(),
            other => spelt(other),
        };
        return (vec![format!("params: {type_}")], String::new(), "params".to_owned());
    };
    let mut taken = Taken::with(KEYWORDS);
    let named: Vec<_> = fields.iter().map(|field| (taken.free(&names::snake(&field.name)), field)).collect();
    let arguments = named.iter().map(|(name, field)| format!("{name}: {}", field_type(field))).collect();
    let list: Vec<_> = named.iter().map(|(name, _)| name.clone()).collect();
    match params {
        _ if fields.is_empty() => (arguments, String::new(), "()".to_owned()),
        Params::Positions(_) => {
            // Longer tuples cannot be serialized; a struct without names can.
            let (mut prepare, name) = match fields.len() > LONGEST_TUPLE {
                true => {
                    let types: Vec<_> = fields.iter().map(field_type).collect();
                    let line = listed(8, "struct Params(", &types, ");", 4, RUST);
                    (format!("        #[derive(serde::Serialize)]\n{line}"), "Params")
                }
                false => (String::new(), ""),
            };
            let tuple = match list.as_slice() {
                [only] if name.is_empty() => format!("({only},)"),
                list => format!("{name}({})", list.join(", ")),
            };
            let (tuple, is_set) = match width(&tuple) - name.len() - 2 <= CALL {
                true => (tuple, false),
                false => {
                    prepare.push_str(&stacked(8, &format!("let params = {name}("), &list, ");", 4));
                    ("params".to_owned(), true)
                }
            };
            let params = match required_positions(params) {
                Some(required) if is_set => {
                    let _ = writeln!(prepare, "        let params = positions({required}, params);");
                    tuple
                }
                Some(required) => format!("positions({required}, {tuple})"),
                None => tuple,
            };
            (arguments, prepare, params)
        }
        _ => {
            let mut prepare = "        #[derive(serde::Serialize)]\n        struct Params {\n".to_owned();
            for (name, field) in &named {
                member(&mut prepare, "            ", name, field, &field_type(field));
            }
            prepare.push_str("        }\n");
            let fields = list.join(", ");
            if width(&fields) <= FIELDS {
                return (arguments, prepare, format!("Params {{ {fields} }}"));
            }
            prepare.push_str(&stacked(8, "let params = Params {", &list, "};", 4));
            (arguments, prepare, "params".to_owned())
        }
    }
}

fn member(out: &mut String, indent: &str, name: &str, field: &Field, type_: &str) {
    if name != field.name {
        out.push_str(&renamed(indent, &field.name));
    }
    if !field.required {
        let _ = writeln!(out, "{indent}#[serde(default, skip_serializing_if = \"Option::is_none\")]");
    }
    let line = format!("{indent}{name}: {type_},");
    match width(&line) <= RUST {
        true => {
            let _ = writeln!(out, "{line}");
        }
        false => {
            let _ = writeln!(out, "{indent}{name}:\n{indent}    {type_},");
        }
    }
}

/// The attribute for another name on the wire.
fn renamed(indent: &str, name: &str) -> String {
    let inside = format!("rename = {}", string(name));
    match width(&inside) <= ATTRIBUTE {
        true => format!("{indent}#[serde({inside})]\n"),
        false => format!("{indent}#[serde(\n{indent}    {inside}\n{indent})]\n"),
    }
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
            let line = format!("pub type {name} = {};", spelt(other));
            let _ = match width(&line) <= RUST {
                true => writeln!(out, "{line}"),
                false => writeln!(out, "pub type {name} =\n    {};", spelt(other)),
            };
        }
        Body::Record(fields) if fields.is_empty() => {
            let _ = writeln!(out, "{derives}pub struct {name} {{}}");
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
                out.push_str(&renamed("    ", value));
                let _ = writeln!(out, "    {},", taken.free(&names::pascal(value)));
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
