//! What messages say in MCP: which tool a call calls, how it ended, who asked the client for what. It is said beside what
//! holds for JSON-RPC, under the terms of `files/mcp`.

mod calls;
mod known;
mod members;
mod methods;
mod questions;
mod tasks;

use sabir_proto::{Cursor, Id, Notification, RawJson, Request, Response, TokenKind};

use crate::capture::Direction;
use crate::graph::calls::{Name, Open};
use crate::graph::graph_mapper::{RecordContext, sender};
use crate::graph::mcp::calls::{Call, Rounds, Target};
use crate::graph::mcp::known::{Kind, Known, LONGEST_NAME, List};
use crate::graph::mcp::members::{completion_of, first_text, members_of, messages_of, text_of};
use crate::graph::mcp::methods::{METHODS, Method};
use crate::graph::mcp::tasks::Tasks;
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
    rounds: Rounds,
    tasks: Tasks,
}

/// What a request was about, for its answer.
#[derive(Debug)]
pub(crate) struct Asked {
    method: &'static Method,
    tool: Option<String>,
    task: Option<String>,
    target: Target,
    /// The call that it goes on with. Few do.
    earlier: Option<Box<Call>>,
}

impl Asked {
    /// The call that this request is of.
    fn call(&self, open: &Open) -> Call {
        let Open { name, chain, time, .. } = *open;
        let first = || Call { request: name, began: time, chain, tool: self.tool.clone() };
        self.earlier.as_deref().cloned().unwrap_or_else(first)
    }
}

impl McpSession {
    /// Of a capture that names its protocol, or does not.
    pub(crate) fn new(profile: Option<&str>) -> Self {
        let is_certain = profile.is_some_and(|profile| profile.starts_with("mcp"));
        let is_other = profile.is_some() && !is_certain;
        McpSession { is_other, is_certain, known: Known::new(), rounds: Rounds::new(), tasks: Tasks::new() }
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

    /// Whether the session speaks MCP, as far as that is known.
    pub(crate) fn is_certain(&self) -> bool {
        self.is_certain
    }

    /// Which way a message with this method goes, where only one side sends it.
    pub(crate) fn direction(&self, method: &str) -> Option<Direction> {
        let found = METHODS.iter().find(|known| known.name == method && !self.is_other)?;
        let is_certain = self.is_certain || method.contains('/') || found.class == INITIALIZE;
        found.to.filter(|_| is_certain)
    }

    /// How many tools, resources, tasks and other things are remembered.
    pub(crate) fn things(&self) -> usize {
        self.known.len() + self.rounds.len() + self.tasks.len()
    }

    /// Remembers no more of them than there are.
    pub(crate) fn learn_no_more(&mut self) {
        self.known.learn_no_more();
        self.rounds.keep_no_more();
        self.tasks.keep_no_more();
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
        let (mut tool, mut task) = (None, None);
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
            GET_TASK | GET_TASK_PAYLOAD | CANCEL_TASK | UPDATE_TASK => {
                task = text("taskId");
                if let Some(task) = &task {
                    more.extend(self.known.use_of(context, node, ABOUT_TASK, Kind::Task, task));
                    let responses = params.and_then(|params| params.get("inputResponses"));
                    if let Some(responses) = responses.filter(|_| method.class == UPDATE_TASK) {
                        more.extend(self.tasks.answered(context, name, task, &responses));
                    }
                }
            }
            INITIALIZE => {
                let info = params.and_then(|params| params.get("clientInfo"));
                more.extend(info.and_then(|info| self.known.peer(context, Direction::ToServer, &info)));
            }
            _ => {}
        }
        let target = self.rounds.target(method.class, params);
        let mut earlier = None;
        if let Some(params) = params {
            members_of(&mut inner, method.class, params);
            if let Some(meta) = params.get("_meta") {
                let version = meta.get("io.modelcontextprotocol/protocolVersion");
                more.extend(version.and_then(|version| self.known.version(context, &version)));
                let info = meta.get("io.modelcontextprotocol/clientInfo");
                more.extend(info.and_then(|info| self.known.peer(context, Direction::ToServer, &info)));
            }
            if let Some(mut round) = self.rounds.continued(target, params) {
                node.link(CONTINUES, &round.request);
                if let Some(responses) = params.get("inputResponses") {
                    more.extend(questions::answer(context, name, &responses, &mut round.questions));
                }
                earlier = Some(Box::new(round.call));
            }
        }
        more.extend(linked(node, PARAMS, inner));
        // What only a hostile name could be is not kept for the answer.
        let [tool, task] = [tool, task].map(|name| name.filter(|name| name.len() <= LONGEST_NAME));
        Some((Asked { method, tool, task, target, earlier }, more))
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
        let mut more: Vec<_> = linked(node, PARAMS, inner).into_iter().collect();
        if matches!(method.class, TASK_STATUS | TASK_NEWS) {
            let task = params.get("taskId").and_then(|task| string(&task));
            more.extend(
                task.and_then(|task| self.known.use_of(context, node, ABOUT_TASK, Kind::Task, &task)),
            );
            more.extend(self.tasks.told(context, node, name, params, &self.known));
        }
        more
    }

