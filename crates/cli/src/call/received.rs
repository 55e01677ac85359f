//! `--json` of a call: prints messages in the order in which they are received, unchanged.

use sabir::transport::Wire;
use sabir::{Dialect, Framing, Limits, RawJson};
use sabir_proto::{Cut, Id, Incoming, Message, decode};

use super::plan::{Plan, What};
use super::report::{Named, Reporter};
use crate::stop;
use crate::trace::Cutter;

/// The first call on a connection has this id.
pub(super) const ID: &str = "1";

/// A tap that prints what is received.
pub(super) fn tap(
    plan: &Plan,
    framing: Framing,
    reporter: &Reporter,
) -> impl FnMut(Wire, &[u8]) + Send + 'static {
    let mut cutter = Cutter::new(framing, plan.peer.max_size);
    let (method, progress) = match &plan.what {
        What::Call { method, progress, .. } => (Some(method.clone()), *progress),
        What::Notify { .. } | What::Batch(_) => (None, false),
    };
    let limits = Limits { message_bytes: plan.peer.max_size, ..Limits::default() };
    let mut printer =
        Received { reporter: reporter.clone(), dialect: plan.dialect, limits, method, progress };
    move |wire, bytes| {
        if wire == Wire::Received {
            cutter.pass(bytes, |cut| {
                if let Cut::Message { body, .. } = cut {
                    printer.message(body);
                }
            });
        }
    }
}

struct Received {
    reporter: Reporter,
    dialect: Dialect,
    limits: Limits,
    /// The method that was called, until it is answered.
    method: Option<String>,
    /// Whether progress was asked for.
    progress: bool,
}

impl Received {
    fn message(&mut self, body: &[u8]) {
        let Ok(text) = RawJson::from_bytes(body) else { return };
        match decode(body, &self.dialect, &self.limits) {
            Ok(Incoming::One(Ok(message))) => self.one(&message, &text),
            Ok(Incoming::Batch(messages)) => {
                for (message, text) in messages.iter().zip(text.elements()) {
                    if let Ok(message) = message {
                        self.one(message, &text);
                    }
                }
            }
            _ => {}
        }
    }

    fn one(&mut self, message: &Message<'_>, text: &RawJson<'_>) {
        match message {
            Message::Response(response) if is_ours(&response.id) => {
                if let (Some(method), Ok(id)) = (self.method.take(), RawJson::new(ID)) {
                    stop::never();
                    let _ = self
                        .reporter
                        .envelope_of(Named { id: &id, method: &method, params: None, in_batch: false }, text);
                }
            }
            Message::Notification(notification) => match self.progress_of(&notification.method, text) {
                Some(value) => self.reporter.progress(&value),
                None => self.reporter.notification(&notification.method, notification.params.as_ref()),
            },
            Message::Response(_) | Message::Request(_) => {}
        }
    }

    /// The progress of the call, if the message reports it and it was asked for.
    fn progress_of(&self, method: &str, text: &RawJson<'_>) -> Option<RawJson<'static>> {
        let params = text.get("params").filter(|_| self.progress)?;
        let (token, value) = match method {
            "$/progress" => (params.get("token")?, params.get("value")?),
            "notifications/progress" => (params.get("progressToken")?, params.clone()),
            _ => return None,
        };
        is_ours(&Id::from_json(token)?).then(|| value.into_owned())
    }
}

/// Old servers send a number back as a string.
fn is_ours(id: &Id<'_>) -> bool {
    id.text() == ID || id.as_str().is_some_and(|id| id == ID)
}
