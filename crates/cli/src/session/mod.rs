//! A session with a peer, whatever it speaks: opened, called, and ended properly.
//!
//! It knows what a peer speaks because it is told, because the target or the method says so ([`Protocol::guess`]), or
//! because of how the peer answers a call that it does not know. Then it does the handshake of that protocol, and
//! remembers it. What the user does by themselves is left alone: a call of `initialize` goes out as it is, a session
//! that the headers name is used and not ended.

mod answers;
mod ask;
mod described;
mod lsp;
mod mcp;
mod protocol;
mod sign;
mod tasks;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use answers::Answers;
use described::Description;
use lsp::Lsp;
pub(crate) use protocol::Protocol;
use sabir::transport::Direction;
use sabir::{CallError, Cause, Ctx, Dialect, ErrorCode, ErrorObject, Limits, Peer, RawJson, Report, Router};
use sabir_mcp::{McpConnectError, McpHeaders, McpSession};
pub(crate) use sign::NOT_INITIALIZED;
use sign::{Sign, sign};
use tasks::CallOptions;

use crate::detect::Watch;
use crate::discovery::Source;
use crate::exit::{Exit, Failure};
use crate::peer::PeerOptions;
use crate::print::Printer;
use crate::values::Arguments;
use crate::{telemetry, trace};

/// How long a peer may take to show what it speaks.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Names that a hint lists.
const NAMED: usize = 10;

/// What an MCP server may ask, by a word that names of tools and errors have for it.
pub(crate) const QUESTIONS: [(&str, &str); 3] =
    [("sampling", "sampling/createMessage"), ("elicit", "elicitation/create"), ("roots", "roots/list")];

/// Receives what a peer sends on its own, in the order in which it comes.
pub(crate) trait Listener: Send + Sync + 'static {
    fn notification(&self, method: &str, params: Option<&RawJson<'static>>);

    /// The peer asked something that nobody answered.
    fn refused(&self, method: &str);

    /// The peer did something wrong.
    fn report(&self, report: &Report<'_>);
}

/// Sees all bytes.
pub(crate) type Tap = Box<dyn FnMut(Direction, &[u8]) + Send>;

/// Receives the progress of a call.
pub(crate) type OnProgress = Arc<dyn Fn(&RawJson<'static>) + Send + Sync>;

/// What a session is opened with.
pub(crate) struct Opening<'a> {
    pub(crate) peer: &'a PeerOptions,
    /// `None`: it is found out from the answers.
    pub(crate) protocol: Option<Protocol>,
    /// Whether the protocol was given, and not guessed.
    pub(crate) explicit: bool,
    /// `None`: the protocol's.
    pub(crate) dialect: Option<Dialect>,
    pub(crate) answers: Answers,
    pub(crate) listener: Arc<dyn Listener>,
    pub(crate) watch: &'a Watch,
    pub(crate) tap: Option<Tap>,
    pub(crate) printer: &'a Printer,
}

/// A session with a peer.
pub(crate) struct Session {
    peer: Peer,
    kind: Kind,
    /// What it is taken for before it has answered.
    protocol: Option<Protocol>,
    explicit: bool,
    /// Whether the peer may yet turn out to speak something else.
    is_open_question: bool,
    description: Description,
    headers: McpHeaders,
    answers: Answers,
    options: PeerOptions,
    watch: Watch,
    printer: Printer,
}

enum Kind {
    Plain,
    Mcp(McpSession),
    Lsp(Lsp),
}

/// The answer to a call.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) result: RawJson<'static>,
    pub(crate) form: Form,
}

/// What a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Whatever the method returns.
    Json,
    /// What an MCP tool returns: contents, or what went wrong.
    Tool,
    /// The same, of a tool that was called by `tools/call`: it is shown whole.
    ToolsCall,
    /// Messages of an MCP prompt.
    Prompt,
    /// Contents of an MCP resource.
    Resource,
    /// A task of an MCP server that runs on.
    Task,
    /// A notification was sent: there is none.
    Nothing,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum CallFailure {
    /// The peer's error, or none came.
    Call(CallError),
    /// It was not sent, or it makes no sense.
    Failed(Failure),
}