    /// The id of the request that has asked for a notification, in the revisions that have subscriptions.
    pub(crate) fn subscription(&self, params: &RawJson<'_>) -> Option<Id<'static>> {
        if self.is_other {
            return None;
        }
        let id = params.get("_meta")?.get("io.modelcontextprotocol/subscriptionId")?.into_owned();
        Id::from_json(id).map(Id::into_owned)
    }

    /// Adds to the node of an answer to `open`. With it come the nodes of what it lists, and what is known of a call that has
    /// ended with it.
    pub(crate) fn response<'n>(
        &mut self,
        context: RecordContext<'n>,
        node: &mut Node<'n>,
        name: Name,
        (open, asked): (&Open, &Asked),
        response: &'n Response<'_>,
        budget: &MemoryBudget,
    ) -> Vec<Node<'n>> {
        let result = match &response.outcome {
            Ok(result) => result,
            Err(error) => {
                node.add(OUTCOME, Value::Term(REFUSED));
                let end = match (&asked.earlier, &asked.task) {
                    (Some(call), _) => {
                        Some(call.end(context, name, REFUSED, Some(error.message.to_string())))
                    }
                    (None, Some(task)) if asked.method.class == GET_TASK_PAYLOAD => {
                        self.tasks.error(context, node, name, task, error)
                    }
                    _ => None,
                };
                return end.into_iter().collect();
            }
        };
        let mut more = Vec::new();
        if let (GET_TASK_PAYLOAD, Some(task)) = (asked.method.class, &asked.task)
            && let Some(end) = self.tasks.result(context, node, name, task, result, &self.known)
        {
            // Whether the tool has failed is said of its call.
            node.add(OUTCOME, Value::Term(SUCCEEDED));
            more.extend(end);
            let mut inner = Node::plain(context.session, format!("{name}-result"));
            inner.class(GET_TASK_PAYLOAD_RESULT);
            more.extend(linked(node, RESULT, inner));
            return more;
        }
        let kind = result.get("resultType").and_then(|kind| string(&kind));
        let nested = result.get("task").and_then(|task| string(&task.get("taskId")?));
        let may_be_task = matches!(asked.method.class, CALL_TOOL | CREATE_MESSAGE | ELICIT);
        let became_task = kind.as_deref() == Some("task") || (nested.is_some() && may_be_task);
        let task = nested.or_else(|| string(&result.get("taskId")?));
        let is_error = result.get("isError").map(|value| value.as_str() == "true");
        let outcome = match (kind.as_deref(), is_error) {
            (Some("input_required"), _) => NEEDS_INPUT,
            _ if became_task => BECAME_TASK,
            (_, Some(true)) => TOOL_FAILED,
            _ => SUCCEEDED,
        };
        node.add(OUTCOME, Value::Term(outcome));
        match (outcome, &asked.earlier) {
            (NEEDS_INPUT, _) => {
                let call = asked.call(open);
                let mut questions = Vec::new();
                if let Some(requests) = result.get("inputRequests") {
                    more.extend(questions::ask(context, name, &requests, &call, &mut questions));
                }
                let state = result.get("requestState");
                self.rounds.expect(state.as_ref(), asked.target, open.name, call, questions);
            }
            (BECAME_TASK, _) => {
                if let Some(task) = &task {
                    self.tasks.begin(task, asked.call(open));
                }
            }
            (_, Some(call)) => {
                let why = (outcome == TOOL_FAILED).then(|| first_text(result)).flatten();
                more.push(call.end(context, name, outcome, why));
            }
            _ => {}
        }
        if matches!(asked.method.class, GET_TASK | CANCEL_TASK) {
            more.extend(self.tasks.told(context, node, name, result, &self.known));
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
                let version = result.get("protocolVersion");
                more.extend(version.and_then(|version| self.known.version(context, &version)));
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
