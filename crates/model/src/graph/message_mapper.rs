//! What a message says, as nodes. Only the members that JSON-RPC defines are looked at: one that is called `@id`
//! or `@context` has no power here.

use std::borrow::Cow;
use std::fmt::Write;

use sabir_proto::{
    Entry, ErrorCode, ErrorObject, Id, Incoming, LENIENT, Limits, Message, Notification, PLAIN, RawJson,
    Request, Response, decode,
};

use crate::capture::Direction;
use crate::graph::calls::{Answered, Calls, Chain, Name, Open};
use crate::graph::error_classes::Above;
use crate::graph::graph_mapper::{RecordContext, Sink, introduce_peers};
use crate::graph::mcp::McpSession;
use crate::graph::node::{Node, Value};
use crate::graph::terms::*;
use crate::graph::traces::{Span, Traces};
use crate::rules::MemoryBudget;

/// One message that is mapped to facts.
pub(crate) struct MessageMapper<'r, 'c, 's, E> {
    pub(crate) context: RecordContext<'r>,
    pub(crate) calls: &'c mut Calls,
    pub(crate) traces: &'c mut Traces,
    pub(crate) mcp: &'c mut McpSession,
    /// The protocol that the capture names.
    pub(crate) above: Option<Above>,
    /// Whether the two sides are described.
    pub(crate) peers: &'c mut bool,
    pub(crate) budget: &'c MemoryBudget,
    pub(crate) sink: &'c mut Sink<'s, E>,
}

impl<'r, E> MessageMapper<'r, '_, '_, E> {
    /// What is not valid to the letter is taken for what it was meant to be, if that can be seen, and its fault is
    /// told beside.
    pub(crate) fn message(&mut self, bytes: &[u8]) -> Result<(), E> {
        // Nothing is refused for its length: a capture is mapped as it is.
        let limits = Limits { batch_len: usize::MAX, ..Limits::default() };
        let whole = self.context.name();
        let meant = || decode(bytes, &LENIENT, &limits).ok();
        match decode(bytes, &PLAIN, &limits) {
            Err(error) => {
                let mut node = self.context.node(whole, INVALID_MESSAGE);
                node.integer(BYTES, bytes.len());
                node.text(FAULT, format!("not JSON: {error}"));
                (self.sink)(&node)
            }
            Ok(Incoming::One(entry)) => {
                let meant = match entry.is_err().then(meant).flatten() {
                    Some(Incoming::One(meant)) => meant.ok(),
                    _ => None,
                };
                self.entry(whole, Some(bytes.len()), entry, meant)
            }
            Ok(Incoming::Batch(entries)) => {
                let mut node = self.context.node(whole, BATCH);
                node.integer(BYTES, bytes.len());
                (self.sink)(&node)?;
                let mut meant = match entries.iter().any(Result::is_err).then(meant).flatten() {
                    Some(Incoming::Batch(meant)) => meant.into_iter(),
                    _ => Vec::new().into_iter(),
                };
                for (i, entry) in entries.into_iter().enumerate() {
                    let name = Name { entry: Some(i), ..whole };
                    self.entry(name, None, entry, meant.next().and_then(Result::ok))?;
                }
                Ok(())
            }
        }
    }

    fn entry(
        &mut self,
        name: Name,
        bytes: Option<usize>,
        entry: Entry<'_>,
        meant: Option<Message<'_>>,
    ) -> Result<(), E> {
        let (message, fault) = match entry {
            Ok(message) => (Some(message), None),
            Err(invalid) => (meant, Some(invalid.fault)),
        };
        let class = match &message {
            Some(Message::Request(_)) => REQUEST,
            Some(Message::Notification(_)) => NOTIFICATION,
            Some(Message::Response(Response { outcome: Ok(_), .. })) => RESPONSE,
            Some(Message::Response(Response { outcome: Err(_), .. })) => ERROR_RESPONSE,
            None => INVALID_MESSAGE,
        };
        let told = self.context.direction;
        self.context.direction = told.or_else(|| self.inferred(message.as_ref()?));
        if self.context.direction.is_some() && !std::mem::replace(self.peers, true) {
            let session = self.context.session;
            let mut node = Node::new(session, session, SESSION_CLASS);
            introduce_peers(&mut node, session, self.sink)?;
            (self.sink)(&node)?;
        }
        let mapped = self.mapped(name, bytes, class, message.as_ref(), fault.map(|fault| fault.to_string()));
        self.context.direction = told;
        mapped
    }

    /// Which way a message goes in a capture that does not tell: by its method in MCP, or by what it answers or is about.
    fn inferred(&self, message: &Message<'_>) -> Option<Direction> {
        match message {
            Message::Request(request) => self.mcp.direction(&request.method),
            Message::Notification(notification) => {
                let member = |name| Id::from_json(notification.params.as_ref()?.get(name)?);
                let about = match &*notification.method {
                    "notifications/cancelled" => member("requestId").and_then(|id| self.calls.asker(&id)),
                    "notifications/progress" => {
                        let asker = member("progressToken").and_then(|token| self.calls.token_asker(&token));
                        asker.map(Direction::reversed)
                    }
                    _ => None,
                };
                about.or_else(|| self.mcp.direction(&notification.method))
            }
            Message::Response(response) => self.calls.asker(&response.id).map(Direction::reversed),
        }
    }

