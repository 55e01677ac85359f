//! Calls that go by, as spans and metrics: what the server would tell of itself if it could. Calls of the client are its
//! server spans, and calls back to the client are client spans.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use sabir::{CallEnd, ErrorCode, TraceContext};
use sabir_model::capture::{Direction, Event};
use sabir_model::rules::Finding;
use sabir_proto::{Id, Incoming, LENIENT, Limits, Message, Notification, Request, Response, decode};

use crate::telemetry::{
    Attributes, KnownNames, Labels, Metric, OTHER, Place, Span, SpanKind, Started, call_labels, mcp_labels,
};

/// Calls that are open at the same time. Those beyond have no span.
const OPEN: usize = 65_536;

/// Where requests of MCP's modern era say which revision they are of.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

pub(super) struct Calls {
    telemetry: &'static Started,
    /// When the tap's clock began.
    start: SystemTime,
    open: HashMap<(u64, Direction, Id<'static>), Open>,
    connections: HashSet<u64>,
    methods: KnownNames,
    tools: KnownNames,
    is_mcp: bool,
}

/// A call without its answer.
struct Open {
    at: Duration,
    place: Place,
    method: String,
    tool: Option<String>,
    revision: Option<String>,
    is_cancelled: bool,
}

impl Calls {
    /// `start` is when the times of records begin.
    pub(super) fn new(telemetry: &'static Started, start: SystemTime) -> Self {
        Calls {
            telemetry,
            start,
            open: HashMap::new(),
            connections: HashSet::new(),
            methods: KnownNames::default(),
            tools: KnownNames::default(),
            is_mcp: false,
        }
    }

    /// The traffic is that of MCP, whose names are others.
    pub(super) fn set_mcp(&mut self) {
        self.is_mcp = true;
    }

    pub(super) fn message(&mut self, at: Duration, connection: u64, direction: Direction, text: &[u8]) {
        let labels = || side(direction);
        let bytes = i64::try_from(text.len()).unwrap_or(i64::MAX);
        self.telemetry.metrics().add(Metric::Bytes, labels(), bytes);
        let decoded = decode(text, &LENIENT, &Limits::default());
        let invalid = |reason: &'static str| {
            self.telemetry.metrics().add(Metric::Invalid, vec![("reason", reason.into())], 1);
        };
        match decoded {
            Err(_) => invalid("not_json"),
            Ok(Incoming::One(Err(_))) => invalid("invalid"),
            Ok(Incoming::One(Ok(message))) => self.one(at, connection, direction, &message),
            Ok(Incoming::Batch(entries)) => {
                for message in entries.iter() {
                    match message {
                        Ok(message) => self.one(at, connection, direction, message),
                        Err(_) => invalid("invalid"),
                    }
                }
            }
        }
    }

    pub(super) fn event(&mut self, connection: u64, event: Event) {
        let metrics = self.telemetry.metrics();
        match event {
            Event::Open if self.connections.len() < OPEN && self.connections.insert(connection) => {
                metrics.add(Metric::Connections, Labels::new(), 1);
            }
            Event::Close | Event::Exit => {
                if self.connections.remove(&connection) {
                    metrics.add(Metric::Connections, Labels::new(), -1);
                }
                let ended = self.open.extract_if(|(of, ..), _| *of == connection);
                for ((_, direction, _), _) in ended {
                    metrics.add(Metric::Inflight, side(direction), -1);
                }
            }
            _ => {}
        }
    }

    /// What breaks a rule is an event of the log.
    pub(super) fn finding(finding: &Finding) {
        let (rule, record) = (finding.rule.id, finding.number);
        match finding.severity {
            sabir_model::rules::Severity::Error => {
                tracing::error!(target: "sabir::check", rule, record, "{}", finding.what);
            }
            _ => tracing::warn!(target: "sabir::check", rule, record, "{}", finding.what),
        }
    }

    fn one(&mut self, at: Duration, connection: u64, direction: Direction, message: &Message<'_>) {
        match message {
            Message::Request(request) => self.request(at, connection, direction, request),
            Message::Response(response) => self.response(at, connection, direction, response),
            Message::Notification(notification) => self.notification(connection, direction, notification),
        }
    }

    fn request(&mut self, at: Duration, connection: u64, direction: Direction, request: &Request<'_>) {
        if self.open.len() >= OPEN {
            return;
        }
        let member = |name| request.params.as_ref()?.get(name);
        let meta = member("_meta");
        let place = self.telemetry.place(meta.as_ref().and_then(TraceContext::from_meta).as_ref());
        let open = Open {
            at,
            place,
            method: request.method.clone().into_owned(),
            tool: (self.is_mcp && request.method == "tools/call")
                .then(|| member("name")?.parse().ok())
                .flatten(),
            revision: meta.as_ref().and_then(|meta| meta.get(VERSION)?.parse().ok()),
            is_cancelled: false,
        };
        let key = (connection, direction, request.id.clone().into_owned());
        if self.open.insert(key, open).is_none() {
            self.telemetry.metrics().add(Metric::Inflight, side(direction), 1);
        }
    }

