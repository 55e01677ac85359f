//! What messages say in MCP: which tool a call calls, how it ended, who asked the client for what. It is said beside what
//! holds for JSON-RPC, under the terms of `files/mcp`.

mod known;
mod members;
mod methods;

use sabir_proto::{Cursor, Notification, RawJson, Request, Response, TokenKind};

use crate::capture::Direction;
use crate::graph::calls::Name;
use crate::graph::graph_mapper::{RecordContext, sender};
use crate::graph::mcp::known::{Kind, Known, LONGEST_NAME, List};
use crate::graph::mcp::members::{completion_of, first_text, members_of, messages_of, text_of};
use crate::graph::mcp::methods::{METHODS, Method};
use crate::graph::node::{Node, Value};
use crate::graph::terms::*;
use crate::rules::MemoryBudget;

/// Digits that every whole number may have and be exact in all readers of JSON.
const EXACT_DIGITS: usize = 15;

/// What is known of a session that may speak MCP.
#[derive(Debug)]
pub(crate) struct McpSession {
    /// Another protocol was named.
    is_other: bool,
    /// Plain names such as `ping` are MCP's.
    is_certain: bool,
    known: Known,
}

/// What a request was about, for its answer.
#[derive(Debug)]
pub(crate) struct Asked {
    request: Name,
    method: &'static Method,
    tool: Option<String>,
}

impl McpSession {
    /// Of a capture that names its protocol, or does not.
    pub(crate) fn new(profile: Option<&str>) -> Self {
        let is_certain = profile.is_some_and(|profile| profile.starts_with("mcp"));
        McpSession { is_other: profile.is_some() && !is_certain, is_certain, known: Known::new() }
    }

