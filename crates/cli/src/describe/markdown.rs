//! The same in Markdown.

use std::fmt::Write;

use sabir::openrpc::{Document, Method};
use serde_json::Value;

use super::page::used_types;
use crate::discovery::words::{fields, signature, structure, type_words};
use crate::discovery::{Discovered, Offer};
use crate::json::escape_controls;

/// The whole service.
pub(super) fn all(found: &Discovered) -> String {
    let document = &found.document;
    let info = &document.info;
    let mut out = format!("# {}\n", inline(format!("{} {}", info.title, info.version).trim()));
    if let Some(description) = &info.description {
        let _ = write!(out, "\n{}\n", block(description));
    }
    for method in &document.methods {
        out.push('\n');
        describe(&mut out, method);
    }
    types(&mut out, &document.components.schemas.keys().cloned().collect::<Vec<_>>(), document);
    for one in &found.offers {
        out.push('\n');
        out.push_str(&offer(one));
    }
    out
}

/// A resource, a template or a prompt.
pub(super) fn offer(offer: &Offer) -> String {
    let mut out = format!("## {}\n\nA {}", inline(offer.key()), offer.kind.name());
    if let Some(kind) = &offer.mime_type {
        let _ = write!(out, " of the type {}", code(kind));
    }
    out.push_str(".\n");
    if let Some(summary) = &offer.summary {
        let _ = write!(out, "\n{}\n", block(summary));
    }
    if !offer.arguments.is_empty() {
        out.push_str("\n| argument | type | | |\n|---|---|---|---|\n");
        for argument in &offer.arguments {
            let needed = if argument.required { "required" } else { "optional" };
            row(&mut out, &argument.name, &argument.schema, needed, argument.description.as_deref());
        }
    }
    out
}

/// One method, with the types that it needs.
pub(super) fn method(method: &Method, document: &Document) -> String {
    let mut out = String::new();
    describe(&mut out, method);
    types(&mut out, &used_types(method, document), document);
    out
}

fn describe(out: &mut String, method: &Method) {
    let _ =
        write!(out, "## {}\n\n```text\n{}\n```\n", inline(&method.name), escape_controls(&signature(method)));
    if method.deprecated {
        out.push_str("\n**Deprecated.**\n");
    }
    if method.result.is_none() {
        out.push_str("\nA notification: it has no result.\n");
    }
    for text in method.summary.iter().chain(&method.description) {
        let _ = write!(out, "\n{}\n", block(text));
    }
    if !method.params.is_empty() {
        let _ = write!(out, "\nParams, {}:\n\n| name | type | | |\n|---|---|---|---|\n", structure(method));
        for param in &method.params {
            let needed = if param.required { "required" } else { "optional" };
            row(out, &param.name, &param.schema, needed, param.description.as_deref());
        }
    }
    if let Some(progress) = &method.progress {
        let _ = write!(out, "\nProgress: {}\n", code(&type_words(progress)));
    }
    if !method.errors.is_empty() {
        out.push_str("\n| error | message | data |\n|---|---|---|\n");
        for error in &method.errors {
            let data = method.error_data.get(&error.code.to_string());
            let data = data.map(|schema| code(&type_words(schema))).unwrap_or_default();
            let _ = writeln!(out, "| {} | {} | {data} |", error.code, cell(&error.message));
        }
    }
}

fn types(out: &mut String, names: &[String], document: &Document) {
    for name in names {
        let Some(schema) = document.components.schemas.get(name) else { continue };
        let _ = write!(out, "\n## {}\n", inline(name));
        if let Some(description) = schema.get("description").and_then(Value::as_str) {
            let _ = write!(out, "\n{}\n", block(description));
        }
        let members = fields(schema);
        if members.is_empty() {
            let _ = write!(out, "\n{}\n", code(&type_words(schema)));
            continue;
        }
        out.push_str("\n| member | type | | |\n|---|---|---|---|\n");
        for field in members {
            let needed = if field.required { "always" } else { "optional" };
            row(
                out,
                field.name,
                field.schema,
                needed,
                field.schema.get("description").and_then(Value::as_str),
            );
        }
    }
}

fn row(out: &mut String, name: &str, schema: &Value, needed: &str, description: Option<&str>) {
    let description = description.map(cell).unwrap_or_default();
    let _ = writeln!(out, "| {} | {} | {needed} | {description} |", code(name), code(&type_words(schema)));
}

/// Text in backticks that stays inside them, and inside a cell.
fn code(text: &str) -> String {
    format!("`{}`", cell(text).replace('`', "'"))
}

/// Text that stays inside the cell of a table.
fn cell(text: &str) -> String {
    inline(text).replace('|', "\\|")
}

/// Text on one line, with markup escaped that could start a block.
fn inline(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    escape_controls(&line).replace('<', "&lt;")
}

/// Text over many lines. Its Markdown is kept, HTML is escaped.
fn block(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| escape_controls(line).replace('<', "&lt;")).collect();
    lines.join("\n")
}
