//! Requests of one connection that wait for their answer, and those that had it.
//!
//! How much memory they may take together is decided by the checker: it makes all connections forget their older half.

use std::hash::BuildHasher;
use std::ops::Deref;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use sabir_proto::Id;

use crate::capture::Direction;
use crate::rules::engine::finding::{Finding, Location, Report, excerpt};
use crate::rules::table::Rule;

/// How much of a request is kept, to show it if it is never answered.
const HEAD: usize = 100;
/// Names of methods that are kept for a connection, and how long they may be.
const NAMES: usize = 1024;
const LONGEST_NAME: usize = 200;
/// Boxes of answered calls that are kept for the next ones.
const SPARE: usize = 64;
/// Bytes of a call that is not worth keeping for that.
const LARGE: usize = 1024;

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    pub(crate) fn name(self) -> &'static str {
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
pub(crate) struct Call {
    pub(crate) side: Side,
    pub(crate) id: Id<'static>,
    pub(crate) method: Method,
    /// Where it is.
    pub(crate) line: u64,
    column: u64,
    offset: u64,
    number: u64,
    direction: Option<Direction>,
    head: Vec<u8>,
    hash: u64,
    sequence: u64,
    /// It was no valid request, so that an error is a fine answer, and none is too.
    pub(crate) invalid: bool,
    /// The line of its cancellation.
    pub(crate) cancelled: Option<u64>,
    pub(crate) mark: Mark,
}

/// The protocol's own mark on a request.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    /// What it means is the protocol's own affair.
    pub(crate) set: bool,
    /// The tool that is called, if its answer is to be compared with a schema.
    pub(crate) tool: Option<Box<str>>,
}

impl From<bool> for Mark {
    fn from(set: bool) -> Self {
        Mark { set, tool: None }
    }
}

/// The name of a method. Those that are used again and again are kept once.
#[derive(Debug, Clone)]
pub(crate) struct Method {
    name: Arc<str>,
    /// Among the names that are kept.
    index: Option<u16>,
}

impl Deref for Method {
    type Target = str;

    fn deref(&self) -> &str {
        &self.name
    }
}

/// What is kept of a request that was answered: few bytes, since there are many.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    hash: u64,
    /// Where it is.
    pub(crate) line: u64,
    /// Lines between it and its answer.
    later: u32,
    /// Among the names that are kept.
    method: u16,
}

impl Done {
    /// Where its answer is.
    pub(crate) fn answered(&self) -> u64 {
        self.line + u64::from(self.later)
    }
}

impl Call {
    fn bytes(&self) -> usize {
        let tool = self.mark.tool.as_ref().map_or(0, |tool| tool.len());
        let name = if self.method.index.is_none() { self.method.len() } else { 0 };
        size_of::<Call>() + self.id.text().len() + self.head.len() + name + tool
    }

