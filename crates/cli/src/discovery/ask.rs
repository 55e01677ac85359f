//! Asks a peer what it offers, in one way after the other, over one connection while it lasts.

use sabir::openrpc::{Document, Info, Method, VERSION};
use sabir::transport::Wire;
use sabir::{CallError, LENIENT, Limits, McpRevision, Peer, RawJson, Report, Router, Undelivered};
use serde::Deserialize;
use serde_json::{Value, json};

use super::faults::Faults;
use super::pages::Pages;
use super::{DiscoverySource, Found, tools};
use crate::detect::Watch;
use crate::exit::{Exit, Failure};
use crate::peer::PeerOptions;
use crate::print::Printer;
use crate::trace;

/// The revision that is offered; a server that knows only others answers with one of them.
const REVISION: &str = McpRevision::NEWEST_LEGACY.as_str();

/// The result of asking in one way.
type Attempt = Result<(Document, Option<RawJson<'static>>), CallError>;

pub(super) async fn ask(options: &PeerOptions, watch: &Watch, printer: &Printer) -> Result<Found, Failure> {
    let faults = Faults::default();
    let mut peer = connect(options, watch, &faults, printer).await?;
    let mut last = None;
    // A faulty answer says more than that the peer does not know what is asked next.
    let mut faulty = None;
    for via in [DiscoverySource::Discover, DiscoverySource::ListMethods, DiscoverySource::McpTools] {
        if peer.cause().is_some() {
            peer = connect(options, watch, &faults, printer).await?;
        }
        let asking = async {
            match via {
                DiscoverySource::Discover => discover(&peer, options).await,
                DiscoverySource::ListMethods => list_methods(&peer, options).await,
                _ => mcp_tools(&peer, options).await,
            }
        };
        let attempt = tokio::select! {
            biased;
            attempt = asking => attempt,
            why = faults.wait() => Err(CallError::Unfit(why.into())),
        };
        match attempt {
            Ok((document, text)) => {
                peer.shutdown(std::time::Duration::ZERO).await;
                return Ok(Found { source: options.target.to_string(), via, document, text });
            }
            // HTTP refuses, or something else answers: another method would not change that.
            Err(CallError::Undelivered(lost)) => {
                peer.shutdown(std::time::Duration::ZERO).await;
                return Err(options.undelivered(&lost));
            }
            Err(error @ (CallError::Unfit(_) | CallError::Closed(_))) => {
                faulty.get_or_insert(error);
            }
            Err(error) => last = Some(error),
        }
    }
    peer.shutdown(std::time::Duration::ZERO).await;
    Err(unsupported(options, faulty.or(last), watch))
}

fn unsupported(options: &PeerOptions, last: Option<CallError>, watch: &Watch) -> Failure {
    let target = &options.target;
    match last {
        Some(CallError::Error(_)) | None => {
            let what =
                format!("{target} supports none of rpc.discover, system.listMethods and MCP's tools/list");
            Failure::new(Exit::Error, what)
                .hint("if there is an OpenRPC document of it, give that file instead")
        }
        Some(CallError::TimedOut) => {
            let what =
                format!("{target} answers none of rpc.discover, system.listMethods and MCP's initialize");
            Failure { what, ..options.undiscovered(watch) }
        }
        Some(CallError::Unfit(why)) => {
            options.invalid_answer(format_args!("{target} lists its methods in an unknown form: {why}"))
        }
        Some(error) => options.call_failed(&error, watch),
    }
}

async fn connect(
    options: &PeerOptions,
    watch: &Watch,
    faults: &Faults,
    printer: &Printer,
) -> Result<Peer, Failure> {
    let PeerOptions { target, framing, max_size, web, .. } = options;
    let tracing = options.traces().then_some(printer);
    let limits = Limits { message_bytes: *max_size, ..Limits::default() };
    let opened = target.open(*framing, tracing).map_err(|error| options.unreachable(&error))?;
    let faults = faults.clone();
    let reported = move |report: &Report<'_>| faults.report(report);
    let mut transport = web.apply(opened).dialect(LENIENT).limits(limits).on_report(reported);
    let mut watch = watch.tap(options);
    let mut shown = tracing.map(|printer| trace::tap(options.wire_framing(), *max_size, printer));
    transport = transport.tap(move |wire, bytes| {
        if wire == Wire::Received {
            watch.feed(bytes);
        }
        shown.iter_mut().for_each(|tap| tap(wire, bytes));
    });
    if let Some(printer) = tracing.cloned() {
        transport = transport.on_http_failure(move |failure| trace::failure(failure, &printer));
    }
    sabir::connect(transport, Router::new()).await.map_err(|error| options.unreachable(&error))
}

/// One call. If the peer does not answer, there must be time for the next one.
async fn call(
    peer: &Peer,
    options: &PeerOptions,
    method: &'static str,
    params: Value,
) -> Result<RawJson<'static>, CallError> {
    let params = (!params.is_null()).then(|| RawJson::from_value(&params)).transpose();
    let params = params.map_err(|error| CallError::Unfit(error.to_string().into()))?;
    peer.call_raw(method, params).timeout(options.timeout / 4).await
}

async fn discover(peer: &Peer, options: &PeerOptions) -> Attempt {
    let text = call(peer, options, "rpc.discover", Value::Null).await?;
    let document = Document::from_json(text.as_str()).map_err(|error| CallError::Unfit(error.into()))?;
    Ok((document, Some(text)))
}

async fn list_methods(peer: &Peer, options: &PeerOptions) -> Attempt {
    let text = call(peer, options, "system.listMethods", Value::Null).await?;
    let names: Vec<String> = text.parse().map_err(|error| CallError::Unfit(error.to_string().into()))?;
    let methods = names.into_iter().map(undescribed).collect();
    Ok((document(Info::new(options.target.to_string(), ""), methods), None))
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<tools::Tool>,
    #[serde(default)]
    next_cursor: Option<String>,
}

async fn mcp_tools(peer: &Peer, options: &PeerOptions) -> Attempt {
    let hello = json!({
        "protocolVersion": REVISION,
        "capabilities": {},
        "clientInfo": {"name": "sabir", "version": env!("CARGO_PKG_VERSION")},
    });
    let server = call(peer, options, "initialize", hello).await?;
    let _ = peer.notify("notifications/initialized", ()).await;
    let mut all = Vec::new();
    let mut params = Value::Null;
    let mut bytes = 0;
    let mut pages = Pages::default();
    loop {
        let text = call(peer, options, "tools/list", params).await?;
        bytes += text.as_str().len();
        if bytes > options.max_size {
            return Err(CallError::Undelivered(Undelivered::too_large(options.max_size)));
        }
        let page: Page = text.parse().map_err(|error| CallError::Unfit(error.to_string().into()))?;
        all.extend(page.tools);
        match page.next_cursor {
            Some(cursor) => {
                pages.follow(&cursor)?;
                params = json!({"cursor": cursor});
            }
            None => break,
        }
    }
    Ok((tools::document(&server, all), None))
}