impl From<CallError> for CallFailure {
    fn from(error: CallError) -> Self {
        CallFailure::Call(error)
    }
}

impl From<Failure> for CallFailure {
    fn from(failure: Failure) -> Self {
        CallFailure::Failed(failure)
    }
}

impl Answer {
    /// Whether a tool says that it failed.
    pub(crate) fn is_error(&self) -> bool {
        let flag = self.result.get("isError");
        matches!(self.form, Form::Tool | Form::ToolsCall) && flag.is_some_and(|flag| flag.as_str() == "true")
    }

    /// Whether a tool failed because it does not exist: servers answer so, too.
    fn is_unknown_tool(&self, name: &str) -> bool {
        let text = self.result.as_str();
        self.is_error() && text.len() < 1000 && text.contains(name) && {
            let text = text.to_lowercase();
            text.contains("not found") || text.contains("unknown tool")
        }
    }
}

impl Session {
    /// Connects. Nothing is sent.
    pub(crate) async fn connect(opening: Opening<'_>) -> Result<Session, Failure> {
        let Opening { peer: options, protocol, explicit, dialect, answers, listener, watch, tap, .. } =
            opening;
        let printer = opening.printer;
        let tracing = options.traces().then_some(printer);
        let opened =
            options.target.open(options.framing, tracing).map_err(|error| options.unreachable(&error))?;
        let limits = Limits { message_bytes: options.max_size, ..Limits::default() };
        let dialect = dialect.unwrap_or_else(|| protocol.unwrap_or(Protocol::Plain).dialect());
        let headers = McpHeaders::default();
        let description = Description::default();
        let (reports, refusals) = (Arc::clone(&listener), description.refusals.clone());
        let mut transport = headers
            .add_to(options.logged_in(options.web.apply(opened)))
            .dialect(dialect)
            .limits(limits)
            .on_report(move |report| {
                if !refusals.takes(report) {
                    reports.report(report);
                }
            });
        if protocol.is_some_and(|protocol| protocol.has_event_stream(&options.target)) {
            transport = transport.event_stream();
        }
        let mut watching = watch.tap(options);
        let mut shown = tracing.map(|printer| trace::tap(options.wire_framing(), options.max_size, printer));
        let mut tap = tap;
        transport = transport.tap(move |direction, bytes| {
            if direction == Direction::Received {
                watching.feed(bytes);
            }
            shown.iter_mut().for_each(|shown| shown(direction, bytes));
            tap.iter_mut().for_each(|tap| tap(direction, bytes));
        });
        if let Some(printer) = tracing.cloned() {
            transport = transport.on_http_failure(move |failure| trace::failure(failure, &printer));
        }
        answers.set_protocol(protocol);
        let speaks = answers.clone();
        let router = telemetry::session(router(&answers, &listener), move || speaks.protocol());
        let peer = sabir::connect(transport, router).await.map_err(|error| options.unreachable(&error))?;
        Ok(Session {
            peer,
            kind: Kind::Plain,
            protocol,
            explicit,
            is_open_question: !explicit,
            description,
            headers,
            answers,
            options: options.clone(),
            watch: watch.clone(),
            printer: printer.clone(),
        })
    }

    /// Does the handshake of the protocol, if it is known or guessed. If a guess was wrong, the peer is a plain one.
    pub(crate) async fn begin(&mut self) -> Result<(), Failure> {
        match self.protocol {
            None | Some(Protocol::Plain | Protocol::Eth) => Ok(()),
            Some(Protocol::Lsp) => self.begin_lsp().await,
            Some(Protocol::Mcp(revision)) => self.begin_mcp(revision, self.explicit).await,
        }
    }

    /// What the peer is taken for.
    pub(crate) fn protocol(&self) -> Protocol {
        match &self.kind {
            Kind::Plain => Protocol::Plain,
            Kind::Mcp(session) => Protocol::Mcp(Some(session.revision())),
            Kind::Lsp(_) => Protocol::Lsp,
        }
    }

    /// The connection itself.
    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Prints an error of the peer.
    pub(crate) fn say_error(&self, error: &ErrorObject, hint: Option<&str>) {
        self.printer.rpc_error(None, error, hint);
    }

