//! A row as a command, as a transcript, or as it was.
//!
//! What is copied is pasted, into a terminal perhaps, which obeys some characters before anything reads the text. None of
//! them is in a copy: words of a command are quoted by [`word`], and JSON has escapes.

use sabir_model::calls::Kind;
use sabir_model::capture::{Direction, Header};
use sabir_proto::{Incoming, LENIENT, Limits, Message, RawJson, decode};

use super::exchange::{self, web_address};
use super::export::transcript_line;
use super::row::Known;
use crate::json::{compact, escape_lines, escape_strings};
use crate::platform::{command as shown_command, word};
use crate::view::capture::{Captures, answer_of, is_answer};

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

    /// Why a row cannot be copied like this.
    pub(super) fn refusal(self) -> &'static str {
        match self {
            Form::Call => "this is not a call of the client: it has no command",
            Form::Curl => "this is not a call of the client over HTTP",
            Form::Transcript | Form::Json => "there is no such row",
        }
    }

    /// Whether a row of this kind can be copied like this. What a peer has said must not be pasted into a shell as it is,
    /// and a method or a target that looks like an option would be one.
    fn is_for(self, known: &Known, header: &Header) -> bool {
        let is_sent = known.entry.direction != Some(Direction::ToClient) && !is_answer(&known.entry);
        let is_one = matches!(known.entry.kind, Kind::Request | Kind::Notification);
        let is_option =
            known.method().into_iter().chain(header.target.as_deref()).any(|text| text.starts_with('-'));
        match self {
            Form::Call => is_sent && is_one && !is_option,
            Form::Curl => {
                is_sent && (is_one || known.entry.kind == Kind::Batch) && web_address(header).is_some()
            }
            Form::Transcript | Form::Json => true,
        }
    }
}

/// The names of the forms that a row can be copied in.
pub(super) fn names(known: &Known, header: &Header) -> Vec<&'static str> {
    let all = ["call", "curl", "transcript", "json"];
    all.into_iter().filter(|name| Form::named(name).is_some_and(|form| form.is_for(known, header))).collect()
}

