//! A page for a terminal.

use std::collections::BTreeSet;

use sabir::RawJson;
use sabir::openrpc::{Document, Method};
use serde_json::Value;

use crate::discovery::words::{
    example, example_object, fields, one_line, reference_name, signature, structure, type_words,
};
use crate::discovery::{DiscoverySource, Found};
use crate::json::escape_controls;
use crate::paint::{Paint, Painter};
use crate::platform::word;
use crate::problem::tool_call;

/// A page that is being written. Control characters in it are escaped.
struct Page {
    text: String,
    painter: Painter,
}

impl Page {
    fn new(painter: Painter) -> Self {
        Page { text: String::new(), painter }
    }

    fn line(&mut self, indent: usize, paint: Option<Paint>, text: &str) {
        for line in text.lines() {
            self.text.push_str(&" ".repeat(if line.is_empty() { 0 } else { indent }));
            match paint {
                Some(paint) if !line.is_empty() => {
                    self.painter.paint(&mut self.text, paint, &escape_controls(line))
                }
                _ => self.text.push_str(&escape_controls(line)),
            }
            self.text.push('\n');
        }
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn heading(&mut self, text: &str) {
        self.blank();
        self.line(0, Some(Paint::Hint), text);
    }

    /// Names and descriptions, in two columns.
    fn table(&mut self, rows: &[(String, String)]) {
        let widest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
        for (name, what) in rows {
            self.text.push_str("  ");
            self.painter.paint(&mut self.text, Paint::Key, &escape_controls(name));
            self.text.push_str(&" ".repeat(widest - name.chars().count() + 2));
            self.text.push_str(&escape_controls(what));
            self.text.push('\n');
        }
    }
}

/// All methods, one or two lines for each.
pub(super) fn all(found: &Found, painter: Painter) -> String {
    let mut page = Page::new(painter);
    let info = &found.document.info;
    page.line(0, Some(Paint::Hint), &one_line(format!("{} {}", info.title, info.version).trim()));
    if let Some(description) = &info.description {
        page.line(2, None, description);
    }
    for method in &found.document.methods {
        page.blank();
        page.line(0, Some(Paint::Key), &signature(method));
        if let Some(summary) = headline(method) {
            page.line(2, None, &summary);
        }
    }
    let types: Vec<_> = found.document.components.schemas.keys().cloned().collect();
    describe_types(&mut page, &types, &found.document);
    page.text
}

/// One method, in full.
pub(super) fn method(method: &Method, found: &Found, painter: Painter) -> String {
    let mut page = Page::new(painter);
    page.line(0, Some(Paint::Key), &signature(method));
    if let Some(summary) = headline(method) {
        page.blank();
        page.line(2, None, &summary);
    }
    if let Some(description) = &method.description {
        page.blank();
        page.line(2, None, description);
    }
    params(&mut page, method);
    if let Some(result) = &method.result {
        page.heading("Result");
        page.line(2, None, &with_words(&type_words(&result.schema), result.description.as_deref()));
    }
    if let Some(progress) = &method.progress {
        page.heading("Progress");
        page.line(2, None, &type_words(progress));
    }
    if !method.errors.is_empty() {
        page.heading("Errors");
        let rows = method.errors.iter().map(|error| {
            let data = method.error_data.get(&error.code.to_string());
            let data = data.map(|schema| format!(", with {}", type_words(schema)));
            (error.code.to_string(), format!("{}{}", error.message, data.unwrap_or_default()))
        });
        page.table(&rows.collect::<Vec<_>>());
    }
    describe_types(&mut page, &used_types(method, &found.document), &found.document);
    call(&mut page, method, found);
    page.text
}

fn headline(method: &Method) -> Option<String> {
    let notes = match (method.deprecated, method.result.is_none()) {
        (true, _) => "Deprecated. ",
        (false, true) => "Notification. ",
        (false, false) => "",
    };
    let text = format!("{notes}{}", method.summary.as_deref().unwrap_or_default());
    Some(text).filter(|text| !text.is_empty())
}

fn params(page: &mut Page, method: &Method) {
    if method.params.is_empty() {
        return;
    }
    page.heading(&format!("Params, {}", structure(method)));
    let rows = method.params.iter().map(|param| {
        let mut what = type_words(&param.schema);
        if !param.required && !param.whole {
            what.push_str(", optional");
        }
        if let Some(default) = param.schema.get("default") {
            what.push_str(&format!(", otherwise {default}"));
        }
        if param.whole {
            what.push_str(", all of them together");
        }
        (param.name.clone(), with_words(&what, param.description.as_deref().or(param.summary.as_deref())))
    });
    page.table(&rows.collect::<Vec<_>>());
}

fn with_words(type_: &str, description: Option<&str>) -> String {
    match description {
        Some(text) => format!("{type_}: {}", text.split_whitespace().collect::<Vec<_>>().join(" ")),
        None => type_.to_owned(),
    }
}

/// A command that calls it.
fn call(page: &mut Page, method: &Method, found: &Found) {
    if found.via == DiscoverySource::McpTools {
        let arguments = RawJson::from_value(&example_object(method)).ok();
        page.heading("Try");
        page.line(2, None, &one_line(&tool_call(&found.source, &method.name, arguments.as_ref())));
    } else if found.via != DiscoverySource::File {
        page.heading("Try");
        let notify = if method.result.is_none() { " --notify" } else { "" };
        let line = format!("sabir call {} {} {}", word(&found.source), word(&method.name), example(method));
        page.line(2, None, &one_line(&format!("{}{notify}", line.trim_end())));
    }
}

fn describe_types(page: &mut Page, names: &[String], document: &Document) {
    for name in names {
        let Some(schema) = document.components.schemas.get(name) else { continue };
        page.heading(&one_line(name));
        if let Some(description) = schema.get("description").and_then(Value::as_str) {
            page.line(2, None, description);
        }
        let rows: Vec<_> = fields(schema)
            .iter()
            .map(|field| {
                let optional = if field.required { "" } else { ", optional" };
                let what = format!("{}{optional}", type_words(field.schema));
                let description = field.schema.get("description").and_then(Value::as_str);
                (field.name.to_owned(), with_words(&what, description))
            })
            .collect();
        match rows.is_empty() {
            true => page.line(2, None, &type_words(schema)),
            false => page.table(&rows),
        }
    }
}

/// The types that a method uses, directly or through others.
pub(super) fn used_types(method: &Method, document: &Document) -> Vec<String> {
    let mut used = BTreeSet::new();
    let params = method.params.iter().map(|param| &param.schema);
    let result = method.result.iter().map(|result| &result.schema);
    let others = method.progress.iter().chain(method.error_data.values());
    let mut open: Vec<_> = params.chain(result).chain(others).collect();
    while let Some(schema) = open.pop() {
        match schema {
            Value::Object(members) => {
                if let Some(name) = members.get("$ref").and_then(Value::as_str).map(reference_name)
                    && let Some(schema) = document.components.schemas.get(name)
                    && used.insert(name.to_owned())
                {
                    open.push(schema);
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    used.into_iter().collect()
}
