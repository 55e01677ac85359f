//! Asks a peer what it offers, in one way after the other, over one connection while it lasts.

use std::collections::VecDeque;
use std::time::Duration;

use sabir::openrpc::{Document, Info, Method, VERSION};
use sabir::transport::Direction;
use sabir::{CallError, ErrorObject, Framing, LENIENT, Limits, Peer, RawJson, Report, Router, error_reason};
use sabir_lsp::LspClient;
use sabir_lsp::lsp_types::ClientCapabilities;
use sabir_mcp::McpHeaders;
use serde_json::{Value, json};

use super::faults::Faults;
use super::{Discovered, DiscoverySource, Offer, mcp, tables};
use crate::detect::Watch;
use crate::exit::{Exit, Failure};
use crate::json::{MOST_VALUES, has_more_values};
use crate::peer::PeerOptions;
use crate::print::Printer;
use crate::session::{self, Protocol};
use crate::target::Target;
use crate::trace;

/// What a peer answered.
pub(super) struct Answer {
    document: Document,
    pub(super) offers: Vec<Offer>,
    /// The document as received.
    text: Option<RawJson<'static>>,
}

impl Answer {
    pub(super) fn found(self, source: String, via: DiscoverySource) -> Discovered {
        let Answer { document, offers, text } = self;
        Discovered { source, via, document, offers, text }
    }
}

impl From<Document> for Answer {
    fn from(document: Document) -> Self {
        Answer { document, offers: Vec::new(), text: None }
    }
}

/// The result of asking in one way.
type Attempt = Result<Answer, CallError>;

/// The ways to ask, the most telling first. What the target seems to speak by its name is asked first.
pub(super) fn ways(options: &PeerOptions) -> &'static [DiscoverySource] {
    use DiscoverySource::{Discover, Ethereum, ListMethods, Lsp, Mcp, Solana};
    match (options.protocol, options.guess(), options.wire_framing()) {
        (Some(Protocol::Mcp(_)), ..) => &[Mcp],
        (Some(Protocol::Lsp), ..) => &[Lsp],
        (Some(Protocol::Eth), ..) => &[Discover, Ethereum],
        (Some(Protocol::Plain), ..) => &[Discover, ListMethods],
        (None, Some(Protocol::Mcp(_)), _) => &[Mcp, Discover, ListMethods],
        (None, Some(Protocol::Lsp), _) => &[Lsp, Discover, ListMethods],
        // Programs with headers are language servers, nearly always.
        (None, _, Framing::Headers) => &[Discover, ListMethods, Lsp, Mcp],
        (None, ..) if options.target.scheme().is_none() => &[Discover, ListMethods, Mcp],
        (None, ..) => &[Discover, ListMethods, Mcp, Ethereum, Solana],
    }
}

/// Whether an answer says that a language server wants to be initialized first.
fn wants_initialize(error: &CallError) -> bool {
    matches!(error, CallError::Error(error) if error.code.0 == session::NOT_INITIALIZED)
}

pub(super) async fn ask(
    options: &PeerOptions,
    watch: &Watch,
    printer: &Printer,
) -> Result<Discovered, Failure> {
    let faults = Faults::default();
    let headers = McpHeaders::default();
    let mut peer = connect(options, watch, &faults, &headers, printer).await?;
    let mut last = None;
    // A faulty answer says more than that the peer does not know what is asked next.
    let mut faulty = None;
    let mut refused: Option<Failure> = None;
    // How often a program ended without an answer, as servers do that want to be initialized first.
    let mut ended = 0;
    let mut ways: VecDeque<DiscoverySource> = ways(options).iter().copied().collect();
    while let Some(via) = ways.pop_front() {
        // A server of MCP over HTTP refuses what comes before a session is open.
        if refused.is_some() && via != DiscoverySource::Mcp {
            continue;
        }
        let is_handshake = matches!(via, DiscoverySource::Mcp | DiscoverySource::Lsp);
        if ended > 1 || ended == 1 && !is_handshake {
            continue;
        }
        if peer.cause().is_some() {
            peer = connect(options, watch, &faults, &headers, printer).await?;
        }
        let mut is_open = false;
        let asking = async {
            match via {
                DiscoverySource::Discover => discover(&peer, options).await,
                DiscoverySource::ListMethods => list_methods(&peer, options).await,
                DiscoverySource::Lsp => lsp(&peer, options).await,
                DiscoverySource::Ethereum => ethereum(&peer, options).await,
                DiscoverySource::Solana => solana(&peer, options).await,
                DiscoverySource::Mcp | DiscoverySource::File => {
                    let session = mcp::open(&peer, &headers, options).await?;
                    is_open = true;
                    mcp::in_session(&session, options).await
                }
            }
        };
        let attempt = tokio::select! {
            biased;
            attempt = asking => attempt,
            why = faults.wait() => Err(CallError::Decode(why.into())),
        };
        match attempt {
            Ok(answer) => {
                peer.shutdown(Duration::ZERO).await;
                return Ok(answer.found(options.target.to_string(), via));
            }
            // It is an MCP server, whatever it says to the lists.
            Err(CallError::Error(error)) if is_open => {
                peer.shutdown(Duration::ZERO).await;
                return Err(unlisted(options, &error));
            }
            Err(CallError::Undelivered(lost))
                if refused.is_none() && matches!(lost.status, Some(400 | 404..=406 | 415 | 422)) =>
            {
                refused = Some(options.undelivered(&lost));
            }
            // HTTP refuses, or something else answers: another method would not change that.
            Err(CallError::Undelivered(lost)) if refused.is_none() => {
                peer.shutdown(Duration::ZERO).await;
                return Err(options.undelivered(&lost));
            }
            Err(error) if matches!(error, CallError::Decode(_)) || error.connection_end().is_some() => {
                if let (Some(_), Target::Program(_)) = (error.connection_end(), &options.target) {
                    ended += 1;
                }
                faulty.get_or_insert(error);
            }
            Err(error) => {
                if wants_initialize(&error) && options.protocol.is_none() && via == DiscoverySource::Discover
                {
                    ways.push_front(DiscoverySource::Lsp);
                }
                last = Some(error);
            }
        }
    }
    peer.shutdown(Duration::ZERO).await;
    Err(refused.unwrap_or_else(|| unsupported(options, faulty.or(last), watch)))
}