    fn method(&mut self, method: &str, params: Option<&RawJson<'_>>) -> Option<&'static Method> {
        if self.is_other {
            return None;
        }
        let found = METHODS.iter().find(|known| known.name == method)?;
        let is_initialize =
            || found.class == INITIALIZE && params.is_some_and(|p| p.get("protocolVersion").is_some());
        self.is_certain |= found.name.contains('/') || is_initialize();
        self.is_certain.then_some(found)
    }

    /// Which way a message with this method goes, where only one side sends it.
    pub(crate) fn direction(&self, method: &str) -> Option<Direction> {
        let found = METHODS.iter().find(|known| known.name == method && !self.is_other)?;
        let is_certain = self.is_certain || method.contains('/') || found.class == INITIALIZE;
        found.to.filter(|_| is_certain)
    }

    /// How many tools, resources and other things are remembered.
    pub(crate) fn things(&self) -> usize {
        self.known.len()
    }

    /// Remembers no more of them than there are.
    pub(crate) fn learn_no_more(&mut self) {
        self.known.learn_no_more();
    }

    /// Adds to the node of a request. With it come the nodes of what it is about. `only_open` is the one request that the
    /// server has to answer.
    pub(crate) fn request<'n>(
        &mut self,
        context: RecordContext<'n>,
        node: &mut Node<'n>,
        name: Name,
        request: &'n Request<'_>,
        only_open: Option<Name>,
    ) -> Option<(Asked, Vec<Node<'n>>)> {
        let params = request.params.as_ref();
        let method = self.method(&request.method, params)?;
        node.class(method.class);
        if let Some(outer) = only_open {
            node.link(ASKED_DURING, &outer);
        }
        let mut more = Vec::new();
        let mut inner = Node::plain(context.session, format!("{name}-params"));
        let mut tool = None;
        let text =
            |member: &str| params.and_then(|params| params.get(member)).and_then(|value| string(&value));
        match method.class {
            CALL_TOOL => {
                let arguments = params.and_then(|params| params.get("arguments"));
                tool = text("name");
                if let Some(tool) = &tool {
                    more.extend(self.known.use_of(context, node, EXECUTES_TOOL, Kind::Tool, tool));
                    let why =
                        self.known.argument_fault(tool, arguments.as_ref().map_or("{}", RawJson::as_str));
                    if let Some(why) = why {
                        node.text(ARGUMENT_FAULT, why);
                    }
                }
                if let Some(arguments) = arguments {
                    if !numbers_stay(&arguments) {
                        inner.text(ARGUMENTS_TEXT, arguments.as_str().to_owned());
                    }
                    inner.add(HAS_ARGUMENTS, Value::Json(arguments));
                }
            }
            READ_RESOURCE | SUBSCRIBE | UNSUBSCRIBE => {
                more.extend(text("uri").and_then(|uri| {
                    self.known.use_of(context, node, ACCESSES_RESOURCE, Kind::Resource, &uri)
                }));
            }
            GET_PROMPT => {
                more.extend(text("name").and_then(|prompt| {
                    self.known.use_of(context, node, INSTANTIATES_PROMPT, Kind::Prompt, &prompt)
                }));
            }
            COMPLETE => {
                let reference = params.and_then(|params| params.get("ref"));
                let named = |member: &str| string(&reference.as_ref()?.get(member)?);
                let prompt = named("name").map(|name| (Kind::Prompt, name));
                let about = prompt.or_else(|| Some((Kind::Template, named("uri")?)));
                more.extend(about.and_then(|(kind, name)| {
                    self.known.use_of(context, &mut inner, HAS_REFERENCE, kind, &name)
                }));
            }
            CREATE_MESSAGE => {
                if let Some(params) = params {
                    messages_of(&mut inner, params, &mut more);
                }
            }
            GET_TASK | GET_TASK_PAYLOAD | CANCEL_TASK => {
                more.extend(
                    text("taskId")
                        .and_then(|task| self.known.use_of(context, node, ABOUT_TASK, Kind::Task, &task)),
                );
            }
            INITIALIZE => {
                let info = params.and_then(|params| params.get("clientInfo"));
                more.extend(info.and_then(|info| self.known.peer(context, Direction::ToServer, &info)));
            }
            _ => {}
        }
        if let Some(params) = params {
            members_of(&mut inner, method.class, params);
            let info = params
                .get("_meta")
                .and_then(|meta| Some(meta.get("io.modelcontextprotocol/clientInfo")?.into_owned()));
            more.extend(info.and_then(|info| self.known.peer(context, Direction::ToServer, &info)));
            if let Some(state) = params.get("requestState")
                && let Some(earlier) = self.known.continued(&state)
            {
                node.link(CONTINUES, &earlier);
            }
        }
        more.extend(linked(node, PARAMS, inner));
        // What only a hostile name could be is not kept for the answer.
        let tool = tool.filter(|tool| tool.len() <= LONGEST_NAME);
        Some((Asked { request: name, method, tool }, more))
    }