    /// The MCP session, if it is one.
    pub(crate) fn mcp(&self) -> Option<&McpSession> {
        match &self.kind {
            Kind::Mcp(session) => Some(session),
            Kind::Plain | Kind::Lsp(_) => None,
        }
    }

    /// Calls a method; of an MCP server also a tool, a prompt or a resource, by its name.
    pub(crate) async fn call(
        &mut self,
        method: &str,
        args: &Arguments,
        progress: Option<&OnProgress>,
    ) -> Result<Answer, CallFailure> {
        self.call_with(method, args, progress, false).await
    }

    /// The same, and does not wait for a task that the call becomes.
    pub(crate) async fn start(&mut self, method: &str, args: &Arguments) -> Result<Answer, CallFailure> {
        self.call_with(method, args, None, true).await
    }

    async fn call_with(
        &mut self,
        method: &str,
        args: &Arguments,
        progress: Option<&OnProgress>,
        detached: bool,
    ) -> Result<Answer, CallFailure> {
        let answers = self.answers.clone();
        let progress = progress.cloned().map(|progress| {
            let answers = answers.clone();
            Arc::new(move |value: &RawJson<'static>| {
                answers.progressed();
                progress(value);
            }) as OnProgress
        });
        let options = CallOptions { progress: progress.as_ref(), detached, answers: &answers };
        let answered = self.call_in_protocol(method, args, options).await;
        answers.called().await;
        answered
    }

    async fn call_in_protocol(
        &mut self,
        method: &str,
        args: &Arguments,
        options: CallOptions<'_>,
    ) -> Result<Answer, CallFailure> {
        let answered = self.call_once(method, args, options).await;
        let Err(CallFailure::Call(error)) = &answered else { return answered };
        // A peer that does not know the method, or wants a handshake first, may speak more than plain JSON-RPC.
        if !self.is_open_question || !matches!(self.kind, Kind::Plain) || Protocol::is_opening(method) {
            return answered;
        }
        self.is_open_question = false;
        match sign(error) {
            Some(Sign::Unknown) if self.is_mcp().await => {}
            Some(Sign::Uninitialized) => self.begin_lsp().await?,
            _ => return answered,
        }
        match self.kind {
            Kind::Plain => answered,
            _ => self.call_once(method, args, options).await,
        }
    }

    async fn call_once(
        &mut self,
        method: &str,
        args: &Arguments,
        options: CallOptions<'_>,
    ) -> Result<Answer, CallFailure> {
        let params = match &mut self.kind {
            Kind::Mcp(session) if Protocol::is_of_tasks(method) => {
                return tasks::call_method(session, method, args, options).await;
            }
            Kind::Mcp(session) if Protocol::Mcp(None).has(method) || method == "ping" => {
                let form = if method == "tools/call" { Form::ToolsCall } else { Form::Json };
                let result = mcp::request(session, method, args.named()?, options.progress).await?;
                return Ok(Answer { result, form });
            }
            Kind::Mcp(session) => {
                let called = mcp::call(session, method, args, options).await;
                return called.map_err(|failure| match (failure, undeclared(&self.answers, method)) {
                    (CallFailure::Failed(failure), Some(question)) if failure.exit == Exit::Error => {
                        CallFailure::Failed(failure.hint(format_args!(
                            "servers hide tools that ask what nobody answers: try --answer {question}=JSON"
                        )))
                    }
                    (failure, _) => failure,
                });
            }
            Kind::Lsp(lsp) => {
                let params = lsp.params(method, args).await?;
                if lsp::is_notification(method) {
                    // The file is opened by naming it.
                    if method != "textDocument/didOpen" || args.split_first().is_none() {
                        self.notify(method, params).await?;
                    }
                    return Ok(Answer { result: RawJson::NULL, form: Form::Nothing });
                }
                lsp.called(method);
                params
            }
            Kind::Plain => self.params(method, args).await?,
        };
        let mut call = self.peer.call_raw(method.to_owned(), params);
        if let Some(progress) = options.progress {
            while let Some(value) = call.progress::<RawJson<'static>>().await {
                progress(&value);
            }
        }
        Ok(Answer { result: call.await?, form: Form::Json })
    }

    /// What a call by this name is on the wire: its method and its params.
    pub(crate) async fn resolve(
        &mut self,
        method: &str,
        args: &Arguments,
    ) -> Result<(String, Option<RawJson<'static>>), Failure> {
        match &mut self.kind {
            Kind::Plain => Ok((method.to_owned(), self.params(method, args).await?)),
            Kind::Lsp(lsp) => Ok((method.to_owned(), lsp.params(method, args).await?)),
            Kind::Mcp(_)
                if Protocol::Mcp(None).has(method) || Protocol::is_of_tasks(method) || method == "ping" =>
            {
                Ok((method.to_owned(), args.named()?))
            }
            Kind::Mcp(session) => {
                mcp::resolve(session, method, args).await.map_err(|failure| match failure {
                    CallFailure::Failed(failure) => failure,
                    CallFailure::Call(error) => self.options.call_failed(&error, &self.watch),
                })
            }
        }
    }

    /// Makes calls that were resolved, any number at the same time.
    pub(crate) fn caller(&self) -> Caller {
        Caller { peer: self.peer.clone(), mcp: self.mcp().cloned() }
    }

    /// Behind NATS, nothing shows whether a worker is there until something is called. A call of whatever kind does: most
    /// know no such method, and say so.
    pub(crate) async fn has_worker(&self) -> Result<(), Failure> {
        if !self.options.is_behind_nats() {
            return Ok(());
        }
        match self.peer.call_raw("rpc.discover", None).await {
            Ok(_) | Err(CallError::Error(_)) => Ok(()),
            Err(error) => Err(self.options.call_failed(&error, &self.watch)),
        }
    }

    pub(crate) async fn notify(&self, method: &str, params: Option<RawJson<'static>>) -> Result<(), Failure> {
        let sent = self.peer.notify_raw(method.to_owned(), params).await;
        sent.map_err(|refused| Failure::new(Exit::Protocol, format_args!("not sent: {refused}")))
    }

    /// Ends what was opened here, and nothing else.
    pub(crate) async fn close(mut self, grace: Duration) -> Cause {
        self.answers.close();
        if let Kind::Lsp(lsp) = &mut self.kind {
            lsp.close().await;
        }
        self.peer.shutdown(grace).await
    }

    /// Finds out whether a peer of which nothing is known speaks MCP, in ways that do no harm.
    pub(crate) async fn find_out(&mut self) {
        if self.is_open_question && matches!(self.kind, Kind::Plain) {
            self.is_open_question = false;
            self.is_mcp().await;
        }
    }

    /// What can be asked for what the peer offers.
    pub(crate) fn source(&self) -> Source {
        match &self.kind {
            Kind::Plain => Source::Plain(self.peer.clone()),
            Kind::Mcp(session) => Source::Mcp(session.clone()),
            Kind::Lsp(lsp) => Source::Lsp(lsp.capabilities()),
        }
    }

    async fn begin_lsp(&mut self) -> Result<(), Failure> {
        self.answers.set_protocol(Some(Protocol::Lsp));
        match Lsp::open(&self.peer, &self.answers).await {
            Ok(lsp) => self.kind = Kind::Lsp(lsp),
            Err(CallError::Error(error)) if !self.explicit && error.code == ErrorCode::METHOD_NOT_FOUND => {
                self.is_plain();
            }
            Err(error) => return Err(self.not_opened(&error, "language server")),
        }
        self.is_open_question = false;
        Ok(())
    }

    async fn begin_mcp(
        &mut self,
        revision: Option<sabir::McpRevision>,
        explicit: bool,
    ) -> Result<(), Failure> {
        let brought = self.options.web.has("mcp-session-id");
        let begin = mcp::Beginning { revision, explicit, brought };
        match mcp::open(&self.peer, &self.headers, &self.answers, begin).await {
            Ok(Some(session)) => {
                self.answers.set_protocol(Some(Protocol::Mcp(Some(session.revision()))));
                self.kind = Kind::Mcp(session);
            }
            Ok(None) => self.is_plain(),
            Err(McpConnectError::Call(error)) => return Err(self.not_opened(&error, "MCP server")),
            Err(McpConnectError::Connection(error)) => return Err(self.options.unreachable(&error)),
            Err(error) => return Err(Failure::new(Exit::Protocol, error)),
        }
        self.is_open_question = false;
        Ok(())
    }

    /// The peer was taken for more than it is.
    fn is_plain(&self) {
        self.peer.set_dialect(Protocol::Plain.dialect());
        self.answers.set_protocol(None);
    }

    fn not_opened(&self, error: &CallError, what: &str) -> Failure {
        match error {
            CallError::Error(error) => {
                let what = format!("the {what} refused `initialize`: {} {}", error.code, error.message);
                Failure::new(Exit::Error, what).hint("if it speaks plain JSON-RPC, use --as plain")
            }
            error => self.options.call_failed(error, &self.watch),
        }
    }

    /// Asks in ways that do no harm whether a peer that does not know a method is an MCP server.
    async fn is_mcp(&mut self) -> bool {
        // Servers of the legacy era answer this before they are initialized, with nothing in it.
        let pinged = self.peer.call_raw("ping", None).timeout(PROBE_TIMEOUT).await;
        let is_legacy = pinged.is_ok_and(|pong| pong.as_str() == "{}");
        let brought = self.options.web.has("mcp-session-id");
        let begin = mcp::Beginning { revision: None, explicit: is_legacy, brought: brought && is_legacy };
        let session = match is_legacy {
            true => mcp::open(&self.peer, &self.headers, &self.answers, begin).await.ok().flatten(),
            false => mcp::discover(&self.peer, &self.headers, &self.answers).await,
        };
        if let Some(session) = session {
            self.answers.set_protocol(Some(Protocol::Mcp(Some(session.revision()))));
            self.kind = Kind::Mcp(session);
        }
        self.mcp().is_some()
    }
}

