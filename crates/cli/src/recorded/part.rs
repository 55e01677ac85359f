//! One message of a recording: what it is, and what it is called.

use std::ops::Range;

use sabir_proto::{Cursor, Id, Incoming, JsonKind, JsonStr, LENIENT, Limits, Message, RawJson, decode};

/// A message, alone or in a batch.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) kind: PartKind,
    pub(crate) id: Option<Id<'static>>,
    pub(crate) method: Option<Box<str>>,
    /// Where it is in what was sent.
    pub(crate) range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartKind {
    Request,
    Notification,
    Result,
    Error,
    /// No message, or no JSON at all.
    Invalid,
}

impl PartKind {
    pub(crate) fn is_answer(self) -> bool {
        matches!(self, PartKind::Result | PartKind::Error)
    }
}

/// The messages in what was sent as one.
pub(crate) fn split(text: &str) -> Vec<Part> {
    let whole = text.trim_ascii();
    let base = text.as_ptr().addr();
    let range = |part: &str| {
        let start = part.as_ptr().addr() - base;
        start..start + part.len()
    };
    let invalid = || Part { kind: PartKind::Invalid, id: None, method: None, range: range(whole) };
    if RawJson::new(whole).is_err() {
        return vec![invalid()];
    }
    match JsonKind::of(whole) {
        JsonKind::Array if Cursor::trusted(whole).elements().next().is_some() => {
            Cursor::trusted(whole).elements().map(|part| one(part, range(part))).collect()
        }
        _ => vec![one(whole, range(whole))],
    }
}

fn one(text: &str, range: Range<usize>) -> Part {
    let limits = Limits::default();
    let (kind, id, method) = match decode(text.as_bytes(), &LENIENT, &limits) {
        Ok(Incoming::One(Ok(Message::Request(request)))) => {
            (PartKind::Request, Some(request.id.into_owned()), Some(request.method))
        }
        Ok(Incoming::One(Ok(Message::Notification(notification)))) => {
            (PartKind::Notification, None, Some(notification.method))
        }
        Ok(Incoming::One(Ok(Message::Response(response)))) => {
            let kind = if response.outcome.is_ok() { PartKind::Result } else { PartKind::Error };
            (kind, Some(response.id.into_owned()), None)
        }
        _ => (PartKind::Invalid, None, None),
    };
    Part { kind, id, method: method.map(|method| Box::from(&*method)), range }
}

/// What a request calls: its method, and the tool, prompt or resource of MCP.
pub(crate) fn call_name(text: &str) -> String {
    let method = Cursor::trusted(text).member("method").and_then(|name| JsonStr::trusted(name)?.value());
    name_of(&method.unwrap_or_default(), Cursor::trusted(text).member("params"))
}

/// The same, of the parts of a request.
pub(crate) fn name_of(method: &str, params: Option<&str>) -> String {
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        _ => return method.to_owned(),
    };
    let params = params.filter(|params| JsonKind::of(params) == JsonKind::Object);
    let what = params.and_then(|params| JsonStr::trusted(Cursor::trusted(params).member(member)?)?.value());
    match what {
        Some(what) => format!("{method} {what}"),
        None => method.to_owned(),
    }
}

/// The id of the call that a notification cancels.
pub(super) fn cancelled(text: &str) -> Option<Id<'static>> {
    let method = JsonStr::trusted(Cursor::trusted(text).member("method")?)?.value()?;
    let member = match &*method {
        "$/cancelRequest" => "id",
        "notifications/cancelled" => "requestId",
        _ => return None,
    };
    let params = Cursor::trusted(text).member("params")?;
    let id = Cursor::trusted(params).member(member)?;
    Id::from_json(RawJson::new(id.to_owned()).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_taken_apart() {
        for (text, want) in [
            (r#" {"jsonrpc":"2.0","id":1,"method":"a"} "#, "Request"),
            (r#"{"jsonrpc":"2.0","method":"a"}"#, "Notification"),
            (
                r#"[{"jsonrpc":"2.0","id":1,"result":2}, {"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"x"}}]"#,
                "Result Error",
            ),
            ("[]", "Invalid"),
            ("{\"a\":1}", "Invalid"),
            ("nonsense", "Invalid"),
            ("", "Invalid"),
        ] {
            let parts = split(text);
            let kinds: Vec<String> = parts.iter().map(|part| format!("{:?}", part.kind)).collect();
            assert_eq!(kinds.join(" "), want, "{text}");
            assert!(parts.iter().all(|part| text.get(part.range.clone()).is_some()), "{text}");
        }
    }

    #[test]
    fn calls_have_names() {
        for (text, want) in [
            (r#"{"id":1,"method":"add","params":[1]}"#, "add"),
            (r#"{"id":1,"method":"tools/call","params":{"name":"echo"}}"#, "tools/call echo"),
            (r#"{"id":1,"method":"tools/call","params":[1]}"#, "tools/call"),
            (r#"{"id":1,"method":"resources/read","params":{"uri":"x:y"}}"#, "resources/read x:y"),
        ] {
            assert_eq!(call_name(text), want);
        }
    }
}
