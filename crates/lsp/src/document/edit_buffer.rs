//! A text to which many changes are made in a row.

use lsp_types::{Position, Range};

use super::line_index::LineIndex;
use super::position::{PositionEncoding, floor};

/// Bytes of a chunk, at the least: smaller ones cost more to pass than to change.
const LEAST_CHUNK: usize = 4096;

/// A text in chunks. A change costs as much as its own text, one chunk, and passing the others, which have about as many
/// bytes each as there are of them: the root of the text's length. In one string, each change would move all that
/// stands behind it.
///
/// Chunks part neither characters nor `\r\n`. None is empty, unless it is the only one.
pub(super) struct EditBuffer {
    encoding: PositionEncoding,
    chunks: Vec<Chunk>,
    /// The length of a new chunk. One that has twice as much is cut.
    chunk_bytes: usize,
    bytes: usize,
}

struct Chunk {
    text: String,
    lines: LineIndex,
    units: usize,
}

/// A place between characters, or at an end of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    chunk: usize,
    byte: usize,
}

impl EditBuffer {
    pub(super) fn new(text: &str, encoding: PositionEncoding) -> Self {
        Self::with_chunks_of(text.len().isqrt().max(LEAST_CHUNK), text, encoding)
    }

    pub(super) fn with_chunks_of(chunk_bytes: usize, text: &str, encoding: PositionEncoding) -> Self {
        let mut buffer = EditBuffer { encoding, chunks: Vec::new(), chunk_bytes, bytes: text.len() };
        buffer.chunks.extend(pieces(text, chunk_bytes).map(|piece| Chunk::new(piece, encoding)));
        buffer.keep_one();
        buffer
    }

    /// Bytes of the text.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The whole text.
    pub(super) fn into_text(self) -> (String, LineIndex) {
        let mut text = String::with_capacity(self.bytes);
        let mut lines = LineIndex::new("");
        for chunk in &self.chunks {
            lines.append(&chunk.lines, text.len());
            text.push_str(&chunk.text);
        }
        (text, lines)
    }

    /// Puts a text in the place of what stands in a range, as [`Document::span`](super::Document::span) has it.
    pub(super) fn replace(&mut self, range: Range, text: &str) {
        let start = self.find(range.start);
        let end = self.find(range.end).max(start);
        self.bytes += text.len();
        if start.chunk == end.chunk {
            self.bytes -= end.byte - start.byte;
            self.chunks[start.chunk].replace(start.byte..end.byte, text, self.encoding);
        } else {
            let rest = self.chunks[end.chunk].text.split_off(end.byte);
            let gone = self.chunks.drain(start.chunk + 1..=end.chunk);
            self.bytes -= gone.map(|chunk| chunk.text.len()).sum::<usize>();
            let first = &mut self.chunks[start.chunk];
            self.bytes -= first.text.len() - start.byte;
            first.replace(start.byte..first.text.len(), &[text, &rest].concat(), self.encoding);
        }
        self.cut(start.chunk);
    }

    /// Restores what holds for chunks and their neighbours after one of them has changed.
    fn cut(&mut self, at: usize) {
        let mut end = at + 1;
        let text = &self.chunks[at].text;
        if text.is_empty() || text.len() > 2 * self.chunk_bytes {
            let text = std::mem::take(&mut self.chunks[at].text);
            let pieces = pieces(&text, self.chunk_bytes).map(|piece| Chunk::new(piece, self.encoding));
            let before = self.chunks.len() - 1;
            self.chunks.splice(at..=at, pieces);
            end = at + self.chunks.len() - before;
        }
        self.join(end);
        if end != at {
            self.join(at);
        }
        self.keep_one();
    }

    /// Moves a `\n` at the start of a chunk to the `\r` at the end of the chunk before.
    fn join(&mut self, at: usize) {
        let Some([left, right]) = at.checked_sub(1).and_then(|before| self.chunks.get_mut(before..=at))
        else {
            return;
        };
        if left.text.ends_with('\r') && right.text.starts_with('\n') {
            left.replace(left.text.len()..left.text.len(), "\n", self.encoding);
            right.replace(0..1, "", self.encoding);
            if right.text.is_empty() {
                self.chunks.remove(at);
            }
        }
    }

    fn keep_one(&mut self) {
        if self.chunks.is_empty() {
            self.chunks.push(Chunk::new("", self.encoding));
        }
    }

    fn find(&self, position: Position) -> Place {
        let mut line = position.line as usize;
        let is_in = |chunk: &Chunk| {
            let ends = chunk.lines.count() - 1;
            let is_in = line <= ends;
            if !is_in {
                line -= ends;
            }
            is_in
        };
        let chunk = self.chunks.iter().position(is_in);
        #[cfg(test)]
        super::work::add(chunk.unwrap_or(self.chunks.len()));
        match chunk {
            Some(chunk) => self.find_column(chunk, line, position.character as usize),
            None => self.end(),
        }
    }

    /// Finds a column of a line that begins in a chunk.
    fn find_column(&self, first: usize, mut line: usize, mut column: usize) -> Place {
        for (at, chunk) in self.chunks.iter().enumerate().skip(first) {
            #[cfg(test)]
            super::work::add(1);
            let Some(range) = chunk.lines.content(line, &chunk.text) else { break };
            let ends_here = line + 1 < chunk.lines.count();
            let (start, text) = (range.start, &chunk.text[range]);
            let is_whole = text.len() == chunk.text.len();
            let units = if is_whole { chunk.units } else { self.encoding.units(text) };
            if ends_here || column <= units {
                return Place { chunk: at, byte: start + self.encoding.byte(text, column) };
            }
            column -= units;
            line = 0;
        }
        self.end()
    }

    fn end(&self) -> Place {
        let chunk = self.chunks.len() - 1;
        Place { chunk, byte: self.chunks[chunk].text.len() }
    }
}

impl Chunk {
    fn new(text: &str, encoding: PositionEncoding) -> Self {
        Chunk { units: encoding.units(text), lines: LineIndex::new(text), text: text.to_owned() }
    }

    fn replace(&mut self, range: std::ops::Range<usize>, text: &str, encoding: PositionEncoding) {
        #[cfg(test)]
        super::work::add(self.text.len() + text.len());
        self.units += encoding.units(text);
        self.units -= encoding.units(&self.text[range.clone()]);
        self.text.replace_range(range.clone(), text);
        self.lines.replace(&self.text, range, text.len());
    }
}

/// Cuts a text into pieces of this length, which has room for any character, or a little less, or one more for a `\n`.
/// There are none if it is empty.
fn pieces(mut text: &str, length: usize) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let mut end = floor(text, length);
        if text[..end].ends_with('\r') && text[end..].starts_with('\n') {
            end += 1;
        }
        let (piece, rest) = text.split_at(end);
        text = rest;
        Some(piece)
    })
}
