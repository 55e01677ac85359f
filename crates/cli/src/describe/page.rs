//! A page for a terminal.

use std::collections::BTreeSet;

use sabir::RawJson;
use sabir::openrpc::{Document, Method};
use serde_json::Value;

use crate::discovery::words::{
    example, example_object, fields, one_line, reference_name, signature, structure, type_words,
};
use crate::discovery::{Discovered, DiscoverySource, Kind, Offer};
use crate::json::escape_controls;
use crate::layout::{Layout, Table};
use crate::paint::Paint;
use crate::platform::word;
use crate::problem::tool_call;

/// A page that is being written. Control characters in it are escaped.
struct Page {
    text: String,
    layout: Layout,
}

impl Page {
    fn new(layout: Layout) -> Self {
        Page { text: String::new(), layout }
    }

    fn line(&mut self, indent: usize, paint: Option<Paint>, text: &str) {
        let text = text.lines().map(escape_controls).collect::<Vec<_>>().join("\n");
        for line in self.layout.lines(&text, indent) {
            self.text.push_str(&" ".repeat(if line.is_empty() { 0 } else { indent }));
            match paint {
                Some(paint) if !line.is_empty() => self.layout.painter.paint(&mut self.text, paint, &line),
                _ => self.text.push_str(&line),
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
        let mut table = Table::bare().indent(2);
        for (name, what) in rows {
            table.row([(Some(Paint::Key), name.clone()), (None, what.clone())]);
        }
        self.text.push_str(&table.text(self.layout));
    }
}

/// All methods, one or two lines for each.
pub(super) fn all(found: &Discovered, layout: Layout) -> String {
    let mut page = Page::new(layout);
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
    for kind in Kind::ALL {
        let offers = found.offers.iter().filter(|offer| offer.kind == kind);
        let rows: Vec<_> =
            offers.map(|offer| (offer.key().to_owned(), offer.summary.clone().unwrap_or_default())).collect();
        if !rows.is_empty() {
            page.heading(kind.title());
            page.table(&rows);
        }
    }
    page.text
}

/// A resource, a template or a prompt, in full.
pub(super) fn offer(offer: &Offer, found: &Discovered, layout: Layout) -> String {
    let mut page = Page::new(layout);
    page.line(0, Some(Paint::Key), &one_line(offer.key()));
    let mut what = format!("A {}", offer.kind.name());
    if offer.uri.is_some() && !offer.name.is_empty() {
        what.push_str(&format!(" named {}", offer.name));
    }
    if let Some(kind) = &offer.mime_type {
        what.push_str(&format!(", {kind}"));
    }
    if let Some(size) = offer.size {
        what.push_str(&format!(", {size} bytes"));
    }
    page.blank();
    page.line(2, None, &one_line(&what));
    if let Some(summary) = &offer.summary {
        page.blank();
        page.line(2, None, summary);
    }
    if !offer.arguments.is_empty() {
        page.heading("Arguments");
        let rows = offer.arguments.iter().map(|argument| {
            let optional = if argument.required { "" } else { ", optional" };
            (argument.name.clone(), with_words(&format!("string{optional}"), argument.description.as_deref()))
        });
        page.table(&rows.collect::<Vec<_>>());
    }
    page.heading("Try");
    let command = match offer.kind {
        Kind::Resource | Kind::Template => {
            format!("resources/read {}", word(&format!("uri={}", offer.key())))
        }
        Kind::Prompt => {
            let required = offer.arguments.iter().filter(|argument| argument.required);
            let arguments: serde_json::Map<String, Value> =
                required.map(|argument| (argument.name.clone(), Value::from("text"))).collect();
            let name = word(&format!("name={}", offer.name));
            match arguments.is_empty() {
                true => format!("prompts/get {name}"),
                false => {
                    let arguments = format!("arguments:={}", Value::Object(arguments));
                    format!("prompts/get {name} {}", word(&arguments))
                }
            }
        }
    };
    page.line(2, None, &one_line(&format!("sabir call {} {command}", word(&found.source))));
    page.text
}

/// One method, in full.
pub(super) fn method(method: &Method, found: &Discovered, layout: Layout) -> String {
    let mut page = Page::new(layout);
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
fn call(page: &mut Page, method: &Method, found: &Discovered) {
    if found.via == DiscoverySource::Mcp {
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
