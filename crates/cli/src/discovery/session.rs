//! Asks in a session that is open already, so that nothing is started or opened twice.

use sabir::openrpc::Info;
use sabir::{CallError, Peer};
use sabir_mcp::McpSession;
use serde_json::Value;

use super::ask::{self, Answer};
use super::{Discovered, DiscoverySource, mcp, tables};
use crate::peer::PeerOptions;

/// A session, as far as it can be asked.
pub(crate) enum Source {
    Plain(Peer),
    Mcp(McpSession),
    /// A language server has said it when it was initialized.
    Lsp(Value),
}

/// What the peer offers, if it says so.
pub(crate) async fn in_session(source: &Source, options: &PeerOptions) -> Option<Discovered> {
    let found = |via, answer: Answer| answer.found(options.target.to_string(), via);
    match source {
        Source::Lsp(capabilities) => {
            let document = ask::document(Info::new("", ""), tables::lsp(capabilities));
            Some(found(DiscoverySource::Lsp, document.into()))
        }
        Source::Mcp(session) => {
            mcp::in_session(session, options).await.ok().map(|answer| found(DiscoverySource::Mcp, answer))
        }
        Source::Plain(peer) => {
            for via in ask::ways(options).iter().copied() {
                let answer = match via {
                    DiscoverySource::Discover => ask::discover(peer, options).await,
                    DiscoverySource::ListMethods => ask::list_methods(peer, options).await,
                    DiscoverySource::Ethereum => ask::ethereum(peer, options).await,
                    DiscoverySource::Solana => ask::solana(peer, options).await,
                    // It is neither: the session would know.
                    DiscoverySource::Mcp | DiscoverySource::Lsp | DiscoverySource::File => continue,
                };
                match answer {
                    Ok(answer) => return Some(found(via, answer)),
                    Err(CallError::Closed(_)) => return None,
                    Err(_) => {}
                }
            }
            None
        }
    }
}
