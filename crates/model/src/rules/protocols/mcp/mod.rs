//! Rules of the Model Context Protocol.

mod headers;
mod methods;
mod params;
mod progress;
mod stateless;

use std::collections::HashMap;

use sabir_proto::{Id, JsonKind, McpRevision as Revision, Notification, RawJson, Request, Response};

use self::methods::{From, Method, Needs, known};
use self::params::Params;
use self::progress::Tokens;
use crate::json_path::{Object, elements, kind, member, string, text_at};
use crate::rules::engine::calls::{Call, Mark, Side};
use crate::rules::engine::finding::{Finding, Report, quoted};
use crate::rules::engine::session::CheckContext;
use crate::rules::schemas::{MemoryBudget, Tool};
use crate::rules::table::*;

/// Tools that are remembered, and how long their names may be.
const TOOLS: usize = 1024;
const LONGEST_NAME: usize = 200;
/// Bytes of declared capabilities that are remembered.
const CAPABILITIES: usize = 64 << 10;

/// One MCP session.
pub(crate) struct Mcp {
    /// As told, or as the traffic says.
    revision: Option<Revision>,
    told: bool,
    stage: Stage,
    /// The message that answered `initialize`, which is reported if nothing follows.
    opened: Option<Finding>,
    initialized: u32,
    client: Option<Capabilities>,
    server: Option<Capabilities>,
    /// Whether the end of the list of tools was seen.
    listed: bool,
    tools: HashMap<Box<str>, Tool, foldhash::fast::RandomState>,
    budget: MemoryBudget,
    tokens: Tokens,
    /// Requests that are open and want log messages, from 2026-07-28.
    logging: u32,
    /// Records are missing.
    gap: bool,
}

/// What a side has declared.
struct Capabilities {
    text: Box<str>,
    /// Those that were asked for, and whether it has them: each message needs one.
    seen: Vec<(&'static [&'static str], bool)>,
}

impl Capabilities {
    /// What is too long is not kept.
    fn declared(text: Option<&str>) -> Option<Self> {
        let text = text.filter(|text| text.len() <= CAPABILITIES)?;
        Some(Capabilities { text: text.into(), seen: Vec::new() })
    }

    fn has(&mut self, path: &'static [&'static str]) -> bool {
        if let Some((_, has)) = self.seen.iter().find(|(seen, _)| std::ptr::eq(*seen, path)) {
            return *has;
        }
        let has = member(&self.text, path).is_some_and(|value| !matches!(value, "false" | "null"));
        self.seen.push((path, has));
        has
    }
}

/// How far the handshake is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Nothing,
    InitializeSent,
    Answered,
    Open,
}

impl Mcp {
    pub(crate) fn new(revision: Option<Revision>, budget: MemoryBudget) -> Self {
        Mcp {
            revision,
            told: revision.is_some(),
            stage: Stage::Nothing,
            opened: None,
            initialized: 0,
            client: None,
            server: None,
            listed: false,
            tools: HashMap::default(),
            budget,
            tokens: Tokens::default(),
            logging: 0,
            gap: false,
        }
    }

    /// The revision, as far as it is known: the last one with a handshake until the traffic says otherwise.
    pub(crate) fn revision(&self) -> Revision {
        self.revision.unwrap_or(Revision::V2025_11_25)
    }

    /// Whether the revision may have been told in records that are missing.
    fn is_revision_missing(&self) -> bool {
        self.gap && self.revision.is_none()
    }

    /// Records are missing: the handshake may be among them, other tools, and what has begun or ended. What was declared
    /// stays declared.
    pub(crate) fn missed(&mut self) {
        self.gap = true;
        self.stage = Stage::Open;
        self.opened = None;
        self.listed = false;
        self.tools.clear();
        self.tokens.missed();
        self.logging = 0;
    }

    fn learn(&mut self, revision: Option<Revision>) {
        if !self.told && revision.is_some() {
            self.revision = revision;
        }
    }

    pub(crate) fn sender(&self, method: &str) -> Option<Side> {
        match known(method)?.from {
            From::Client => Some(Side::Client),
            From::Server => Some(Side::Server),
            From::Either => None,
        }
    }

