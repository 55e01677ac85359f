//! Positions within a line: what a column counts.

use std::cmp::Ordering;

use lsp_types::PositionEncodingKind;

/// Bytes that are counted at a time.
pub(super) const BLOCK: usize = 1024;

/// What the columns of positions count. Client and server agree on it in `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PositionEncoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16, of which characters beyond U+FFFF have two. What every client and server knows, and what holds
    /// unless they agree on something else.
    #[default]
    Utf16,
    /// Code points.
    Utf32,
}

impl PositionEncoding {
    /// The encoding of this name, if it is one of the three.
    pub fn from_kind(kind: &PositionEncodingKind) -> Option<Self> {
        match kind.as_str() {
            "utf-8" => Some(PositionEncoding::Utf8),
            "utf-16" => Some(PositionEncoding::Utf16),
            "utf-32" => Some(PositionEncoding::Utf32),
            _ => None,
        }
    }

    /// Its name in the protocol.
    pub fn kind(self) -> PositionEncodingKind {
        match self {
            PositionEncoding::Utf8 => PositionEncodingKind::UTF8,
            PositionEncoding::Utf16 => PositionEncodingKind::UTF16,
            PositionEncoding::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            PositionEncoding::Utf8 => c.len_utf8(),
            PositionEncoding::Utf16 => c.len_utf16(),
            PositionEncoding::Utf32 => 1,
        }
    }

    /// How many units a text has.
    pub fn units(self, text: &str) -> usize {
        if self == PositionEncoding::Utf8 {
            return text.len();
        }
        #[cfg(test)]
        super::work::add(text.len());
        match self {
            _ if text.is_ascii() => text.len(),
            PositionEncoding::Utf16 => text.chars().count() + beyond_the_first_plane(text),
            _ => text.chars().count(),
        }
    }

    /// The byte at a column. A column inside of a character counts as the character's start, and one behind the end as
    /// the end.
    pub(crate) fn byte(self, line: &str, column: usize) -> usize {
        if self == PositionEncoding::Utf8 {
            return floor(line, column);
        }
        let (mut at, mut left) = (0, column);
        // Counting a block takes a small part of the time of walking it.
        while line.len() - at > BLOCK {
            let next = floor(line, at + BLOCK);
            let units = self.units(&line[at..next]);
            if units > left {
                break;
            }
            (at, left) = (next, left - units);
        }
        at + self.walk(&line[at..], left)
    }

    fn walk(self, text: &str, column: usize) -> usize {
        // Where all is ASCII up to the column, all encodings are the same.
        let ascii = column.min(text.len());
        #[cfg(test)]
        super::work::add(ascii);
        if text.as_bytes()[..ascii].is_ascii() {
            return ascii;
        }
        let mut units = 0;
        for (at, c) in text.char_indices() {
            units += self.width(c);
            match units.cmp(&column) {
                Ordering::Less => {}
                Ordering::Equal => return at + c.len_utf8(),
                Ordering::Greater => return at,
            }
        }
        text.len()
    }
}

/// Characters that have two units in UTF-16.
fn beyond_the_first_plane(text: &str) -> usize {
    // Sums of bytes take the least registers; fewer than 256 entries do not overflow.
    let of_block = |block: &[u8]| block.iter().map(|byte| u8::from(*byte >= 0xF0)).sum::<u8>();
    text.as_bytes().chunks(128).map(|block| usize::from(of_block(block))).sum()
}

/// Where the character at an offset begins; the end if there is none.
pub(super) fn floor(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    (0..=offset).rfind(|at| text.is_char_boundary(*at)).unwrap_or_default()
}
