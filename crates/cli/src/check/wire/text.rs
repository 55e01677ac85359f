//! What is in the text of messages that are posted, and that come in answer.

use sabir::{LENIENT, Limits};
use sabir_proto::{Incoming, Message, RawJson, decode};

/// How many responses are in a message.
pub(super) fn responses(text: &[u8]) -> usize {
    let is_response = |entry: &Result<Message<'_>, _>| matches!(entry, Ok(Message::Response(_)));
    match decode(text, &LENIENT, &Limits::default()) {
        Ok(Incoming::One(entry)) => usize::from(is_response(&entry)),
        Ok(Incoming::Batch(entries)) => entries.iter().filter(|entry| is_response(entry)).count(),
        Err(_) => 0,
    }
}

/// How many responses a message asks for. One that is not valid gets one error.
pub(super) fn requests(text: &str) -> usize {
    match decode(text.as_bytes(), &LENIENT, &Limits::default()) {
        Ok(Incoming::One(Ok(Message::Request(_)) | Err(_))) | Err(_) => 1,
        Ok(Incoming::One(Ok(_))) => 0,
        Ok(Incoming::Batch(entries)) => {
            entries.iter().filter(|entry| matches!(entry, Ok(Message::Request(_)) | Err(_))).count()
        }
    }
}

/// Whether a body is a message, or a batch of some.
pub(super) fn is_message(text: &[u8]) -> bool {
    match decode(text, &LENIENT, &Limits::default()) {
        Ok(Incoming::One(entry)) => entry.is_ok(),
        Ok(Incoming::Batch(entries)) => entries.iter().any(Result::is_ok),
        Err(_) => false,
    }
}

pub(super) fn method_of(text: &str) -> Option<String> {
    RawJson::new(text).ok()?.get("method")?.parse().ok()
}

/// The tool, prompt or resource that a request of MCP is about.
pub(super) fn name_of(text: &str, method: &str) -> Option<String> {
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return None,
    };
    RawJson::new(text).ok()?.get("params")?.get(member)?.parse().ok()
}