    /// Reports something about the call long after it was seen.
    pub(crate) fn report(&self, rule: &'static Rule, what: String, report: &mut Report) {
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
///
/// Nearly all traffic is requests and their answers, so this is where time goes: a call is moved by its box, boxes
/// are used again, and of an answered call no more than a few words are kept.
#[derive(Debug)]
pub(crate) struct Calls {
    hasher: FixedState,
    open: HashTable<Box<Call>>,
    /// Bytes of the open calls.
    bytes: usize,
    done: HashTable<Done>,
    names: Names,
    #[expect(clippy::vec_box, reason = "it is the boxes that are used again")]
    spare: Vec<Box<Call>>,
    sequence: u64,
    /// Open calls were forgotten, for want of room or because records are missing.
    pub(crate) forgot: bool,
}

impl Calls {
    pub(crate) fn new(seed: u64) -> Self {
        Calls {
            hasher: FixedState::with_seed(seed),
            open: HashTable::new(),
            bytes: 0,
            done: HashTable::new(),
            names: Names::default(),
            spare: Vec::new(),
            sequence: 0,
            forgot: false,
        }
    }

    /// A call that begins where `entry` does. It is not open yet.
    pub(crate) fn call(
        &mut self,
        side: Side,
        id: &Id<'_>,
        method: &str,
        entry: &str,
        location: &Location<'_>,
    ) -> Box<Call> {
        let record = location.record;
        let start = if record.verbatim { location.span(entry).start as u64 } else { 0 };
        let head = &entry.as_bytes()[..entry.len().min(HEAD + 1)];
        self.sequence += 1;
        let mut call = Call {
            side,
            hash: self.hash(side, id),
            id: id.clone().into_owned(),
            method: self.names.name(method, &self.hasher),
            line: record.line,
            column: record.column + start,
            offset: record.offset + start,
            number: record.number,
            direction: record.direction,
            head: Vec::new(),
            sequence: self.sequence,
            invalid: false,
            cancelled: None,
            mark: Mark::default(),
        };
        match self.spare.pop() {
            Some(mut spare) => {
                call.head = std::mem::take(&mut spare.head);
                call.head.clear();
                call.head.extend_from_slice(head);
                *spare = call;
                spare
            }
            None => {
                call.head.extend_from_slice(head);
                Box::new(call)
            }
        }
    }

    fn hash(&self, side: Side, id: &Id<'_>) -> u64 {
        self.hasher.hash_one((side, id))
    }

    /// Opens a call. If the same id was open, that call is given back.
    pub(crate) fn open(&mut self, call: Box<Call>) -> Option<Box<Call>> {
        self.bytes += call.bytes();
        let entry =
            self.open.entry(call.hash, |other| is_same(other, call.side, &call.id), |other| other.hash);
        match entry {
            Entry::Occupied(mut there) => {
                let earlier = std::mem::replace(there.get_mut(), call);
                self.bytes -= earlier.bytes();
                Some(earlier)
            }
            Entry::Vacant(free) => {
                free.insert(call);
                None
            }
        }
    }

    /// The open call with this id.
    pub(crate) fn get(&mut self, side: Side, id: &Id<'_>) -> Option<&mut Call> {
        let hash = self.hash(side, id);
        self.open.find_mut(hash, |call| is_same(call, side, id)).map(|call| &mut **call)
    }

    /// The answered call with this id.
    pub(crate) fn done(&self, side: Side, id: &Id<'_>) -> Option<Done> {
        // The hash is the id's stand-in: 64 bits that nobody can choose.
        let hash = self.hash(side, id);
        self.done.find(hash, |done| done.hash == hash).copied()
    }

    pub(crate) fn name(&self, done: &Done) -> &str {
        self.names.known.get(usize::from(done.method)).map_or("", |known| &*known.name)
    }

    /// Ends an open call.
    pub(crate) fn take(&mut self, side: Side, id: &Id<'_>) -> Option<Box<Call>> {
        let hash = self.hash(side, id);
        let found = self.open.find_entry(hash, |call| is_same(call, side, id)).ok()?;
        let call = found.remove().0;
        self.bytes -= call.bytes();
        Some(call)
    }

    /// Keeps of a call that was answered in `line` what it takes to know it again.
    pub(crate) fn keep(&mut self, call: Box<Call>, line: u64) {
        if let Some(method) = call.method.index {
            let hash = call.hash;
            let later = line.saturating_sub(call.line).try_into().unwrap_or(u32::MAX);
            let done = Done { hash, line: call.line, later, method };
            match self.done.entry(hash, |other| other.hash == hash, |other| other.hash) {
                Entry::Occupied(mut there) => *there.get_mut() = done,
                Entry::Vacant(free) => drop(free.insert(done)),
            }
        }
        if self.spare.len() < SPARE && call.bytes() < LARGE {
            self.spare.push(call);
        }
    }

    /// The method of a call was answered with a result.
    pub(crate) fn has_result(&mut self, call: &Call) {
        if let Some(known) = call.method.index.and_then(|index| self.names.known.get_mut(usize::from(index)))
        {
            known.has_result = true;
        }
    }

    /// Whether the method of a call was ever answered with a result.
    pub(crate) fn had_result(&self, call: &Call) -> bool {
        let known = call.method.index.and_then(|index| self.names.known.get(usize::from(index)));
        known.is_some_and(|known| known.has_result)
    }

    /// Bytes of open and of answered calls.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        (self.bytes, self.done.len() * size_of::<Done>())
    }

    pub(crate) fn forget_half_open(&mut self) {
        self.forgot = true;
        let Some(middle) = middle(self.open.iter().map(|call| call.sequence)) else { return };
        let bytes = &mut self.bytes;
        self.open.retain(|call| {
            let keeps = call.sequence > middle;
            *bytes -= if keeps { 0 } else { call.bytes() };
            keeps
        });
    }

    /// Forgets all calls: what became of them is not known any more.
    pub(crate) fn forget_all(&mut self) {
        self.forgot = true;
        self.open.clear();
        self.bytes = 0;
        self.done.clear();
    }

    pub(crate) fn forget_half_done(&mut self) {
        let Some(middle) = middle(self.done.iter().map(Done::answered)) else { return };
        self.done.retain(|done| done.answered() > middle);
    }

    /// All open calls, in the order in which they came.
    pub(crate) fn end(&mut self) -> Vec<Call> {
        let mut left: Vec<Call> = self.open.drain().map(|call| *call).collect();
        self.bytes = 0;
        left.sort_by_key(|call| call.sequence);
        left
    }
}

#[inline]
fn is_same(call: &Call, side: Side, id: &Id<'_>) -> bool {
    call.side == side && call.id == *id
}

/// What half of the numbers are not beyond.
fn middle(numbers: impl Iterator<Item = u64>) -> Option<u64> {
    let mut numbers: Vec<u64> = numbers.collect();
    let middle = numbers.len() / 2;
    (!numbers.is_empty()).then(|| *numbers.select_nth_unstable(middle).1)
}

/// The methods of a connection.
#[derive(Debug, Default)]
struct Names {
    known: Vec<Known>,
    table: HashTable<u16>,
}

#[derive(Debug)]
struct Known {
    name: Arc<str>,
    hash: u64,
    has_result: bool,
}

impl Names {
    /// The name, kept if there is room.
    fn name(&mut self, name: &str, hasher: &FixedState) -> Method {
        let hash = hasher.hash_one(name);
        let Names { known, table } = self;
        if let Some(&index) = table.find(hash, |&index| *known[usize::from(index)].name == *name) {
            return Method { name: Arc::clone(&known[usize::from(index)].name), index: Some(index) };
        }
        let kept: Arc<str> = name.into();
        if known.len() >= NAMES || name.len() > LONGEST_NAME {
            return Method { name: kept, index: None };
        }
        let index = known.len() as u16;
        known.push(Known { name: Arc::clone(&kept), hash, has_result: false });
        table.insert_unique(hash, index, |&index| known[usize::from(index)].hash);
        Method { name: kept, index: Some(index) }
    }
}