    /// The mark tells whether the request wants log messages.
    pub(crate) fn request(&mut self, context: &mut CheckContext<'_>, request: &Request<'_>) -> Mark {
        let params = &Params::new(request.params.as_ref().map(RawJson::as_str));
        self.learn(params.in_meta(stateless::VERSION).and_then(named));
        let id = request.id.text();
        if request.id.is_null() || request.id.is_fractional() {
            context.add(&MCP001, id, "the id of a request is a string or an integer");
        } else if !self.revision().is_modern()
            && let Some(earlier) = context.calls.done(context.from, &request.id)
        {
            let (line, what) =
                (earlier.line, format!("the id {} was used in this session before", quoted(id)));
            context.add(&MCP002, id, what);
            context.report.related(&MCP002, line, "it was used here");
        }
        self.handshake(context, &request.method, params);
        self.call(context, &request.method, params);
        let tool = self.tool(context, &request.method, params);
        if let Some(token) = params.in_meta("progressToken") {
            self.tokens.open(context, token, &request.id);
        }
        let mut logs = false;
        if self.revision().is_modern() {
            stateless::request(context, &request.method, params);
            logs = params.in_meta("io.modelcontextprotocol/logLevel").is_some();
            self.logging += u32::from(logs);
        }
        Mark { set: logs, tool }
    }

    pub(crate) fn notification(&mut self, context: &mut CheckContext<'_>, notification: &Notification<'_>) {
        let params = &Params::new(notification.params.as_ref().map(RawJson::as_str));
        let method = &*notification.method;
        if !self.revision().is_modern() {
            self.early_notification(context, method);
        }
        self.call(context, method, params);
        match method {
            "notifications/initialized" => self.has_initialized(context, method),
            "notifications/cancelled" => self.cancelled(context, params),
            "notifications/progress" => self.tokens.progress(context, params),
            "notifications/message" if self.revision().is_modern() && self.logging == 0 && !self.gap => {
                context.add(&MCP023, method, "no open request has a log level in its `_meta`");
            }
            _ => {}
        }
    }

    pub(crate) fn response(
        &mut self,
        context: &mut CheckContext<'_>,
        response: &Response<'_>,
        asked: Option<&Call>,
    ) {
        let Some(call) = asked.filter(|call| !call.invalid) else { return };
        if let Some(line) = call.cancelled {
            let entry = context.entry;
            context.add(&MCP014, entry, format!("{} was cancelled", quoted(&call.method)));
            context.report.related(&MCP014, line, "it is cancelled here");
        }
        self.tokens.close(call.side, &call.id, context.line());
        self.logging -= u32::from(call.mark.set).min(self.logging);
        let modern = self.revision().is_modern();
        match &response.outcome {
            Ok(result) => {
                if &*call.method == "initialize" {
                    self.has_answered(context, result);
                }
                let method = known(&call.method);
                let has_needs = method.is_some_and(|method| !method.result.is_empty());
                // A result that nothing is asked of is not gone through.
                let is_read = has_needs || call.mark.tool.is_some() || modern;
                let members = &Object::of(if is_read { result.as_str() } else { "" });
                if let Some(method) = method {
                    needs(context, "result", Some(result.as_str()), |name| members.get(name), method.result);
                }
                if &*call.method == "tools/list" {
                    self.list(result);
                }
                if let Some(tool) = &call.mark.tool {
                    self.content(context, tool, result.as_str(), members);
                }
                if modern {
                    stateless::result(context, result.as_str(), members);
                }
            }
            Err(error) => {
                if modern {
                    stateless::error(context, error.code.0);
                }
            }
        }
    }

    pub(crate) fn batch(&mut self, context: &mut CheckContext<'_>) {
        let entry = context.entry;
        if self.is_revision_missing() {
            return;
        }
        if self.revision() != Revision::V2025_03_26 && self.revision() != Revision::V2024_11_05 {
            return context.add(&MCP003, entry, format!("{} has no batches", self.revision()));
        }
        let method = |part: &&str| text_at(part, &["method"]).is_some_and(|method| method == "initialize");
        if let Some(part) = elements(entry).find(method) {
            context.add(&MCP003, part, "`initialize` must not be part of a batch");
        }
    }

