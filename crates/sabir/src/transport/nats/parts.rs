//! Messages that are larger than a server of NATS carries: cut into parts, and put together again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use crate::server::budget::{MemoryBudget, Reservation};

/// Nobody cuts a message into more parts.
pub(crate) const MOST_PARTS: u32 = 1 << 16;

/// Messages of which some parts have come, at a time.
const MOST_OPEN: usize = 256;

/// The parts of a text, each with its header, as in `2/5`.
pub(crate) fn split(text: &Bytes, room: usize) -> impl Iterator<Item = (String, Bytes)> + use<> {
    let (text, room) = (text.clone(), room.max(1));
    let count = text.len().div_ceil(room).max(1);
    (0..count).map(move |index| {
        let end = text.len().min((index + 1) * room);
        (format!("{}/{count}", index + 1), text.slice(index * room..end))
    })
}

/// Why a part is of no use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PartError {
    /// The header is not `i/n`.
    Malformed,
    /// A part is missing before this one.
    Gap { expected: u32, came: u32 },
    /// The message is larger than this.
    TooLarge { limit: usize },
    /// Too many messages have come in part.
    NoRoom,
}

impl std::fmt::Display for PartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PartError::Malformed => f.write_str("a part of a message has no number"),
            PartError::Gap { expected, came } => {
                write!(f, "part {expected} of a message is missing: part {came} came")
            }
            PartError::TooLarge { limit } => write!(f, "a message in parts is larger than {limit} bytes"),
            PartError::NoRoom => f.write_str("too many messages have come in part"),
        }
    }
}

/// Which part it is, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) number: u32,
    pub(crate) count: u32,
}

impl Part {
    pub(crate) fn parse(header: &str) -> Option<Part> {
        let (number, count) = header.split_once('/')?;
        let part = Part { number: number.parse().ok()?, count: count.parse().ok()? };
        ((1..=part.count).contains(&part.number) && part.count <= MOST_PARTS).then_some(part)
    }
}

/// Messages that have come in part, by what they belong to.
pub(crate) struct Assembler {
    open: HashMap<Box<str>, Partial>,
    limit: usize,
    /// How long the next part may take.
    within: Duration,
    held: usize,
    /// What others hold counts, too.
    shared: Option<(Arc<MemoryBudget>, Reservation)>,
}

struct Partial {
    next: u32,
    count: u32,
    text: BytesMut,
    heard: Instant,
}

impl Assembler {
    /// For messages of at most so many bytes, of which a few may be on their way.
    pub(crate) fn new(limit: usize, within: Duration) -> Self {
        Assembler { open: HashMap::new(), limit, within, held: 0, shared: None }
    }

    /// One of several, which have this much room together.
    pub(crate) fn sharing(limit: usize, within: Duration, budget: Arc<MemoryBudget>) -> Self {
        Assembler { shared: Some((budget, Reservation::default())), ..Assembler::new(limit, within) }
    }

    /// Holds so many bytes from now on, if there is room for them.
    fn hold(&mut self, bytes: usize) -> bool {
        let fits = self.shared.as_mut().is_none_or(|(budget, held)| held.resize(budget, bytes));
        if fits {
            self.held = bytes;
        }
        fits
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Takes a part. The whole message, if it was the last one.
    pub(crate) fn push(
        &mut self,
        key: &str,
        header: &str,
        text: &[u8],
        now: Instant,
    ) -> Result<Option<Bytes>, PartError> {
        let part = Part::parse(header).ok_or(PartError::Malformed)?;
        let Some((key, mut partial)) = self.open.remove_entry(key).or_else(|| {
            let first = Partial { next: 1, count: part.count, text: BytesMut::new(), heard: now };
            (part.number == 1 && self.open.len() < MOST_OPEN).then(|| (key.into(), first))
        }) else {
            return Err(match part.number {
                1 => PartError::NoRoom,
                came => PartError::Gap { expected: 1, came },
            });
        };
        // It is a smaller share, for which there is always room.
        self.hold(self.held - partial.text.len());
        if (part.number, part.count) != (partial.next, partial.count) {
            return Err(PartError::Gap { expected: partial.next, came: part.number });
        }
        if partial.text.len() + text.len() > self.limit {
            return Err(PartError::TooLarge { limit: self.limit });
        }
        // All together may hold a few of the largest messages.
        if self.held + partial.text.len() + text.len() > self.limit.saturating_mul(4) {
            return Err(PartError::NoRoom);
        }
        partial.text.extend_from_slice(text);
        if part.number == part.count {
            return Ok(Some(partial.text.freeze()));
        }
        if !self.hold(self.held + partial.text.len()) {
            return Err(PartError::NoRoom);
        }
        partial.next += 1;
        partial.heard = now;
        self.open.insert(key, partial);
        Ok(None)
    }

    /// Forgets messages whose next part has not come in time. What they belong to.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<Box<str>> {
        let late: Vec<_> =
            self.open.extract_if(|_, partial| now.duration_since(partial.heard) >= self.within).collect();
        self.hold(self.held - late.iter().map(|(_, partial)| partial.text.len()).sum::<usize>());
        late.into_iter().map(|(key, _)| key).collect()
    }