    fn notification(&mut self, connection: u64, direction: Direction, notification: &Notification<'_>) {
        self.telemetry.metrics().add(Metric::Notifications, side(direction), 1);
        let member = match &*notification.method {
            "notifications/cancelled" => "requestId",
            "$/cancelRequest" => "id",
            _ => return,
        };
        let id = notification.params.as_ref().and_then(|params| params.get(member));
        if let Some(id) = id.and_then(|id| Id::from_json(id.into_owned()))
            && let Some(open) = self.open.get_mut(&(connection, direction, id))
        {
            open.is_cancelled = true;
        }
    }

    fn response(&mut self, at: Duration, connection: u64, direction: Direction, response: &Response<'_>) {
        let direction = direction.reversed();
        let key = (connection, direction, response.id.clone().into_owned());
        let Some(open) = self.open.remove(&key) else { return };
        let metrics = self.telemetry.metrics();
        metrics.add(Metric::Inflight, side(direction), -1);
        let end = match &response.outcome {
            Ok(_) => CallEnd::Result,
            Err(error) if open.is_cancelled && error.code == ErrorCode::REQUEST_CANCELLED => {
                CallEnd::Cancelled
            }
            Err(error) => CallEnd::Error(error.code),
        };
        let is_tool_error = self.is_mcp
            && open.method == "tools/call"
            && matches!(&response.outcome, Ok(result) if result.get("isError").is_some_and(|flag| flag.as_str() == "true"));
        let error_type = match is_tool_error {
            true => Some(Cow::Borrowed("tool_error")),
            false => end.error_type().map(Cow::Owned),
        };
        let answered = end == CallEnd::Result;
        let is_known = self.methods.learn(&open.method, answered);
        let tool = open.tool.as_deref().filter(|tool| self.tools.learn(tool, answered && !is_tool_error));
        let took = at.saturating_sub(open.at);
        let method = if is_known { &*open.method } else { OTHER };
        let (metric, labels) = match (self.is_mcp, direction) {
            (false, Direction::ToServer) => (Metric::ServerCall, call_labels(method, end)),
            (false, Direction::ToClient) => (Metric::ClientCall, call_labels(method, end)),
            (true, to) => {
                let metric = match to {
                    Direction::ToServer => Metric::ServerOperation,
                    Direction::ToClient => Metric::ClientOperation,
                };
                (metric, mcp_labels(method, tool, open.revision.clone(), error_type.as_deref()))
            }
        };
        metrics.record(metric, labels, took);
        let mut attributes = Attributes::default();
        if self.is_mcp {
            attributes.text("mcp.method.name", method);
            if let Some(revision) = &open.revision {
                attributes.text("mcp.protocol.version", revision);
            }
            if let Some(tool) = &open.tool {
                attributes.text("gen_ai.operation.name", "execute_tool");
                attributes.text("gen_ai.tool.name", tool);
            }
        } else {
            attributes.text("rpc.system.name", "jsonrpc");
            attributes.text("rpc.method", method);
        }
        if !is_known {
            attributes.text("rpc.method_original", &open.method);
        }
        attributes.text("jsonrpc.protocol.version", "2.0");
        let id = &response.id;
        if !id.is_null() {
            attributes.text("jsonrpc.request.id", id.as_str().as_deref().unwrap_or(id.text()));
        }
        if let CallEnd::Error(code) = end {
            attributes.text("rpc.response.status_code", &code.0.to_string());
        }
        if let Some(error_type) = &error_type {
            attributes.text("error.type", error_type);
        }
        let name = match (is_known, tool) {
            (true, Some(tool)) => format!("{method} {tool}"),
            (true, None) => method.to_owned(),
            (false, _) => if self.is_mcp { OTHER } else { "jsonrpc" }.to_owned(),
        };
        self.telemetry.span(Span {
            place: open.place,
            name,
            kind: match direction {
                Direction::ToServer => SpanKind::Server,
                Direction::ToClient => SpanKind::Client,
            },
            start: self.start + open.at,
            end: self.start + at,
            is_error: error_type.is_some(),
            attributes,
        });
    }
}

/// From where the server stands.
fn side(direction: Direction) -> Labels {
    let word = match direction {
        Direction::ToServer => "received",
        Direction::ToClient => "sent",
    };
    vec![("direction", word.into())]
}
