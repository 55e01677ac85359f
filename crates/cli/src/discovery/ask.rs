//! Asking a peer what it offers: one way after the other, over one connection for as long as it lasts.

use sabir::openrpc::{Document, Info, Method, VERSION};
use sabir::{CallError, Framing, LENIENT, Limits, McpRevision, Peer, RawJson, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{DiscoverySource, Found, Inquiry, slow_hint, tools};
use crate::exit::{Exit, Failure};
use crate::failed;
use crate::print::Printer;
use crate::trace;

/// Pages of tools that are read. A peer that always has one more would keep us for ever.
const MOST_PAGES: usize = 100;

/// The revision that is offered; a server that knows only others answers with one of them.
const REVISION: &str = McpRevision::NEWEST_LEGACY.as_str();

/// What came of one way to ask.
type Attempt = Result<(Document, Option<RawJson<'static>>), CallError>;

pub(super) async fn ask(inquiry: &Inquiry, printer: &Printer) -> Result<Found, Failure> {
    let mut peer = connect(inquiry, printer).await?;
    let mut last = None;
    for via in [DiscoverySource::Discover, DiscoverySource::ListMethods, DiscoverySource::McpTools] {
        if peer.cause().is_some() {
            peer = connect(inquiry, printer).await?;
        }
        let attempt = match via {
            DiscoverySource::Discover => discover(&peer, inquiry).await,
            DiscoverySource::ListMethods => list_methods(&peer, inquiry).await,
            _ => mcp_tools(&peer, inquiry).await,
        };
        match attempt {
            Ok((document, text)) => {
                peer.shutdown(std::time::Duration::ZERO).await;
                return Ok(Found { source: inquiry.target.to_string(), via, document, text });
            }
            // HTTP refuses, or what answers is something else: the next question would fare no better.
            Err(CallError::Undelivered(lost)) => {
                peer.shutdown(std::time::Duration::ZERO).await;
                return Err(failed::undelivered(&lost));
            }
            Err(error) => last = Some(error),
        }
    }
    peer.shutdown(std::time::Duration::ZERO).await;
    Err(untold(inquiry, last))
}

fn untold(inquiry: &Inquiry, last: Option<CallError>) -> Failure {
    let target = &inquiry.target;
    match last {
        Some(CallError::Error(_)) | None => {
            let what =
                format!("{target} supports none of rpc.discover, system.listMethods and MCP's tools/list");
            Failure::new(Exit::Error, what)
                .hint("if there is an OpenRPC document of it, give that file instead")
        }
        Some(CallError::TimedOut) => {
            Failure::new(Exit::Timeout, format_args!("{target} did not say what it offers in time"))
                .hint(slow_hint(target))
        }
        Some(error) => {
            let why = failed::call(&error, target, inquiry.framing, inquiry.timeout);
            let what = format!("{target} did not say what it offers: {}", why.what);
            Failure { what, ..why }
        }
    }
}

async fn connect(inquiry: &Inquiry, printer: &Printer) -> Result<Peer, Failure> {
    let Inquiry { target, framing, max_size, .. } = inquiry;
    let tracing = inquiry.trace.then_some(printer);
    let limits = Limits { message_bytes: *max_size, ..Limits::default() };
    let misframed = inquiry.misframed.clone();
    let mut transport = inquiry.web.apply(target.open(*framing, tracing)?).dialect(LENIENT).limits(limits);
    transport = transport.on_report(move |report| {
        misframed.look(report);
    });
    if let Some(printer) = tracing {
        let framing = if target.keeps_messages_apart() { Framing::Whole } else { *framing };
        transport = transport.tap(trace::tap(framing, *max_size, printer));
        let printer = printer.clone();
        transport = transport.on_http_failure(move |failure| trace::failure(failure, &printer));
    }
    sabir::connect(transport, Router::new()).await.map_err(|error| target.unreachable(&error))
}

/// One call. A peer that leaves questions unanswered must leave time for the next.
async fn call(
    peer: &Peer,
    inquiry: &Inquiry,
    method: &'static str,
    params: Value,
) -> Result<RawJson<'static>, CallError> {
    let params = (!params.is_null()).then(|| RawJson::from_value(&params)).transpose();
    let params = params.map_err(|error| CallError::Unfit(error.to_string().into()))?;
    peer.call_raw(method, params).timeout(inquiry.timeout / 4).await
}

async fn discover(peer: &Peer, inquiry: &Inquiry) -> Attempt {
    let text = call(peer, inquiry, "rpc.discover", Value::Null).await?;
    let document = Document::from_json(text.as_str()).map_err(|error| CallError::Unfit(error.into()))?;
    Ok((document, Some(text)))
}

async fn list_methods(peer: &Peer, inquiry: &Inquiry) -> Attempt {
    let text = call(peer, inquiry, "system.listMethods", Value::Null).await?;
    let names: Vec<String> = text.parse().map_err(|error| CallError::Unfit(error.to_string().into()))?;
    let methods = names.into_iter().map(undescribed).collect();
    Ok((document(Info::new(inquiry.target.to_string(), ""), methods), None))
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

async fn mcp_tools(peer: &Peer, inquiry: &Inquiry) -> Attempt {
    let hello = json!({
        "protocolVersion": REVISION,
        "capabilities": {},
        "clientInfo": {"name": "sabir", "version": env!("CARGO_PKG_VERSION")},
    });
    let server = call(peer, inquiry, "initialize", hello).await?;
    let _ = peer.notify("notifications/initialized", ()).await;
    let mut all = Vec::new();
    let mut params = Value::Null;
    for _ in 0..MOST_PAGES {
        let text = call(peer, inquiry, "tools/list", params).await?;
        let page: Page = text.parse().map_err(|error| CallError::Unfit(error.to_string().into()))?;
        all.extend(page.tools);
        match page.next_cursor {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    Ok((tools::document(&server, all), None))
}