    /// When the next part of some message is late, if none comes.
    pub(crate) fn expires(&self) -> Option<Instant> {
        self.open.values().map(|partial| partial.heard + self.within).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Duration = Duration::from_secs(15);

    #[test]
    fn what_is_cut_is_put_together() {
        let now = Instant::now();
        for (length, room) in [(0, 10), (1, 10), (10, 10), (11, 10), (99, 10), (100, 10), (7, 1)] {
            let text = Bytes::from((0..length).map(|n| n as u8).collect::<Vec<_>>());
            let mut assembler = Assembler::new(1000, WITHIN);
            let parts: Vec<_> = split(&text, room).collect();
            let (last, before) = parts.split_last().expect("a part");
            for (header, part) in before {
                assert_eq!(assembler.push("a", header, part, now), Ok(None), "{length} {room} {header}");
            }
            assert_eq!(assembler.push("a", &last.0, &last.1, now), Ok(Some(text)), "{length} {room}");
            assert!(assembler.is_empty() && assembler.held == 0);
        }
    }

    #[test]
    fn parts_of_several_messages_may_mix() {
        let (now, mut assembler) = (Instant::now(), Assembler::new(100, WITHIN));
        assert_eq!(assembler.push("a", "1/2", b"a", now), Ok(None));
        assert_eq!(assembler.push("b", "1/2", b"b", now), Ok(None));
        assert_eq!(assembler.push("a", "2/2", b"A", now), Ok(Some(Bytes::from("aA"))));
        assert_eq!(assembler.push("b", "2/2", b"B", now), Ok(Some(Bytes::from("bB"))));
    }

    #[test]
    fn what_is_wrong_is_told_and_forgotten() {
        let (now, mut assembler) = (Instant::now(), Assembler::new(3, WITHIN));
        for (header, text, error) in [
            ("", "x", PartError::Malformed),
            ("0/2", "x", PartError::Malformed),
            ("3/2", "x", PartError::Malformed),
            ("1/65537", "x", PartError::Malformed),
            ("-1/2", "x", PartError::Malformed),
            ("2/2", "x", PartError::Gap { expected: 1, came: 2 }),
            ("1/2", "abcd", PartError::TooLarge { limit: 3 }),
        ] {
            assert_eq!(assembler.push("a", header, text.as_bytes(), now), Err(error), "{header}");
        }
        assert_eq!(assembler.push("a", "1/3", b"x", now), Ok(None));
        assert_eq!(assembler.push("a", "3/3", b"x", now), Err(PartError::Gap { expected: 2, came: 3 }));
        // Nothing is left of it.
        assert_eq!(assembler.push("a", "2/3", b"x", now), Err(PartError::Gap { expected: 1, came: 2 }));
        assert!(assembler.is_empty() && assembler.held == 0);
        for n in 0..MOST_OPEN {
            assembler.limit = 1000;
            assert_eq!(assembler.push(&n.to_string(), "1/2", b"x", now), Ok(None));
        }
        assert_eq!(assembler.push("one more", "1/2", b"x", now), Err(PartError::NoRoom));
        assert_eq!(assembler.expire(now).len(), 0);
        assert_eq!(assembler.expires(), Some(now + WITHIN));
        assert_eq!(assembler.expire(now + WITHIN).len(), MOST_OPEN);
        assert_eq!((assembler.held, assembler.expires()), (0, None));
    }

    #[test]
    fn several_share_their_room_and_leave_it_when_they_end() {
        const STEP: usize = 1 << 20;
        let (now, budget) = (Instant::now(), MemoryBudget::new(10 * STEP));
        let sharing = || Assembler::sharing(100 * STEP, WITHIN, Arc::clone(&budget));
        let (mut one, mut other) = (sharing(), sharing());
        let text = vec![b' '; 6 * STEP];
        assert_eq!(one.push("a", "1/9", &text, now), Ok(None));
        assert_eq!(other.push("a", "1/9", &text, now), Err(PartError::NoRoom));
        assert_eq!(other.push("a", "1/9", &text[..3 * STEP], now), Ok(None));
        assert_eq!(other.push("a", "2/9", &text[..3 * STEP], now), Err(PartError::NoRoom));
        // Nothing is left of that one.
        assert_eq!(one.push("a", "2/9", &text[..3 * STEP], now), Ok(None));
        drop(one);
        assert_eq!(other.push("a", "1/9", &text, now), Ok(None));
    }
}
