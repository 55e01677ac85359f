//! Follows the pages of a list, as far as a server may lead.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use sabir::CallError;

/// Pages that a list may have: a hostile peer always has one more.
const MOST_PAGES: usize = 10_000;

/// The cursors that a server has given.
#[derive(Default)]
pub(super) struct Pages {
    seen: HashSet<u64>,
    hashes: RandomState,
}

impl Pages {
    /// Whether the page behind this cursor may be asked for. An incomplete list is an error, not a shorter one.
    pub(super) fn follow(&mut self, cursor: &str) -> Result<(), CallError> {
        let undecodable = |why: String| Err(CallError::Decode(why.into()));
        if !self.seen.insert(self.hashes.hash_one(cursor)) {
            return undecodable("the server returned the same cursor twice".to_owned());
        }
        match self.seen.len() < MOST_PAGES {
            true => Ok(()),
            false => undecodable(format!("the list has more than {MOST_PAGES} pages")),
        }
    }
}
