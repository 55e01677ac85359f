//! Spans of calls that come and go, and how traces go on from one process to the next.

#![cfg(feature = "tracing")]
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sabir::{CallError, Ctx, ErrorObject, Propagator, Router, SubscriptionStyle, TraceContext, transport};
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Span, Subscriber};
use tracing_core::span::Current;

thread_local! {
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

#[derive(Default, Clone, Debug)]
struct Kept {
    fields: BTreeMap<String, String>,
    metadata: Option<&'static Metadata<'static>>,
    parent: Option<u64>,
    /// Where it comes from, in another process.
    remote: Option<TraceContext<'static>>,
}

impl Visit for Kept {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name().to_owned(), format!("{value:?}").replace('"', ""));
    }
}

/// Keeps all spans; their ids are their places, from 1.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<Kept>>>);

impl Spans {
    fn change(&self, id: u64, change: impl FnOnce(&mut Kept)) {
        change(&mut self.0.lock().unwrap()[id as usize - 1]);
    }

    /// Each span as its kind, its name, what failed, and its parent.
    fn shown(&self) -> Vec<String> {
        let spans = self.0.lock().unwrap();
        let show = |span: &Kept| {
            let field = |name: &str| span.fields.get(name).map(String::as_str).unwrap_or_default();
            let parent = span.parent.map(|parent| format!(" in {parent}")).unwrap_or_default();
            let remote = span.remote.as_ref().map(|trace| format!(" from {}", &trace.traceparent[50..52]));
            let failed = span.fields.get("error.type").map(|error| format!(" ({error})")).unwrap_or_default();
            let kind = field("otel.kind");
            format!("{kind} {}{failed}{parent}{}", field("otel.name"), remote.unwrap_or_default())
        };
        spans.iter().map(show).collect()
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut kept = Kept::default();
        span.record(&mut kept);
        kept.metadata = Some(span.metadata());
        kept.parent = ENTERED.with_borrow(|entered| entered.last().copied());
        let mut spans = self.0.lock().unwrap();
        spans.push(kept);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        self.change(id.into_u64(), |kept| values.record(kept));
    }

    fn enter(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(id.into_u64()));
    }

    fn exit(&self, _: &Id) {
        ENTERED.with_borrow_mut(Vec::pop);
    }

    fn current_span(&self) -> Current {
        let entered = ENTERED.with_borrow(|entered| entered.last().copied());
        let Some(id) = entered else { return Current::none() };
        let metadata = self.0.lock().unwrap()[id as usize - 1].metadata.unwrap();
        Current::new(Id::from_u64(id), metadata)
    }

    fn event(&self, _: &Event<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
}

/// The id of a span is its place in the list.
impl Propagator for Spans {
    fn extract(&self, trace: &TraceContext<'_>, span: &Span) {
        let remote = Some(trace.clone().into_owned());
        self.change(span.id().unwrap().into_u64(), |kept| kept.remote = remote);
    }

    fn inject(&self, span: &Span) -> Option<TraceContext<'static>> {
        let traceparent = format!("00-{:032x}-{:016x}-01", 7, span.id()?.into_u64());
        Some(TraceContext { traceparent: traceparent.into(), ..TraceContext::default() })
    }
}

/// Says in which trace it was called, fails, or hangs.
fn service() -> Router {
    let traced = |ctx: Ctx| ctx.trace().map(|trace| trace.traceparent.into_owned());
    Router::new()
        .method("seen", move |ctx, _: Value| {
            let seen = traced(ctx);
            async { Ok(seen) }
        })
        .method("fail", |_, ()| async { Err::<(), _>(ErrorObject::new(7, "no")) })
        .method("hang", |_, ()| std::future::pending::<sabir::Result<()>>())
}

fn parent(id: u64) -> String {
    format!("00-{:032x}-{id:016x}-01", 7)
}

#[tokio::test]
async fn calls_have_a_span_below_that_of_their_caller() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, service()));
    let peer = sabir::connect(near, Router::new().spans()).await.unwrap();
    let caller = tracing::info_span!("caller", otel.name = "caller");
    let work = async {
        peer.call::<Value>("seen", json!({})).await.unwrap();
        peer.call::<()>("fail", ()).await.unwrap_err();
        let timed_out = peer.call::<()>("hang", ()).timeout(Duration::from_millis(1)).await;
        assert!(matches!(timed_out, Err(CallError::TimedOut)));
        let mut hung = Box::pin(peer.call::<()>("hang", ()));
        assert!(std::future::poll_fn(|cx| std::task::Poll::Ready(hung.as_mut().poll(cx))).await.is_pending());
        drop(hung);
        peer.notify("seen", json!({})).await.unwrap();
    };
    tracing::Instrument::instrument(work, caller).await;
    let want = [
        " caller",
        "client seen in 1",
        "client fail (7) in 1",
        "client hang (timeout) in 1",
        "client hang (cancelled) in 1",
    ];
    assert_eq!(spans.shown(), want);
    let failed = spans.0.lock().unwrap()[2].fields.clone();
    let field = |name: &str| failed.get(name).map(String::as_str);
    assert_eq!(field("rpc.system.name"), Some("jsonrpc"));
    assert_eq!(field("rpc.method"), Some("fail"));
    assert_eq!(field("rpc.response.status_code"), Some("7"));
    assert_eq!(field("otel.status_code"), Some("ERROR"));
    assert_eq!(field("jsonrpc.request.id"), Some("2"));
}

