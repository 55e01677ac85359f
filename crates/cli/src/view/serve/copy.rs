//! A row as a command, as a transcript, or as it was.

use sabir_model::calls::Kind;
use sabir_model::capture::{Direction, Header};
use sabir_proto::{Incoming, LENIENT, Limits, Message, decode};

use super::export::transcript_line;
use super::row::Known;
use crate::json::compact;
use crate::platform::{join, word};
use crate::view::capture::{Captures, answer_of};

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
pub(super) fn of(captures: &Captures, row: u32, form: Form) -> Option<String> {
    let state = captures.state();
    let call = Known::record(&state, state.rows.shown_as(row))?;
    let answer = answer_of(&call.entry).and_then(|answer| Known::record(&state, answer));
    let header = state.sources.get(usize::from(call.place.0)).map(|source| source.header.clone());
    drop(state);
    let mut contents = captures.contents();
    let mut text = |known: &Known| -> Option<Vec<u8>> {
        Some(contents.at(known.place.0, known.place.1).ok()?.into_owned())
    };
    let content = text(&call)?;
    let shown = String::from_utf8_lossy(&content).into_owned();
    let header = header.unwrap_or_default();
    Some(match form {
        Form::Json => shown,
        Form::Call => command(&header, &shown).unwrap_or(shown),
        Form::Curl => {
            let url = header.target.as_deref().filter(|target| target.starts_with("http"));
            let url = url.unwrap_or("http://HOST:PORT/");
            let body = word(&compact(&shown));
            format!("curl {} -H 'Content-Type: application/json' -d {body}", word(url))
        }
        Form::Transcript => {
            let direction = call.entry.direction.unwrap_or(Direction::ToServer);
            let mut lines = transcript_line(call.entry.kind, Some(direction), &content);
            if let Some(answer) = answer
                && let Some(content) = text(&answer)
            {
                lines += &transcript_line(Kind::Result, Some(direction.reversed()), &content);
            }
            lines
        }
    })
}

/// The command that makes the same call.
fn command(header: &Header, text: &str) -> Option<String> {
    let Ok(Incoming::One(Ok(message))) = decode(text.as_bytes(), &LENIENT, &Limits::default()) else {
        return None;
    };
    let (method, params, notify) = match message {
        Message::Request(request) => (request.method, request.params, ""),
        Message::Notification(note) => (note.method, note.params, " --notify"),
        Message::Response(_) => return None,
    };
    let params = params.map_or(String::new(), |params| format!(" -d {}", word(&compact(params.as_str()))));
    let method = word(&method);
    Some(match (&header.cmd[..], &header.target) {
        ([], Some(target)) => format!("sabir call {} {method}{params}{notify}", word(target)),
        ([], None) => format!("sabir call TARGET {method}{params}{notify}"),
        (words, _) => format!("sabir call {method}{params}{notify} -- {}", join(words)),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_call_becomes_a_command_that_a_shell_reads_as_one() {
        let cmd = vec!["my server".to_owned(), "--x".to_owned()];
        let header = Header { cmd, ..Header::default() };
        let text = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":["it's", 2]}"#;
        let made = command(&header, text).unwrap();
        // Shells of Windows do not agree on quotes inside of a word: it is left out there.
        let params = if cfg!(windows) { "…" } else { r#"["it's",2]"# };
        assert_eq!(
            crate::platform::split(&made).unwrap(),
            ["sabir", "call", "add", "-d", params, "--", "my server", "--x"]
        );
        let note = r#"{"jsonrpc":"2.0","method":"seen"}"#;
        assert_eq!(command(&Header::default(), note).unwrap(), "sabir call TARGET seen --notify");
        assert_eq!(command(&header, r#"{"jsonrpc":"2.0","id":1,"result":1}"#), None);
    }
}
