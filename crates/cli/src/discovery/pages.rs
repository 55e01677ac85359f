//! Follows the pages of a list, as far as a server may lead.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use sabir::CallError;

/// Pages that a list may have: a hostile peer always has one more.
const MOST_PAGES: usize = 10_000;

/// Entries that all pages of a list may have together: read, one takes up to thirty times its text.
const MOST_ENTRIES: usize = 100_000;

/// The cursors that a server has given.
#[derive(Default)]
pub(super) struct Pages {
    seen: HashSet<u64>,
    entries: usize,
    hashes: RandomState,
}

impl Pages {
    /// Counts the entries of a page, before they are read.
    pub(super) fn add(&mut self, entries: usize) -> Result<(), CallError> {
        self.entries = self.entries.saturating_add(entries);
        match self.entries <= MOST_ENTRIES {
            true => Ok(()),
            false => Err(CallError::Decode(format!("the list has more than {MOST_ENTRIES} entries").into())),
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(followed: Result<(), CallError>) -> String {
        followed.expect_err("a refusal").to_string()
    }

    #[test]
    fn a_list_ends() {
        let mut pages = Pages::default();
        assert_eq!(pages.follow("a"), Ok(()));
        assert!(reason(pages.follow("a")).ends_with("the server returned the same cursor twice"));
        let mut pages = Pages::default();
        let last = (0..).find_map(|number: u32| pages.follow(&number.to_string()).err());
        assert!(last.is_some_and(|error| error.to_string().ends_with("more than 10000 pages")));
        let mut pages = Pages::default();
        assert_eq!((pages.add(60_000), pages.add(40_000)), (Ok(()), Ok(())));
        assert!(reason(pages.add(1)).ends_with("more than 100000 entries"));
    }
}