#[tokio::test]
async fn a_request_to_subscribe_has_a_span_until_its_response() {
    const COUNT: SubscriptionStyle =
        SubscriptionStyle::notified("subscribe_count", "count", "unsubscribe_count");
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let (near, far) = transport::memory();
    // Refused, answered in the caller's trace, or never answered.
    let router = Router::new().subscription(COUNT, |ctx: Ctx, params: Value| {
        let seen = ctx.trace().map(|trace| trace.traceparent.into_owned());
        async move {
            match params.get("to") {
                None => Err(ErrorObject::new(7, "no")),
                Some(Value::Null) => std::future::pending().await,
                Some(_) => Ok(futures_util::stream::iter([seen])),
            }
        }
    });
    tokio::spawn(sabir::serve(far, router));
    let peer = sabir::connect(near, Router::new().spans().propagate(spans.clone())).await.unwrap();
    let caller = tracing::info_span!("caller", otel.name = "caller");
    let work = async {
        let mut counts = peer.subscribe::<Option<String>>(COUNT, json!({"to": 1})).await.unwrap();
        assert_eq!(counts.next().await, Some(Ok(Some(parent(2)))));
        assert!(peer.subscribe::<Value>(COUNT, json!({})).await.is_err());
        let mut hung = Box::pin(peer.subscribe::<Value>(COUNT, json!({"to": null})));
        assert!(std::future::poll_fn(|cx| std::task::Poll::Ready(hung.as_mut().poll(cx))).await.is_pending());
        drop(hung);
    };
    tracing::Instrument::instrument(work, caller).await;
    let want = [
        " caller",
        "client subscribe_count in 1",
        "client subscribe_count (7) in 1",
        "client subscribe_count (cancelled) in 1",
    ];
    assert_eq!(spans.shown(), want);
}

/// The attributes of a span that say where it goes: the server, its port, the transport, the protocol.
fn way(span: &Kept) -> [&str; 4] {
    let names = ["server.address", "server.port", "network.transport", "network.protocol.name"];
    names.map(|name| span.fields.get(name).map_or("", String::as_str))
}

#[tokio::test]
async fn spans_say_where_a_call_goes() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let urls = if cfg!(feature = "http") { &["tcp", "http", "ws"][..] } else { &["tcp"] };
    for scheme in urls {
        spans.0.lock().unwrap().clear();
        let server = sabir::listen(format!("{scheme}://127.0.0.1:0"), service().spans()).await.unwrap();
        let url = server.url().to_string();
        let port = url.rsplit_once(':').unwrap().1.trim_end_matches('/').to_owned();
        let serving = tokio::spawn(server.run());
        let peer = sabir::connect(&*url, Router::new().spans()).await.unwrap();
        peer.call::<Option<String>>("seen", json!({})).await.unwrap();
        let kept = spans.0.lock().unwrap().clone();
        let ways: Vec<_> = kept.iter().map(way).collect();
        let (protocol, host, port) = match *scheme {
            // Streams do not say whom they call.
            "tcp" => ("", "", ""),
            "http" => ("http", "127.0.0.1", &*port),
            _ => ("websocket", "127.0.0.1", &*port),
        };
        let own = url.rsplit_once(':').unwrap().1.trim_end_matches('/');
        assert_eq!(ways, [["127.0.0.1", own, "tcp", protocol], [host, port, "tcp", protocol]], "{scheme}");
        serving.abort();
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_has_failed_for_both() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, service().spans()));
    let peer = sabir::connect(near, Router::new().spans()).await.unwrap();
    let late = peer.call::<()>("hang", ()).timeout(Duration::from_millis(20)).await;
    assert!(matches!(late, Err(CallError::TimedOut)));
    // The cancel came before this.
    peer.call::<()>("fail", ()).await.unwrap_err();
    let kept = spans.0.lock().unwrap().clone();
    let server = kept.iter().find(|span| span.fields["otel.kind"] == "server").unwrap();
    let field = |name: &str| server.fields.get(name).map(String::as_str);
    assert_eq!((field("error.type"), field("otel.status_code")), (Some("cancelled"), Some("ERROR")));
}