    /// Adds to the node of a notification. With it come the nodes of its params and of the task that it is about.
    pub(crate) fn notification<'n>(
        &mut self,
        context: RecordContext<'n>,
        node: &mut Node<'n>,
        name: Name,
        notification: &'n Notification<'_>,
    ) -> Vec<Node<'n>> {
        let params = notification.params.as_ref();
        let Some(method) = self.method(&notification.method, params) else { return Vec::new() };
        node.class(method.class);
        let Some(params) = params else { return Vec::new() };
        let mut inner = Node::plain(context.session, format!("{name}-params"));
        members_of(&mut inner, method.class, params);
        let text = |member: &str| params.get(member).and_then(|value| string(&value));
        let task = text("taskId").filter(|_| method.class == TASK_STATUS);
        let task = task.and_then(|task| self.known.use_of(context, node, ABOUT_TASK, Kind::Task, &task));
        linked(node, PARAMS, inner).into_iter().chain(task).collect()
    }

    /// Adds to the node of an answer. With it come the nodes of what it lists.
    pub(crate) fn response<'n>(
        &mut self,
        context: RecordContext<'n>,
        node: &mut Node<'n>,
        name: Name,
        asked: &Asked,
        response: &'n Response<'_>,
        budget: &MemoryBudget,
    ) -> Vec<Node<'n>> {
        let Ok(result) = &response.outcome else {
            node.add(OUTCOME, Value::Term(REFUSED));
            return Vec::new();
        };
        let mut more = Vec::new();
        let kind = result.get("resultType").and_then(|kind| string(&kind));
        let task = result.get("task").and_then(|task| string(&task.get("taskId")?));
        let task = task.or_else(|| string(&result.get("taskId")?));
        let became_task =
            kind.as_deref() == Some("task") || (task.is_some() && asked.method.class == CALL_TOOL);
        let is_error = result.get("isError").map(|value| value.as_str() == "true");
        let outcome = match (kind.as_deref(), is_error) {
            (Some("input_required"), _) => NEEDS_INPUT,
            _ if became_task => BECAME_TASK,
            (_, Some(true)) => TOOL_FAILED,
            _ => SUCCEEDED,
        };
        node.add(OUTCOME, Value::Term(outcome));
        if outcome == NEEDS_INPUT
            && let Some(state) = result.get("requestState")
        {
            self.known.expect_round(&state, asked.request);
        }
        more.extend(task.and_then(|task| self.known.use_of(context, node, ABOUT_TASK, Kind::Task, &task)));
        let class = match outcome {
            NEEDS_INPUT => Some(INPUT_REQUIRED_RESULT),
            BECAME_TASK => Some(CREATE_TASK_RESULT),
            _ => asked.method.result,
        };
        let mut inner = Node::plain(context.session, format!("{name}-result"));
        if let Some(class) = class {
            inner.class(class);
            members_of(&mut inner, class, result);
        }
        match asked.method.class {
            CALL_TOOL => {
                if outcome == TOOL_FAILED
                    && let Some(why) = first_text(result)
                {
                    node.text(FAILURE, why);
                }
                if let (SUCCEEDED, Some(tool)) = (outcome, &asked.tool)
                    && let Some(why) = self.known.result_fault(tool, result)
                {
                    node.text(RESULT_FAULT, why);
                }
            }
            INITIALIZE => {
                let mut session = Node::new(context.session, context.session, SESSION_CLASS);
                if let Some(version) = result.get("protocolVersion").and_then(|version| string(&version)) {
                    session.text(HAS_PROTOCOL_VERSION, version);
                    more.push(session);
                }
                let info = result.get("serverInfo");
                more.extend(info.and_then(|info| self.known.peer(context, Direction::ToClient, &info)));
            }
            CREATE_MESSAGE => text_of(&mut inner, result, &mut more),
            COMPLETE => completion_of(&mut inner, result, &mut more),
            method => {
                if let Some(kind) = Kind::listed_by(method) {
                    let list = List { answer: name, result, kind };
                    self.known.list(context, list, budget, &mut inner, &mut more);
                }
            }
        }
        more.extend(linked(node, RESULT, inner));
        let info = result
            .get("_meta")
            .and_then(|meta| Some(meta.get("io.modelcontextprotocol/serverInfo")?.into_owned()));
        more.extend(info.and_then(|info| self.known.peer(context, Direction::ToClient, &info)));
        more
    }
}

/// Links a message with the params or the result that something is said of.
fn linked<'n>(node: &mut Node<'n>, property: Term, inner: Node<'n>) -> Option<Node<'n>> {
    if inner.facts.is_empty() {
        return None;
    }
    node.link(property, &*inner.name);
    Some(inner)
}

/// Whether the canonical form of some JSON has its numbers as they are: plain, and exact in every reader.
fn numbers_stay(json: &RawJson<'_>) -> bool {
    let is_plain = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.len() <= EXACT_DIGITS && digits.bytes().all(|b| b.is_ascii_digit()) && text != "-0"
    };
    let mut cursor = Cursor::new(json);
    let mut numbers = std::iter::from_fn(|| cursor.token()).filter(|token| token.kind == TokenKind::Number);
    numbers.all(|token| is_plain(token.text()))
}

/// The text of a string.
fn string(value: &RawJson<'_>) -> Option<String> {
    value.as_str().starts_with('"').then(|| value.parse::<String>().ok()).flatten()
}

/// The side of a session that has tools.
fn server(context: RecordContext<'_>) -> String {
    sender(context.session, Direction::ToClient)
}
