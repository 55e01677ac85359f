//! What is kept of a record: 40 bytes.

use std::time::Duration;

use crate::calls::{Entry, KINDS, Kind, Name, STATUSES, Status};
use crate::capture::{Direction, Record};

/// Bits of an offset: 256 TB.
const OFFSET_BITS: u32 = 48;
/// Bits of a time in microseconds: nine years.
const TIME_BITS: u32 = 48;
/// Bits of the number of a connection: what is left beside the time, and above the flags.
pub(super) const CONNECTION_BITS: u32 = 21;
const LOW_CONNECTION_BITS: u32 = 16;
/// Where the upper bits of a connection are among the flags.
const HIGH_CONNECTION: u32 = 11;

/// The time between request and answer that a row can hold. For a longer one, the times of both are compared.
pub(super) const LONGEST: Duration = Duration::from_micros(u32::MAX as u64 - 1);

#[derive(Clone, Copy)]
pub(super) struct Row {
    /// Where the content is, and in the upper bits the kind (5), the direction (2), the status (3), whether the content
    /// is verbatim (1) and the upper part of the connection's number (5).
    place: u64,
    /// Microseconds since the start, and in the upper bits the lower part of the connection's number.
    clock: u64,
    /// Bytes that the content takes in the file.
    pub(super) length: u32,
    bytes: u32,
    /// The row of the other half, from 1; 0 is none.
    other: u32,
    name: Name,
    /// Of an error its code, of HTTP its status. Otherwise the microseconds between request and answer, and 1.
    detail: u32,
    id: u32,
}

const _: () = assert!(size_of::<Row>() == 40);

impl Row {
    /// `connection` is where the number of the connection is kept.
    pub(super) fn new(entry: &Entry, record: &Record<'_>, connection: u32) -> Self {
        let direction = match entry.direction {
            None => 0,
            Some(Direction::ToServer) => 1,
            Some(Direction::ToClient) => 2,
        };
        let high = u64::from(connection >> LOW_CONNECTION_BITS);
        let low = u64::from(connection) & ((1 << LOW_CONNECTION_BITS) - 1);
        let verbatim = u64::from(record.verbatim);
        let flags = entry.kind as u64 | direction << 5 | verbatim << 10 | high << HIGH_CONNECTION;
        let offset = record.offset.min((1 << OFFSET_BITS) - 1);
        // A time that is not known is the last.
        let time = entry.time.map_or(u128::MAX, |time| time.as_micros()).min((1 << TIME_BITS) - 1) as u64;
        let mut row = Row {
            place: offset | flags << OFFSET_BITS,
            clock: time | low << TIME_BITS,
            length: u32::try_from(record.length).unwrap_or(u32::MAX),
            bytes: u32::try_from(entry.bytes).unwrap_or(u32::MAX),
            other: entry.other.map_or(0, |other| other as u32),
            name: entry.name,
            detail: 0,
            id: entry.id,
        };
        row.set_status(entry.status);
        match entry.code {
            Some(code) => row.detail = i32::try_from(code).unwrap_or(i32::MIN).cast_unsigned(),
            None => row.set_took(entry.took),
        }
        row
    }

    fn flags(&self, shift: u32, bits: u32) -> usize {
        (self.place >> (OFFSET_BITS + shift)) as usize & ((1 << bits) - 1)
    }

    pub(super) fn offset(&self) -> u64 {
        self.place & ((1 << OFFSET_BITS) - 1)
    }

    pub(super) fn kind(&self) -> Kind {
        KINDS[self.flags(0, 5)]
    }

    pub(super) fn direction(&self) -> Option<Direction> {
        [None, Some(Direction::ToServer), Some(Direction::ToClient), None][self.flags(5, 2)]
    }

    pub(super) fn status(&self) -> Option<Status> {
        STATUSES.get(self.flags(7, 3).checked_sub(1)?).copied()
    }

    pub(super) fn is_verbatim(&self) -> bool {
        self.flags(10, 1) == 1
    }

    pub(super) fn set_status(&mut self, status: Option<Status>) {
        self.place &= !(0b111 << (OFFSET_BITS + 7));
        self.place |= status.map_or(0, |status| status as u64) << (OFFSET_BITS + 7);
    }

    pub(super) fn time(&self) -> Option<Duration> {
        let time = self.clock & ((1 << TIME_BITS) - 1);
        (time != (1 << TIME_BITS) - 1).then(|| Duration::from_micros(time))
    }

    pub(super) fn connection(&self) -> usize {
        let high = self.flags(HIGH_CONNECTION, CONNECTION_BITS - LOW_CONNECTION_BITS);
        (self.clock >> TIME_BITS) as usize | high << LOW_CONNECTION_BITS
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.into()
    }

    pub(super) fn name(&self) -> Name {
        self.name
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// The row of the other half, from 0.
    pub(super) fn other(&self) -> Option<u32> {
        self.other.checked_sub(1)
    }

    pub(super) fn set_other(&mut self, row: u32) {
        self.other = row + 1;
    }

    pub(super) fn code(&self) -> Option<i64> {
        let has_code = matches!(self.kind(), Kind::Error | Kind::Http);
        has_code.then_some(self.detail.cast_signed().into())
    }

    pub(super) fn took(&self) -> Option<Duration> {
        if matches!(self.kind(), Kind::Error | Kind::Http) {
            return None;
        }
        self.detail.checked_sub(1).map(|took| Duration::from_micros(took.into()))
    }

    pub(super) fn set_took(&mut self, took: Option<Duration>) {
        self.detail = took.map_or(0, |took| took.min(LONGEST).as_micros() as u32 + 1);
    }
}
