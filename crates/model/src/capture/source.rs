//! Bytes of a file as they are needed: whole lines, or as much as a deframer asks for. Keeps count of where in
//! the file it is.

use std::io::{self, Read};
use std::ops::Range;

/// How much is read at once: little enough to stay in a near cache until it is looked at.
const CHUNK: usize = 64 << 10;

pub(super) struct Source<R> {
    input: R,
    bytes: Vec<u8>,
    /// What is read and not used yet.
    unread: Range<usize>,
    /// Where in the file the unread bytes begin.
    pub(super) position: Position,
    ended: bool,
}

/// A position in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    pub(super) offset: u64,
    /// From 1.
    pub(super) line: u64,
    /// From 1, in bytes.
    pub(super) column: u64,
}

/// One line, without its line break.
pub(super) struct Line {
    pub(super) range: Range<usize>,
    pub(super) position: Position,
    /// Whether it ended in a line break; the last one may not.
    pub(super) whole: bool,
    /// It is longer than the limit, and its bytes are gone.
    pub(super) too_long: bool,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R) -> Self {
        let position = Position { offset: 0, line: 1, column: 1 };
        Source { input, bytes: Vec::new(), unread: 0..0, position, ended: false }
    }

    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.unread.clone()]
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Where in the buffer the unread bytes begin.
    pub(super) fn start(&self) -> usize {
        self.unread.start
    }

    /// Reads more behind what is unread, which may move. Whether there was any.
    pub(super) fn fill(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.unread.start > 0 {
            self.bytes.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        // Twice as much each time, so that a long line is not moved over and over.
        let room = CHUNK.max(self.unread.len());
        if self.bytes.len() < self.unread.end + room {
            self.bytes.resize(self.unread.end + room, 0);
        }
        loop {
            match self.input.read(&mut self.bytes[self.unread.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.unread.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(!self.ended);
        }
    }

    /// Passes over bytes that are done with.
    pub(super) fn pass(&mut self, count: usize) {
        let passed = &self.bytes[self.unread.start..self.unread.start + count];
        self.position = after(self.position, passed);
        self.unread.start += count;
    }

    /// The next line, unless nothing is left. Of a line that is longer than `limit` no more than that is kept.
    pub(super) fn line(&mut self, limit: usize) -> io::Result<Option<Line>> {
        let position = self.position;
        let mut searched = 0;
        let mut too_long = false;
        loop {
            let unread = self.unread();
            if let Some(found) = memchr::memchr(b'\n', &unread[searched..]) {
                let length = searched + found;
                let range = self.unread.start..self.unread.start + length;
                self.pass_line(length);
                return Ok(Some(Line { range, position, whole: true, too_long: too_long || length > limit }));
            }
            searched = unread.len();
            if searched > limit {
                too_long = true;
                self.position.offset += searched as u64;
                self.unread.start = self.unread.end;
                searched = 0;
            }
            if !self.fill()? {
                let range = self.unread.clone();
                if range.is_empty() && !too_long {
                    return Ok(None);
                }
                self.pass(range.len());
                return Ok(Some(Line { range, position, whole: false, too_long }));
            }
        }
    }

    /// Passes a line of this length and its line break.
    fn pass_line(&mut self, length: usize) {
        self.unread.start += length + 1;
        self.position = Position {
            offset: self.position.offset + length as u64 + 1,
            line: self.position.line + 1,
            column: 1,
        };
    }
}

/// The position behind `passed`, which begins at `position`.
pub(super) fn after(position: Position, passed: &[u8]) -> Position {
    let offset = position.offset + passed.len() as u64;
    match memchr::memrchr(b'\n', passed) {
        None => Position { offset, line: position.line, column: position.column + passed.len() as u64 },
        Some(last) => Position {
            offset,
            line: position.line + memchr::memchr_iter(b'\n', passed).count() as u64,
            column: (passed.len() - last) as u64,
        },
    }
}