/// Makes calls in a session. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Caller {
    peer: Peer,
    mcp: Option<McpSession>,
}

impl Caller {
    pub(crate) fn is_closed(&self) -> bool {
        self.peer.cause().is_some()
    }

    pub(crate) async fn call(
        &self,
        method: String,
        params: Option<RawJson<'static>>,
    ) -> Result<RawJson<'static>, CallError> {
        match &self.mcp {
            Some(session) => mcp::request(session, &method, params, None).await,
            None => self.peer.call_raw(method, params).await,
        }
    }

    pub(crate) async fn notify(
        &self,
        method: String,
        params: Option<RawJson<'static>>,
    ) -> Result<(), String> {
        self.peer.notify_raw(method, params).await.map_err(|refused| refused.to_string())
    }

    /// Calls that go out together. Only plain JSON-RPC has them.
    pub(crate) fn batch(&self) -> sabir::Batch {
        self.peer.batch()
    }
}

/// What a tool may want to ask, by its name, if nobody would answer.
fn undeclared(answers: &Answers, tool: &str) -> Option<&'static str> {
    let tool = tool.to_ascii_lowercase();
    QUESTIONS
        .into_iter()
        .find(|(word, question)| tool.contains(word) && !answers.offers(question))
        .map(|(_, question)| question)
}

/// Opens an MCP session on a connection, to ask what the server offers.
pub(crate) async fn open_mcp(
    peer: &Peer,
    headers: &McpHeaders,
    revision: Option<sabir::McpRevision>,
) -> Result<McpSession, CallError> {
    mcp::open_to_list(peer, headers, revision).await.map_err(|error| match error {
        McpConnectError::Call(error) => error,
        other => CallError::Decode(other.to_string().into()),
    })
}

/// Answers what the peer asks, and passes on what it says.
fn router(answers: &Answers, listener: &Arc<dyn Listener>) -> Router {
    let (answers, listener) = (answers.clone(), Arc::clone(listener));
    Router::new().fallback(move |ctx: Ctx, method: String, params: Option<RawJson<'static>>| {
        let (answers, listener) = (answers.clone(), Arc::clone(&listener));
        let is_request = ctx.is_request();
        // At once, in the order in which it came.
        if !is_request {
            listener.notification(&method, params.as_ref());
        }
        async move {
            if !is_request {
                return Ok(RawJson::NULL);
            }
            let answer = answers.answer(&method, params.as_ref()).await;
            if answer.is_err() && !answers.is_closing() {
                listener.refused(&method);
            }
            answer
        }
    })
}
