//! Which protocol the traffic is meant to be.

use std::fmt;
use std::str::FromStr;

use sabir_proto::{Dialect, LENIENT, LSP, McpRevision as Revision, PLAIN};

/// Which protocol the traffic is meant to be: JSON-RPC itself, or one on top of it.
///
/// ```
/// use sabir_model::rules::Profile;
///
/// let profile: Profile = "mcp@2025-06-18".parse()?;
/// assert_eq!(profile.to_string(), "mcp@2025-06-18");
/// # Ok::<(), sabir_model::rules::UnknownProfile>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Profile {
    /// JSON-RPC 2.0 to the letter.
    #[default]
    JsonRpc,
    /// The Model Context Protocol. Without a revision, it is taken from the traffic.
    Mcp(Option<Revision>),
    /// The Language Server Protocol.
    Lsp,
    /// Agent2Agent.
    A2a,
    /// Ethereum.
    Eth,
    /// JSON-RPC with the habits of real peers: forgives what can be understood.
    Lenient,
}

impl Profile {
    /// What is legal in it, as far as it is known before any traffic.
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Profile::JsonRpc | Profile::A2a | Profile::Eth => PLAIN,
            Profile::Mcp(revision) => revision.unwrap_or(Revision::NEWEST_LEGACY).dialect(),
            Profile::Lsp => LSP,
            Profile::Lenient => LENIENT,
        }
    }
}

/// A name that is not a profile's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownProfile(String);

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.strip_prefix("mcp@") {
            Some(revision) => {
                let known: Vec<_> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
                write!(f, "`{revision}` is not a revision of MCP: they are {}", known.join(", "))
            }
            None => write!(
                f,
                "`{}` is not a profile: they are jsonrpc, mcp, mcp@REVISION, lsp, a2a, eth and lenient",
                self.0
            ),
        }
    }
}

impl std::error::Error for UnknownProfile {}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        Ok(match name {
            "jsonrpc" => Profile::JsonRpc,
            "mcp" => Profile::Mcp(None),
            "lsp" => Profile::Lsp,
            "a2a" => Profile::A2a,
            "eth" => Profile::Eth,
            "lenient" => Profile::Lenient,
            _ => {
                let revision = name.strip_prefix("mcp@").and_then(Revision::parse);
                Profile::Mcp(Some(revision.ok_or_else(|| UnknownProfile(name.to_owned()))?))
            }
        })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Profile::JsonRpc => "jsonrpc",
            Profile::Mcp(None) => "mcp",
            Profile::Mcp(Some(revision)) => return write!(f, "mcp@{revision}"),
            Profile::Lsp => "lsp",
            Profile::A2a => "a2a",
            Profile::Eth => "eth",
            Profile::Lenient => "lenient",
        })
    }
}
