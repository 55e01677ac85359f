//! The pages of a list, as far as a server may lead.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use sabir::{CallError, JsonKind, RawJson};

use super::McpSession;
use super::call::{McpCall, Params};

/// Pages that one list may have: a server that sends more probably loops.
const MOST_PAGES: usize = 10_000;

/// Entries that all pages of a list may have together: read, one takes up to thirty times its text.
const MOST_ENTRIES: usize = 100_000;

/// Bytes that all pages of a list may have together, unless it is set otherwise: four times what one message may have.
const LARGEST_LIST: usize = 64 << 20;

/// A list of a server, page by page: made by [`McpSession::pages`].
#[derive(Debug)]
pub struct ListPages {
    session: McpSession,
    method: &'static str,
    member: &'static str,
    /// What the next page is asked for by. `None` behind the last one.
    next: Option<Params>,
    /// The cursors that the server has given, in few bytes.
    seen: HashSet<u64>,
    hashes: RandomState,
    entries: usize,
    bytes: usize,
    max_bytes: usize,
}

impl ListPages {
    pub(super) fn new(session: McpSession, method: &'static str, member: &'static str) -> Self {
        ListPages {
            session,
            method,
            member,
            next: Some(Params::new()),
            seen: HashSet::new(),
            hashes: RandomState::new(),
            entries: 0,
            bytes: 0,
            max_bytes: LARGEST_LIST,
        }
    }

    /// Sets how many bytes all pages may have together. 64 MiB.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// The next page: a result whose member is a list. `None` behind the last one.
    ///
    /// It fails where the list does not end: at 10,000 pages, 100,000 entries, or a cursor that was there before. An
    /// incomplete list is an error, not a shorter one.
    pub async fn next(&mut self) -> Result<Option<RawJson<'static>>, CallError> {
        let Some(params) = self.next.take() else { return Ok(None) };
        let page: RawJson<'static> = McpCall::new(&self.session, self.method, Ok(params)).await?;
        self.next = self.check(&page).map_err(|why| CallError::Decode(why.into()))?;
        Ok(Some(page))
    }

    /// What the page behind this one is asked for by.
    fn check(&mut self, page: &RawJson<'_>) -> Result<Option<Params>, String> {
        let (method, member) = (self.method, self.member);
        self.bytes = self.bytes.saturating_add(page.as_str().len());
        if self.bytes > self.max_bytes {
            return Err(format!("the list has more than {} bytes", self.max_bytes));
        }
        let listed = page.get(member).filter(|listed| listed.kind() == JsonKind::Array);
        let Some(listed) = listed else { return Err(format!("{method} answers without `{member}`")) };
        self.entries += listed.elements().count();
        if self.entries > MOST_ENTRIES {
            return Err(format!("the list has more than {MOST_ENTRIES} entries"));
        }
        let Some(next) = page.get("nextCursor").filter(|next| *next != RawJson::NULL) else {
            return Ok(None);
        };
        if !self.seen.insert(self.hashes.hash_one(next.as_str())) {
            return Err("the server returned the same cursor twice".to_owned());
        }
        if self.seen.len() >= MOST_PAGES {
            return Err(format!("the list has more than {MOST_PAGES} pages"));
        }
        Ok(Some(Params::from([("cursor".into(), next.into_owned())])))
    }
}
