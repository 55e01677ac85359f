//! Spans of calls that are sent as texts, past any session: those of `--batch`, of `--raw` and of files. How the command
//! ended, in the span around them.

use sabir::internal::{ClientSpans, JsonRpcSpans};
use sabir::{CallError, ErrorObject, JsonKind, RawJson};
use tracing::Span;

use crate::exit::{Exit, Failure};
use crate::telemetry;

/// Calls that may be open. What is sent beyond has no spans.
const MOST: usize = 1024;

/// The spans of calls that have no answer yet, by their ids as they were written.
#[derive(Default)]
pub(super) struct CallSpans(Vec<(String, String, Span)>);

impl CallSpans {
    /// A text is about to be sent.
    pub(super) fn sent(&mut self, text: &str) {
        if !telemetry::started().is_some_and(telemetry::Started::has_spans) {
            return;
        }
        for message in RawJson::new(text).iter().flat_map(messages) {
            let method = message.get("method").and_then(|method| method.parse::<String>().ok());
            let (Some(method), Some(id)) = (method, message.get("id")) else { continue };
            if self.0.len() < MOST {
                let span = JsonRpcSpans.begin(&method, message.get("params").as_ref());
                if id.kind() != JsonKind::Null {
                    span.record("jsonrpc.request.id", id.parse::<String>().as_deref().unwrap_or(id.as_str()));
                }
                self.0.push((id.to_string(), method, span));
            }
        }
    }

    /// A text has come.
    pub(super) fn came(&mut self, text: &[u8]) {
        if self.0.is_empty() {
            return;
        }
        for message in RawJson::from_bytes(text).iter().flat_map(messages) {
            let id = message.get("id").filter(|_| message.get("method").is_none());
            let Some(at) = id.and_then(|id| self.0.iter().position(|(open, ..)| *open == id.as_str())) else {
                continue;
            };
            let error = message.get("error").and_then(|error| error.parse::<ErrorObject>().ok());
            let outcome = match (message.get("result"), error) {
                (Some(result), _) => Ok(result),
                (None, Some(error)) => Err(CallError::Error(error)),
                (None, None) => continue,
            };
            let (_, method, span) = self.0.swap_remove(at);
            JsonRpcSpans.end(&span, &method, outcome.as_ref());
        }
    }
}

/// Those without an answer end with the command.
impl Drop for CallSpans {
    fn drop(&mut self) {
        let error = if telemetry::is_time_up() { CallError::TimedOut } else { CallError::Cancelled };
        for (_, method, span) in self.0.drain(..) {
            JsonRpcSpans.end(&span, &method, Err(&error));
        }
    }
}

/// Says in the span of the command how it has ended.
pub(super) fn ended(span: &Span, done: &Result<Exit, Failure>) {
    let exit = match done {
        Ok(exit) => *exit,
        Err(failure) => failure.exit,
    };
    span.record("process.exit.code", exit as i64);
    let error_type = match exit {
        Exit::Ok => return,
        Exit::Timeout => "timeout",
        Exit::Interrupted => "cancelled",
        Exit::Error | Exit::Usage | Exit::Connect | Exit::Protocol => "_OTHER",
    };
    span.record("error.type", error_type);
    span.record("otel.status_code", "ERROR");
}

fn messages<'a>(text: &'a RawJson<'_>) -> Vec<RawJson<'a>> {
    match text.kind() {
        JsonKind::Array => text.elements().collect(),
        _ => vec![text.as_borrowed()],
    }
}
