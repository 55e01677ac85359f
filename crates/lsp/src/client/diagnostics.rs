//! The diagnostics that a server has pushed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use lsp_types::{Diagnostic, Uri};
use sabir::RawJson;
use sabir::internal::lock;
use tokio::sync::watch;

/// Bytes of diagnostics that are kept. The oldest go first.
const MOST_BYTES: usize = 64 << 20;

/// The newest diagnostics of each document.
#[derive(Debug, Default)]
pub(super) struct Published {
    kept: Mutex<Kept>,
    /// Changes whenever some come.
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Kept {
    by_uri: HashMap<String, Publication>,
    /// The documents by the number of their publication, oldest first: a server may publish for more than are kept.
    by_age: BTreeMap<u64, String>,
    /// How many had come when a document was last changed by us.
    seen: HashMap<String, u64>,
    bytes: usize,
    count: u64,
}

#[derive(Debug)]
struct Publication {
    /// Its sequence number.
    number: u64,
    version: Option<i32>,
    diagnostics: RawJson<'static>,
}

impl Published {
    pub(super) fn subscribe(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// A document was opened or changed: what came before is not about it.
    pub(super) fn outdate(&self, uri: &Uri) {
        let mut kept = lock(&self.kept);
        let count = kept.count;
        kept.seen.insert(uri.as_str().to_owned(), count);
    }

    pub(super) fn forget(&self, uri: &Uri) {
        lock(&self.kept).seen.remove(uri.as_str());
    }

    pub(super) fn add(&self, uri: &str, version: Option<i32>, diagnostics: RawJson<'static>) {
        let mut kept = lock(&self.kept);
        kept.count += 1;
        kept.bytes += size(uri, &diagnostics);
        let publication = Publication { number: kept.count, version, diagnostics };
        let number = kept.count;
        kept.by_age.insert(number, uri.to_owned());
        if let Some(before) = kept.by_uri.insert(uri.to_owned(), publication) {
            kept.bytes -= size(uri, &before.diagnostics);
            kept.by_age.remove(&before.number);
        }
        while kept.bytes > MOST_BYTES && kept.by_uri.len() > 1 {
            let Some((_, uri)) = kept.by_age.pop_first() else { break };
            if let Some(gone) = kept.by_uri.remove(&uri) {
                kept.bytes -= size(&uri, &gone.diagnostics);
            }
        }
        drop(kept);
        self.changed.send_replace(());
    }

    /// Those of a document at this version or later, if they have come.
    pub(super) fn get(&self, uri: &Uri, version: i32) -> Option<Result<Vec<Diagnostic>, serde_json::Error>> {
        let kept = lock(&self.kept);
        let publication = kept.by_uri.get(uri.as_str())?;
        let is_new = kept.seen.get(uri.as_str()).is_none_or(|seen| publication.number > *seen);
        let fits = is_new && publication.version.is_none_or(|published| published >= version);
        fits.then(|| publication.diagnostics.parse())
    }
}

/// An entry counts for more than its texts.
fn size(uri: &str, diagnostics: &RawJson<'_>) -> usize {
    2 * uri.len() + diagnostics.as_str().len() + 256
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many are evicted as are kept. If each eviction looked at all that are kept, this would not end in minutes.
    #[test]
    fn the_oldest_make_room_at_once() {
        let published = Published::default();
        let uri = |i: usize| format!("file:///{i:06}");
        let most = MOST_BYTES / size(&uri(0), &RawJson::NULL);
        let add = |i: usize| published.add(&uri(i), None, RawJson::NULL);
        (0..most).for_each(add);
        // Published again: it is the newest.
        add(0);
        (most..2 * most - 1).for_each(add);
        let kept = lock(&published.kept);
        assert_eq!((kept.by_uri.len(), kept.by_age.len()), (most, most));
        assert_eq!(kept.bytes, most * size(&uri(0), &RawJson::NULL));
        let is_kept = |i: usize| kept.by_uri.contains_key(&uri(i));
        assert!(is_kept(0) && (1..most).all(|i| !is_kept(i)) && (most..2 * most - 1).all(is_kept));
    }
}
