//! The contents of the rows of all captures.

use std::borrow::Cow;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use sabir_model::capture::{Exchange, Format};
use sabir_model::index::{Contents, Place as RowPlace};

use super::place::Place;
use super::rows::Rows;
use crate::rotated::Rotated;

/// The files that rows are in, by the number of their capture.
#[derive(Debug, Clone, Default)]
pub(in crate::view) struct Files(Arc<Mutex<Vec<Known>>>);

/// A file, and how it is written.
type Known = (Arc<Rotated>, Format);

impl Files {
    pub(super) fn add(&self, file: Arc<Rotated>, format: Format) -> u16 {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.push((file, format));
        (files.len() - 1) as u16
    }

    fn get(&self, source: u16) -> Option<Known> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.get(usize::from(source)).cloned()
    }
}

/// Reads contents. Whoever reads has one of its own: it holds the part of each file that was read last.
pub(in crate::view) struct AllContents {
    files: Files,
    open: Vec<Contents<Place>>,
}

impl AllContents {
    pub(super) fn new(files: Files) -> Self {
        AllContents { files, open: Vec::new() }
    }

    /// The content of a row.
    pub(in crate::view) fn read(&mut self, rows: &Rows, row: u32) -> io::Result<Cow<'_, [u8]>> {
        match rows.place(row) {
            Some((source, place)) => self.at(source, place),
            None => Ok(Cow::Borrowed(b"")),
        }
    }

    /// The content at a place of a capture.
    pub(in crate::view) fn at(&mut self, source: u16, place: RowPlace) -> io::Result<Cow<'_, [u8]>> {
        self.of(source)?.at(place)
    }

    /// The exchange of HTTP that the row at a place is of, where that is known.
    pub(in crate::view) fn exchange(&mut self, source: u16, place: RowPlace) -> Option<Exchange<'static>> {
        self.of(source).ok()?.exchange(place).ok()?
    }

    fn of(&mut self, source: u16) -> io::Result<&mut Contents<Place>> {
        while self.open.len() <= usize::from(source) {
            let next = self.open.len() as u16;
            let (file, format) = self.files.get(next).ok_or(io::ErrorKind::NotFound)?;
            self.open.push(Contents::new(Place::new(file, false), format));
        }
        Ok(&mut self.open[usize::from(source)])
    }
}
