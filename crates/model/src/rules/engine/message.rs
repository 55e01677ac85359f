//! Rules for one message by itself.
//!
//! [`is_usual`] is how nearly all messages pass: it costs a few additions. Only what is not so is taken apart
//! member by member, by [`envelope`].

use sabir_proto::{Dialect, ErrorObject, JsonKind, Message, RawJson};

use crate::json_path::{self, kind, string};
use crate::rules::engine::finding::{Location, Report, quoted};
use crate::rules::protocols::Protocol;
use crate::rules::table::*;

/// The largest integer that every double holds, with all below it.
const SAFE: u64 = (1 << 53) - 1;

/// Names that begin with `rpc.` and mean something.
const EXTENSIONS: [&str; 12] = [
    "rpc.discover",
    "rpc.describe",
    "rpc.serverInfo",
    "rpc.cancel",
    "rpc.on",
    "rpc.off",
    "rpc.login",
    "rpc.notify",
    "rpc.ping",
    "rpc.methods",
    "rpc.modules",
    "rpc.version",
];

/// Whether a valid message holds its members and nothing else: then its text is as long as its parts.
pub(crate) fn is_usual(message: &Message<'_>, length: usize) -> bool {
    const fn len(text: &str) -> usize {
        text.len()
    }
    let call = |method: &std::borrow::Cow<'_, str>, params: &Option<RawJson<'_>>| {
        let params = params.as_ref().map_or(0, |params| len(r#","params":"#) + params.as_str().len());
        len(r#"{"jsonrpc":"2.0","method":""}"#) + method.len() + params
    };
    let parts = match message {
        Message::Request(request) => {
            call(&request.method, &request.params) + len(r#","id":"#) + request.id.text().len()
        }
        Message::Notification(notification) => call(&notification.method, &notification.params),
        Message::Response(response) => {
            let id = len(r#"{"jsonrpc":"2.0","id":}"#) + response.id.text().len();
            id + match &response.outcome {
                Ok(result) => len(r#","result":"#) + result.as_str().len(),
                Err(error) => len(r#","error":{"code":,"message":""}"#) + error_length(error),
            }
        }
    };
    parts == length
}

/// The digits of the code, the message and the data.
fn error_length(error: &ErrorObject<'_>) -> usize {
    let code = error.code.0;
    let digits = code.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1 + usize::from(code < 0);
    let data = error.data.as_ref().map_or(0, |data| r#","data":"#.len() + data.as_str().len());
    digits + error.message.len() + data
}

/// What is wrong with the members of one message, which is valid JSON. `entry` is a part of the location's text.
pub(crate) fn envelope(entry: &str, location: &Location<'_>, dialect: &Dialect, report: &mut Report) {
    if kind(entry) != JsonKind::Object {
        return report.add(
            &RPC000,
            location,
            entry,
            format!("a message must be an object, found {}", kind(entry)),
        );
    }
    let members = Members::read(entry, location, report);
    members.version(location, dialect, report);
    members.id(location, dialect, report);
    match (members.method, members.result, members.error) {
        (Some(method), None, None) => members.call(method, location, dialect, report),
        (Some(method), _, _) => {
            report.add(&RPC005, location, method, "this is a request and a response at once");
        }
        (None, None, None) if members.id.is_some() && members.params.is_none() => {
            report.add(&RPC004, location, entry, "there is neither `result` nor `error`, and no `method`");
        }
        (None, None, None) => report.add(&RPC002, location, entry, "there is no `method`"),
        (None, ..) => members.response(location, dialect, report),
    }
}

/// The members of the envelope as their JSON text.
#[derive(Default)]
struct Members<'t> {
    entry: &'t str,
    jsonrpc: Option<&'t str>,
    id: Option<&'t str>,
    method: Option<&'t str>,
    params: Option<&'t str>,
    result: Option<&'t str>,
    error: Option<&'t str>,
}

impl<'t> Members<'t> {
    /// Collects them, and reports those that are strange or come twice. Of two, the first counts.
    fn read(entry: &'t str, location: &Location<'_>, report: &mut Report) -> Self {
        let mut members = Members { entry, ..Members::default() };
        for (name, value) in json_path::members(entry) {
            let slot = match &*name {
                "jsonrpc" => &mut members.jsonrpc,
                "id" => &mut members.id,
                "method" => &mut members.method,
                "params" => &mut members.params,
                "result" => &mut members.result,
                "error" => &mut members.error,
                _ => {
                    let what = format!("{} is not a member of a message", quoted(&name));
                    report.add(&RPC026, location, value, what);
                    continue;
                }
            };
            match slot {
                Some(_) => {
                    report.add(&RPC027, location, value, format!("{} is given twice", quoted(&name)));
                }
                None => *slot = Some(value),
            }
        }
        members
    }

    fn version(&self, location: &Location<'_>, dialect: &Dialect, report: &mut Report) {
        match self.jsonrpc {
            Some(text) if string(text).is_some_and(|text| text == "2.0") => {}
            _ if !dialect.version_required => {}
            Some(text) => report.add(&RPC001, location, text, "`jsonrpc` must be the string \"2.0\""),
            None => report.add(&RPC001, location, self.entry, "`jsonrpc` is missing"),
        }
    }

    fn id(&self, location: &Location<'_>, dialect: &Dialect, report: &mut Report) {
        let is_answer = self.method.is_none() && (self.result.is_some() || self.error.is_some());
        match self.id {
            Some(text) if !matches!(kind(text), JsonKind::String | JsonKind::Number | JsonKind::Null) => {
                let what = format!("`id` must be a string, a number or null, found {}", kind(text));
                report.add(&RPC006, location, text, what);
            }
            None if is_answer && !(self.error.is_some() && dialect.errors_without_id) => {
                report.add(&RPC010, location, self.entry, "the response has no `id`");
            }
            _ => {}
        }
    }

    fn call(&self, method: &str, location: &Location<'_>, dialect: &Dialect, report: &mut Report) {
        if string(method).is_none() {
            let what = match kind(method) {
                JsonKind::String => "`method` holds a lone surrogate".to_owned(),
                found => format!("`method` must be a string, found {found}"),
            };
            report.add(&RPC002, location, method, what);
        }
        match self.params.map(|params| (params, kind(params))) {
            None | Some((_, JsonKind::Array | JsonKind::Object)) => {}
            Some((_, JsonKind::Null)) if dialect.null_params => {}
            Some((params, found)) => {
                let what = format!("`params` must be an array or an object, found {found}");
                report.add(&RPC003, location, params, what);
            }
        }
    }

    fn response(&self, location: &Location<'_>, dialect: &Dialect, report: &mut Report) {
        let (result, error) = (self.result, self.error);
        if let (Some(result), Some(error)) = (result, error) {
            let forgiven = dialect.lenient_responses && (result == "null" || error == "null");
            if !forgiven {
                report.add(&RPC004, location, error, "there are both `result` and `error`");
                return;
            }
        }
        match error {
            None => {}
            Some("null") if result.is_some() => {}
            Some(error) => self::error(error, location, report),
        }
    }
}

/// What is wrong inside `error`.
fn error(text: &str, location: &Location<'_>, report: &mut Report) {
    if kind(text) != JsonKind::Object {
        return report.add(
            &RPC011,
            location,
            text,
            format!("`error` must be an object, found {}", kind(text)),
        );
    }
    match json_path::member(text, &["code"]) {
        None => report.add(&RPC011, location, text, "`error.code` is missing"),
        Some(code) if code.parse::<i64>().is_err() => {
            let what = match kind(code) {
                JsonKind::Number => "`error.code` must be an integer of at most 64 bits".to_owned(),
                found => format!("`error.code` must be an integer, found {found}"),
            };
            report.add(&RPC011, location, code, what);
        }
        Some(_) => {}
    }
    match json_path::member(text, &["message"]) {
        None => report.add(&RPC012, location, text, "`error.message` is missing"),
        Some(message) if kind(message) != JsonKind::String => {
            let what = format!("`error.message` must be a string, found {}", kind(message));
            report.add(&RPC012, location, message, what);
        }
        Some(_) => {}
    }
}

/// Rules for the content of a readable message, however it is written.
pub(crate) fn content(
    message: &Message<'_>,
    entry: &str,
    location: &Location<'_>,
    protocol: &Protocol,
    report: &mut Report,
) {
    match message {
        Message::Request(request) => {
            number_id(request.id.text(), location, protocol, report);
            reserved_name(&request.method, location, report);
        }
        Message::Notification(notification) => reserved_name(&notification.method, location, report),
        Message::Response(response) => {
            if let Err(error) = &response.outcome {
                error_code(error, entry, location, report);
                short_sentence(error, entry, location, report);
            }
        }
    }
}

fn number_id(id: &str, location: &Location<'_>, protocol: &Protocol, report: &mut Report) {
    match id.as_bytes() {
        [b'"', ..] => {}
        // A dialect that forbids these has rules of its own for them.
        [b'n', ..] if protocol.dialect().null_ids => {
            report.add(&RPC007, location, id, "this request has the id null")
        }
        [b'n', ..] => {}
        [b'-', digits @ ..] | digits if digits.len() < 16 && digits.iter().all(u8::is_ascii_digit) => {}
        _ if id.contains(['.', 'e', 'E']) => {
            if protocol.dialect().fractional_ids {
                report.add(&RPC008, location, id, "the id has a fraction or an exponent");
            }
        }
        _ if id.trim_start_matches('-').parse::<u64>().is_ok_and(|number| number <= SAFE) => {}
        _ => report.add(&RPC008, location, id, format!("the id is beyond {SAFE}")),
    }
}

fn reserved_name(method: &str, location: &Location<'_>, report: &mut Report) {
    if method.starts_with("rpc.") && !EXTENSIONS.contains(&method) {
        report.add(&RPC009, location, method, format!("{} takes a reserved name", quoted(method)));
    }
}

fn error_code(error: &ErrorObject<'_>, entry: &str, location: &Location<'_>, report: &mut Report) {
    let code = error.code;
    let defined = matches!(code.0, -32099..=-32000 | -32603..=-32600 | -32700);
    if code.is_reserved() && !defined {
        let part = json_path::member(entry, &["error", "code"]).unwrap_or(entry);
        report.add(&RPC014, location, part, format!("{code} is reserved, and nobody has defined it"));
    }
}

fn short_sentence(error: &ErrorObject<'_>, entry: &str, location: &Location<'_>, report: &mut Report) {
    let message = &*error.message;
    let what = match () {
        () if message.contains(['\n', '\r']) => "the message has more than one line",
        () if message.len() > 200 && message.chars().count() > 200 => {
            "the message has more than 200 characters"
        }
        () if sentences(message) > 1 => "the message has more than one sentence",
        () => return,
    };
    let part = json_path::member(entry, &["error", "message"]).unwrap_or(entry);
    report.add(&RPC013, location, part, what);
}

/// Sentences: what ends in a full stop and is followed by a capital letter.
fn sentences(text: &str) -> usize {
    let ends = text.match_indices(['.', '!', '?']).filter(|(at, _)| {
        let mut rest = text[at + 1..].chars();
        rest.next() == Some(' ') && rest.next().is_some_and(char::is_uppercase)
    });
    ends.count() + 1
}
