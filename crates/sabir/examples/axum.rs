//! JSON-RPC beside the other routes of an axum application.
//!
//! Run with `cargo run -p sabir --features http --example axum`, then
//! `curl -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}' http://127.0.0.1:8080/rpc`.

use sabir::{Http, HttpService, Router};
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let router = Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) });
    let app = axum::Router::new()
        .route("/", axum::routing::get(|| async { "JSON-RPC is at /rpc\n" }))
        .route_service("/rpc", HttpService::new(router, Http::new()));
    axum::serve(TcpListener::bind("127.0.0.1:8080").await?, app).await
}
