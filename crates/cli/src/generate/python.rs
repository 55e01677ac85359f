//! A client in Python, without dependencies.

use std::fmt::Write;

use super::escape::python::{doc, string};
use super::format::{PYTHON, spaces, stacked, width};
use super::model::{Api, Body, Call, Flavour, Params, Type, TypeDef};
use super::names::{self, Taken};
use super::{filled, joined};

const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return", "self", "try", "while", "with",
    "yield",
];

/// A method of such a name would take it from the annotations behind it.
const TYPES: &[&str] = &["bool", "cast", "dict", "float", "int", "list", "object", "str", "tuple", "type"];

pub(super) fn client(api: &Api) -> String {
    let title = doc(&api.title).collect::<Vec<_>>().join(" ");
    let runtime = match api.flavour {
        Flavour::JsonRpc => include_str!("runtime.py"),
        Flavour::Mcp => include_str!("mcp_runtime.py"),
    };
    let runtime = filled(runtime, &[("__TITLE__", &*title), ("__NAME__", &*api.name)]);
    let (head, tail) = runtime.split_once("# __TYPES__\n\n\n").unwrap_or((&runtime, ""));
    let mut out = head.to_owned();
    for type_ in &api.types {
        definition(&mut out, type_);
        out.push_str("\n\n");
    }
    out.push_str(tail);
    let mut taken = Taken::with(KEYWORDS).and(TYPES);
    for call in &api.methods {
        method(&mut out, call, &taken.free(&names::snake(&call.method)), api.flavour);
    }
    out
}

/// What stands between brackets: on one line with them, on a line of its own, or on one line each.
fn bracketed(indent: usize, head: &str, items: &[String], tail: &str) -> String {
    let flat = format!("{}{head}{}{tail}", spaces(indent), items.join(", "));
    let body = format!("{}{}", spaces(indent + 4), items.join(", "));
    match items {
        _ if width(&flat) <= PYTHON || items.is_empty() => format!("{flat}\n"),
        [_, _, ..] if width(&body) <= PYTHON => format!("{0}{head}\n{body}\n{0}{tail}\n", spaces(indent)),
        items => stacked(indent, head, items, tail, 4),
    }
}

fn method(out: &mut String, call: &Call, name: &str, flavour: Flavour) {
    let (mut arguments, before, params) = arguments(&call.params);
    arguments.insert(0, "self".to_owned());
    let is_tool = flavour == Flavour::Mcp;
    let result = call.result.as_ref().map_or("None".to_owned(), spelt);
    let head = if is_tool { "async def" } else { "def" };
    out.push('\n');
    out.push_str(&bracketed(4, &format!("{head} {name}("), &arguments, &format!(") -> {result}:")));
    let deprecated = if call.deprecated { "\n\nDeprecated." } else { "" };
    documented(out, "        ", &format!("{}{deprecated}", call.doc));
    out.push_str(&before);
    let wire = string(&call.method);
    let is_typed = call.result != Some(Type::Any);
    let params = if is_tool && params == "None" { "{}".to_owned() } else { params };
    let (verb, awaited) = match (is_tool, is_typed, &call.result) {
        (true, true, _) => ("_structured", "await "),
        (true, false, _) => ("_call", "await "),
        (false, _, Some(_)) => ("_call", ""),
        (false, _, None) => ("_notify", ""),
    };
    let words = [wire, params];
    match call.result {
        Some(Type::Null) | None => {
            out.push_str(&bracketed(8, &format!("{awaited}self.{verb}("), &words, ")"))
        }
        Some(Type::Any) => out.push_str(&bracketed(8, &format!("return {awaited}self.{verb}("), &words, ")")),
        Some(_) => {
            let call = format!("{awaited}self.{verb}({})", words.join(", "));
            out.push_str(&bracketed(8, "return cast(", &[string(&result), call], ")"));
        }
    }
}

/// The arguments of a method, what is done before the call, and its params.
fn arguments(params: &Params) -> (Vec<String>, String, String) {
    let fields = match params {
        Params::Named(fields) | Params::Positions(fields) => fields,
        Params::Whole(type_) => {
            return (vec![format!("params: {} = None", optional(type_))], String::new(), "params".to_owned());
        }
    };
    let mut taken = Taken::with(KEYWORDS).and(&["cast"]);
    let named: Vec<_> = fields.iter().map(|field| (taken.free(&names::snake(&field.name)), field)).collect();
    let mut arguments = Vec::new();
    for (name, field) in named.iter().filter(|(_, field)| field.required) {
        arguments.push(format!("{name}: {}", spelt(&field.type_)));
    }
    if named.iter().any(|(_, field)| !field.required) {
        arguments.push("*".to_owned());
    }
    for (name, field) in named.iter().filter(|(_, field)| !field.required) {
        arguments.push(format!("{name}: {} = None", optional(&field.type_)));
    }
    let by_position: Vec<_> = named.iter().map(|(name, _)| name.clone()).collect();
    let by_name =
        named.iter().map(|(name, field)| (format!("{}: {name}", string(&field.name)), field.required));
    let (needed, may_miss): (Vec<_>, Vec<_>) = by_name.partition(|(_, required)| *required);
    let texts = |of: Vec<(String, bool)>| of.into_iter().map(|(text, _)| text).collect::<Vec<_>>();
    let (needed, may_miss) = (texts(needed), texts(may_miss));
    if fields.is_empty() {
        return (arguments, String::new(), "None".to_owned());
    }
    // A line of its own for each step, so that none has brackets in brackets that must be broken. No argument has such a
    // name.
    let mut before = String::new();
    let params = match params {
        Params::Positions(_) => {
            before.push_str(&literal(8, "_params = [", &by_position, "]"));
            "_trimmed(_params)"
        }
        _ if needed.is_empty() => {
            before.push_str(&literal(8, "_params = {", &may_miss, "}"));
            "_given(_params)"
        }
        _ => {
            before.push_str(&literal(8, "_params = {", &needed, "}"));
            if !may_miss.is_empty() {
                before.push_str(&literal(8, "_optional = {", &may_miss, "}"));
                before.push_str("        _params.update(_given(_optional))\n");
            }
            "_params"
        }
    };
    (arguments, before, params.to_owned())
}

