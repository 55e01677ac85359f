//! Reads the messages of `--batch`: an array, or one message per line.

use std::collections::HashSet;
use std::path::Path;

use sabir::{JsonKind, RawJson};
use sabir_proto::Id;

use crate::exit::Failure;
use crate::json::compact;
use crate::values::text_of;

/// A message of the file.
#[derive(Debug)]
pub(super) struct Entry {
    /// `None` makes it a notification.
    pub(super) id: Option<RawJson<'static>>,
    pub(super) method: String,
    pub(super) params: Option<RawJson<'static>>,
}

impl Entry {
    /// As it is sent.
    pub(super) fn message(&self) -> String {
        let id = self.id.as_ref().map_or_else(String::new, |id| format!(",\"id\":{id}"));
        let method = serde_json::Value::from(self.method.as_str());
        let params = self
            .params
            .as_ref()
            .map_or_else(String::new, |params| format!(",\"params\":{}", compact(params.as_str())));
        format!("{{\"jsonrpc\":\"2.0\"{id},\"method\":{method}{params}}}")
    }
}

pub(super) fn read(path: &Path) -> Result<Vec<Entry>, Failure> {
    entries(&text_of(path)?)
}

fn entries(text: &str) -> Result<Vec<Entry>, Failure> {
    let entries: Vec<Entry> = match RawJson::new(text) {
        Ok(array) if array.kind() == JsonKind::Array => array
            .elements()
            .enumerate()
            .map(|(i, message)| entry(i + 1, &message))
            .collect::<Result<_, _>>()?,
        // One message per line, or a single one over many lines.
        Ok(message) => vec![entry(1, &message)?],
        Err(_) => text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(i, line)| match RawJson::new(line) {
                Ok(message) => entry(i + 1, &message),
                Err(error) => {
                    Err(Failure::usage(format_args!("line {} of the batch is not JSON: {error}", i + 1))
                        .hint("a batch is one JSON array of messages, or one message per line"))
                }
            })
            .collect::<Result<_, _>>()?,
    };
    if entries.is_empty() {
        return Err(
            Failure::usage("the batch is empty").hint("give at least one {\"id\", \"method\", \"params\"}")
        );
    }
    let mut seen = HashSet::new();
    for id in entries.iter().filter_map(|entry| entry.id.as_ref()) {
        if !seen.insert(id.as_str()) {
            return Err(Failure::usage(format_args!("two calls of the batch have the id {id}"))
                .hint("give each its own id: answers name them in any order"));
        }
    }
    Ok(entries)
}

fn entry(number: usize, message: &RawJson<'_>) -> Result<Entry, Failure> {
    let wrong = |what: &str| {
        Failure::usage(format_args!("message {number} of the batch: {what}"))
            .hint("a message is {\"id\": 1, \"method\": \"add\", \"params\": [1, 2]}; without an id it is a notification")
    };
    if message.kind() != JsonKind::Object {
        return Err(wrong(&format!("expected an object, found {}", message.kind())));
    }
    let method = message.get("method").ok_or_else(|| wrong("`method` is missing"))?;
    let method = method.parse().map_err(|_| wrong("`method` must be a string"))?;
    let params = match message.get("params") {
        None => None,
        Some(params) => match params.kind() {
            JsonKind::Array | JsonKind::Object => Some(params.into_owned()),
            other => return Err(wrong(&format!("`params` must be an array or an object, found {other}"))),
        },
    };
    if let Some(id) = message.get("id")
        && Id::from_json(id.clone()).is_none()
    {
        return Err(wrong(&format!("`id` must be a string, a number or null, found {}", id.kind())));
    }
    Ok(Entry { id: message.get("id").map(RawJson::into_owned), method, params })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: Result<&str, &str>) {
        let got = entries(text).map(|entries| {
            let shown = |part: Option<RawJson<'_>>| part.map_or_else(|| "-".to_owned(), |p| p.to_string());
            let shown =
                entries.into_iter().map(|e| format!("{} {} {}", shown(e.id), e.method, shown(e.params)));
            shown.collect::<Vec<_>>().join("; ")
        });
        assert_eq!(
            got.map_err(|failure| failure.what),
            want.map(str::to_owned).map_err(str::to_owned),
            "{text}"
        );
    }

    #[test]
    fn a_batch_is_an_array_or_lines() {
        let (a, b) = (r#"{"id":"x","method":"add","params":[1, 2]}"#, r#"{"method":"log"}"#);
        for text in [format!("[{a},{b}]"), format!("{a}\n\n{b}\n")] {
            check(&text, Ok(r#""x" add [1, 2]; - log -"#));
        }
        check(b, Ok("- log -"));
        check(
            r#"[{"id":1,"method":"a"},{"id":1,"method":"b"}]"#,
            Err("two calls of the batch have the id 1"),
        );
        check(
            r#"{"id":[],"method":"a"}"#,
            Err("message 1 of the batch: `id` must be a string, a number or null, found array"),
        );
        check("[]", Err("the batch is empty"));
        check("", Err("the batch is empty"));
        check("[1]", Err("message 1 of the batch: expected an object, found number"));
        check("{}", Err("message 1 of the batch: `method` is missing"));
        check(r#"{"method":1}"#, Err("message 1 of the batch: `method` must be a string"));
        check(
            r#"{"method":"a","params":1}"#,
            Err("message 1 of the batch: `params` must be an array or an object, found number"),
        );
    }
}
