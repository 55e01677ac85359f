//! Positions within a line: what a column counts.

use std::cmp::Ordering;

use lsp_types::PositionEncodingKind;

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
        match self {
            PositionEncoding::Utf8 => text.len(),
            _ if text.is_ascii() => text.len(),
            _ => text.chars().map(|c| self.width(c)).sum(),
        }
    }

    /// The byte at a column. A column inside of a character counts as the character's start, and one behind the end as
    /// the end.
    pub(crate) fn byte(self, line: &str, column: usize) -> usize {
        let ascii = column.min(line.len());
        if self == PositionEncoding::Utf8 {
            return (0..=ascii).rfind(|at| line.is_char_boundary(*at)).unwrap_or_default();
        }
        // Where all is ASCII up to the column, all encodings are the same.
        if line.as_bytes()[..ascii].is_ascii() {
            return ascii;
        }
        let mut units = 0;
        for (at, c) in line.char_indices() {
            units += self.width(c);
            match units.cmp(&column) {
                Ordering::Less => {}
                Ordering::Equal => return at + c.len_utf8(),
                Ordering::Greater => return at,
            }
        }
        line.len()
    }
}