#[tokio::test]
async fn a_trace_goes_on_in_params_that_are_objects() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, service().spans().propagate(spans.clone())));
    let peer = sabir::connect(near, Router::new().spans().propagate(spans.clone())).await.unwrap();
    let seen = peer.call::<Option<String>>("seen", json!({"x": 1})).await.unwrap();
    assert_eq!(seen, Some(parent(1)));
    // What the caller says itself comes first.
    let own = TraceContext { traceparent: parent(9).into(), ..TraceContext::default() };
    let seen = peer.call::<Option<String>>("seen", json!({})).trace(own).await.unwrap();
    assert_eq!(seen, Some(parent(9)));
    // Positional params are never changed, and there are no headers.
    assert_eq!(peer.call::<Option<String>>("seen", (1, 2)).await.unwrap(), None);
    let want = [
        "client seen",
        "server seen from 01",
        "client seen",
        "server seen from 09",
        "client seen",
        "server seen",
    ];
    assert_eq!(spans.shown(), want);
}

#[tokio::test]
async fn each_call_of_a_batch_has_its_own_span() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, service().spans().propagate(spans.clone())));
    let peer = sabir::connect(near, Router::new().spans().propagate(spans.clone())).await.unwrap();
    let mut batch = peer.batch();
    batch.notify("seen", json!({}));
    let first = batch.call::<Option<String>>("seen", json!({}));
    let second = batch.call::<()>("fail", ());
    batch.send().unwrap();
    assert_eq!(first.await.unwrap(), Some(parent(1)));
    second.await.unwrap_err();
    let mut shown = spans.shown();
    shown.sort();
    // A notification has no id, and no span of its own here.
    let want = ["client fail (7)", "client seen", "server fail (7)", "server seen", "server seen from 01"];
    assert_eq!(shown, want);
}

#[tokio::test]
async fn a_proxy_puts_its_own_span_in_between() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, service().spans().propagate(spans.clone())));
    // Both routers have spans: the call upstream still has one.
    let upstream = sabir::connect(near, Router::new().spans().propagate(spans.clone())).await.unwrap();
    let proxy = Router::new().forward_to(upstream).spans().propagate(spans.clone());
    let traced = json!({"_meta": {"traceparent": parent(9)}});
    let seen = proxy.call::<Option<String>>("seen", traced).await.unwrap();
    assert_eq!(seen, Some(parent(2)));
    let want = ["server jsonrpc from 09", "client jsonrpc in 1", "server seen from 02"];
    assert_eq!(spans.shown(), want);
    // Nothing is added to the params of a caller that says nothing.
    assert_eq!(proxy.call::<Option<String>>("seen", json!({})).await.unwrap(), None);
}

#[cfg(feature = "http")]
mod over_http {
    use super::*;

    async fn serve(router: Router) -> (String, tokio::task::JoinHandle<()>) {
        let server = sabir::listen("http://127.0.0.1:0/rpc", router).await.unwrap();
        let url = server.url().to_string();
        (url, tokio::spawn(async { server.run().await.unwrap() }))
    }

    #[tokio::test]
    async fn headers_carry_the_trace_of_any_params() {
        let spans = Spans::default();
        let _guard = tracing::subscriber::set_default(spans.clone());
        let (url, serving) = serve(service().spans().propagate(spans.clone())).await;
        let peer = sabir::connect(&*url, Router::new().spans().propagate(spans.clone())).await.unwrap();
        assert_eq!(peer.call::<Option<String>>("seen", (1, 2)).await.unwrap(), Some(parent(1)));
        assert_eq!(peer.call::<Option<String>>("seen", ()).await.unwrap(), Some(parent(3)));
        peer.call::<()>("fail", ()).await.unwrap_err();
        let want = [
            "client seen",
            "server seen from 01",
            "client seen",
            "server seen from 03",
            "client fail (7)",
            "server fail (7) from 05",
        ];
        assert_eq!(spans.shown(), want);
        serving.abort();
    }

    #[tokio::test]
    async fn a_proxy_without_spans_passes_headers_on() {
        let (worker, serving) = serve(service()).await;
        let upstream = sabir::connect(&*worker, Router::new()).await.unwrap();
        let (front, proxying) = serve(Router::new().forward_to(upstream)).await;
        let spans = Spans::default();
        let _guard = tracing::subscriber::set_default(spans.clone());
        let peer = sabir::connect(&*front, Router::new().spans().propagate(spans.clone())).await.unwrap();
        assert_eq!(peer.call::<Option<String>>("seen", (1,)).await.unwrap(), Some(parent(1)));
        serving.abort();
        proxying.abort();
    }
}