/// A list or a dictionary: what does not fit stands on one line each.
fn literal(indent: usize, head: &str, items: &[String], tail: &str) -> String {
    let flat = format!("{}{head}{}{tail}", spaces(indent), items.join(", "));
    match width(&flat) <= PYTHON {
        true => format!("{flat}\n"),
        false => stacked(indent, head, items, tail, 4),
    }
}

fn definition(out: &mut String, type_: &TypeDef) {
    let name = &type_.name;
    match &type_.body {
        Body::Record(fields) if fields.iter().all(|field| is_name(&field.name)) => {
            let _ = writeln!(out, "class {name}(TypedDict):");
            documented(out, "    ", if type_.doc.is_empty() { name } else { &type_.doc });
            if !fields.is_empty() {
                out.push('\n');
            }
            for field in fields {
                let type_ = spelt(&field.type_);
                let type_ = if field.required { type_ } else { format!("NotRequired[{type_}]") };
                let _ = writeln!(out, "    {}: {type_}", field.name);
            }
        }
        Body::Record(fields) => {
            let fields = fields.iter().map(|field| {
                let type_ = spelt(&field.type_);
                let type_ = if field.required { type_ } else { format!("NotRequired[{type_}]") };
                format!("{}: {}", string(&field.name), string(&type_))
            });
            let fields: Vec<String> = fields.collect();
            let head = format!("{name} = TypedDict(");
            let flat = [string(name), format!("{{{}}}", fields.join(", "))];
            let line = format!("{head}{})", flat.join(", "));
            let body = format!("    {}", flat.join(", "));
            if width(&line) <= PYTHON || width(&body) <= PYTHON {
                out.push_str(&bracketed(0, &head, &flat, ")"));
            } else {
                let _ = write!(out, "{head}\n    {},\n{})\n", string(name), literal(4, "{", &fields, "},"));
            }
        }
        Body::Alias(Type::Named(other)) if other == name => {
            let _ = writeln!(out, "{name}: TypeAlias = Any");
        }
        Body::Alias(other) => alias(out, name, &string(&spelt(other))),
        Body::Union(types) => alias(out, name, &string(&joined(types.iter().map(spelt), " | "))),
        Body::Literals(values) => {
            let values: Vec<String> = values.iter().map(|value| string(value)).collect();
            out.push_str(&bracketed(0, &format!("{name}: TypeAlias = Literal["), &values, "]"));
        }
    }
}

/// A string that does not fit behind its name stands in brackets, if it fits there.
fn alias(out: &mut String, name: &str, type_: &str) {
    let flat = format!("{name}: TypeAlias = {type_}");
    let _ = match width(&flat) > PYTHON && width(type_) + 4 <= PYTHON {
        true => writeln!(out, "{name}: TypeAlias = (\n    {type_}\n)"),
        false => writeln!(out, "{flat}"),
    };
}

/// Whether it can stand as a member of a class.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(plain)
        && !KEYWORDS.contains(&name)
}

fn optional(type_: &Type) -> String {
    match type_ {
        Type::Any | Type::Null | Type::Nullable(_) => spelt(type_),
        _ => format!("{} | None", spelt(type_)),
    }
}

fn spelt(type_: &Type) -> String {
    match type_ {
        Type::Any => "Any".to_owned(),
        Type::Null => "None".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Integer | Type::Unsigned => "int".to_owned(),
        Type::Number => "float".to_owned(),
        Type::String => "str".to_owned(),
        Type::List(item) => format!("list[{}]", spelt(item)),
        Type::Tuple(items) if items.is_empty() => "list[Any]".to_owned(),
        Type::Tuple(items) => format!("tuple[{}]", joined(items.iter().map(spelt), ", ")),
        Type::Map(item) => format!("dict[str, {}]", spelt(item)),
        Type::Nullable(type_) => format!("{} | None", spelt(type_)),
        Type::Named(name) => name.clone(),
    }
}

fn documented(out: &mut String, indent: &str, text: &str) {
    let lines: Vec<_> = doc(text).collect();
    let _ = match lines.as_slice() {
        [] => Ok(()),
        [only] if only.is_empty() => Ok(()),
        [only] => writeln!(out, "{indent}\"\"\"{only}\"\"\""),
        lines => {
            let lines = lines.iter().map(|line| format!("{indent}{line}").trim_end().to_owned() + "\n");
            writeln!(out, "{indent}\"\"\"{}{indent}\"\"\"", lines.collect::<String>().trim_start())
        }
    };
}
