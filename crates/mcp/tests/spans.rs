//! The spans of requests, as a subscriber of `tracing` sees them.

#![allow(clippy::unwrap_used)]

mod service;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sabir::transport;
use sabir_mcp::{McpClient, McpRevision};
use serde_json::json;
use service::Add;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

type Fields = BTreeMap<String, String>;

/// Keeps the fields of every span.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Fields>>>);

struct Into<'a>(&'a mut Fields);

impl Visit for Into<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("sabir_mcp")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut spans = self.0.lock().unwrap();
        let mut fields = Fields::new();
        span.record(&mut Into(&mut fields));
        spans.push(fields);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let place = usize::try_from(span.into_u64()).unwrap() - 1;
        values.record(&mut Into(&mut self.0.lock().unwrap()[place]));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn requests_have_the_names_of_the_conventions() {
    let kept = Kept::default();
    let _guard = tracing::subscriber::set_default(kept.clone());
    for revision in [McpRevision::V2025_11_25, McpRevision::V2026_07_28] {
        kept.0.lock().unwrap().clear();
        let (ours, theirs) = transport::memory();
        let serving = tokio::spawn(service::server().spans().serve(theirs));
        let server =
            McpClient::new("tester", "1.0.0").spans().revision(revision).connect(ours).await.unwrap();
        server.call("add", Add { a: 1, b: 2 }).await.unwrap();
        server.call("add", json!({"a": "x"})).await.unwrap();
        server.call("nothing", json!({})).await.unwrap_err();
        server.read("notes://2026/1").await.unwrap();
        server.close(Duration::from_secs(1)).await;
        serving.await.unwrap().unwrap();

        let spans = kept.0.lock().unwrap().clone();
        let fields_of = |kind: &str, name: &str, nth: usize| -> Vec<String> {
            let is_it = |span: &&Fields| span["otel.name"] == name && span["otel.kind"] == kind;
            let span = spans.iter().filter(is_it).nth(nth);
            let mut span = span.unwrap_or_else(|| panic!("no {name} in {spans:#?}")).clone();
            assert_eq!(span.remove("mcp.protocol.version").as_deref(), Some(&*revision.to_string()));
            assert_eq!(span.remove("otel.kind").as_deref(), Some(kind));
            if kind == "server" {
                assert_eq!(span.remove("network.transport").as_deref(), Some("pipe"));
            }
            assert!(span.remove("jsonrpc.request.id").is_some());
            span.remove("otel.name");
            span.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
        };
        let fields = |name: &str, nth: usize| {
            // What a client asks for is its own choice, so its spans are named by it also where nothing is there.
            let asked = if name == "tools/call" { "tools/call nothing" } else { name };
            let of_server = fields_of("server", name, nth);
            assert_eq!(fields_of("client", asked, nth), of_server, "{name}");
            of_server
        };
        let tool = ["gen_ai.operation.name=execute_tool", "gen_ai.tool.name=add"];
        assert_eq!(fields("tools/call add", 0), [tool[0], tool[1], "mcp.method.name=tools/call"]);
        assert_eq!(
            fields("tools/call add", 1),
            [
                "error.type=tool_error",
                tool[0],
                tool[1],
                "mcp.method.name=tools/call",
                "otel.status_code=ERROR"
            ]
        );
        assert_eq!(
            fields("tools/call", 0),
            [
                "error.type=-32602",
                tool[0],
                "gen_ai.tool.name=nothing",
                "mcp.method.name=tools/call",
                "otel.status_code=ERROR",
                "rpc.response.status_code=-32602",
            ]
        );
        assert_eq!(
            fields("resources/read", 0),
            ["mcp.method.name=resources/read", "mcp.resource.uri=notes://2026/1"]
        );
    }
}
