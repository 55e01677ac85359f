//! `--json` of a call: prints messages in the order in which they are received, unchanged.

use sabir::transport::Direction;
use sabir::{Dialect, Framing, LENIENT, Limits, RawJson};
use sabir_proto::{Cut, Id, Incoming, Message, decode};

use super::plan::{Plan, What};
use super::report::{Named, Reporter};
use crate::session::Protocol;
use crate::stop;
use crate::trace::Cutter;

/// What is asked to find out what a peer speaks or has; not what the user asked.
const ASIDE: [&str; 10] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "prompts/list",
    "shutdown",
    "rpc.discover",
    "system.listMethods",
    "resources/list",
    "logging/setLevel",
];

fn is_aside(method: &str) -> bool {
    ASIDE.contains(&method) || Protocol::is_of_tasks(method)
}

/// A tap that prints what is received.
pub(super) fn tap(
    plan: &Plan,
    framing: Framing,
    reporter: &Reporter,
) -> impl FnMut(Direction, &[u8]) + Send + 'static {
    let mut sent = Cutter::new(framing, plan.peer.max_size);
    let mut received = Cutter::new(framing, plan.peer.max_size);
    let (method, progress) = match &plan.what {
        What::Call { method, progress, .. } => (Some(method.clone()), *progress),
        What::Notify { .. } | What::Batch(_) | What::Raw(_) | What::Steps(_) => (None, false),
    };
    let limits = Limits { message_bytes: plan.peer.max_size, ..Limits::default() };
    let dialect = plan.dialect.unwrap_or(LENIENT);
    let mut printer = Received {
        reporter: reporter.clone(),
        dialect,
        limits,
        method,
        progress,
        id: None,
        is_tool: false,
        may_go_on: !plan.explicit,
    };
    move |direction, bytes| {
        let cutter = if direction == Direction::Received { &mut received } else { &mut sent };
        cutter.pass(bytes, |cut| {
            if let Cut::Message { body, .. } = cut {
                match direction {
                    Direction::Received => printer.received(body),
                    Direction::Sent => printer.sent(body),
                }
            }
        });
    }
}

struct Received {
    reporter: Reporter,
    dialect: Dialect,
    limits: Limits,
    /// The method that was called, as it was typed, until it is answered.
    method: Option<String>,
    /// Whether progress was asked for.
    progress: bool,
    /// The id of the call.
    id: Option<String>,
    /// It is sent as `tools/call`.
    is_tool: bool,
    /// An error may not be the end: the peer may turn out to want something else.
    may_go_on: bool,
}

impl Received {
    /// Which message is the call.
    fn sent(&mut self, body: &[u8]) {
        let Ok(text) = RawJson::from_bytes(body) else { return };
        let method = text.get("method").and_then(|method| method.parse::<String>().ok());
        if let (Some(method), Some(id)) = (method, text.get("id"))
            && (!is_aside(&method) || self.method.as_ref() == Some(&method))
        {
            self.is_tool = method == "tools/call";
            self.id = Some(id.to_string());
        }
    }

    fn received(&mut self, body: &[u8]) {
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
            Message::Response(response) if self.is_ours(&response.id) => {
                let Some(id) = self.id.as_ref().and_then(|id| RawJson::new(id.as_str()).ok()) else { return };
                let id = id.into_owned();
                // A tool may have to be called once more, as a task.
                if response.outcome.is_err() && (self.may_go_on || self.is_tool) {
                    return self.reporter.hold(id, text.clone().into_owned());
                }
                let result = text.get("result");
                let kind = result.as_ref().and_then(|result| result.get("resultType"));
                let kind = kind.as_ref().map_or("", |kind| kind.as_str());
                let is_task =
                    self.is_tool && result.as_ref().is_some_and(|result| result.get("task").is_some());
                if matches!(kind, "\"input_required\"" | "\"task\"") || is_task {
                    return;
                }
                if let Some(method) = self.method.take() {
                    stop::never();
                    let named = Named { id: &id, method: &method, in_batch: false };
                    // What cannot be written is tried again when the call has ended, which then fails.
                    if self.reporter.envelope_of(named, text, self.is_tool).is_ok() {
                        self.reporter.printed();
                    }
                }
            }
            Message::Notification(notification) => match self.progress_of(&notification.method, text) {
                Some(value) => self.reporter.progress(&value),
                None => self.reporter.told(&notification.method, notification.params.as_ref()),
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
        self.is_ours(&Id::from_json(token)?).then(|| value.into_owned())
    }

    /// Old servers send a number back as a string.
    fn is_ours(&self, id: &Id<'_>) -> bool {
        self.id.as_ref().is_some_and(|ours| id.text() == ours || id.as_str().is_some_and(|id| id == *ours))
    }
}
