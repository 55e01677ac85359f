//! One direction of the connection: a pipe of a certain size, and what may go wrong on it.

use std::collections::VecDeque;

use sabir_proto::{Framing, Time};

use crate::random::Random;

/// Bytes that are under way, in pieces, each with the moment from which on it can be read.
pub(crate) struct Link {
    pieces: VecDeque<(Time, Vec<u8>)>,
    /// How much of the first piece is read.
    read: usize,
    /// Pieces that were read, for their memory.
    free: Vec<Vec<u8>>,
    len: usize,
    capacity: usize,
    /// Nothing is read until then.
    pub(crate) stalled_until: Time,
    /// The writer's end is closed: once everything is read, the reader sees the end.
    pub(crate) closed: bool,
    /// Something was changed on the way: answers may be lost or wrong, and nobody's fault.
    pub(crate) tampered: bool,
    pub(crate) framing: Framing,
    /// How many of 100 reads and writes are cut short.
    cuts: usize,
}

impl Link {
    pub(crate) fn new(framing: Framing, capacity: usize, cuts: usize) -> Self {
        Link {
            pieces: VecDeque::new(),
            read: 0,
            free: Vec::new(),
            len: 0,
            capacity,
            stalled_until: Time::START,
            closed: false,
            tampered: false,
            framing,
            cuts,
        }
    }

    /// How much can be written now. Whole messages are never cut.
    pub(crate) fn room(&self) -> usize {
        match self.framing {
            Framing::Whole if self.len < self.capacity => usize::MAX,
            _ => self.capacity.saturating_sub(self.len),
        }
    }

    /// How much is written of so much that could be, which is not 0.
    pub(crate) fn portion(&self, room: usize, random: &mut Random) -> usize {
        if self.framing != Framing::Whole && self.is_cut(random) { random.between(1, room) } else { room }
    }

    fn is_cut(&self, random: &mut Random) -> bool {
        self.cuts == 100 || (self.cuts > 0 && random.chance(self.cuts))
    }

    pub(crate) fn write(&mut self, bytes: &[u8], ready: Time) {
        self.len += bytes.len();
        let mut piece = self.free.pop().unwrap_or_default();
        piece.extend_from_slice(bytes);
        self.pieces.push_back((ready, piece));
    }

    /// The next piece, or some bytes of it. Call [`done`](Self::done) with their number.
    pub(crate) fn read(&self, now: Time, random: &mut Random) -> Option<&[u8]> {
        let most = if self.is_cut(random) { random.between(1, 200) } else { usize::MAX };
        let (ready, piece) = self.pieces.front()?;
        if now < self.stalled_until || *ready > now {
            return None;
        }
        let rest = &piece[self.read..];
        let most = if self.framing == Framing::Whole { rest.len() } else { most.min(rest.len()) };
        Some(&rest[..most])
    }

    /// So many bytes of the first piece were read.
    pub(crate) fn done(&mut self, count: usize) {
        self.len -= count;
        self.read += count;
        if self.pieces.front().is_some_and(|(_, piece)| piece.len() == self.read)
            && let Some((_, mut piece)) = self.pieces.pop_front()
        {
            self.read = 0;
            piece.clear();
            self.free.push(piece);
        }
    }

    /// The last piece, as far as it is not read.
    fn last(&mut self) -> Option<(&mut Vec<u8>, usize)> {
        let read = if self.pieces.len() == 1 { self.read } else { 0 };
        self.pieces.back_mut().map(|(_, piece)| (piece, read))
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.closed && self.pieces.is_empty()
    }

    /// When the next piece can be read.
    pub(crate) fn next(&self) -> Option<Time> {
        self.pieces.front().map(|(ready, _)| (*ready).max(self.stalled_until))
    }

    /// Puts a message of somebody else's between two pieces.
    pub(crate) fn inject(&mut self, message: &str, now: Time) {
        let framed = match self.framing {
            Framing::Lines => format!("{message}\n"),
            Framing::Headers => format!("Content-Length: {}\r\n\r\n{message}", message.len()),
            _ => message.to_owned(),
        };
        self.tampered = true;
        self.write(framed.as_bytes(), now);
    }

    /// Changes a byte that is under way.
    pub(crate) fn flip(&mut self, at: usize, byte: u8) {
        if let Some((piece, read)) = self.last()
            && piece.len() > read
        {
            let at = at % (piece.len() - read);
            piece[read + at] = byte;
            self.tampered = true;
        }
    }

    /// Loses the last bytes of what is under way: closed in the middle of a message.
    pub(crate) fn cut(&mut self, keep: usize) {
        if let Some((piece, read)) = self.last() {
            let under_way = piece.len() - read;
            let kept = keep % (under_way + 1);
            piece.truncate(read + kept);
            self.len -= under_way - kept;
            self.tampered = true;
        }
    }
}
