//! JSON as the files of a building block have it: members in a fixed order, whatever map they came in, and small
//! values on one line.

use serde_json::{Map, Value};

/// Members that come first, in this order. All others follow by name.
const FIRST: [&str; 20] = [
    "$schema",
    "$id",
    "$anchor",
    "@context",
    "@id",
    "@type",
    "id",
    "identifier",
    "name",
    "title",
    "description",
    "x-jsonld-id",
    "x-jsonld-type",
    "jsonrpc",
    "code",
    "method",
    "message",
    "type",
    "$ref",
    "allOf",
];
/// Characters of a line that a whole value may take.
const WIDTH: usize = 110;

/// The text of a file, with a newline at its end.
pub(crate) fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, 0, 0);
    out.push('\n');
    out
}

/// On one line.
pub(crate) fn compact(value: &Value) -> String {
    let mut out = String::new();
    one_line(&mut out, value);
    out
}

fn write(out: &mut String, value: &Value, indent: usize, before: usize) {
    let line = compact(value);
    let members = match value {
        Value::Object(members) => {
            sorted(members).map(|(name, value)| (Some(name), value)).collect::<Vec<_>>()
        }
        Value::Array(items) => items.iter().map(|item| (None, item)).collect(),
        _ => Vec::new(),
    };
    if members.is_empty() || (indent > 0 && indent + before + line.chars().count() <= WIDTH) {
        out.push_str(&line);
        return;
    }
    out.push(if value.is_object() { '{' } else { '[' });
    let inner = indent + 2;
    for (i, (name, member)) in members.into_iter().enumerate() {
        out.push_str(if i == 0 { "\n" } else { ",\n" });
        out.push_str(&" ".repeat(inner));
        let mut before = 1;
        if let Some(name) = name {
            let name = Value::from(name.as_str()).to_string();
            before += name.chars().count() + 2;
            out.push_str(&name);
            out.push_str(": ");
        }
        write(out, member, inner, before);
    }
    out.push('\n');
    out.push_str(&" ".repeat(indent));
    out.push(if value.is_object() { '}' } else { ']' });
}

fn one_line(out: &mut String, value: &Value) {
    match value {
        Value::Object(members) => {
            out.push('{');
            for (i, (name, member)) in sorted(members).enumerate() {
                out.push_str(if i == 0 { " " } else { ", " });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push_str(": ");
                one_line(out, member);
            }
            out.push_str(if members.is_empty() { "}" } else { " }" });
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { ", " });
                one_line(out, item);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// The members of an object in their order.
pub(crate) fn sorted(members: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by_key(|(name, _)| {
        (FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()), name.as_str())
    });
    sorted.into_iter()
}