    fn mapped(
        &mut self,
        name: Name,
        bytes: Option<usize>,
        class: Term,
        message: Option<&Message<'_>>,
        fault: Option<String>,
    ) -> Result<(), E> {
        let mut node = self.context.node(name, class);
        if let Some(bytes) = bytes {
            node.integer(BYTES, bytes);
        }
        if let Some(fault) = fault {
            node.text(FAULT, fault);
        }
        match message {
            Some(Message::Request(request)) => self.request(node, name, request),
            Some(Message::Notification(notification)) => self.notification(node, name, notification),
            Some(Message::Response(response)) => self.response(node, name, response),
            None => (self.sink)(&node),
        }
    }

    fn request<'n>(&mut self, mut node: Node<'n>, name: Name, request: &'n Request<'_>) -> Result<(), E>
    where
        'r: 'n,
    {
        let RecordContext { capture, connection, time, direction, .. } = self.context;
        let hints = request.params.as_ref().map(Hints::read).unwrap_or_default();
        let mut chain = Chain::of(name);
        node.text(HAS_METHOD, &*request.method);
        for token in &hints.tokens {
            self.calls.expect_progress(direction, token, name);
        }
        if let Some(Span { trace, span }) = &hints.span {
            if let Some((outer, around)) = self.traces.request(trace, name, (capture, connection), direction)
            {
                node.link(CALLED_DURING, &outer);
                chain = around.within();
            }
            node.text(TRACE_ID, trace.clone());
            node.text(SPAN_ID, span.clone());
        }
        let is_question = direction == Some(Direction::ToClient);
        let only_open = is_question.then(|| self.calls.only_open(Direction::ToServer)).flatten();
        let during = only_open.map(|(outer, _)| outer);
        let asked = self.mcp.request(self.context, &mut node, name, request, during);
        let (asked, more) = asked.unzip();
        if let (Some((_, around)), Some(_), 0) = (only_open, &asked, chain.depth) {
            chain = around.within();
        }
        if chain.depth > 0 {
            node.link(CHAIN, &chain.root);
            node.integer(DEPTH, chain.depth);
        }
        let open = Open { name, chain, time, asked, trace: hints.span.map(|span| span.trace) };
        if let Some(earlier) = self.calls.request(direction, &request.id, open) {
            node.link(REUSES_ID_OF, &earlier);
        }
        if let Some(params) = &request.params {
            node.add(HAS_PARAMETERS, Value::Json(params.as_borrowed()));
        }
        let id = id_node(self.context, &self.context.asker(direction), &request.id);
        node.link(HAS_ID, &id.name);
        (self.sink)(&node)?;
        (self.sink)(&id)?;
        more.iter().flatten().try_for_each(|node| (self.sink)(node))
    }

    fn notification<'n>(
        &mut self,
        mut node: Node<'n>,
        name: Name,
        notification: &'n Notification<'_>,
    ) -> Result<(), E>
    where
        'r: 'n,
    {
        let RecordContext { direction, .. } = self.context;
        node.text(HAS_METHOD, &*notification.method);
        if let Some(params) = &notification.params {
            let member = |name| params.get(name).and_then(Id::from_json).map(Id::into_owned);
            let asked = direction.map(|direction| direction.reversed());
            let link = match &*notification.method {
                "$/cancelRequest" => (CANCELS, member("id").and_then(|id| self.calls.find(direction, &id))),
                "notifications/cancelled" => {
                    (CANCELS, member("requestId").and_then(|id| self.calls.find(direction, &id)))
                }
                "$/progress" => {
                    (PROGRESS_FOR, member("token").and_then(|token| self.calls.progress(asked, &token)))
                }
                "notifications/progress" => (
                    PROGRESS_FOR,
                    member("progressToken").and_then(|token| self.calls.progress(asked, &token)),
                ),
                _ => (CANCELS, None),
            };
            if let (property, Some(request)) = link {
                node.link(property, &request);
            }
            let subscription = self.mcp.subscription(params);
            if let Some(listen) = subscription.and_then(|id| self.calls.find(asked, &id)) {
                node.link(SUBSCRIBED_BY, &listen);
            }
            node.add(HAS_PARAMETERS, Value::Json(params.as_borrowed()));
        }
        let more = self.mcp.notification(self.context, &mut node, name, notification);
        (self.sink)(&node)?;
        more.iter().try_for_each(|node| (self.sink)(node))
    }

    fn response<'n>(&mut self, mut node: Node<'n>, name: Name, response: &'n Response<'_>) -> Result<(), E>
    where
        'r: 'n,
    {
        let asked = self.context.direction.map(|direction| direction.reversed());
        let id = id_node(self.context, &self.context.asker(asked), &response.id);
        node.link(HAS_ID, &id.name);
        let answered = self.calls.answer(asked, &response.id);
        match &answered {
            Some(Answered::Now(open)) => {
                node.link(ANSWERS, &open.name);
                if let (Some(from), Some(to)) = (open.time, self.context.time) {
                    node.milliseconds(DURATION_MS, to.saturating_sub(from));
                }
                if let Some(trace) = &open.trace {
                    self.traces.answer(trace, open.name);
                }
            }
            Some(Answered::Again(request)) => {
                node.link(ANSWERS, request);
                node.add(IS_REPEATED, Value::Typed("true".into(), BOOLEAN));
            }
            None => {}
        }
        let about = match &answered {
            Some(Answered::Now(open)) => open.asked.as_ref().map(|asked| (open, asked)),
            _ => None,
        };
        let more =
            about.map(|about| self.mcp.response(self.context, &mut node, name, about, response, self.budget));
        let above = if self.mcp.is_certain() { Some(Above::Mcp) } else { self.above };
        let error = response.outcome.as_ref().err().map(|error| error_node(self.context, name, error, above));
        match (&response.outcome, &error) {
            (Ok(result), _) => node.add(HAS_RESULT, Value::Json(result.as_borrowed())),
            (Err(_), Some(error)) => node.link(HAS_ERROR, &error.name),
            (Err(_), None) => {}
        }
        (self.sink)(&node)?;
        if let Some(error) = error {
            (self.sink)(&error)?;
        }
        more.iter().flatten().try_for_each(|node| (self.sink)(node))?;
        // The facts of the id came with the request.
        if answered.is_none() { (self.sink)(&id) } else { Ok(()) }
    }
}

