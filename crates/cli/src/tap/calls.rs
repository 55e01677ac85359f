//! Calls that go by, as spans and metrics: what the server would tell of itself if it could. Calls of the client are its
//! server spans, and calls back to the client are client spans. A call without an answer ends, too: with its connection or
//! its exchange of HTTP, when it is cancelled, or when there are too many.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, SystemTime};

use sabir::transport::Scheme;
use sabir::{CallEnd, ErrorCode, McpRevision, TraceContext};
use sabir_model::capture::{Direction, Event};
use sabir_model::rules::Finding;
use sabir_proto::{Id, Incoming, LENIENT, Limits, Message, Notification, Request, Response, decode};

use super::queue::{Channel, Stream};
use crate::target::Address;
use crate::telemetry::{
    Attributes, KnownNames, Labels, Metric, OTHER, Place, Span, SpanKind, Started, Value, call_labels,
    mcp_labels,
};

/// Calls that are open at the same time, and connections. With one more, the oldest call has no answer.
const OPEN: usize = 65_536;

/// How long an answer may still come to a call that was cancelled, or whose stream of events has ended and may be resumed.
const LATE: Duration = Duration::from_secs(60);

/// Where requests of MCP's modern era say which revision they are of.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

pub(super) struct Calls {
    telemetry: &'static Started,
    /// When the tap's clock began.
    start: SystemTime,
    /// The way to the server, for spans.
    network: Attributes,
    /// In the order in which they began.
    open: BTreeMap<u64, Open>,
    /// Their numbers.
    by_id: HashMap<Key, u64>,
    by_exchange: HashMap<u64, Vec<u64>>,
    /// Calls whose answer hardly comes any more, and when they end.
    leaving: VecDeque<(Duration, u64)>,
    next: u64,
    connections: HashMap<u64, Connection>,
    methods: KnownNames,
    tools: KnownNames,
    is_mcp: bool,
}

