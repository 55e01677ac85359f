//! A configuration file as a tree of places: where in the text each value stands.

use std::ops::Range;

use sabir_proto::{Cursor, error_reason};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::targets::plain_json;

/// A value, and where it is written.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Table(Vec<Member>),
    List(Vec<Node>),
    Text(String),
    Other,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// Where its name is written.
    pub(super) key: Range<usize>,
    pub(super) node: Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// With comments, and commas before a bracket.
    Json,
    Toml,
}

impl Syntax {
    pub(super) fn of(path: &std::path::Path) -> Self {
        match path.extension().is_some_and(|extension| extension == "toml") {
            true => Syntax::Toml,
            false => Syntax::Json,
        }
    }

    /// The tree of a text. The error has its line.
    pub(super) fn parse(self, text: &str) -> Result<Node, (usize, String)> {
        match self {
            Syntax::Json => json(text),
            Syntax::Toml => toml(text),
        }
    }

    /// A string as it is written in the file. What JSON escapes is escaped in the same way in TOML, which knows one
    /// character more.
    pub(super) fn quoted(self, text: &str) -> String {
        let json = serde_json::Value::from(text).to_string();
        match self {
            Syntax::Json => json,
            Syntax::Toml => json.replace('\u{7f}', "\\u007f"),
        }
    }
}

impl Node {
    /// The member of a table. Of two with the same name, programs take the last.
    pub(super) fn member(&self, name: &str) -> Option<&Member> {
        self.members().iter().rev().find(|member| member.name == name)
    }

    pub(super) fn members(&self) -> &[Member] {
        match &self.value {
            Value::Table(members) => members,
            _ => &[],
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

fn json(text: &str) -> Result<Node, (usize, String)> {
    // Places stay the same in it.
    let mut plain = plain_json(text);
    if plain.starts_with('\u{feff}') {
        plain.replace_range(..'\u{feff}'.len_utf8(), "   ");
    }
    // This also bounds the depth.
    serde_json::from_str::<serde_json::Value>(&plain)
        .map_err(|error| (error.line(), format!("this is not JSON: {}", error_reason(&error))))?;
    let start = plain.as_ptr() as usize;
    Ok(json_node(Cursor::trusted(&plain).value(), start))
}

/// `text` is a value within the whole, which starts at the address `start`.
fn json_node(text: &str, start: usize) -> Node {
    let place = |part: &str| {
        let at = part.as_ptr() as usize - start;
        at..at + part.len()
    };
    let cursor = Cursor::trusted(text);
    let value = match text.as_bytes().first() {
        Some(b'{') => Value::Table(
            cursor
                .members()
                .map(|(name, value)| Member {
                    name: name.value().unwrap_or_default().into_owned(),
                    key: place(name.text()),
                    node: json_node(value, start),
                })
                .collect(),
        ),
        Some(b'[') => Value::List(cursor.elements().map(|element| json_node(element, start)).collect()),
        Some(b'"') => serde_json::from_str(text).map_or(Value::Other, Value::Text),
        _ => Value::Other,
    };
    Node { span: place(text), value }
}

fn toml(text: &str) -> Result<Node, (usize, String)> {
    let whole = DeTable::parse(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        (before.matches('\n').count() + 1, error.message().to_owned())
    })?;
    Ok(Node { span: whole.span(), value: toml_table(whole.get_ref()) })
}

fn toml_table(table: &DeTable<'_>) -> Value {
    let member = |(name, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| Member {
        name: name.get_ref().to_string(),
        key: name.span(),
        node: toml_node(value),
    };
    Value::Table(table.iter().map(member).collect())
}

fn toml_node(node: &Spanned<DeValue<'_>>) -> Node {
    let value = match node.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Array(items) => Value::List(items.iter().map(toml_node).collect()),
        DeValue::Table(table) => toml_table(table),
        _ => Value::Other,
    };
    Node { span: node.span(), value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_places() {
        for (syntax, text) in [
            (Syntax::Json, "\u{feff}{ // é\n \"a\": {\"b\" : \"x\\ty\",}, }"),
            (Syntax::Toml, "# é\n[a]\nb = \"x\\ty\" # c\n"),
            (Syntax::Toml, "a = { b = 'x\ty' }"),
            (Syntax::Toml, "a.b = 'x\ty'"),
        ] {
            let whole = syntax.parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
            let found = whole.member("a").and_then(|a| a.node.member("b")).map(|member| {
                (&text[member.key.clone()], &text[member.node.span.clone()], member.node.text())
            });
            let written = if syntax == Syntax::Json { "\"b\"" } else { "b" };
            let (key, value, meaning) = found.unwrap_or_else(|| panic!("{text}: {whole:?}"));
            assert_eq!((key, meaning), (written, Some("x\ty")), "{text}");
            assert!(value.starts_with(['"', '\'']) && value.ends_with(['"', '\'']), "{value}");
        }
        assert_eq!(Syntax::Json.parse("{\n\n]").err().map(|(line, _)| line), Some(3));
        assert_eq!(Syntax::Toml.parse("a = 1\nb = ").err().map(|(line, _)| line), Some(2));
    }
}
