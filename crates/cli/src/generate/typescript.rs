//! A client in TypeScript, without dependencies.

use std::fmt::Write;

use super::escape::typescript::{comment, doc, key, string};
use super::model::{Api, Body, Call, Field, Params, Type, TypeDef};
use super::names::{self, Taken};
use super::{filled, joined};

const KEYWORDS: &[&str] = &[
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "constructor",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Members that objects have already, or that are called implicitly.
const MEMBERS: &[&str] = &["constructor", "then", "toString", "valueOf"];

pub(super) fn client(api: &Api) -> String {
    let documented = doc(&api.title).collect::<Vec<_>>().join(" ");
    let values =
        [("__TITLE__", &*comment(&api.title)), ("__DOCUMENTED__", &*documented), ("__NAME__", &*api.name)];
    let runtime = filled(include_str!("runtime.ts"), &values);
    let (head, tail) = runtime.split_once("  __METHODS__\n").unwrap_or((&runtime, ""));
    let mut out = head.to_owned();
    let mut taken = Taken::with(MEMBERS);
    for call in &api.methods {
        method(&mut out, call, &taken.free(&names::camel(&call.method)));
    }
    out.push_str(tail);
    for type_ in &api.types {
        definition(&mut out, type_);
    }
    out
}

fn method(out: &mut String, call: &Call, name: &str) {
    documented(out, "  ", &call.doc, call.deprecated);
    let (arguments, params) = arguments(&call.params);
    let wire = string(&call.method);
    let _ = match &call.result {
        Some(result) => write!(
            out,
            "  {name}({arguments}): Promise<{result}> {{\n    return this.#call({wire}, {params}) as Promise<{result}>\n  }}\n\n",
            result = spelt(result)
        ),
        None => write!(
            out,
            "  {name}({arguments}): Promise<void> {{\n    return this.#notify({wire}, {params})\n  }}\n\n"
        ),
    };
}

/// The arguments of a method, and its params.
fn arguments(params: &Params) -> (String, String) {
    let fields = match params {
        Params::Named(fields) | Params::Positions(fields) => fields,
        Params::Whole(type_) => return (format!("params?: {}", spelt(type_)), "params".to_owned()),
    };
    let mut taken = Taken::with(KEYWORDS);
    let named: Vec<_> = fields.iter().map(|field| (taken.free(&names::camel(&field.name)), field)).collect();
    let last = named.iter().rposition(|(_, field)| field.required);
    let arguments = named.iter().enumerate().map(|(i, (name, field))| {
        let type_ = spelt(&field.type_);
        match field.required {
            true => format!("{name}: {type_}"),
            false if last.is_some_and(|last| i < last) => format!("{name}: {type_} | undefined"),
            false => format!("{name}?: {type_}"),
        }
    });
    let arguments = arguments.collect::<Vec<_>>().join(", ");
    let list = named.iter().map(|(name, field)| match params {
        Params::Positions(_) => name.clone(),
        _ if *name == field.name => name.clone(),
        _ => format!("{}: {name}", key(&field.name)),
    });
    let list = list.collect::<Vec<_>>().join(", ");
    let params = match params {
        _ if fields.is_empty() => "undefined".to_owned(),
        Params::Positions(_) => format!("[{list}]"),
        _ => format!("{{ {list} }}"),
    };
    (arguments, params)
}

fn definition(out: &mut String, type_: &TypeDef) {
    out.push('\n');
    documented(out, "", &type_.doc, false);
    let name = &type_.name;
    let _ = match &type_.body {
        Body::Record(fields) => {
            let _ = writeln!(out, "export interface {name} {{");
            for field in fields {
                member(out, field);
            }
            writeln!(out, "}}")
        }
        Body::Alias(Type::Named(other)) if other == name => writeln!(out, "export type {name} = unknown"),
        Body::Alias(other) => writeln!(out, "export type {name} = {}", spelt(other)),
        Body::Union(types) => {
            writeln!(out, "export type {name} = {}", joined(types.iter().map(spelt), " | "))
        }
        Body::Literals(values) => {
            writeln!(out, "export type {name} = {}", joined(values.iter().map(|value| string(value)), " | "))
        }
    };
}

fn member(out: &mut String, field: &Field) {
    documented(out, "  ", &field.doc, false);
    let mark = if field.required { "" } else { "?" };
    let _ = writeln!(out, "  {}{mark}: {}", string(&field.name), spelt(&field.type_));
}

fn spelt(type_: &Type) -> String {
    match type_ {
        Type::Any => "unknown".to_owned(),
        Type::Null => "null".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer | Type::Unsigned | Type::Number => "number".to_owned(),
        Type::String => "string".to_owned(),
        Type::List(item) => format!("Array<{}>", spelt(item)),
        Type::Tuple(items) => format!("[{}]", joined(items.iter().map(spelt), ", ")),
        Type::Map(item) => format!("{{ [key: string]: {} }}", spelt(item)),
        Type::Nullable(type_) => format!("{} | null", spelt(type_)),
        Type::Named(name) => name.clone(),
    }
}

fn documented(out: &mut String, indent: &str, text: &str, deprecated: bool) {
    let mut lines: Vec<_> = doc(text).collect();
    if deprecated {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push("@deprecated".to_owned());
    }
    let _ = match lines.as_slice() {
        [] => Ok(()),
        [only] => writeln!(out, "{indent}/** {only} */"),
        lines => {
            let lines = lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n");
            writeln!(out, "{indent}/**\n{}{indent} */", lines.collect::<String>())
        }
    };
}
