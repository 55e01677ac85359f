//! `sabir new`.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sabir new mcp-server my-notes           tools and resources for agents, on standard streams
  sabir new lsp-server my-linter          a language server for editors
  sabir new service my-service            methods over HTTP, WebSocket and TCP")]
pub(crate) struct NewArgs {
    /// What it is
    pub(crate) project: Project,
    /// Its name, or a path that ends with it: the folder must not exist
    pub(crate) name: PathBuf,
    /// Take the crates of Sabir from this checkout. Without it, from the checkout that this program was built in, if it is
    /// still there
    #[arg(long, value_name = "CHECKOUT")]
    pub(crate) path: Option<PathBuf>,
}

/// A kind of project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Project {
    /// A server of MCP
    McpServer,
    /// A language server
    LspServer,
    /// A JSON-RPC service
    Service,
}
