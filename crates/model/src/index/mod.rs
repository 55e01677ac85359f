//! Finds any record of a capture at once, however many there are.
//!
//! An [`Index`] keeps 40 bytes for each record: where its content is, what it is, and how its call stands. Rows are added
//! as records come, and a request changes when its answer does. [`Contents`] reads the content of a row from the file,
//! and a [`Search`] finds the rows that match a filter, a part at a time. Nothing here reads a file whole.
//!
//! ```
//! use sabir_model::calls::Status;
//! use sabir_model::capture::Reader;
//! use sabir_model::index::Index;
//!
//! let text = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n~ 5ms\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":2}\n";
//! let mut reader = Reader::new(text.as_bytes())?;
//! let mut index = Index::default();
//! while let Some(record) = reader.next()? {
//!     index.push(&record);
//! }
//! let request = index.entry(0).unwrap();
//! assert_eq!((request.status, request.other), (Some(Status::Ok), Some(2)));
//! assert_eq!(request.took, Some(std::time::Duration::from_millis(5)));
//! # Ok::<(), sabir_model::capture::ReadError>(())
//! ```

mod contents;
mod row;
mod search;

use std::fmt;
use std::time::Duration;

use hashbrown::HashMap;

use crate::calls::{Entry, Kind, Names, Tracker};
use crate::capture::{Record, What};
use row::Row;

pub use contents::{Contents, Place};
pub use search::Search;

/// Connections with a number of their own. Those beyond it are shown as connection 0.
const CONNECTIONS: usize = (1 << row::CONNECTION_BITS) - 1;

/// Calls of several requests whose whole time is known.
const TOTALS: usize = 65_536;

/// Rows at most: 40 GB of them.
const ROWS: usize = 1_000_000_000;

/// What there is in a capture, and where. See the [module](self).
#[derive(Default)]
pub struct Index {
    rows: Vec<Row>,
    tracker: Tracker,
    connections: Vec<u64>,
    places: HashMap<u64, u32>,
    totals: HashMap<u32, Duration>,
    changed: Vec<u32>,
}

impl Index {
    /// How many rows there are. Their numbers begin at 0.
    pub fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The names of methods and tools.
    pub fn names(&self) -> &Names {
        self.tracker.names()
    }

    /// Adds a record, and gives its row, unless there are too many.
    pub fn push(&mut self, record: &Record<'_>) -> Option<u32> {
        self.push_as(record, Tracker::follow)
    }

    /// Adds a record of one of several captures, whose connections have different numbers: the header of one ends no calls
    /// of another.
    pub fn push_beside(&mut self, record: &Record<'_>) -> Option<u32> {
        match record.what {
            What::Start(_) => self.push_as(record, Tracker::other_start),
            _ => self.push(record),
        }
    }

    fn push_as(
        &mut self,
        record: &Record<'_>,
        follow: fn(&mut Tracker, &Record<'_>) -> Entry,
    ) -> Option<u32> {
        self.changed.clear();
        if self.rows.len() >= ROWS {
            return None;
        }
        let number = self.len();
        let entry = follow(&mut self.tracker, record);
        let connection = self.connection(entry.connection);
        if let Some(total) = entry.total
            && self.totals.len() < TOTALS
        {
            self.totals.insert(number, total);
        }
        for settled in self.tracker.settled() {
            let row = (settled.number - 1) as u32;
            let Some(request) = self.rows.get_mut(row as usize) else { continue };
            request.set_status(Some(settled.status));
            request.set_other(number);
            if settled.took.is_some() {
                request.set_took(settled.took);
            }
            self.changed.push(row);
        }
        self.rows.push(Row::new(&entry, record, connection));
        Some(number)
    }

    /// The rows that the last one has changed: the request of an answer or of a cancel.
    pub fn changed(&self) -> &[u32] {
        &self.changed
    }

    /// What is known of a row.
    pub fn entry(&self, row: u32) -> Option<Entry> {
        let found = self.rows.get(row as usize)?;
        let other = found.other().and_then(|other| self.rows.get(other as usize));
        // Of an error the code is kept; its time is its request's.
        let is_answer = matches!(found.kind(), Kind::Request | Kind::Error);
        let took = found.took().or_else(|| other.filter(|_| is_answer)?.took());
        let apart = || Some(found.time()?.abs_diff(other?.time()?));
        let took = took.map(|took| if took < row::LONGEST { took } else { apart().unwrap_or(took) });
        let code = found.code().or_else(|| other.filter(|_| is_answer)?.code());
        Some(Entry {
            number: u64::from(row) + 1,
            time: found.time(),
            direction: found.direction(),
            connection: self.connections.get(found.connection()).copied().unwrap_or(0),
            kind: found.kind(),
            status: found.status(),
            name: found.name(),
            code,
            other: found.other().map(|other| u64::from(other) + 1),
            took,
            total: self.totals.get(&row).copied(),
            bytes: found.bytes(),
            id: found.id(),
        })
    }

    /// Where in the file the content of a row is.
    pub fn place(&self, row: u32) -> Option<Place> {
        let row = self.rows.get(row as usize)?;
        Some(Place { offset: row.offset(), length: row.length, verbatim: row.is_verbatim() })
    }

    fn connection(&mut self, connection: u64) -> u32 {
        if let Some(place) = self.places.get(&connection) {
            return *place;
        }
        if self.connections.len() >= CONNECTIONS {
            return CONNECTIONS as u32;
        }
        let place = self.connections.len() as u32;
        self.connections.push(connection);
        self.places.insert(connection, place);
        place
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}
