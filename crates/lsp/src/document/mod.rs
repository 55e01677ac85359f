//! The texts that the client has open.

mod line_index;
mod position;
mod store;
#[cfg(test)]
mod tests;

use std::ops;

use line_index::LineIndex;
use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
pub use position::PositionEncoding;
pub(crate) use store::not_open;
pub use store::{DocumentLimits, Documents};

/// A text document as the client has it, at one version.
///
/// Offsets are bytes of [`text`](Self::text). Positions count in the [encoding](PositionEncoding) that was agreed on.
/// A position behind the end of its line stands for the end of the line, before what ends it; one in a line that
/// does not exist for the end of the text; one inside of a character for the character's start.
#[derive(Debug, Clone)]
pub struct Document {
    uri: Uri,
    language_id: String,
    version: i32,
    encoding: PositionEncoding,
    text: String,
    lines: LineIndex,
}

impl Document {
    /// A document that was not opened by a client, such as a file from the disk.
    ///
    /// # Panics
    /// If the text has 4 GiB or more.
    pub fn new(
        uri: Uri,
        language_id: impl Into<String>,
        version: i32,
        text: impl Into<String>,
        encoding: PositionEncoding,
    ) -> Self {
        let text = text.into();
        assert!(u32::try_from(text.len()).is_ok(), "a document has less than 4 GiB");
        let lines = LineIndex::new(&text);
        Document { uri, language_id: language_id.into(), version, encoding, text, lines }
    }

    /// Its URI, as the client wrote it.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// What the client says it is written in, such as `rust`.
    pub fn language_id(&self) -> &str {
        &self.language_id
    }

    /// The version, which rises with each change.
    pub fn version(&self) -> i32 {
        self.version
    }

    /// What the columns of its positions count.
    pub fn encoding(&self) -> PositionEncoding {
        self.encoding
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many lines it has: one more than ends of lines.
    pub fn line_count(&self) -> u32 {
        self.lines.count() as u32
    }

    /// The lines, without what ends them.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        (0..self.line_count()).filter_map(|line| self.line(line))
    }

    /// A line, without what ends it. `None` if there are fewer.
    pub fn line(&self, line: u32) -> Option<&str> {
        let whole = self.lines.line(line as usize, &self.text)?;
        Some(self.text[whole].trim_end_matches(['\r', '\n']))
    }

    /// Where a line begins: the end of the text if there are fewer.
    pub fn line_start(&self, line: u32) -> usize {
        self.lines.line(line as usize, &self.text).map_or(self.text.len(), |line| line.start)
    }

    /// The offset of a position.
    pub fn offset(&self, position: Position) -> usize {
        match self.line(position.line) {
            Some(line) => {
                self.line_start(position.line) + self.encoding.byte(line, position.character as usize)
            }
            None => self.text.len(),
        }
    }

    /// The position of an offset. An offset inside of a character counts as the character's start, one between `\r` and
    /// `\n` as the end of the line, and one behind the end of the text as its end.
    pub fn position(&self, offset: usize) -> Position {
        let line = self.lines.line_at(offset.min(self.text.len()));
        let start = self.line_start(line as u32);
        let text = self.line(line as u32).unwrap_or_default();
        let before = PositionEncoding::Utf8.byte(text, offset.saturating_sub(start));
        Position::new(line as u32, self.encoding.units(&text[..before]) as u32)
    }

    /// The offsets of a range. One whose end is before its start is empty, at its start.
    pub fn span(&self, range: Range) -> ops::Range<usize> {
        let start = self.offset(range.start);
        start..self.offset(range.end).max(start)
    }

    /// The range of some offsets.
    pub fn range(&self, span: ops::Range<usize>) -> Range {
        Range::new(self.position(span.start), self.position(span.end))
    }

    /// The text that stands in a range.
    pub fn slice(&self, range: Range) -> &str {
        &self.text[self.span(range)]
    }

    /// Makes a change as `textDocument/didChange` tells it.
    pub(crate) fn change(&mut self, change: &TextDocumentContentChangeEvent) {
        match change.range {
            Some(range) => {
                let span = self.span(range);
                self.text.replace_range(span.clone(), &change.text);
                self.lines.replace(&self.text, span, change.text.len());
            }
            None => {
                self.text.clone_from(&change.text);
                self.lines = LineIndex::new(&self.text);
            }
        }
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.uri.as_str().len() + self.language_id.capacity() + self.text.capacity() + self.lines.bytes()
    }
}