/// An error of the classes that its code stands for, in JSON-RPC and in the protocol above.
fn error_node<'n>(
    context: RecordContext<'n>,
    name: Name,
    error: &'n ErrorObject<'_>,
    above: Option<Above>,
) -> Node<'n> {
    let class = match error.code {
        ErrorCode::PARSE_ERROR => PARSE_ERROR,
        ErrorCode::INVALID_REQUEST => INVALID_REQUEST,
        ErrorCode::METHOD_NOT_FOUND => METHOD_NOT_FOUND,
        ErrorCode::INVALID_PARAMS => INVALID_PARAMS,
        ErrorCode::INTERNAL_ERROR => INTERNAL_ERROR,
        ErrorCode(-32099..=-32000) => SERVER_ERROR,
        _ => ERROR,
    };
    let mut node = Node::new(context.session, format!("{name}-error"), class);
    if let Some((prefix, local)) = above.and_then(|above| above.error(error.code.0)) {
        node.facts.insert(0, (TYPE, Value::Class(prefix, local)));
    }
    node.integer(HAS_ERROR_CODE, error.code);
    node.text(HAS_ERROR_MESSAGE, &*error.message);
    if let Some(data) = &error.data {
        node.add(HAS_ERROR_DATA, Value::Json(data.as_borrowed()));
    }
    node
}

/// Characters that a number may have: tools refuse whole graphs for one that is longer than they like.
const LONGEST_NUMBER: usize = 1000;

/// An id as `asker` uses it: named by its text, so that `1`, `"1"` and `null` stay apart.
fn id_node<'n>(context: RecordContext<'n>, asker: &str, id: &'n Id<'_>) -> Node<'n> {
    let text = id.text();
    let mut name = format!("{asker}-id-");
    push_name(&mut name, text);
    if id.is_null() {
        return Node::new(context.session, name, NULL_ID);
    }
    if text.starts_with('"') {
        let mut node = Node::new(context.session, name, STRING_ID);
        // A surrogate that stands alone has no character: there, the text must do.
        node.text(HAS_STRING_VALUE, id.as_str().unwrap_or(Cow::Borrowed(text)));
        return node;
    }
    let mut node = Node::new(context.session, name, NUMBER_ID);
    match (text.contains(['e', 'E']) || text.len() > LONGEST_NUMBER, text.contains('.')) {
        (true, _) => node.text(ID_TEXT, text),
        (false, true) => node.add(HAS_NUMBER_VALUE, Value::Typed(text.into(), DECIMAL)),
        (false, false) => node.add(HAS_NUMBER_VALUE, Value::Typed(text.into(), INTEGER)),
    }
    node
}

/// Appends a text to a name, with escapes for what names do not have.
pub(crate) fn push_name(name: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            _ => {
                let _ = write!(name, "%{byte:02X}");
            }
        }
    }
}

/// What protocols on top of JSON-RPC put into params for others to see.
#[derive(Default)]
struct Hints {
    tokens: Vec<Id<'static>>,
    span: Option<Span>,
}

impl Hints {
    fn read(params: &RawJson<'_>) -> Hints {
        let mut hints = Hints::default();
        for (name, value) in params.members() {
            match &*name {
                "_meta" => {
                    hints.tokens.extend(value.get("progressToken").and_then(token));
                    hints.span = Span::from_meta(&value);
                }
                "workDoneToken" | "partialResultToken" => hints.tokens.extend(token(value)),
                _ => {}
            }
        }
        hints
    }
}

fn token(value: RawJson<'_>) -> Option<Id<'static>> {
    Id::from_json(value).filter(|token| !token.is_null()).map(Id::into_owned)
}
