//! The smallest MCP server, without a runtime: on standard streams, one thread that reads, answers and writes.
//!
//! Run with `cargo run -q -p sabir-examples --bin mcp_blocking`, or let an MCP client start it. Where client and server share
//! a core, a call takes less time than with tokio, which also waits in `epoll` for each message. Functions may wait for their
//! client, and for nothing else; tasks and timers need tokio.

use sabir::{MCP, blocking};
use sabir_mcp::McpServer;

/// Adds two integers
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

fn main() -> Result<(), sabir::Error> {
    let server = McpServer::new("adder", "1.0.0").tool("add", |_, Add { a, b }| async move { Ok(a + b) });
    blocking::serve(blocking::stdio().dialect(MCP), server.into_router())
}
