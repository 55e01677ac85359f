//! `sabir view --print`: captured traffic as rows of text.
//!
//! A file is indexed first, so that each request shows how its call ended. What is followed, or comes from a pipe, is
//! shown as it comes.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use sabir_model::calls::{Entry, Names, Tracker};
use sabir_model::capture::{ReadError, Reader, What};
use sabir_model::filter::Filter;
use sabir_model::index::{Contents, Index, Search};

use super::capture::Place;
use super::follow::Following;
use crate::args::ViewArgs;
use crate::exit::{Exit, Failure};
use crate::filter;
use crate::print::Printer;
use crate::rotated::Rotated;
use crate::row::RowFormat;

/// Rows that are looked at before those that match are printed.
const PART: u32 = 4096;

pub(super) fn run(args: &ViewArgs, printer: &Printer) -> Result<Exit, Failure> {
    let filter = filter::parse(args.filter.as_deref())?;
    let [file] = &args.words[..] else {
        return Err(Failure::usage("name one file to print").hint("as in `sabir view --print session.jrl`"));
    };
    let name = file.to_string_lossy().into_owned();
    let unreadable = |error: &ReadError| Failure::file(format_args!("cannot read {name}: {error}"));
    let layout = printer.layout();
    let format = RowFormat { painter: layout.painter, columns: layout.columns, is_live: false, now: None };
    let mut out = printer.stream();
    let shown = match (file == "-", args.follow) {
        (true, _) => {
            let format = RowFormat { is_live: true, ..format };
            Stream { format, filter, follow: true }.show(io::stdin().lock(), &mut out)
        }
        (false, true) => {
            match Following::open(Path::new(file), || printer.note(&format!("waiting for {name}"))) {
                Ok(file) => {
                    let format = RowFormat { is_live: true, ..format };
                    Stream { format, filter, follow: true }.show(file, &mut out)
                }
                Err(error) => Err(Shown::Unreadable(error.into())),
            }
        }
        (false, false) => indexed(Path::new(file), format, filter, &mut out),
    };
    match shown {
        Ok(read) => {
            out.flush()?;
            drop(out);
            if read.is_torn {
                printer.note("skipped the last line: it is incomplete");
            }
            match (read.rows, read.printed) {
                (0, _) => printer.note(&format!("{name} has no messages")),
                (rows, 0) => printer.note(&format!("none of {rows} rows matches the filter")),
                _ => {}
            }
            Ok(Exit::Ok)
        }
        Err(Shown::Unreadable(error)) => Err(unreadable(&error)),
        Err(Shown::Unwritable(error)) => Err(error.into()),
    }
}

/// What there was in a file.
struct Read {
    rows: u64,
    printed: u64,
    /// Its last line is incomplete.
    is_torn: bool,
}

/// Why showing has ended early.
enum Shown {
    Unreadable(ReadError),
    Unwritable(io::Error),
}

impl From<ReadError> for Shown {
    fn from(error: ReadError) -> Self {
        Shown::Unreadable(error)
    }
}

/// Shows a recording, by position if that is possible.
fn indexed(path: &Path, format: RowFormat, filter: Filter, out: &mut impl Write) -> Result<Read, Shown> {
    let files = Rotated::open(path).map_err(ReadError::from)?;
    if !files.is_file().map_err(ReadError::from)? {
        return Stream { format, filter, follow: false }.show(files, out);
    }
    let files = Arc::new(files);
    let place = || Place::new(files.clone(), false);
    let mut reader = Reader::new(place()).map_err(Shown::from)?;
    let mut index = Index::default();
    let mut newest = None;
    while let Some(record) = reader.next()? {
        newest = newest.max(record.time);
        index.push(&record);
    }
    let (format, mut filter) = (RowFormat { now: newest, ..format }, filter);
    if let Some(newest) = newest {
        filter.set_now(newest);
    }
    let mut contents = Contents::new(place(), reader.format());
    let mut search = Search::new(filter);
    let mut printed = 0;
    while search.looked() < index.len() {
        search.advance(&index, &mut contents, PART).map_err(ReadError::from)?;
        for row in search.found()[printed..].iter().copied() {
            let Some(entry) = index.entry(row) else { continue };
            let content = contents.read(&index, row).map_err(ReadError::from)?;
            print(&format, &entry, index.names(), &content, out)?;
        }
        printed = search.found().len();
    }
    Ok(Read { rows: index.len().into(), printed: printed as u64, is_torn: reader.torn() })
}

/// Shows records as they come.
struct Stream {
    format: RowFormat,
    filter: Filter,
    /// What comes is shown at once.
    follow: bool,
}

impl Stream {
    fn show(&self, input: impl io::Read, out: &mut impl Write) -> Result<Read, Shown> {
        let mut reader = Reader::new(input)?;
        let mut tracker = Tracker::default();
        let (mut rows, mut printed) = (0, 0);
        while let Some(record) = reader.next()? {
            let entry = tracker.follow(&record);
            rows += 1;
            let content = match &record.what {
                What::Message(text) | What::Noise(text) | What::Stderr(text) => &**text,
                What::Event(_, text) => text.as_bytes(),
                _ => b"",
            };
            if self.filter.matches(&entry, tracker.names(), content) {
                print(&self.format, &entry, tracker.names(), content, out)?;
                printed += 1;
                if self.follow {
                    out.flush().map_err(Shown::Unwritable)?;
                }
            }
        }
        Ok(Read { rows, printed, is_torn: reader.torn() })
    }
}

fn print(
    format: &RowFormat,
    entry: &Entry,
    names: &Names,
    content: &[u8],
    out: &mut impl Write,
) -> Result<(), Shown> {
    writeln!(out, "{}", format.row(entry, names, content)).map_err(Shown::Unwritable)
}
