//! One direction of the connection: a pipe of a certain size, and what may go wrong on it.

use std::collections::VecDeque;

use sabir_proto::{Framing, Time};

/// Bytes that are under way, in pieces, each with the moment from which on it can be read.
pub(crate) struct Link {
    pieces: VecDeque<(Time, Vec<u8>)>,
    len: usize,
    capacity: usize,
    /// Nothing is read until then.
    pub(crate) stalled_until: Time,
    /// The writer's end is closed: once everything is read, the reader sees the end.
    pub(crate) closed: bool,
    /// Something was changed on the way: answers may be lost or wrong, and nobody's fault.
    pub(crate) tampered: bool,
    pub(crate) framing: Framing,
}

impl Link {
    pub(crate) fn new(framing: Framing, capacity: usize) -> Self {
        Link {
            pieces: VecDeque::new(),
            len: 0,
            capacity,
            stalled_until: Time::START,
            closed: false,
            tampered: false,
            framing,
        }
    }

    /// How much can be written now. Whole messages are never cut.
    pub(crate) fn room(&self) -> usize {
        match self.framing {
            Framing::Whole if self.len < self.capacity => usize::MAX,
            _ => self.capacity.saturating_sub(self.len),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8], ready: Time) {
        self.len += bytes.len();
        self.pieces.push_back((ready, bytes.to_vec()));
    }

    /// The next piece, or up to `most` bytes of it.
    pub(crate) fn read(&mut self, now: Time, most: usize) -> Option<Vec<u8>> {
        if now < self.stalled_until || self.pieces.front()?.0 > now {
            return None;
        }
        let (_, piece) = self.pieces.front_mut()?;
        let bytes = if piece.len() <= most || self.framing == Framing::Whole {
            self.pieces.pop_front()?.1
        } else {
            piece.drain(..most).collect()
        };
        self.len -= bytes.len();
        Some(bytes)
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
        if let Some((_, piece)) = self.pieces.back_mut()
            && !piece.is_empty()
        {
            let at = at % piece.len();
            piece[at] = byte;
            self.tampered = true;
        }
    }

    /// Loses the last bytes of what is under way: closed in the middle of a message.
    pub(crate) fn cut(&mut self, keep: usize) {
        if let Some((_, piece)) = self.pieces.back_mut() {
            let kept = keep % (piece.len() + 1);
            self.len -= piece.len() - kept;
            piece.truncate(kept);
            self.tampered = true;
        }
    }
}