/// An MCP server opens a session, and does not list its tools.
fn unlisted(options: &PeerOptions, error: &ErrorObject) -> Failure {
    let what = format!(
        "{} is an MCP server, but does not list its tools: {} {}",
        options.target, error.code, error.message
    );
    Failure::new(Exit::Error, what).hint("see the log of the server; a tool can be called all the same")
}

fn unsupported(options: &PeerOptions, last: Option<CallError>, watch: &Watch) -> Failure {
    let target = &options.target;
    match last {
        Some(CallError::Error(_)) | None => {
            let what = format!("{target} supports none of {}", tried(options));
            Failure::new(Exit::Error, what)
                .hint("if there is an OpenRPC document of it, give that file instead")
        }
        Some(CallError::TimedOut) => {
            let what = format!("{target} answers none of {}", tried(options));
            Failure { what, ..options.undiscovered(watch) }
        }
        Some(CallError::Decode(why)) => {
            options.invalid_answer(format_args!("{target} lists its methods in an unknown form: {why}"))
        }
        Some(error) => options.call_failed(&error, watch),
    }
}

/// What was tried, in words.
fn tried(options: &PeerOptions) -> String {
    let words: Vec<&str> = ways(options)
        .iter()
        .map(|via| match via {
            DiscoverySource::Mcp => "MCP's initialize",
            DiscoverySource::Lsp => "LSP's initialize",
            other => other.name(),
        })
        .collect();
    match words.as_slice() {
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
        [] => String::new(),
    }
}

async fn connect(
    options: &PeerOptions,
    watch: &Watch,
    faults: &Faults,
    headers: &McpHeaders,
    printer: &Printer,
) -> Result<Peer, Failure> {
    let PeerOptions { target, framing, max_size, web, .. } = options;
    let tracing = options.traces().then_some(printer);
    let limits = Limits { message_bytes: *max_size, ..Limits::default() };
    let opened = target.open(*framing, tracing).map_err(|error| options.unreachable(&error))?;
    let faults = faults.clone();
    let reported = move |report: &Report<'_>| faults.report(report);
    let mut transport = headers
        .add_to(options.logged_in(web.apply(opened)))
        .dialect(LENIENT)
        .limits(limits)
        .on_report(reported);
    if options.has_event_stream() {
        transport = transport.event_stream();
    }
    let mut watch = watch.tap(options);
    let mut shown = tracing.map(|printer| trace::tap(options.wire_framing(), *max_size, printer));
    transport = transport.tap(move |direction, bytes| {
        if direction == Direction::Received {
            watch.feed(bytes);
        }
        shown.iter_mut().for_each(|tap| tap(direction, bytes));
    });
    if let Some(printer) = tracing.cloned() {
        transport = transport.on_http_failure(move |failure| trace::failure(failure, &printer));
    }
    sabir::connect(transport, Router::new()).await.map_err(|error| options.unreachable(&error))
}

/// One call, in its share of the time.
pub(super) async fn call(
    peer: &Peer,
    options: &PeerOptions,
    method: &'static str,
    params: Value,
) -> Result<RawJson<'static>, CallError> {
    let params = (!params.is_null()).then(|| RawJson::from_value(&params)).transpose();
    let params = params.map_err(|error| CallError::Decode(error_reason(&error).into()))?;
    let answer = peer.call_raw(method, params).timeout(share(options)).await?;
    fits_a_tree(method, &answer)?;
    Ok(answer)
}

