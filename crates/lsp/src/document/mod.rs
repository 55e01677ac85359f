//! The texts that the client has open.

mod edit_buffer;
mod line_index;
mod position;
mod store;
#[cfg(test)]
mod tests;
mod unit_index;
#[cfg(test)]
mod work;

use std::ops;
use std::sync::OnceLock;

use edit_buffer::EditBuffer;
use line_index::LineIndex;
use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
pub use position::PositionEncoding;
pub(crate) use store::not_open;
pub use store::{DocumentLimits, Documents};
use unit_index::UnitIndex;

/// Lines with more bytes are not counted from their start for each position.
const LONG_LINE: usize = 2048;

/// Up to so many changes are made in place: for fewer it costs more to cut a text up and to put it together again.
const FEW_CHANGES: usize = 16;

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
    /// Made when a position in a long line is first asked for.
    units: OnceLock<UnitIndex>,
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
        Document {
            uri,
            language_id: language_id.into(),
            version,
            encoding,
            text,
            lines,
            units: OnceLock::new(),
        }
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
        Some(&self.text[self.lines.content(line as usize, &self.text)?])
    }

    /// Where a line begins: the end of the text if there are fewer.
    pub fn line_start(&self, line: u32) -> usize {
        self.lines.line(line as usize, &self.text).map_or(self.text.len(), |line| line.start)
    }

    /// The offset of a position.
    pub fn offset(&self, position: Position) -> usize {
        self.find(position, |line| self.unit_index(line))
    }

    fn find<'i>(
        &'i self,
        position: Position,
        index: impl FnOnce(&ops::Range<usize>) -> Option<&'i UnitIndex>,
    ) -> usize {
        let Some(line) = self.lines.content(position.line as usize, &self.text) else {
            return self.text.len();
        };
        let (text, encoding, column) = (&self.text, self.encoding, position.character as usize);
        match index(&line) {
            Some(index) => {
                let units = index.units_before(text, encoding, line.start).saturating_add(column);
                index.offset(text, encoding, units, line.end)
            }
            None => line.start + encoding.byte(&text[line], column),
        }
    }

    /// The position of an offset. An offset inside of a character counts as the character's start, one between `\r` and
    /// `\n` as the end of the line, and one behind the end of the text as its end.
    pub fn position(&self, offset: usize) -> Position {
        let number = self.lines.line_at(offset.min(self.text.len()));
        let line = self.lines.content(number, &self.text).unwrap_or_default();
        let before = line.start..position::floor(&self.text, offset.min(line.end));
        let units = match self.unit_index(&line) {
            Some(index) => {
                let units_before = |offset| index.units_before(&self.text, self.encoding, offset);
                units_before(before.end) - units_before(before.start)
            }
            None => self.encoding.units(&self.text[before]),
        };
        Position::new(number as u32, units as u32)
    }

    /// What finds a column of a line, if it is too long to be counted each time.
    fn unit_index(&self, line: &ops::Range<usize>) -> Option<&UnitIndex> {
        if self.encoding == PositionEncoding::Utf8 || line.len() <= LONG_LINE {
            return None;
        }
        Some(self.units.get_or_init(|| UnitIndex::new(&self.text, self.encoding)))
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

    /// Makes changes one after the other, as `textDocument/didChange` tells them. Whether there was room for all.
    pub(crate) fn change(&mut self, changes: &[TextDocumentContentChangeEvent], room: usize) -> bool {
        // A new text makes void what came before.
        let whole = changes.iter().rposition(|change| change.range.is_none());
        let changes = &changes[whole.unwrap_or_default()..];
        if changes.len() > FEW_CHANGES {
            return self.change_often(changes, room);
        }
        changes.iter().all(|change| {
            let fits = self.bytes() + change.text.len() <= room;
            if fits {
                self.change_once(change);
            }
            fits
        })
    }

    fn change_often(&mut self, changes: &[TextDocumentContentChangeEvent], room: usize) -> bool {
        let mut buffer = EditBuffer::new(&self.text, self.encoding);
        let made = changes.iter().all(|change| {
            let fits = buffer.bytes() + change.text.len() <= room;
            match change.range {
                _ if !fits => {}
                Some(range) => buffer.replace(range, &change.text),
                None => buffer = EditBuffer::new(&change.text, self.encoding),
            }
            fits
        });
        (self.text, self.lines) = buffer.into_text();
        self.units = OnceLock::new();
        made
    }

    fn change_once(&mut self, change: &TextDocumentContentChangeEvent) {
        match change.range {
            Some(range) => {
                // An index would not live longer than the two positions.
                let find = |position| self.find(position, |_| None);
                let start = find(range.start);
                let span = start..find(range.end).max(start);
                self.text.replace_range(span.clone(), &change.text);
                self.lines.replace(&self.text, span, change.text.len());
            }
            None => {
                self.text.clone_from(&change.text);
                self.lines = LineIndex::new(&self.text);
            }
        }
        self.units = OnceLock::new();
        #[cfg(test)]
        work::add(self.text.len());
    }

    /// Bytes that it takes. What finds columns counts, whether it was made or not.
    pub(crate) fn bytes(&self) -> usize {
        let names = self.uri.as_str().len() + self.language_id.capacity();
        names + self.text.capacity() + self.lines.bytes() + UnitIndex::bytes(self.text.len())
    }
}
