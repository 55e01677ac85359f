//! A client in Python, without dependencies.

use std::fmt::Write;

use super::escape::python::{doc, string};
use super::model::{Api, Body, Call, Field, Params, Type, TypeDef};
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
    let runtime = filled(include_str!("runtime.py"), &[("__TITLE__", &*title), ("__NAME__", &*api.name)]);
    let (head, tail) = runtime.split_once("# __TYPES__\n").unwrap_or((&runtime, ""));
    let mut out = head.to_owned();
    for type_ in &api.types {
        definition(&mut out, type_);
    }
    out.push_str(tail);
    let mut taken = Taken::with(KEYWORDS).and(TYPES);
    for call in &api.methods {
        method(&mut out, call, &taken.free(&names::snake(&call.method)));
    }
    out
}

fn method(out: &mut String, call: &Call, name: &str) {
    let (arguments, params) = arguments(&call.params);
    let result = call.result.as_ref().map_or("None".to_owned(), spelt);
    let _ = writeln!(out, "\n    def {name}(self{arguments}) -> {result}:");
    let deprecated = if call.deprecated { "\n\nDeprecated." } else { "" };
    documented(out, "        ", &format!("{}{deprecated}", call.doc));
    let wire = string(&call.method);
    let _ = match call.result {
        Some(Type::Null) => writeln!(out, "        self._call({wire}, {params})"),
        Some(_) => writeln!(out, "        return cast({}, self._call({wire}, {params}))", string(&result)),
        None => writeln!(out, "        self._notify({wire}, {params})"),
    };
}

/// The arguments of a method, and its params.
fn arguments(params: &Params) -> (String, String) {
    let fields = match params {
        Params::Named(fields) | Params::Positions(fields) => fields,
        Params::Whole(type_) => {
            return (format!(", params: {} = None", optional(type_)), "params".to_owned());
        }
    };
    let mut taken = Taken::with(KEYWORDS).and(&["cast"]);
    let named: Vec<_> = fields.iter().map(|field| (taken.free(&names::snake(&field.name)), field)).collect();
    let mut arguments = String::new();
    for (name, field) in named.iter().filter(|(_, field)| field.required) {
        let _ = write!(arguments, ", {name}: {}", spelt(&field.type_));
    }
    if named.iter().any(|(_, field)| !field.required) {
        arguments.push_str(", *");
    }
    for (name, field) in named.iter().filter(|(_, field)| !field.required) {
        let _ = write!(arguments, ", {name}: {} = None", optional(&field.type_));
    }
    let by_position = named.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(", ");
    let by_name = named.iter().map(|(name, field)| format!("{}: {name}", string(&field.name)));
    let (needed, may_miss): (Vec<_>, Vec<_>) = by_name.zip(fields).partition(|(_, field)| field.required);
    let members =
        |of: Vec<(String, &Field)>| of.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join(", ");
    let params = match params {
        _ if fields.is_empty() => "None".to_owned(),
        Params::Positions(_) => format!("_trimmed([{by_position}])"),
        _ if may_miss.is_empty() => format!("{{{}}}", members(needed)),
        _ if needed.is_empty() => format!("_given({{{}}})", members(may_miss)),
        _ => format!("{{{}, **_given({{{}}})}}", members(needed), members(may_miss)),
    };
    (arguments, params)
}

fn definition(out: &mut String, type_: &TypeDef) {
    let name = &type_.name;
    let _ = match &type_.body {
        Body::Record(fields) if fields.iter().all(|field| is_name(&field.name)) => {
            let _ = writeln!(out, "\nclass {name}(TypedDict):");
            documented(out, "    ", if type_.doc.is_empty() { name } else { &type_.doc });
            for field in fields {
                let type_ = spelt(&field.type_);
                let type_ = if field.required { type_ } else { format!("NotRequired[{type_}]") };
                let _ = writeln!(out, "    {}: {type_}", field.name);
            }
            Ok(())
        }
        Body::Record(fields) => {
            let fields = fields.iter().map(|field| {
                let type_ = spelt(&field.type_);
                let type_ = if field.required { type_ } else { format!("NotRequired[{type_}]") };
                format!("{}: {}", string(&field.name), string(&type_))
            });
            writeln!(out, "\n{name} = TypedDict({}, {{{}}})", string(name), joined(fields, ", "))
        }
        Body::Alias(Type::Named(other)) if other == name => writeln!(out, "\n{name}: TypeAlias = Any"),
        Body::Alias(other) => writeln!(out, "\n{name}: TypeAlias = {}", string(&spelt(other))),
        Body::Union(types) => {
            writeln!(out, "\n{name}: TypeAlias = {}", string(&joined(types.iter().map(spelt), " | ")))
        }
        Body::Literals(values) => {
            writeln!(
                out,
                "\n{name}: TypeAlias = Literal[{}]",
                joined(values.iter().map(|value| string(value)), ", ")
            )
        }
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
        [only] => writeln!(out, "{indent}\"\"\"{only}\"\"\""),
        lines => {
            let lines = lines.iter().map(|line| format!("{indent}{line}").trim_end().to_owned() + "\n");
            writeln!(out, "{indent}\"\"\"{}{indent}\"\"\"", lines.collect::<String>().trim_start())
        }
    };
}
