//! The servers measured. One line here is all that another one needs.

use Speaks::{Http, Lines, McpSession, McpStateless, WebSocket};
use sabir_bench::Kind::{self, ByHand, Complete, Floor, Ours};
use sabir_bench::Program;

use crate::protocol::Speaks;

pub(crate) struct Server {
    /// It says where it serves.
    pub(crate) program: Program,
    pub(crate) speaks: Speaks,
    pub(crate) by: By,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Socket,
    /// Its own pipes, to have a figure beside those of sockets.
    Pipes,
}

const fn server(name: &'static str, command: &'static [&'static str], speaks: Speaks, kind: Kind) -> Server {
    Server { program: Program { name, command, kind }, speaks, by: By::Socket }
}

const ONE_PORT: &[&str] = &["../target/dist/sabir", "demo", "--listen", "tcp://127.0.0.1:0"];
const FIXED: &[&str] =
    &["../target/dist/sabir", "demo", "--listen", "tcp://127.0.0.1:0", "--framing", "lines"];
const MCP: &[&str] = &["../target/dist/sabir", "demo", "--mcp", "--listen", "http://127.0.0.1:0"];
const PIPES: &[&str] = &["../target/dist/sabir", "demo"];

pub(crate) const SERVERS: &[Server] = &[
    server("floor, HTTP", &["peers/target/release/floor_net", "http"], Http, Floor),
    server("sabir, HTTP", ONE_PORT, Http, Ours),
    server("hyper by hand", &["peers/target/release/by_hand_hyper"], Http, ByHand),
    server("jsonrpsee, HTTP", &["peers/target/release/jsonrpsee_net", "http"], Http, Complete),
    server("floor, WebSocket", &["peers/target/release/floor_net", "websocket"], WebSocket, Floor),
    server("sabir, WebSocket", ONE_PORT, WebSocket, Ours),
    server("tungstenite by hand", &["peers/target/release/by_hand_tungstenite"], WebSocket, ByHand),
    server("jsonrpsee, WebSocket", &["peers/target/release/jsonrpsee_net", "ws"], WebSocket, Complete),
    server("floor, lines", &["peers/target/release/floor_net", "lines"], Lines, Floor),
    server("sabir, lines", ONE_PORT, Lines, Ours),
    server("sabir, fixed lines", FIXED, Lines, Ours),
    Server { by: By::Pipes, ..server("sabir, stdio", PIPES, Lines, Ours) },
    server("serde_json by hand", &["peers/target/release/by_hand_lines"], Lines, ByHand),
    server("sabir, MCP sessions", MCP, McpSession, Ours),
    server("rmcp, MCP sessions", &["peers/target/release/rmcp_net"], McpSession, Complete),
    server("sabir, MCP stateless", MCP, McpStateless, Ours),
    server("rmcp, MCP stateless", &["peers/target/release/rmcp_net"], McpStateless, Complete),
    server("rmcp, MCP stateless, JSON", &["peers/target/release/rmcp_net", "json"], McpStateless, Complete),
];
