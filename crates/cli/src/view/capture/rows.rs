//! The rows of all captures, and the list of them.

use sabir_model::calls::{Entry, Kind, Status};
use sabir_model::index::{Index, Place};

use super::connections::Connections;

#[derive(Default)]
pub(in crate::view) struct Rows {
    pub(in crate::view) index: Index,
    pub(in crate::view) connections: Connections,
    /// The rows that the list shows: all but the answers of calls, which are a part of their request's.
    pub(in crate::view) listed: Vec<u32>,
}

impl Rows {
    /// Where the content of a row is: in which capture, and where in its file.
    pub(in crate::view) fn place(&self, row: u32) -> Option<(u16, Place)> {
        let entry = self.index.entry(row)?;
        Some((self.connections.source(entry.connection), self.index.place(row)?))
    }

    /// Where in the list a row is.
    pub(in crate::view) fn listed_at(&self, row: u32) -> Option<u32> {
        self.listed.binary_search(&row).ok().map(|place| place as u32)
    }

    /// The row that the list shows for a record: of an answer, its request.
    pub(in crate::view) fn shown_as(&self, row: u32) -> u32 {
        match self.index.entry(row) {
            Some(entry) if is_answer(&entry) => entry.other.map_or(row, |number| (number - 1) as u32),
            _ => row,
        }
    }
}

/// Whether it is the second half of a call.
pub(in crate::view) fn is_answer(entry: &Entry) -> bool {
    let can_be = matches!(entry.kind, Kind::Result | Kind::Error | Kind::Batch);
    // A batch of requests knows its answer, which comes later.
    can_be && entry.other.is_some_and(|other| other < entry.number)
}

/// The row of a call's answer, once it is there. What has cancelled a call is not its answer.
pub(in crate::view) fn answer_of(entry: &Entry) -> Option<u32> {
    let can_have = matches!(entry.kind, Kind::Request | Kind::Batch) && entry.status != Some(Status::Pending);
    let answer = entry.other.filter(|&other| can_have && other > entry.number && entry.took.is_some())?;
    u32::try_from(answer - 1).ok()
}

/// Whether something went wrong.
pub(in crate::view) fn is_problem(entry: &Entry) -> bool {
    match entry.kind {
        Kind::Error | Kind::Invalid | Kind::Gap | Kind::Damage => true,
        Kind::Http => entry.code.is_some_and(|code| code >= 400),
        _ => matches!(entry.status, Some(Status::Error | Status::Late)),
    }
}
