//! A recording that is read by position: several read it at once, and it stays the same if another takes its name.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use crate::rotated::Rotated;

/// A recording, and how far it is read.
#[derive(Debug, Clone)]
pub(in crate::view) struct Place {
    files: Arc<Rotated>,
    at: u64,
    /// Others write to it: at its end, more is to come.
    grows: bool,
}

impl Place {
    pub(in crate::view) fn new(files: Arc<Rotated>, grows: bool) -> Self {
        Place { files, at: 0, grows }
    }
}

impl Read for Place {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.files.read_at(buffer, self.at)?;
        if count == 0 && self.grows && !buffer.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.at += count as u64;
        if self.grows {
            self.files.has_read(self.at);
        }
        Ok(count)
    }
}

impl Seek for Place {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.files.len()?.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
