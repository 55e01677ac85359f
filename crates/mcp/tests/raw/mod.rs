//! A client that says what it is told to, honest or not.

#![allow(dead_code, clippy::unwrap_used, clippy::needless_pass_by_value)] // Each test file uses some of it.

use std::sync::{Arc, Mutex};

use sabir::{CallError, ErrorObject, Peer, Router, transport};
use sabir_mcp::McpServer;
use serde_json::{Value, json};

pub(crate) struct Raw {
    pub(crate) peer: Peer,
    /// The names of the notifications that came.
    pub(crate) heard: Arc<Mutex<Vec<String>>>,
}

impl Raw {
    pub(crate) async fn open(server: McpServer) -> Self {
        let (ours, theirs) = transport::memory();
        tokio::spawn(server.serve(theirs));
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let told = Arc::clone(&heard);
        let router = Router::new().fallback(move |_, method, _| {
            told.lock().unwrap().push(method);
            std::future::ready(Ok(sabir::RawJson::NULL))
        });
        Raw { peer: sabir::connect(ours.dialect(sabir::MCP), router).await.unwrap(), heard }
    }

    /// The same after the handshake of the legacy era.
    pub(crate) async fn legacy(server: McpServer, capabilities: Value) -> Self {
        let raw = Raw::open(server).await;
        raw.call("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": capabilities}))
            .await
            .unwrap();
        raw.peer.notify("notifications/initialized", ()).await.unwrap();
        raw
    }

    pub(crate) async fn call(&self, method: &'static str, params: Value) -> Result<Value, ErrorObject> {
        match self.peer.call::<Value>(method, params).await {
            Ok(result) => Ok(result),
            Err(CallError::Error(error)) => Err(error),
            Err(other) => panic!("{method}: {other}"),
        }
    }

    /// A request of the modern era, with more in its `_meta`.
    pub(crate) async fn modern(
        &self,
        method: &'static str,
        params: Value,
        meta: Value,
    ) -> Result<Value, ErrorObject> {
        self.call(method, modern(params, meta)).await
    }
}

/// The params of a request of the modern era.
pub(crate) fn modern(mut params: Value, meta: Value) -> Value {
    let mut all = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
    });
    for (name, value) in meta.as_object().into_iter().flatten() {
        all[name] = value.clone();
    }
    params["_meta"] = all;
    params
}

pub(crate) fn reason(error: &ErrorObject) -> String {
    error.data.as_ref().and_then(|data| data.get("reason")?.parse().ok()).unwrap_or_default()
}
