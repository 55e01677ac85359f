//! The servers measured. One line here is all that another one needs.

use Speaks::{Lines, Lsp, Mcp, Words};
use sabir_bench::Kind::{self, ByHand, Complete, Dispatch, Floor, Ours};
use sabir_bench::Program;

pub(crate) struct Server {
    pub(crate) program: Program,
    pub(crate) speaks: Speaks,
    pub(crate) batches: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// Plain methods, a message a line, no handshake.
    Lines,
    /// Plain methods in Content-Length framing, after the handshake of LSP.
    Lsp,
    /// `tools/call`, a message a line, after the handshake of MCP.
    Mcp,
    /// `textDocument/hover` of a language server that knows words, in an open document.
    Words,
}

const fn server(
    name: &'static str,
    command: &'static [&'static str],
    speaks: Speaks,
    kind: Kind,
    batches: bool,
) -> Server {
    Server { program: Program { name, command, kind }, speaks, batches }
}

/// In front of `sabir blocking`.
const PROXY: &str = "../target/dist/examples/stdio_proxy";

pub(crate) const SERVERS: &[Server] = &[
    server("floor", &["peers/target/release/floor"], Lines, Floor, true),
    server("sabir demo", &["../target/dist/sabir", "demo"], Lines, Ours, true),
    server("sabir blocking", &["../target/dist/examples/blocking_adder"], Lines, Ours, true),
    server("sabir spawned", &["../target/dist/examples/handlers", "spawned"], Lines, Ours, true),
    server("sabir threads", &["../target/dist/examples/handlers", "blocking"], Lines, Ours, true),
    server("sabir proxy", &[PROXY, "../target/dist/examples/blocking_adder"], Lines, Ours, true),
    server("serde_json by hand", &["peers/target/release/by_hand"], Lines, ByHand, true),
    server("jsonrpsee dispatch", &["peers/target/release/jsonrpsee"], Lines, Dispatch, false),
    server("tower-lsp-server", &["peers/target/release/tower_lsp_server"], Lsp, Complete, false),
    server("async-lsp", &["peers/target/release/async_lsp"], Lsp, Complete, false),
    server("jsonrpc-stdio-server", &["peers/target/release/jsonrpc_stdio_server"], Lines, Complete, true),
    server("lsp-server", &["peers/target/release/lsp_server"], Lsp, Complete, false),
    server("floor, MCP", &["peers/target/release/floor", "mcp"], Mcp, Floor, false),
    server("sabir demo --mcp", &["../target/dist/sabir", "demo", "--mcp"], Mcp, Ours, false),
    server("sabir blocking, MCP", &["../target/dist/mcp_blocking"], Mcp, Ours, false),
    server("serde_json by hand, MCP", &["peers/target/release/by_hand"], Mcp, ByHand, false),
    server("rmcp", &["peers/target/release/rmcp"], Mcp, Complete, false),
    server("rmcp, polled pipes", &["peers/target/release/rmcp", "pipes"], Mcp, Complete, false),
    server("sabir-lsp, hover", &["../target/dist/lsp_server"], Words, Ours, false),
    server(
        "tower-lsp-server, hover",
        &["peers/target/release/words_tower_lsp_server"],
        Words,
        Complete,
        false,
    ),
    server("async-lsp, hover", &["peers/target/release/words_async_lsp"], Words, Complete, false),
    server("lsp-server, hover", &["peers/target/release/words_lsp_server"], Words, Complete, false),
];
