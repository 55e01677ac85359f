//! Calls as text, and what comes in answer.

use sabir_proto::{
    Cursor, Dialect, Id, Incoming, Invalid, JsonKind, LENIENT, Limits, Message, RawJson, Response, decode,
};

use crate::generator::{Generator, Ticket};
use crate::lane::Answer;
use crate::plan::Plan;
use crate::tally::{Class, Outcome};

/// Entries of a batch in answer, at least.
const BATCH: usize = 10_000;

/// The calls of a plan, as far as they are always the same.
pub(crate) struct Rendered {
    calls: Vec<RenderedCall>,
    is_batch: bool,
    checks: bool,
    limits: Limits,
}

struct RenderedCall {
    /// What stands behind the id; of a notification all of it.
    rest: Vec<u8>,
    is_notification: bool,
    expected: Option<String>,
}

impl Rendered {
    pub(crate) fn new(plan: &Plan) -> Rendered {
        let calls: Vec<RenderedCall> = plan
            .calls
            .iter()
            .map(|call| {
                let start = if call.is_notification { r#"{"jsonrpc":"2.0","# } else { "," };
                let params =
                    call.params.as_ref().map_or(String::new(), |params| format!(r#","params":{params}"#));
                let rest = format!(r#"{start}"method":{}{params}}}"#, call.method).into_bytes();
                RenderedCall { rest, is_notification: call.is_notification, expected: call.expected.clone() }
            })
            .collect();
        let limits =
            Limits { message_bytes: plan.max_size, batch_len: BATCH.max(plan.batch), ..Limits::default() };
        let checks = calls.iter().any(|call| call.expected.is_some());
        Rendered { calls, is_batch: plan.batch > 1, checks, limits }
    }

    /// The length of a message, about.
    pub(crate) fn usual_length(&self, batch: usize) -> usize {
        let longest = self.calls.iter().map(|call| call.rest.len()).max().unwrap_or_default();
        (longest + 40) * batch.max(1)
    }

    pub(crate) fn is_notification(&self, ticket: Ticket) -> bool {
        self.calls[ticket.call as usize].is_notification
    }

    /// Appends one message: a call, a notification, or a batch.
    pub(crate) fn write(&self, out: &mut Vec<u8>, tickets: &[Ticket]) {
        if self.is_batch {
            out.push(b'[');
        }
        for (number, ticket) in tickets.iter().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            let call = &self.calls[ticket.call as usize];
            if !call.is_notification {
                out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
                out.extend_from_slice(itoa::Buffer::new().format(ticket.id).as_bytes());
            }
            out.extend_from_slice(&call.rest);
        }
        if self.is_batch {
            out.push(b']');
        }
    }

    /// Handles what came. `reply` gets what the server is to be answered.
    pub(crate) fn receive(
        &self,
        bytes: &[u8],
        now: u64,
        generator: &mut Generator,
        answer: &Answer,
        reply: &mut dyn FnMut(&str),
    ) {
        const DIALECT: &Dialect = &LENIENT;
        match decode(bytes, DIALECT, &self.limits) {
            Ok(Incoming::One(Ok(Message::Response(response)))) => self.response(&response, now, generator),
            Ok(Incoming::One(Ok(message))) => {
                if let Some(text) = other(&message, generator, answer) {
                    reply(&text);
                }
            }
            Ok(Incoming::Batch(entries)) => {
                let mut replies = Vec::new();
                for entry in entries {
                    match entry {
                        Ok(Message::Response(response)) => self.response(&response, now, generator),
                        Ok(message) => replies.extend(other(&message, generator, answer)),
                        Err(invalid) => refuse(&invalid, now, generator),
                    }
                }
                if !replies.is_empty() {
                    reply(&format!("[{}]", replies.join(",")));
                }
            }
            Ok(Incoming::One(Err(invalid))) => refuse(&invalid, now, generator),
            Err(_) => generator.stray(),
        }
    }

    #[inline]
    fn response(&self, response: &Response<'_>, now: u64, generator: &mut Generator) {
        let Some(id) = response.id.as_u64() else { return generator.stray() };
        match &response.outcome {
            Ok(result) => {
                let expected = match self.checks {
                    true => {
                        generator.call_of(id).and_then(|call| self.calls[call as usize].expected.as_deref())
                    }
                    false => None,
                };
                match expected {
                    Some(expected) if !is_same(result.as_str(), expected) => {
                        let what = format!("expected {expected}, came {result}");
                        generator.answered(id, now, &Outcome::Failed(Class::Wrong, what));
                    }
                    _ => generator.answered(id, now, &Outcome::Ok),
                }
            }
            Err(error) => {
                let outcome = Outcome::Failed(Class::Rpc(error.code.0), error.message.to_string());
                generator.answered(id, now, &outcome);
            }
        }
    }
}

/// Something that is not a valid message. If it is meant for an open call, nothing better will come.
fn refuse(invalid: &Invalid<'_>, now: u64, generator: &mut Generator) {
    match invalid.id.as_ref().and_then(Id::as_u64).filter(|_| invalid.response) {
        Some(id) if generator.is_open(id) => {
            let what = format!("the answer is not valid: {}", invalid.fault);
            generator.answered(id, now, &Outcome::Failed(Class::Protocol, what));
        }
        _ => generator.stray(),
    }
}

/// Whether two texts are the same JSON: numbers by their value, strings by their characters. White space does not count; the
/// order of members does, for it is the same server.
fn is_same(text: &str, expected: &str) -> bool {
    if text == expected {
        return true;
    }
    let (mut came, mut wanted) = (Cursor::trusted(text), Cursor::trusted(expected));
    loop {
        match (came.token(), wanted.token()) {
            (None, None) => return true,
            (Some(came), Some(wanted)) if is_same_token(came.text(), wanted.text()) => {}
            _ => return false,
        }
    }
}

fn is_same_token(came: &str, wanted: &str) -> bool {
    let is_value = |text| matches!(JsonKind::of(text), JsonKind::Number | JsonKind::String);
    let value = |text: &str| RawJson::new(text.to_owned()).ok().map(Id::from_json);
    came == wanted || is_value(came) && is_value(wanted) && value(came) == value(wanted)
}

/// A request or a notification of the server, and what it is answered.
fn other(message: &Message<'_>, generator: &mut Generator, answer: &Answer) -> Option<String> {
    match message {
        Message::Request(request) => {
            generator.asked();
            let answered = answer(&request.method, request.params.as_ref());
            let id = request.id.text();
            Some(match answered {
                Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
                Err(error) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
            })
        }
        Message::Notification(_) => {
            generator.notified();
            None
        }
        Message::Response(_) => None,
    }
}