/// The connection of a call, who has made it, and its id.
type Key = (u64, Direction, Id<'static>);

/// A call without its answer.
struct Open {
    key: Key,
    at: Duration,
    place: Place,
    method: String,
    tool: Option<String>,
    resource: Option<Value>,
    revision: Option<McpRevision>,
    /// Of HTTP.
    exchange: Option<u64>,
    is_cancelled: bool,
}

#[derive(Default)]
struct Connection {
    /// None over HTTP, where nobody says so.
    opened: Option<Duration>,
    /// What was agreed on in `initialize`.
    revision: Option<McpRevision>,
}

impl Calls {
    /// `start` is when the times of records begin, `network` the way to the server.
    pub(super) fn new(telemetry: &'static Started, start: SystemTime, network: Attributes) -> Self {
        Calls {
            telemetry,
            start,
            network,
            open: BTreeMap::new(),
            by_id: HashMap::new(),
            by_exchange: HashMap::new(),
            leaving: VecDeque::new(),
            next: 0,
            connections: HashMap::new(),
            methods: KnownNames::default(),
            tools: KnownNames::default(),
            is_mcp: false,
        }
    }

    /// The traffic is that of MCP, whose names are others.
    pub(super) fn set_mcp(&mut self) {
        self.is_mcp = true;
    }

    pub(super) fn message(&mut self, at: Duration, stream: Stream, text: &[u8]) {
        self.end_late(at);
        let bytes = i64::try_from(text.len()).unwrap_or(i64::MAX);
        self.telemetry.metrics().add(Metric::Bytes, side(stream.direction), bytes);
        let decoded = decode(text, &LENIENT, &Limits::default());
        let invalid = |reason: &'static str| {
            self.telemetry.metrics().add(Metric::Invalid, vec![("reason", reason.into())], 1);
        };
        match decoded {
            Err(_) => invalid("not_json"),
            Ok(Incoming::One(Err(_))) => invalid("invalid"),
            Ok(Incoming::One(Ok(message))) => self.one(at, stream, &message),
            Ok(Incoming::Batch(entries)) => {
                for message in entries.iter() {
                    match message {
                        Ok(message) => self.one(at, stream, message),
                        Err(_) => invalid("invalid"),
                    }
                }
            }
        }
    }

    pub(super) fn event(&mut self, at: Duration, connection: u64, event: Event) {
        self.end_late(at);
        match event {
            Event::Open if self.connections.len() < OPEN => {
                let known = self.connections.entry(connection).or_default();
                if known.opened.replace(at).is_none() {
                    self.telemetry.metrics().add(Metric::Connections, Labels::new(), 1);
                }
            }
            Event::Close | Event::Exit => {
                self.end_all(at, |open| open.key.0 == connection);
                let Some(Connection { opened: Some(opened), revision }) =
                    self.connections.remove(&connection)
                else {
                    return;
                };
                let metrics = self.telemetry.metrics();
                metrics.add(Metric::Connections, Labels::new(), -1);
                if self.is_mcp {
                    let revision = revision.map(|revision| revision.to_string().into());
                    let labels = revision.map(|revision| ("mcp.protocol.version", revision));
                    let took = at.saturating_sub(opened);
                    metrics.record(Metric::ServerSession, labels.into_iter().collect(), took);
                }
            }
            _ => {}
        }
    }

    /// A request of HTTP was taken, and what is in it is answered elsewhere.
    pub(super) fn accepted(&mut self, exchange: u64) {
        self.by_exchange.remove(&exchange);
    }

    /// The client has not waited for the answer to a request of HTTP.
    pub(super) fn gave_up(&mut self, at: Duration, exchange: u64) {
        for number in self.by_exchange.get(&exchange).cloned().unwrap_or_default() {
            if let Some(open) = self.open.get_mut(&number) {
                open.is_cancelled = true;
            }
        }
        self.end_late(at);
    }

    /// The answer to a request of HTTP has ended, and calls in it may be without theirs.
    pub(super) fn answered(&mut self, at: Duration, stream: Stream) {
        self.end_late(at);
        for number in self.by_exchange.remove(&stream.exchange).unwrap_or_default() {
            let Some(open) = self.open.get(&number) else { continue };
            // A client of MCP's legacy era may resume the stream, and what the server has asked is answered elsewhere.
            let is_resumable = self.is_mcp && open.revision.is_none() && stream.channel == Channel::Events;
            match is_resumable || open.key.1 == Direction::ToClient {
                true => self.leaving.push_back((at + LATE, number)),
                false => self.end_unanswered(at, number),
            }
        }
    }

    /// Nothing comes any more.
    pub(super) fn finish(&mut self, at: Duration) {
        self.end_all(at, |_| true);
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

    fn one(&mut self, at: Duration, stream: Stream, message: &Message<'_>) {
        match message {
            Message::Request(request) => self.request(at, stream, request),
            Message::Response(response) => self.response(at, stream, response),
            Message::Notification(notification) => self.notification(at, stream, notification),
        }
    }

    fn request(&mut self, at: Duration, stream: Stream, request: &Request<'_>) {
        let Stream { connection, direction, channel, exchange } = stream;
        let key = (connection, direction, request.id.clone().into_owned());
        // An id that is used again says that nobody waits for the first answer.
        let same = self.by_id.get(&key).copied();
        let oldest = || self.open.keys().next().copied().filter(|_| self.open.len() >= OPEN);
        if let Some(number) = same.or_else(oldest) {
            self.end_unanswered(at, number);
        }
        let member = |name: &str| request.params.as_ref()?.get(name);
        let meta = member("_meta");
        let place = self.telemetry.place(meta.as_ref().and_then(TraceContext::from_meta).as_ref());
        let text = |name: &str| -> Option<String> { member(name)?.parse().ok() };
        let said = meta.as_ref().and_then(|meta| meta.get(VERSION)?.parse::<String>().ok());
        let exchange = matches!(channel, Channel::Body | Channel::Events).then_some(exchange);
        let open = Open {
            key: key.clone(),
            at,
            place,
            method: request.method.clone().into_owned(),
            tool: text("name").filter(|_| self.is_mcp && request.method == "tools/call"),
            resource: text("uri").filter(|_| self.is_mcp).map(|uri| Value::text(&uri)),
            revision: said.and_then(|said| McpRevision::parse(&said)),
            exchange,
            is_cancelled: false,
        };
        let number = self.next;
        self.next += 1;
        if let Some(exchange) = exchange {
            self.by_exchange.entry(exchange).or_default().push(number);
        }
        self.by_id.insert(key, number);
        self.open.insert(number, open);
        self.telemetry.metrics().add(Metric::Inflight, side(direction), 1);
    }

    fn notification(&mut self, at: Duration, stream: Stream, notification: &Notification<'_>) {
        let Stream { connection, direction, .. } = stream;
        self.telemetry.metrics().add(Metric::Notifications, side(direction), 1);
        let (member, is_mcp) = match &*notification.method {
            "notifications/cancelled" => ("requestId", true),
            "$/cancelRequest" => ("id", false),
            _ => return,
        };
        let id = notification.params.as_ref().and_then(|params| params.get(member));
        let Some(id) = id.and_then(|id| Id::from_json(id.into_owned())) else { return };
        let Some(&number) = self.by_id.get(&(connection, direction, id)) else { return };
        let Some(open) = self.open.get_mut(&number) else { return };
        open.is_cancelled = true;
        match is_mcp {
            // It has no answer.
            true => self.end_unanswered(at, number),
            false => self.leaving.push_back((at + LATE, number)),
        }
    }

    fn response(&mut self, at: Duration, stream: Stream, response: &Response<'_>) {
        let direction = stream.direction.reversed();
        let key = (stream.connection, direction, response.id.clone().into_owned());
        let Some(open) = self.by_id.get(&key).copied().and_then(|number| self.take(number)) else { return };
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
        if self.is_mcp
            && open.method == "initialize"
            && let Ok(result) = &response.outcome
            && let Some(agreed) =
                result.get("protocolVersion").and_then(|agreed| agreed.parse::<String>().ok())
            && (self.connections.len() < OPEN || self.connections.contains_key(&stream.connection))
        {
            self.connections.entry(stream.connection).or_default().revision = McpRevision::parse(&agreed);
        }
        self.report(at, open, end, is_tool_error);
    }

    /// Takes a call out of everything but the list of those that leave, where it is known by its number.
    fn take(&mut self, number: u64) -> Option<Open> {
        let open = self.open.remove(&number)?;
        self.by_id.remove(&open.key);
        if let Some(exchange) = open.exchange
            && let Some(numbers) = self.by_exchange.get_mut(&exchange)
        {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.by_exchange.remove(&exchange);
            }
        }
        self.telemetry.metrics().add(Metric::Inflight, side(open.key.1), -1);
        Some(open)
    }

    /// A call ends without an answer.
    fn end_unanswered(&mut self, at: Duration, number: u64) {
        if let Some(open) = self.take(number) {
            let end = if open.is_cancelled { CallEnd::Cancelled } else { CallEnd::Failed };
            self.report(at, open, end, false);
        }
    }

    fn end_all(&mut self, at: Duration, which: impl Fn(&Open) -> bool) {
        let numbers: Vec<u64> =
            self.open.iter().filter(|(_, open)| which(open)).map(|(number, _)| *number).collect();
        numbers.into_iter().for_each(|number| self.end_unanswered(at, number));
    }

    /// Ends calls whose answers have not come in time.
    fn end_late(&mut self, now: Duration) {
        while let Some((at, number)) = self.leaving.pop_front_if(|(at, _)| *at <= now) {
            self.end_unanswered(at, number);
        }
    }

    /// What became of a call, as a metric and a span.
    fn report(&self, at: Duration, open: Open, end: CallEnd, is_tool_error: bool) {
        let (connection, direction, id) = &open.key;
        let error_type = match is_tool_error {
            true => Some(Cow::Borrowed("tool_error")),
            false => end.error_type().map(Cow::Owned),
        };
        let answered = end == CallEnd::Result;
        let is_known = self.methods.learn(&open.method, answered);
        let tool = open.tool.as_deref().filter(|tool| self.tools.learn(tool, answered && !is_tool_error));
        let took = at.saturating_sub(open.at);
        let method = if is_known { &*open.method } else { OTHER };
        let agreed = || self.connections.get(connection)?.revision;
        let revision = open.revision.or_else(agreed).map(|revision| revision.to_string());
        let (metric, labels) = match (self.is_mcp, direction) {
            (false, Direction::ToServer) => (Metric::ServerCall, call_labels(method, end)),
            (false, Direction::ToClient) => (Metric::ClientCall, call_labels(method, end)),
            (true, to) => {
                let metric = match to {
                    Direction::ToServer => Metric::ServerOperation,
                    Direction::ToClient => Metric::ClientOperation,
                };
                (metric, mcp_labels(method, tool, revision.clone(), error_type.as_deref()))
            }
        };
        self.telemetry.metrics().record(metric, labels, took);
        let mut attributes = Attributes::default();
        if self.is_mcp {
            attributes.text("mcp.method.name", method);
            if let Some(revision) = &revision {
                attributes.text("mcp.protocol.version", revision);
            }
            if let Some(tool) = &open.tool {
                attributes.text("gen_ai.operation.name", "execute_tool");
                attributes.text("gen_ai.tool.name", tool);
            }
            if let Some(resource) = open.resource {
                attributes.set("mcp.resource.uri", resource);
            }
        } else {
            attributes.text("rpc.system.name", "jsonrpc");
            attributes.text("rpc.method", method);
        }
        if !is_known {
            attributes.text("rpc.method_original", &open.method);
        }
        attributes.text("jsonrpc.protocol.version", "2.0");
        if !id.is_null() {
            attributes.text("jsonrpc.request.id", id.as_str().as_deref().unwrap_or(id.text()));
        }
        if let CallEnd::Error(code) = end {
            attributes.text("rpc.response.status_code", &code.0.to_string());
        }
        if let Some(error_type) = &error_type {
            attributes.text("error.type", error_type);
        }
        attributes.0.extend(self.network.0.iter().cloned());
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

/// The way to the server, in the words of the conventions: that of a URL, or the pipes of a program.
pub(super) fn network(target: Option<&Address>) -> Attributes {
    let mut attributes = Attributes::default();
    let Some(target) = target else {
        attributes.text("network.transport", "pipe");
        return attributes;
    };
    let (transport, protocol) = match target.scheme() {
        Scheme::Unix => ("unix", None),
        Scheme::Pipe => ("pipe", None),
        scheme if scheme.is_http() => ("tcp", Some("http")),
        scheme if scheme.is_websocket() => ("tcp", Some("websocket")),
        scheme if scheme.is_nats() => ("tcp", Some("nats")),
        _ => ("tcp", None),
    };
    // What comes from variables is not told to others.
    if !target.is_secret() {
        attributes.text("server.address", target.host());
        if target.port() != 0 {
            attributes.set("server.port", Value::Number(target.port().into()));
        }
    }
    attributes.text("network.transport", transport);
    if let Some(protocol) = protocol {
        attributes.text("network.protocol.name", protocol);
    }
    attributes
}
