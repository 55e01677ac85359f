//! A client in TypeScript, without dependencies.

use std::fmt::Write;

use super::escape::typescript::{comment, doc, key, string};
use super::format::{TYPESCRIPT, listed, stacked, width};
use super::model::{Api, Body, Call, Field, Flavour, Params, Type, TypeDef};
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
    let runtime = match api.flavour {
        Flavour::JsonRpc => include_str!("runtime.ts"),
        Flavour::Mcp => include_str!("mcp_runtime.ts"),
    };
    let runtime = filled(runtime, &values);
    let (head, tail) = runtime.split_once("  // __METHODS__\n").unwrap_or((&runtime, ""));
    let mut out = head.to_owned();
    let mut taken = Taken::with(MEMBERS);
    for call in &api.methods {
        method(&mut out, call, &taken.free(&names::camel(&call.method)), api.flavour);
    }
    out.push_str(tail);
    for type_ in &api.types {
        definition(&mut out, type_);
    }
    out
}

fn method(out: &mut String, call: &Call, name: &str, flavour: Flavour) {
    documented(out, "  ", &call.doc, call.deprecated);
    let (arguments, params) = arguments(&call.params);
    let wire = string(&call.method);
    let (result, function) = match (&call.result, flavour) {
        (Some(Type::Any), Flavour::Mcp) => ("ToolResult".to_owned(), "#call".to_owned()),
        (Some(result), Flavour::Mcp) => (spelt(result), format!("#structured<{}>", spelt(result))),
        (Some(Type::Any), _) => ("unknown".to_owned(), "#call".to_owned()),
        (Some(result), _) => (spelt(result), format!("#call<{}>", spelt(result))),
        (None, _) => ("void".to_owned(), "#notify".to_owned()),
    };
    out.push_str(&listed(
        2,
        &format!("{name}("),
        &arguments,
        &format!("): Promise<{result}> {{"),
        2,
        TYPESCRIPT,
    ));
    out.push_str(&returned(&format!("return this.{function}("), &wire, &params));
    out.push_str("  }\n\n");
}

/// The call: on one line, with the last argument opened, or with each argument on a line of its own.
fn returned(head: &str, wire: &str, params: &Arguments) -> String {
    let indent = "    ";
    let flat = format!("{indent}{head}{wire}, {});", params.flat());
    let opened = format!("{indent}{head}{wire}, {}", params.open);
    let (open, close) = (params.open, params.close);
    match &params.items {
        _ if width(&flat) <= TYPESCRIPT => format!("{flat}\n"),
        Some(items) if width(&opened) <= TYPESCRIPT => {
            stacked(4, &format!("{head}{wire}, {open}"), items, &format!("{close});"), 2)
        }
        _ => stacked(4, head, &[wire.to_owned(), params.flat()], ");", 2),
    }
}

/// The params of a call.
struct Arguments {
    open: &'static str,
    /// `None` if they are one word, which stands in `open`.
    items: Option<Vec<String>>,
    close: &'static str,
}

impl Arguments {
    fn word(word: &'static str) -> Self {
        Arguments { open: word, items: None, close: "" }
    }

    fn flat(&self) -> String {
        let space = if self.open == "{" { " " } else { "" };
        match &self.items {
            None => self.open.to_owned(),
            Some(items) => format!("{}{space}{}{space}{}", self.open, items.join(", "), self.close),
        }
    }
}

/// The arguments of a method, and its params.
fn arguments(params: &Params) -> (Vec<String>, Arguments) {
    let fields = match params {
        Params::Named(fields) | Params::Positions(fields) => fields,
        Params::Whole(type_) => {
            return (vec![format!("params?: {}", spelt(type_))], Arguments::word("params"));
        }
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
    let list = named.iter().map(|(name, field)| match params {
        Params::Positions(_) => name.clone(),
        _ if *name == field.name => name.clone(),
        _ => format!("{}: {name}", key(&field.name)),
    });
    let list = Some(list.collect());
    let params = match params {
        _ if fields.is_empty() => Arguments::word("undefined"),
        Params::Positions(_) => Arguments { open: "[", items: list, close: "]" },
        _ => Arguments { open: "{", items: list, close: "}" },
    };
    (arguments.collect(), params)
}

fn definition(out: &mut String, type_: &TypeDef) {
    out.push('\n');
    documented(out, "", &type_.doc, false);
    let name = &type_.name;
    match &type_.body {
        Body::Record(fields) if fields.is_empty() => {
            let _ = writeln!(out, "export interface {name} {{}}");
        }
        Body::Record(fields) => {
            let _ = writeln!(out, "export interface {name} {{");
            for field in fields {
                member(out, field);
            }
            out.push_str("}\n");
        }
        Body::Alias(Type::Named(other)) if other == name => {
            let _ = writeln!(out, "export type {name} = unknown;");
        }
        Body::Alias(Type::Nullable(inner)) => union(out, name, &[spelt(inner), "null".to_owned()]),
        Body::Alias(other) => union(out, name, &[spelt(other)]),
        Body::Union(types) => {
            // A type may be a union by itself.
            let words: Vec<String> = types
                .iter()
                .flat_map(|type_| match type_ {
                    Type::Nullable(inner) => vec![spelt(inner), "null".to_owned()],
                    other => vec![spelt(other)],
                })
                .collect();
            union(out, name, &words);
        }
        Body::Literals(values) => {
            union(out, name, &values.iter().map(|value| string(value)).collect::<Vec<_>>())
        }
    }
}

fn union(out: &mut String, name: &str, types: &[String]) {
    let flat = format!("export type {name} = {};", types.join(" | "));
    let line = format!("  {};", types.join(" | "));
    let _ = match types {
        _ if width(&flat) <= TYPESCRIPT => writeln!(out, "{flat}"),
        [only] => writeln!(out, "export type {name} = {only};"),
        _ if width(&line) <= TYPESCRIPT => writeln!(out, "export type {name} =\n{line}"),
        types => writeln!(
            out,
            "export type {name} =\n{};",
            joined(types.iter().map(|type_| format!("  | {type_}")), "\n")
        ),
    };
}

fn member(out: &mut String, field: &Field) {
    documented(out, "  ", &field.doc, false);
    let mark = if field.required { "" } else { "?" };
    let name = if field.name == "__proto__" { field.name.clone() } else { key(&field.name) };
    let flat = format!("  {name}{mark}: {};", spelt(&field.type_));
    let _ = match &field.type_ {
        Type::Nullable(inner) if width(&flat) > TYPESCRIPT => {
            writeln!(out, "  {name}{mark}:\n    | {}\n    | null;", spelt(inner))
        }
        _ => writeln!(out, "{flat}"),
    };
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
