//! Requests of one connection that wait for their answer, and those that had it.
//!
//! How much memory they may take together is decided by the checker: it makes all connections forget their older half.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use sabir_proto::Id;

use super::finding::{Finding, Report, Site, excerpt};
use super::table::Rule;
use crate::capture::Direction;

/// How much of a request is kept, to show it if it is never answered.
const HEAD: usize = 100;

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Client,
    Server,
}

impl Side {
    pub(super) fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }
}

impl From<Direction> for Side {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::ToServer => Side::Client,
            Direction::ToClient => Side::Server,
        }
    }
}

/// A request, as far as it is kept.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) side: Side,
    pub(super) id: Id<'static>,
    pub(super) method: Box<str>,
    /// Where it is.
    pub(super) line: u64,
    column: u64,
    offset: u64,
    number: u64,
    direction: Option<Direction>,
    head: Box<[u8]>,
    sequence: u64,
    /// It was no valid request, so that an error is a fine answer, and none is too.
    pub(super) invalid: bool,
    /// The line of its cancellation.
    pub(super) cancelled: Option<u64>,
    /// The line of its answer.
    pub(super) answered: u64,
    pub(super) mark: Mark,
}

/// The protocol's own mark on a request.
#[derive(Debug, Default)]
pub(super) struct Mark {
    /// What it means is the protocol's own affair.
    pub(super) set: bool,
    /// The tool that is called, if its answer is to be compared with a schema.
    pub(super) tool: Option<Box<str>>,
}

impl From<bool> for Mark {
    fn from(set: bool) -> Self {
        Mark { set, tool: None }
    }
}

impl Call {
    /// A call that begins where `entry` does.
    pub(super) fn new(side: Side, id: &Id<'_>, method: &str, entry: &str, site: &Site<'_>) -> Self {
        let span = site.span(entry);
        let record = site.record;
        let head = entry.as_bytes();
        Call {
            side,
            id: id.clone().into_owned(),
            method: method.into(),
            line: record.line,
            column: record.column + if record.verbatim { span.start as u64 } else { 0 },
            offset: record.offset + if record.verbatim { span.start as u64 } else { 0 },
            number: record.number,
            direction: record.direction,
            head: head[..head.len().min(HEAD + 1)].into(),
            sequence: 0,
            invalid: false,
            cancelled: None,
            answered: 0,
            mark: Mark::default(),
        }
    }

    fn bytes(&self) -> usize {
        let tool = self.mark.tool.as_ref().map_or(0, |tool| tool.len());
        size_of::<Call>() + self.id.text().len() + self.method.len() + self.head.len() + tool
    }

    /// Reports something about the call long after it was seen.
    pub(super) fn report(&self, rule: &'static Rule, what: String, report: &mut Report) {
        let excerpt = excerpt(&self.head, 0..self.head.len());
        report.push(Finding {
            rule,
            severity: rule.severity,
            what,
            number: self.number,
            line: self.line,
            column: self.column,
            offset: self.offset,
            direction: self.direction,
            excerpt,
            related: None,
        });
    }
}

/// The calls of one connection that are followed.
#[derive(Debug)]
pub(super) struct Calls {
    open: Table,
    done: Table,
    sequence: u64,
    /// Open calls were forgotten for want of room.
    pub(super) forgot: bool,
}

impl Calls {
    pub(super) fn new(seed: u64) -> Self {
        let table = || Table { calls: HashTable::new(), bytes: 0, hasher: FixedState::with_seed(seed) };
        Calls { open: table(), done: table(), sequence: 0, forgot: false }
    }

    /// Opens a call. If the same id was open, that call is given back.
    pub(super) fn open(&mut self, mut call: Call) -> Option<Call> {
        self.sequence += 1;
        call.sequence = self.sequence;
        let earlier = self.open.take(call.side, &call.id);
        self.open.insert(call);
        earlier
    }

    /// The open call with this id.
    pub(super) fn get(&mut self, side: Side, id: &Id<'_>) -> Option<&mut Call> {
        self.open.get(side, id)
    }

    /// The answered call with this id.
    pub(super) fn done(&mut self, side: Side, id: &Id<'_>) -> Option<&mut Call> {
        self.done.get(side, id)
    }

    /// Ends an open call.
    pub(super) fn take(&mut self, side: Side, id: &Id<'_>) -> Option<Call> {
        self.open.take(side, id)
    }

    /// Keeps a call that was answered in `line`, to know it again.
    pub(super) fn keep(&mut self, call: Call, line: u64) {
        self.done.take(call.side, &call.id);
        self.done.insert(Call { head: Box::default(), answered: line, ..call });
    }

    /// Bytes of open and of answered calls.
    pub(super) fn bytes(&self) -> (usize, usize) {
        (self.open.bytes, self.done.bytes)
    }

    pub(super) fn forget_half_open(&mut self) {
        self.forgot = true;
        self.open.forget_older_half();
    }

    pub(super) fn forget_half_done(&mut self) {
        self.done.forget_older_half();
    }

    /// All open calls, in the order in which they came.
    pub(super) fn end(&mut self) -> Vec<Call> {
        let mut left: Vec<Call> = self.open.calls.drain().collect();
        self.open.bytes = 0;
        left.sort_by_key(|call| call.sequence);
        left
    }
}

#[derive(Debug)]
struct Table {
    calls: HashTable<Call>,
    bytes: usize,
    hasher: FixedState,
}

impl Table {
    fn hash(&self, side: Side, id: &Id<'_>) -> u64 {
        self.hasher.hash_one((side, id))
    }

    fn get(&mut self, side: Side, id: &Id<'_>) -> Option<&mut Call> {
        let hash = self.hash(side, id);
        self.calls.find_mut(hash, |call| call.side == side && call.id == *id)
    }

    fn take(&mut self, side: Side, id: &Id<'_>) -> Option<Call> {
        let hash = self.hash(side, id);
        let found = self.calls.find_entry(hash, |call| call.side == side && call.id == *id).ok()?;
        let call = found.remove().0;
        self.bytes -= call.bytes();
        Some(call)
    }

    fn insert(&mut self, call: Call) {
        self.bytes += call.bytes();
        let hash = self.hash(call.side, &call.id);
        let Table { calls, hasher, .. } = self;
        calls.insert_unique(hash, call, |call| hasher.hash_one((call.side, &call.id)));
    }

    fn forget_older_half(&mut self) {
        if self.calls.is_empty() {
            return;
        }
        let mut sequences: Vec<u64> = self.calls.iter().map(|call| call.sequence).collect();
        let middle = sequences.len() / 2;
        let (_, &mut middle, _) = sequences.select_nth_unstable(middle);
        let bytes = &mut self.bytes;
        self.calls.retain(|call| {
            let keeps = call.sequence > middle;
            *bytes -= if keeps { 0 } else { call.bytes() };
            keeps
        });
    }
}
