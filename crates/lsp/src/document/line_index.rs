//! Where the lines of a text begin.

use std::ops::Range;

/// Where each line begins. A line ends with `\n`, `\r\n` or `\r`, as the specification has it; the last one ends with
/// the text.
///
/// Offsets have 32 bits: [`Documents`](crate::Documents) takes no text that needs more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineIndex {
    /// The first is always 0.
    starts: Vec<u32>,
}

impl LineIndex {
    pub(crate) fn new(text: &str) -> Self {
        let mut starts = vec![0];
        push_starts(&mut starts, text.as_bytes(), 0..text.len());
        LineIndex { starts }
    }

    /// Brings it up to date once `replaced` has become `length` bytes, which are part of `text` by now. Only what was
    /// put in is searched; what comes behind is moved.
    pub(crate) fn replace(&mut self, text: &str, replaced: Range<usize>, length: usize) {
        // A line that began at the first byte of the change may have done so behind a `\r`, which a `\n` may follow now.
        let first = self.starts.partition_point(|start| (*start as usize) < replaced.start).max(1);
        let last = self.starts.partition_point(|start| *start as usize <= replaced.end).max(first);
        let end = replaced.start + length;
        let mut between = Vec::new();
        push_starts(&mut between, text.as_bytes(), replaced.start.saturating_sub(1)..end);
        let moved = (end as u32).wrapping_sub(replaced.end as u32);
        for start in &mut self.starts[last..] {
            *start = start.wrapping_add(moved);
        }
        self.starts.splice(first..last, between);
    }

    /// Adds the lines of a text that stands behind `offset` bytes. The two do not part a `\r\n`.
    pub(crate) fn append(&mut self, lines: &LineIndex, offset: usize) {
        self.starts.extend(lines.starts[1..].iter().map(|start| start + offset as u32));
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.starts.capacity() * size_of::<u32>()
    }

    /// The line that an offset is in.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start as usize <= offset) - 1
    }

    /// Where a line is, with what ends it.
    pub(crate) fn line(&self, line: usize, text: &str) -> Option<Range<usize>> {
        let start = *self.starts.get(line)? as usize;
        let end = self.starts.get(line + 1).map_or(text.len(), |end| *end as usize);
        Some(start..end)
    }

    /// Where a line is, without what ends it.
    pub(crate) fn content(&self, line: usize, text: &str) -> Option<Range<usize>> {
        let Range { start, end } = self.line(line, text)?;
        Some(start..start + text[start..end].trim_end_matches(['\r', '\n']).len())
    }
}

/// The lines that begin behind what stands in `range`.
fn push_starts(starts: &mut Vec<u32>, text: &[u8], range: Range<usize>) {
    for at in memchr::memchr2_iter(b'\n', b'\r', &text[range.clone()]) {
        let next = range.start + at + 1;
        if text[next - 1] == b'\n' || text.get(next) != Some(&b'\n') {
            starts.push(next as u32);
        }
    }
}