/// Answers are read as trees.
pub(super) fn fits_a_tree(method: &str, answer: &RawJson<'_>) -> Result<(), CallError> {
    match has_more_values(answer.as_str(), MOST_VALUES) {
        true => {
            Err(CallError::Decode(format!("{method} answers with more than {MOST_VALUES} values").into()))
        }
        false => Ok(()),
    }
}

/// The time for one way to ask. If the peer does not answer, there must be time for the next one.
pub(super) fn share(options: &PeerOptions) -> Duration {
    options.timeout / (ways(options).len() as u32 + 1)
}

pub(super) async fn discover(peer: &Peer, options: &PeerOptions) -> Attempt {
    let text = call(peer, options, "rpc.discover", Value::Null).await?;
    let document =
        Document::from_json(text.as_str()).map_err(|error| CallError::Decode(error.to_string().into()))?;
    Ok(Answer { text: Some(text), ..Answer::from(document) })
}

pub(super) async fn list_methods(peer: &Peer, options: &PeerOptions) -> Attempt {
    let text = call(peer, options, "system.listMethods", Value::Null).await?;
    let names: Vec<String> = parsed(&text)?;
    let tells = names.iter().any(|name| name == "system.listNotifications");
    let mut methods: Vec<Method> = names.into_iter().map(undescribed).collect();
    if tells && let Ok(text) = call(peer, options, "system.listNotifications", Value::Null).await {
        let names: Vec<String> = parsed(&text)?;
        methods.extend(names.into_iter().map(|name| Method { result: None, ..undescribed(name) }));
    }
    Ok(document(Info::new(options.target.to_string(), ""), methods).into())
}

/// A method of which only the name is known.
fn undescribed(name: String) -> Method {
    let content = |name: &str, whole| sabir::openrpc::Content {
        name: name.to_owned(),
        schema: json!({}),
        whole,
        ..Default::default()
    };
    Method {
        name,
        params: vec![content("params", true)],
        result: Some(content("result", false)),
        ..Default::default()
    }
}

pub(super) fn document(info: Info, methods: Vec<Method>) -> Document {
    Document { openrpc: VERSION.to_owned(), info, methods, components: Default::default() }
}

/// Asks a language server what it is capable of, and ends the session.
async fn lsp(peer: &Peer, options: &PeerOptions) -> Attempt {
    // To a client that can do nothing, a server says what it can do, and does not register it later.
    let client =
        LspClient::new("sabir", env!("CARGO_PKG_VERSION")).capabilities(&ClientCapabilities::default());
    let opening = tokio::time::timeout(share(options), client.initialize(peer));
    let server = opening.await.map_err(|_| CallError::TimedOut)??;
    let Some(capabilities) = server.raw_capabilities().cloned().map(Value::Object) else {
        return Err(CallError::Decode("the answer to initialize has no capabilities".into()));
    };
    // Not by `LspSession::shutdown`, which waits until the server has ended: the caller ends the connection, and has all it needs.
    let _ = call(peer, options, "shutdown", Value::Null).await;
    let _ = peer.notify("exit", ()).await;
    let commands = capabilities.pointer("/executeCommandProvider/commands").and_then(Value::as_array);
    let commands: Vec<&str> = commands.into_iter().flatten().filter_map(Value::as_str).collect();
    let mut methods = tables::lsp(&capabilities);
    if let Some(method) = methods.iter_mut().find(|method| method.name == "workspace/executeCommand")
        && !commands.is_empty()
    {
        method.description = Some(format!("Its commands are {}.", commands.join(", ")));
    }
    let info = server.server_info();
    let title = info.map(|info| info.name.clone()).filter(|name| !name.is_empty());
    let title = title.unwrap_or_else(|| options.target.to_string());
    let version = info.and_then(|info| info.version.as_deref()).unwrap_or_default();
    Ok(document(Info::new(title, version), methods).into())
}

pub(super) async fn ethereum(peer: &Peer, options: &PeerOptions) -> Attempt {
    let version: String = parsed(&call(peer, options, "web3_clientVersion", json!([])).await?)?;
    let modules = match call(peer, options, "rpc_modules", json!([])).await {
        Ok(modules) => Some(parsed::<Value>(&modules)?).filter(Value::is_object),
        Err(_) => None,
    };
    Ok(document(Info::new(version, ""), tables::ethereum(modules.as_ref())).into())
}

pub(super) async fn solana(peer: &Peer, options: &PeerOptions) -> Attempt {
    let version: Value = parsed(&call(peer, options, "getVersion", Value::Null).await?)?;
    let Some(core) = version.get("solana-core").and_then(Value::as_str) else {
        return Err(CallError::Decode("the answer to getVersion is not that of a Solana node".into()));
    };
    let streams = options.target.scheme().is_some_and(|scheme| scheme.is_websocket());
    Ok(document(Info::new("Solana", core), tables::solana(streams)).into())
}

fn parsed<T: serde::de::DeserializeOwned>(text: &RawJson<'_>) -> Result<T, CallError> {
    text.parse().map_err(|error| CallError::Decode(error_reason(&error).into()))
}
