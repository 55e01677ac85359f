//! A row as a command, as a transcript or as it was.

use sabir_model::calls::Kind;
use sabir_proto::{Incoming, LENIENT, Limits, Message, decode};

use super::capture::{Capture, answer_of};
use crate::json::compact;
use crate::platform::{join, word};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `sabir call …`
    Call,
    Curl,
    Transcript,
    Json,
}

impl Form {
    pub(super) fn named(name: &str) -> Option<Form> {
        Some(match name {
            "call" => Form::Call,
            "curl" => Form::Curl,
            "transcript" => Form::Transcript,
            "json" => Form::Json,
            _ => return None,
        })
    }
}

/// `None` if there is no such row.
pub(super) fn of(capture: &Capture, row: u32, form: Form) -> Option<String> {
    let mut contents = capture.contents();
    let state = capture.state();
    let entry = state.index.entry(row)?;
    let text = contents.read(&state.index, row).ok()?.into_owned();
    let text = String::from_utf8_lossy(&text).into_owned();
    Some(match form {
        Form::Json => text,
        Form::Call => call(&state.command, &text).unwrap_or(text),
        Form::Curl => {
            let url = state.command.first().filter(|target| target.starts_with("http")).map_or("http://127.0.0.1:PORT/", |target| target);
            format!("curl {} -H 'Content-Type: application/json' -d {}", word(url), word(&compact(&text)))
        }
        Form::Transcript => {
            let line = |kind: Kind, sign: char, text: &str| match kind.is_message() {
                true => format!("{sign} {}\n", compact(text)),
                false => text.lines().map(|line| format!("# {line}\n")).collect(),
            };
            let sign = entry.direction.map_or('>', |direction| direction.sign());
            let mut lines = line(entry.kind, sign, &text);
            if let Some(answer) = answer_of(&entry)
                && let Some(direction) = entry.direction
                && let Ok(text) = contents.read(&state.index, answer)
            {
                lines += &line(Kind::Result, direction.reversed().sign(), &String::from_utf8_lossy(&text));
            }
            lines
        }
    })
}

/// The command that makes the same call.
fn call(command: &[String], text: &str) -> Option<String> {
    let Ok(Incoming::One(Ok(message))) = decode(text.as_bytes(), &LENIENT, &Limits::default()) else { return None };
    let (method, params, notify) = match message {
        Message::Request(request) => (request.method, request.params, ""),
        Message::Notification(note) => (note.method, note.params, " --notify"),
        Message::Response(_) => return None,
    };
    let params = params.map_or(String::new(), |params| format!(" -d {}", word(&compact(params.as_str()))));
    let method = word(&method);
    Some(match command {
        [] => format!("sabir call TARGET {method}{params}{notify}"),
        [url] if url.contains("://") => format!("sabir call {} {method}{params}{notify}", word(url)),
        words => format!("sabir call {method}{params}{notify} -- {}", join(words)),
    })
}