    pub(crate) fn finish(&mut self, report: &mut Report) {
        if self.initialized == 0
            && let Some(opened) = self.opened.take()
        {
            report.push(opened);
        }
    }

    /// What may be sent before the session is open.
    fn handshake(&mut self, context: &mut CheckContext<'_>, method: &str, params: &Params<'_>) {
        if self.revision().is_modern() {
            return;
        }
        match (context.from, method) {
            (Side::Client, "initialize") => {
                self.stage = self.stage.max(Stage::InitializeSent);
                self.learn(params.get("protocolVersion").and_then(named));
                self.client = Capabilities::declared(params.get("capabilities"));
            }
            (_, "ping") => {}
            (Side::Client, _) if self.stage == Stage::Nothing => {
                context.add(&MCP004, method, "the first request must be `initialize`");
            }
            (Side::Client, _) if self.stage == Stage::InitializeSent => {
                let what = "sent before `initialize` is answered";
                context.add_as(&MCP004, Severity::Warning, method, what);
            }
            (Side::Server, _) if self.stage < Stage::Open => {
                let what = "the server asks before `notifications/initialized` has come";
                context.add_as(&MCP004, Severity::Warning, method, what);
            }
            _ => {}
        }
    }

    fn early_notification(&mut self, context: &mut CheckContext<'_>, method: &str) {
        if context.from == Side::Client && self.stage == Stage::Nothing && method != "notifications/cancelled"
        {
            context.add(&MCP004, method, "the first message must be `initialize`");
        }
    }

    fn has_answered(&mut self, context: &mut CheckContext<'_>, result: &RawJson<'_>) {
        self.stage = self.stage.max(Stage::Answered);
        self.learn(member(result.as_str(), &["protocolVersion"]).and_then(named));
        self.server = Capabilities::declared(member(result.as_str(), &["capabilities"]));
        // Written down now, told only if it stays true.
        let mut deferred = Report::default();
        let what = "`notifications/initialized` never follows this answer";
        deferred.add(&MCP005, &context.location, context.entry, what);
        self.opened = deferred.findings.pop();
    }

    fn has_initialized(&mut self, context: &mut CheckContext<'_>, method: &str) {
        self.initialized += 1;
        self.stage = self.stage.max(Stage::Open);
        if self.initialized > 1 && !self.revision().is_modern() {
            context.add(&MCP005, method, "`notifications/initialized` was sent before");
        }
    }

    /// Direction, capability and shape of a request or notification.
    fn call(&mut self, context: &mut CheckContext<'_>, name: &str, params: &Params<'_>) {
        if let Some(params) = params.text.filter(|params| kind(params) != JsonKind::Object) {
            context.add(&MCP009, params, "params are given by name in MCP: an object");
        }
        if let Some(meta) = params.meta
            && self.revision() >= Revision::V2025_06_18
        {
            stateless::meta_keys(context, meta);
        }
        let Some(method) = known(name) else { return };
        let revision = self.revision();
        if revision > method.until && !self.is_revision_missing() {
            return context.add(&MCP020, name, format!("{} is gone from {}", quoted(name), revision));
        }
        let wrong = match method.from {
            From::Client => context.from == Side::Server,
            From::Server => context.from == Side::Client,
            From::Either => false,
        };
        if wrong && revision >= method.since {
            let what = format!("{} must not be sent by the {}", quoted(name), context.from.name());
            context.add(&MCP007, name, what);
            return;
        }
        self.capability(context, method, name);
        if params.text.is_none_or(|params| kind(params) == JsonKind::Object) {
            needs(context, "params", params.text, |name| params.get(name), method.params);
        }
    }

