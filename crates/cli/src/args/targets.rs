//! The command line of `sabir targets`, and what a saved target can say.

use clap::ValueEnum;

use crate::session::Protocol;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A name can be used wherever a TARGET can. They come from your own file, from the sabir.toml of the project, and from
what is configured for Claude, Cursor, VS Code, Zed and Codex. `sabir help targets` shows how a file is written.

Examples:
  sabir targets
  sabir call wallet eth_blockNumber       call a saved target
  sabir list cursor/files                 where two programs use one name")]
pub(crate) struct TargetsArgs {
    /// Print one JSON object per target: name, target, as, source, file
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a peer speaks on top of JSON-RPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolName {
    /// The Model Context Protocol
    Mcp,
    /// The Language Server Protocol
    Lsp,
    /// Ethereum's JSON-RPC
    Eth,
    /// JSON-RPC 2.0 alone
    Plain,
}

impl From<ProtocolName> for Protocol {
    fn from(name: ProtocolName) -> Self {
        match name {
            ProtocolName::Mcp => Protocol::Mcp(None),
            ProtocolName::Lsp => Protocol::Lsp,
            ProtocolName::Eth => Protocol::Eth,
            ProtocolName::Plain => Protocol::Plain,
        }
    }
}

impl std::fmt::Display for ProtocolName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ProtocolName::Mcp => "mcp",
            ProtocolName::Lsp => "lsp",
            ProtocolName::Eth => "eth",
            ProtocolName::Plain => "plain",
        })
    }
}
