//! A protected server, its authorization server, and requests to it.

#![allow(dead_code, clippy::unwrap_used)] // Each test file uses some of it.

use sabir::Fetch;
use sabir::http::{HeaderMap, Request};
use sabir_mcp::{McpCtx, McpServer, ProtectedServer, ResourceServer, Tool};
use serde_json::{Value, json};

use crate::site::{Asked, NOW, Reply, Site, clock, missing, ok};

pub(crate) const RESOURCE: &str = "http://127.0.0.1:9/mcp";

/// An authorization server with these keys.
pub(crate) async fn authority(keys: Vec<Value>) -> Site {
    Site::start(move |url, asked| issuer(url, asked, &json!({"keys": keys}))).await
}

pub(crate) fn issuer(url: &str, asked: &Asked, keys: &Value) -> Reply {
    match () {
        () if asked.is("GET /.well-known/oauth-authorization-server ") => {
            ok(&json!({"issuer": url, "jwks_uri": format!("{url}/keys")}))
        }
        () if asked.is("GET /keys ") => ok(keys),
        () => missing(),
    }
}

pub(crate) fn server() -> McpServer {
    McpServer::new("protected", "1.0.0")
        .tool(Tool::new("who", "Says who calls"), |ctx: McpCtx, ()| async move {
            let caller = ctx.caller().ok_or("nobody")?;
            Ok(format!("{:?} {}", caller.subject, caller.claims["scope"]))
        })
        .tool(Tool::new("write", "Needs more"), |_, ()| async { Ok("written") })
}

pub(crate) struct Target {
    pub(crate) url: String,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn reason(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["error_description"].as_str().unwrap_or(&self.body).to_owned()
    }
}

impl Target {
    pub(crate) async fn start(auth: &ProtectedServer) -> Self {
        Target::serve(server(), auth).await
    }

    pub(crate) async fn serve(server: McpServer, auth: &ProtectedServer) -> Self {
        let http = auth.http(&server).unwrap();
        let listening = server.listen("http://127.0.0.1:0/mcp").http(http).await.unwrap();
        let url = listening.url().to_string();
        tokio::spawn(listening.run());
        Target { url }
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(url);
        request = request
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = Fetch::default().send(request.body(body.to_string()).unwrap()).await.unwrap();
        let (head, body) = response.into_parts();
        let body = String::from_utf8_lossy(&body).into_owned();
        Answer { status: head.status.as_u16(), headers: head.headers, body }
    }

    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.send("POST", &self.url, headers, body).await
    }

    /// Calls a tool in the modern era, with a token.
    pub(crate) async fn call(&self, tool: &str, authorization: &str) -> Answer {
        self.call_with(tool, &[("authorization", authorization)]).await
    }

    pub(crate) async fn call_with(&self, tool: &str, headers: &[(&str, &str)]) -> Answer {
        self.call_as(tool, headers, &json!({})).await
    }

    /// As a client that knows tasks.
    pub(crate) async fn task(&self, tool: &str, headers: &[(&str, &str)]) -> Answer {
        self.call_as(tool, headers, &json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})).await
    }

    async fn call_as(&self, tool: &str, headers: &[(&str, &str)], capabilities: &Value) -> Answer {
        let params = json!({"name": tool, "arguments": {}});
        self.modern("tools/call", tool, params, capabilities, headers).await
    }

    /// A request of the modern era, which names what it is about.
    pub(crate) async fn modern(
        &self,
        method: &str,
        name: &str,
        mut params: Value,
        capabilities: &Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut all =
            vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", name)];
        all.extend(headers);
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        });
        self.post(&all, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await
    }
}

pub(crate) fn claims(issuer: &str) -> Value {
    json!({"iss": issuer, "aud": RESOURCE, "sub": "ada", "exp": NOW + 60, "iat": NOW, "scope": "mcp", "client_id": "app"})
}

pub(crate) fn header() -> Value {
    json!({"alg": "ES256", "typ": "at+jwt", "kid": "one"})
}

pub(crate) fn settings(site: &Site) -> ResourceServer {
    ResourceServer::new(RESOURCE)
        .issuer(&site.url)
        .clock(clock)
        .scopes(["mcp"])
        .tool_scopes("write", ["files:write"])
}
