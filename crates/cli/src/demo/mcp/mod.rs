//! `sabir demo --mcp`: a server with some of everything that MCP has. The names and texts are those that the
//! protocol's own conformance suite looks for.

mod asks;
mod prompts;
mod resources;
mod tasks;
mod tools;

use sabir_mcp::McpServer;

const PNG: &[u8] = include_bytes!("dot.png");
const WAV: &[u8] = include_bytes!("silence.wav");

pub(crate) fn server() -> McpServer {
    let server = McpServer::new("sabir-everything", env!("CARGO_PKG_VERSION"))
        .instructions("Some of everything that MCP has, to try clients on.");
    tasks::add(prompts::add(resources::add(asks::add(tools::add(server)))))
}
