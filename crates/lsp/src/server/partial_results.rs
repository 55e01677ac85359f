//! Results that are sent while they grow.

use sabir::RawJson;
use serde::Serialize;

use super::client_peer::ClientPeer;

/// Entries in one part, at the most.
const LARGEST_PART: usize = 256;

/// A list that is the result of a request. If the client takes it in parts, they are sent while it grows: the first
/// entry at once, then more and more at a time. If not, it is collected. A handler does the same in both cases:
///
/// ```
/// use sabir_lsp::LspCtx;
/// use sabir_lsp::lsp_types::{Location, ReferenceParams};
///
/// # fn search(_: &ReferenceParams) -> Vec<Location> { Vec::new() }
/// async fn references(ctx: LspCtx, params: ReferenceParams) -> sabir::Result<Option<Vec<Location>>> {
///     let mut found = ctx.partial_results();
///     for location in search(&params) {
///         found.push(location).await?;
///     }
///     Ok(Some(found.finish().await?))
/// }
/// ```
#[derive(Debug)]
pub struct PartialResults<T> {
    client: ClientPeer,
    token: Option<RawJson<'static>>,
    /// What was not sent.
    entries: Vec<T>,
    /// How many the next part has.
    part: usize,
}

impl<T: Serialize> PartialResults<T> {
    pub(crate) fn new(client: ClientPeer, token: Option<RawJson<'static>>) -> Self {
        PartialResults { client, token, entries: Vec::new(), part: 1 }
    }

    /// Adds an entry. Waits while the client leaves too much unread.
    pub async fn push(&mut self, entry: T) -> sabir::Result<()> {
        self.entries.push(entry);
        if self.token.is_some() && self.entries.len() >= self.part {
            self.part = (self.part * 2).min(LARGEST_PART);
            self.send().await?;
        }
        Ok(())
    }

    /// What the handler returns: all entries, or none if they were sent already.
    pub async fn finish(mut self) -> sabir::Result<Vec<T>> {
        self.send().await?;
        Ok(self.entries)
    }

    async fn send(&mut self) -> sabir::Result<()> {
        if let Some(token) = self.token.as_ref().filter(|_| !self.entries.is_empty()) {
            self.client.progress(token, &self.entries).await?;
            self.entries.clear();
        }
        Ok(())
    }
}
