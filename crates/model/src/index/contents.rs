//! Reads the contents of rows from the file, by position.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use sabir_proto::{JsonStr, Line, transcript};

use super::Index;
use crate::capture::{Exchange, Format, line_exchange};

/// Bytes that are read at once: a search goes through the file in order.
const WINDOW: usize = 256 << 10;

/// Bytes before a content in which its line begins, if what is asked is to be found in it.
const BEFORE: u64 = 64 << 10;

/// Where in a file the content of a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) verbatim: bool,
}

/// The contents of the rows of an index.
pub struct Contents<F = File> {
    file: F,
    format: Format,
    window: Vec<u8>,
    /// Where in the file the window begins.
    start: u64,
}

impl<F: Read + Seek> Contents<F> {
    /// Reads from the file that was indexed. It may have grown since.
    pub fn new(file: F, format: Format) -> Self {
        Contents { file, format, window: Vec::new(), start: 0 }
    }

    /// The content of a row: the message, or the text. It is empty if there is none.
    pub fn read(&mut self, index: &Index, row: u32) -> io::Result<Cow<'_, [u8]>> {
        match index.place(row) {
            Some(place) => self.at(place),
            None => Ok(Cow::Borrowed(b"")),
        }
    }

    /// The content at a place, without the index.
    pub fn at(&mut self, place: Place) -> io::Result<Cow<'_, [u8]>> {
        let format = self.format;
        let content = self.bytes(place.offset, place.length as usize)?;
        Ok(if place.verbatim { Cow::Borrowed(content) } else { plain(content, format) })
    }

    /// The exchange of HTTP that a row is of, as its line says before the content.
    pub fn exchange(&mut self, place: Place) -> io::Result<Option<Exchange<'static>>> {
        if self.format != Format::Capture {
            return Ok(None);
        }
        let start = place.offset.saturating_sub(BEFORE);
        let before = self.bytes(start, (place.offset - start) as usize)?;
        let line = match memchr::memrchr(b'\n', before) {
            Some(end) => &before[end + 1..],
            None if start == 0 => before,
            None => return Ok(None),
        };
        Ok(line_exchange(line))
    }

    fn bytes(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let held = self.start..self.start + self.window.len() as u64;
        if !held.contains(&offset) || offset + length as u64 > held.end {
            self.window.clear();
            self.start = offset;
            self.file.seek(SeekFrom::Start(offset))?;
            let wanted = WINDOW.max(length) as u64;
            Read::by_ref(&mut self.file).take(wanted).read_to_end(&mut self.window)?;
            if self.window.len() < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let at = (offset - self.start) as usize;
        Ok(&self.window[at..at + length])
    }
}

/// A content that is not written as it is.
fn plain(content: &[u8], format: Format) -> Cow<'_, [u8]> {
    let Ok(text) = std::str::from_utf8(content) else { return Cow::Borrowed(content) };
    let bytes = match format {
        Format::Capture => {
            let quoted = format!("\"{text}\"");
            JsonStr::trusted(&quoted).and_then(JsonStr::value).map(|text| text.into_owned().into_bytes())
        }
        _ => match transcript(&format!(">> {text}")).next() {
            Some(Ok(Line::BytesToServer(bytes))) => Some(bytes),
            _ => None,
        },
    };
    bytes.map_or(Cow::Borrowed(content), Cow::Owned)
}

impl<F> fmt::Debug for Contents<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contents").field("format", &self.format).finish_non_exhaustive()
    }
}
