//! The protected application of docs/authorization.md, mounted in axum, with a client that logs in.

#![allow(clippy::unwrap_used)]

use axum::routing::get;
use sabir::http::Request;
use sabir::{Fetch, HttpService};
use sabir_mcp::testing::FakeIssuer;
use sabir_mcp::{AuthError, McpClient, McpCtx, McpServer, OAuth, ProtectedServer, ResourceServer, Tool};
use serde_json::Value;
use tokio::net::TcpListener;

fn app(server: McpServer, auth: &ProtectedServer) -> Result<axum::Router, AuthError> {
    let http = auth.http(&server)?;
    let mcp = HttpService::new(server.into_router(), http).dialect(sabir::MCP);
    let mut app = axum::Router::new().route_service("/mcp", mcp.clone());
    for path in auth.metadata_paths() {
        app = app.route_service(&path, mcp.clone());
    }
    Ok(app.route("/", get(|| async { "MCP is at /mcp\n" })))
}

async fn status(url: &str) -> (u16, String) {
    let answer = Fetch::default().send(Request::get(url).body("").unwrap()).await.unwrap();
    (answer.status().as_u16(), String::from_utf8_lossy(answer.body()).into_owned())
}

#[tokio::test]
async fn an_application_of_axum_is_protected() {
    let issuer = FakeIssuer::start().await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let url = format!("{origin}/mcp");
    let auth = ResourceServer::new(&url).issuer(issuer.url()).tool_scopes("delete", ["files:write"]);
    let auth = auth.start().await.unwrap();
    let server = McpServer::new("files", "1.0.0")
        .tool(Tool::new("who", "Says who calls"), |ctx: McpCtx, ()| async move {
            let caller = ctx.caller().ok_or("nobody")?;
            Ok(caller.subject.clone().unwrap_or_default())
        })
        .tool(Tool::new("delete", "Deletes a file"), |_, ()| async { Ok("deleted") });
    tokio::spawn(axum::serve(listener, app(server, &auth).unwrap()).into_future());

    // Other routes are for everybody, and so are the metadata.
    assert_eq!(status(&origin).await, (200, "MCP is at /mcp\n".to_owned()));
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let (status, body) = status(&format!("{origin}{path}")).await;
        assert_eq!(status, 200, "{path}");
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["resource"], url.as_str());
    }
    assert_eq!(status(&url).await.0, 401);

    let client = McpClient::new("test", "1.0.0").auth(OAuth::browser(issuer.browser()));
    let session = client.connect(url.as_str()).await.unwrap();
    assert_eq!(session.call("who", ()).await.unwrap().text(), "user");
    assert_eq!(session.call("delete", ()).await.unwrap().text(), "deleted");

    let narrow = sabir::transport::url(url.as_str()).bearer(issuer.token(&url, "files:read"));
    let session = McpClient::new("test", "1.0.0").connect(narrow).await.unwrap();
    assert_eq!(session.call("who", ()).await.unwrap().text(), "user");
    assert!(session.call("delete", ()).await.unwrap_err().to_string().contains("403"));
    let foreign = issuer.token("http://127.0.0.1:1/mcp", "files:write");
    let foreign = sabir::transport::url(url.as_str()).bearer(foreign);
    assert!(McpClient::new("test", "1.0.0").connect(foreign).await.is_err());
}
