//! Properties of what is sent for a change.

#![expect(clippy::unwrap_used, reason = "a test may")]

use lsp_types::TextDocumentContentChangeEvent;
use proptest::prelude::*;

use super::changes::difference;
use crate::document::{Document, PositionEncoding};

fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec!["a", "b", "ä", "🐎", "🐏", "\n", "\r\n", "\r"]);
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_difference_leads_from_one_text_to_the_other(old in text(), new in text()) {
        let mut document =
            Document::new("file:///a".parse().unwrap(), "text", 1, old.as_str(), PositionEncoding::Utf16);
        let (from, to) = difference(&old, &new);
        let change = TextDocumentContentChangeEvent {
            range: Some(document.range(from)),
            range_length: None,
            text: new[to].to_owned(),
        };
        document.change(&[change], usize::MAX);
        prop_assert_eq!(document.text(), new);
    }
}

#[test]
fn what_is_common_is_not_sent() {
    for (old, new, from, to) in [
        ("abc", "axc", 1..2, 1..2),
        ("", "abc", 0..0, 0..3),
        ("aa", "aaa", 2..2, 2..3),
        ("ab", "ab", 2..2, 2..2),
    ] {
        assert_eq!(difference(old, new), (from, to), "{old:?} {new:?}");
    }
}