/// `None` if there is no such row, or if it cannot be copied like this.
pub(super) fn of(captures: &Captures, row: u32, form: Form) -> Option<String> {
    let state = captures.state();
    let call = Known::record(&state, state.rows.shown_as(row))?;
    let answer = answer_of(&call.entry).and_then(|answer| Known::record(&state, answer));
    let header = state.sources.get(usize::from(call.place.0)).map(|source| source.header.clone());
    drop(state);
    let mut contents = captures.contents();
    let head = contents.exchange(call.place.0, call.place.1).and_then(|exchange| exchange.head);
    let mut text = |known: &Known| -> Option<Vec<u8>> {
        Some(contents.at(known.place.0, known.place.1).ok()?.into_owned())
    };
    let content = text(&call)?;
    let shown = String::from_utf8_lossy(&content).into_owned();
    let header = header.unwrap_or_default();
    if !form.is_for(&call, &header) {
        return None;
    }
    Some(match form {
        Form::Json => match RawJson::from_bytes(&content) {
            Ok(_) => escape_strings(&shown),
            Err(_) => escape_lines(&shown),
        },
        Form::Call => command(&header, &shown)?,
        Form::Curl => curl(&header, call.method(), head.as_deref(), &shown)?,
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

/// Headers that curl writes, or that are for one connection.
const OF_THE_CONNECTION: [&str; 11] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether it is the name of a header. curl would read the headers from a file for one that begins with `@`.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The same request, with the headers that were recorded. Secrets are not among them, and without headers neither is the
/// session.
fn curl(header: &Header, method: Option<&str>, head: Option<&str>, text: &str) -> Option<String> {
    let (url, body) = (word(&exchange::url(header, head)?), word(&compact(text)));
    let is_mcp = header.profile.as_deref() == Some("mcp");
    let session = (is_mcp && method != Some("initialize")).then_some(("Mcp-Session-Id", "SESSION"));
    let usual = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    let fields: Vec<(&str, &str)> = match head {
        Some(head) => exchange::fields(head)
            .filter(|(name, value)| is_name(name) && !OF_THE_CONNECTION.contains(name) && !value.is_empty())
            .collect(),
        None => usual.into_iter().chain(session).collect(),
    };
    let fields: String =
        fields.iter().map(|(name, value)| format!(" -H {}", word(&format!("{name}: {value}")))).collect();
    // Other than -d, this reads no files.
    Some(format!("curl {url}{fields} --data-raw {body}"))
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
    // They would be options.
    if method.starts_with('-') || header.target.as_ref().is_some_and(|target| target.starts_with('-')) {
        return None;
    }
    let params = params.map_or(String::new(), |params| format!(" -d {}", word(&compact(params.as_str()))));
    let method = word(&method);
    Some(match (&header.cmd[..], &header.target) {
        ([], Some(target)) => format!("sabir call {} {method}{params}{notify}", word(target)),
        ([], None) => format!("sabir call TARGET {method}{params}{notify}"),
        (words, _) => format!("sabir call {method}{params}{notify} -- {}", shown_command(words)),
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
        for other in
            [r#"{"jsonrpc":"2.0","id":1,"result":1}"#, r#"{"jsonrpc":"2.0","method":"-x"}"#, "rm -rf ~\n"]
        {
            assert_eq!(command(&header, other), None);
        }
    }

    #[test]
    fn a_request_of_http_becomes_one_of_curl() {
        let header = |target: &str, profile: &str| Header {
            target: Some(target.to_owned()),
            profile: Some(profile.to_owned()),
            ..Header::default()
        };
        let text = r#"{"jsonrpc":"2.0","id":1,"method":"add"}"#;
        let made = curl(&header("http://h/mcp", "mcp"), Some("add"), None, text).unwrap();
        for part in [
            "curl http://h/mcp ",
            "Accept: application/json, text/event-stream",
            "Session-Id: SESSION",
            "--data-raw ",
        ] {
            assert!(made.contains(part), "{made}");
        }
        assert!(
            !curl(&header("http://h/rpc", "jsonrpc"), Some("add"), None, text).unwrap().contains("SESSION")
        );
        assert_eq!(curl(&header("tcp://h:1", "jsonrpc"), Some("add"), None, text), None);
        let head = "POST /mcp\nhost: x\nx-own: it's\nmcp-session-id: s1\nauthorization: [redacted]\ncontent-length: 9";
        let made = curl(&header("http://h/mcp", "mcp"), Some("add"), Some(head), text).unwrap();
        for part in ["x-own: it", "mcp-session-id: s1", "authorization: [redacted]"] {
            assert!(made.contains(part), "{made}");
        }
        for part in ["SESSION", "host", "content-length", "Accept"] {
            assert!(!made.contains(part), "{made}");
        }
    }

    /// Ends a paste, runs a command, and is right to left.
    const HOSTILE: &str = "x\u{3}\n touch owned\n#\u{1b}[201~\r\u{9b}\u{202e}'!";

    #[test]
    fn no_copy_has_characters_that_a_terminal_obeys() {
        let json = serde_json::to_string(HOSTILE).unwrap();
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":{json},"params":[{json}]}}"#);
        let url = format!("http://h/{HOSTILE}");
        let to = |target: Option<&str>, cmd: &[&str]| Header {
            target: target.map(str::to_owned),
            cmd: cmd.iter().map(|word| (*word).to_owned()).collect(),
            ..Header::default()
        };
        let head = format!("POST /{}\nx-own: {}\n@/etc/passwd: x", HOSTILE, HOSTILE.replace('\n', " "));
        for made in [
            command(&to(None, &[]), &text),
            command(&to(Some(&url), &[]), &text),
            command(&to(None, &["server", HOSTILE]), &text),
            curl(&to(Some(&url), &[]), Some(HOSTILE), None, &text),
            curl(&to(Some(&url), &[]), Some(HOSTILE), Some(&head), &text),
        ] {
            let made = made.unwrap();
            assert!(!made.contains(sabir_proto::is_terminal_control), "{made:?}");
            assert!(!made.contains("-H @") && !made.contains("-H '@"), "{made:?}");
        }
        assert_eq!(command(&to(Some("--answer=x"), &[]), &text), None);
    }
}
