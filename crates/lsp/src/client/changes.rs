//! What has changed between two texts.

use std::ops::Range;

/// What of `old` must be replaced by what of `new`: all but what they begin and end with in common.
///
/// Both ranges begin and end between characters, and never between `\r` and `\n`, where there is no position.
pub(super) fn difference(old: &str, new: &str) -> (Range<usize>, Range<usize>) {
    let shorter = old.len().min(new.len());
    let mut start = same(old.bytes(), new.bytes());
    while !is_position(old, start) || !is_position(new, start) {
        start -= 1;
    }
    let mut end = same(old.bytes().rev(), new.bytes().rev()).min(shorter - start);
    while !is_position(old, old.len() - end) || !is_position(new, new.len() - end) {
        end -= 1;
    }
    (start..old.len() - end, start..new.len() - end)
}

fn same(old: impl Iterator<Item = u8>, new: impl Iterator<Item = u8>) -> usize {
    old.zip(new).take_while(|(old, new)| old == new).count()
}

fn is_position(text: &str, at: usize) -> bool {
    text.is_char_boundary(at) && !(text[..at].ends_with('\r') && text[at..].starts_with('\n'))
}