    fn capability(&mut self, context: &mut CheckContext<'_>, method: &Method, name: &str) {
        let Some((whose, path)) = method.capability else { return };
        let declared = match whose {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        if declared.as_mut().is_some_and(|declared| !declared.has(path)) {
            let what = format!("the {} did not declare the capability `{}`", whose.name(), path.join("."));
            context.add(&MCP008, name, what);
        }
    }

    /// The tool that is called, if it says what it gives.
    fn tool(
        &mut self,
        context: &mut CheckContext<'_>,
        method: &str,
        params: &Params<'_>,
    ) -> Option<Box<str>> {
        if method != "tools/call" {
            return None;
        }
        let name = string(params.get("name")?)?;
        let Some(tool) = self.tools.get(&*name) else {
            if self.listed {
                let part = context.part(&["params", "name"]);
                context.add(&MCP015, part, format!("no list of tools has {}", quoted(&name)));
            }
            return None;
        };
        let arguments = params.get("arguments");
        if let Some(mismatch) = tool.arguments(arguments.unwrap_or("{}")) {
            let part = arguments.and(mismatch.part).or(params.text).unwrap_or(context.entry);
            context.add(&MCP016, part, mismatch.what);
        }
        tool.has_output().then(|| (*name).into())
    }

    /// What a tool gives that says what it does.
    fn content(&self, context: &mut CheckContext<'_>, tool: &str, result: &str, members: &Object<'_>) {
        let failed = members.get("isError") == Some("true");
        let complete = members.get("resultType").and_then(string).is_none_or(|kind| kind == "complete");
        let Some(tool) = self.tools.get(tool).filter(|_| !failed && complete) else { return };
        match members.get("structuredContent") {
            None => {
                let what = "the tool has an `outputSchema`, and there is no `structuredContent`";
                context.add(&MCP017, result, what);
            }
            Some(content) => {
                if let Some(mismatch) = tool.content(content) {
                    context.add(&MCP017, mismatch.part.unwrap_or(content), mismatch.what);
                }
            }
        }
    }

    fn list(&mut self, result: &RawJson<'_>) {
        let Some(tools) = member(result.as_str(), &["tools"]) else { return };
        let mut all = true;
        for tool in elements(tools) {
            let Some(name) = text_at(tool, &["name"]) else { continue };
            // What it took before is given back first.
            self.tools.remove(&*name);
            if self.tools.len() < TOOLS && name.len() <= LONGEST_NAME {
                self.tools.insert((*name).into(), Tool::new(tool, &self.budget));
            } else {
                all = false;
            }
        }
        let last = member(result.as_str(), &["nextCursor"]).is_none();
        self.listed = (self.listed || last) && all;
    }

    fn cancelled(&mut self, context: &mut CheckContext<'_>, params: &Params<'_>) {
        let Some(text) = params.get("requestId") else { return };
        let Some(id) = RawJson::new(text).ok().and_then(Id::from_json) else { return };
        let (line, from) = (context.line(), context.from);
        let modern = self.revision().is_modern();
        if modern && from == Side::Server {
            let forgot = context.calls.forgot;
            let listening = context
                .calls
                .get(Side::Client, &id)
                .map_or(forgot, |call| &*call.method == "subscriptions/listen");
            if !listening {
                context.add_as(
                    &MCP013,
                    Severity::Error,
                    text,
                    "a server cancels nothing but `subscriptions/listen`",
                );
            }
            return;
        }
        if let Some(call) = context.calls.get(from, &id) {
            call.cancelled = Some(line);
            if &*call.method == "initialize" {
                context.add(&MCP006, text, "`initialize` must not be cancelled");
            }
            return;
        }
        let what = match () {
            () if context.calls.done(from, &id).is_some() => "the request was answered before",
            () if context.calls.forgot => return,
            () if context.calls.get(from.other(), &id).is_some() => "this is the other side's request",
            () => "no such request was sent",
        };
        context.add(&MCP013, text, what);
    }
}

fn named(text: &str) -> Option<Revision> {
    Revision::parse(&string(text)?)
}

/// The members that a method wants. [`JsonKind::Null`] stands for any kind.
fn needs<'t>(
    context: &mut CheckContext<'_>,
    whole: &str,
    value: Option<&str>,
    member: impl Fn(&str) -> Option<&'t str>,
    needs: &[Needs],
) {
    if needs.is_empty() {
        return;
    }
    let part = value.unwrap_or(context.entry);
    for (name, wanted) in needs {
        match member(name) {
            None => context.add(&MCP009, part, format!("`{whole}.{name}` is missing")),
            Some(found) if *wanted != JsonKind::Null && kind(found) != *wanted => {
                let what = format!("`{whole}.{name}` must be of the kind {wanted}, found {}", kind(found));
                context.add(&MCP009, found, what);
            }
            Some(_) => {}
        }
    }
}
