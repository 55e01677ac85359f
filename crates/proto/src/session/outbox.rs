//! Frames on their way out: whole, in order, and counted.

use std::collections::VecDeque;

use super::event::{Origin, Outgoing, Purpose};
use super::grow;
use crate::frame::Framing;
use crate::message::encode;
use crate::message::error::ErrorCode;

/// Memory that a burst may leave behind for the next one.
const KEPT: usize = 128 * 1024;

/// From here on the buffer grows by a quarter.
const LARGE: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
    framing: Framing,
    /// The messages in `bytes`, where the transport delimits messages.
    messages: VecDeque<Message>,
    /// What the frames belong to that are ended from now on.
    origin: Origin,
    /// More memory than this is given back even while there is something to send.
    most: usize,
}

#[derive(Debug)]
struct Message {
    /// 0 for a mark that nothing more follows for its origin.
    length: usize,
    origin: Origin,
    last: bool,
    purpose: Purpose,
}

/// A frame that was begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    frame: usize,
    body: usize,
}

impl Outbox {
    /// An outbox for about `limit` bytes.
    pub(super) fn new(framing: Framing, limit: usize) -> Self {
        let most = limit.saturating_add(limit / 4).max(2 * LARGE);
        Outbox { bytes: Vec::new(), sent: 0, framing, messages: VecDeque::new(), origin: Origin::NONE, most }
    }

    /// Called when the framing of a stream has been detected.
    pub(super) fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
    }

    pub(super) fn pending(&self) -> usize {
        self.bytes.len() - self.sent
    }

    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity() + self.messages.capacity() * size_of::<Message>()
    }

    /// What counts against limits: bytes to send, and what is kept of each message.
    pub(super) fn load(&self) -> usize {
        self.pending() + self.messages.len() * size_of::<Message>()
    }

    /// What to write next: everything, or one whole message where the transport delimits messages.
    pub(super) fn unsent(&self) -> &[u8] {
        let rest = &self.bytes[self.sent..];
        match self.messages.front() {
            Some(message) => &rest[..message.length],
            None => rest,
        }
    }

    /// The next message, where the transport delimits messages.
    pub(super) fn outgoing(&self) -> Option<Outgoing<'_>> {
        let &Message { origin, last, purpose, .. } = self.messages.front()?;
        Some(Outgoing { message: self.unsent(), origin, last, purpose })
    }

    /// The next message was sent.
    pub(super) fn sent_message(&mut self) {
        match self.messages.front() {
            Some(Message { length: 0, .. }) => drop(self.messages.pop_front()),
            Some(&Message { length, .. }) => self.wrote(length),
            None => {}
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending() == 0 && self.messages.is_empty()
    }

    /// What is sent from now on belongs to this.
    pub(super) fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    pub(super) fn origin(&self) -> Origin {
        self.origin
    }

    /// Nothing more follows for this origin.
    pub(super) fn settle(&mut self, origin: Origin) {
        if origin == Origin::NONE {
            return;
        }
        match self.messages.back_mut() {
            Some(message) if message.origin == origin => message.last = true,
            _ => self.messages.push_back(Message { length: 0, origin, last: true, purpose: Purpose::Answer }),
        }
    }

    pub(super) fn wrote(&mut self, count: usize) {
        assert!(count <= self.unsent().len(), "more bytes written than there were");
        if let Some(message) = self.messages.front_mut() {
            message.length -= count;
            if message.length == 0 {
                self.messages.pop_front();
            }
        }
        self.sent += count;
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
        }
    }

    /// A whole frame around the answer that `write` appends. It returns the code if that is an error.
    pub(super) fn frame(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Option<ErrorCode>) {
        let mark = self.begin();
        let purpose = write(&mut self.bytes).map_or(Purpose::Answer, Purpose::Error);
        self.end(mark, purpose);
    }

    /// Begins a frame; the message is then appended to [`buffer`](Self::buffer).
    #[inline(always)]
    pub(super) fn begin(&mut self) -> Mark {
        // A peer that reads slowly but steadily must not make the sent part grow.
        if self.sent > KEPT && self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        if self.bytes.len() > LARGE {
            grow::reserve(&mut self.bytes, KEPT);
        }
        let frame = self.bytes.len();
        if self.framing == Framing::Headers {
            self.bytes.extend_from_slice(b"Content-Length: 000\r\n\r\n");
        }
        Mark { frame, body: self.bytes.len() }
    }

    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Length of the message so far.
    pub(super) fn body_len(&self, mark: Mark) -> usize {
        self.bytes.len() - mark.body
    }

    /// Takes the frame back.
    pub(super) fn cancel(&mut self, mark: Mark) {
        self.bytes.truncate(mark.frame);
        self.shed();
    }

    /// Makes the frame ready to go.
    ///
    /// One answer may have been far larger than what was left of it.
    #[inline(always)]
    pub(super) fn end(&mut self, mark: Mark, purpose: Purpose) {
        match self.framing {
            Framing::Lines => {
                encode::remove_line_breaks(&mut self.bytes, mark.body);
                self.bytes.push(b'\n');
            }
            Framing::Headers => self.write_length(mark),
            Framing::Whole => {
                let length = self.bytes.len() - mark.frame;
                self.messages.push_back(Message { length, origin: self.origin, last: false, purpose });
            }
        }
        if self.bytes.capacity() > self.most {
            self.shed();
        }
    }

    /// A whole frame of these bytes, which are taken over where that saves copying them.
    pub(super) fn frame_of(&mut self, message: &mut Vec<u8>) {
        if self.bytes.is_empty() && message.len() > KEPT && self.framing != Framing::Headers {
            self.bytes = std::mem::take(message);
            return self.end(Mark { frame: 0, body: 0 }, Purpose::Answer);
        }
        grow::reserve(&mut self.bytes, message.len());
        self.frame(|out| {
            out.extend_from_slice(message);
            None
        });
    }

    #[cold]
    fn shed(&mut self) {
        if self.bytes.capacity() > self.most {
            self.bytes.shrink_to(self.most);
        }
    }

    /// The header was written with room for three digits; most messages have that many.
    #[inline(never)]
    fn write_length(&mut self, mark: Mark) {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(self.body_len(mark)).as_bytes();
        let start = mark.frame + b"Content-Length: ".len();
        if digits.len() == 3 {
            self.bytes[start..start + 3].copy_from_slice(digits);
        } else {
            self.bytes.splice(start..start + 3, digits.iter().copied());
        }
    }

    /// Drops everything: nobody will read it.
    pub(super) fn discard(&mut self) {
        *self = Outbox { most: self.most, ..Outbox::new(self.framing, 0) };
    }

    /// Gives back what a large message left behind.
    pub(super) fn release(&mut self) {
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        if self.messages.is_empty() {
            self.messages.shrink_to(64);
        }
    }
}
