//! A row as the page gets it.

use sabir_model::calls::{Entry, Names};
use sabir_proto::{Incoming, LENIENT, Limits, Message, RawJson, decode};
use serde::Serialize;

use super::capture::Finding;

/// Characters of a content that the list shows.
const PREVIEW: usize = 160;
/// Bytes of a content that are looked at for the list.
const LOOKED_AT: usize = 64 << 10;

#[derive(Debug, Serialize)]
pub(super) struct Row<'a> {
    row: u32,
    t: u64,
    c: u64,
    d: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<f64>,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<u64>,
    preview: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<&'a Finding>,
}

impl<'a> Row<'a> {
    pub(super) fn new(entry: &Entry, names: &'a Names, content: &[u8], findings: Vec<&'a Finding>) -> Self {
        let (id, text) = shown(content);
        Row {
            row: (entry.number - 1) as u32,
            t: entry.time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
            c: entry.connection,
            d: entry.direction.map_or("", |direction| if direction.sign() == '>' { ">" } else { "<" }),
            kind: entry.kind.name(),
            status: entry.status.map(|status| status.name()),
            id,
            method: names.method(entry.name),
            tool: names.tool(entry.name),
            code: entry.code,
            ms: entry.took.map(|took| took.as_secs_f64() * 1e3),
            bytes: entry.bytes,
            answer: entry.other.map(|other| other - 1),
            preview: text,
            findings,
        }
    }
}

/// The id, and what of the content is worth a look: the params, the result, the error, or the beginning.
fn shown(content: &[u8]) -> (Option<String>, String) {
    let decoded = (content.len() <= LOOKED_AT).then(|| decode(content, &LENIENT, &Limits::default()));
    let Some(Ok(Incoming::One(part))) = decoded else { return (None, cut(&String::from_utf8_lossy(&content[..content.len().min(PREVIEW * 4)]))) };
    let text = |json: Option<&RawJson<'_>>| json.map_or(String::new(), |json| cut(json.as_str()));
    match part {
        Ok(Message::Request(request)) => (Some(request.id.to_string()), text(request.params.as_ref())),
        Ok(Message::Notification(note)) => (None, text(note.params.as_ref())),
        _ => (None, cut(&String::from_utf8_lossy(content))),
    }
}

/// The first characters.
fn cut(text: &str) -> String {
    match text.char_indices().nth(PREVIEW) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
