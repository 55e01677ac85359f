//! One direction of a connection, cut into messages. After a gap it finds the next beginning again.

use sabir_model::capture::LONGEST;
use sabir_proto::{Cut, Deframer, FrameFault, Framing};

/// Bytes of a message that is recorded: with what is written around it, it must fit into a line of a capture.
pub(super) const LARGEST: usize = LONGEST - (64 << 10);

#[derive(Debug)]
pub(in crate::tap) struct Cutter {
    deframer: Deframer,
    unread: Vec<u8>,
    /// Bytes are missing: what comes is passed over until a message begins.
    is_lost: bool,
}

impl Default for Cutter {
    fn default() -> Self {
        Cutter { deframer: Deframer::new(None, LARGEST), unread: Vec::new(), is_lost: false }
    }
}

impl Cutter {
    /// For text, such as standard error.
    pub(super) fn lines() -> Self {
        Cutter { deframer: Deframer::new(Some(Framing::Lines), LARGEST), ..Cutter::default() }
    }

    /// Takes the next bytes, and hands out what is whole. `room` is memory that the streams take turns with.
    pub(super) fn pass(
        &mut self,
        bytes: &[u8],
        room: &mut Vec<u8>,
        mut take: impl FnMut(Result<&[u8], FrameFault>),
    ) {
        // Most of the time nothing is left over.
        if self.unread.is_empty() && !self.is_lost {
            let done = cut(&mut self.deframer, bytes, &mut take);
            keep(&mut self.unread, &bytes[done..], room);
            return;
        }
        self.unread.extend_from_slice(bytes);
        if self.is_lost {
            let Some(start) = self.beginning() else { return };
            self.unread.drain(..start);
            self.is_lost = false;
        }
        let done = cut(&mut self.deframer, &self.unread, &mut take);
        self.unread.drain(..done);
        give_back(&mut self.unread, room);
    }

    pub(super) fn held(&self) -> usize {
        self.unread.len()
    }

    /// Bytes are missing.
    pub(super) fn gap(&mut self) {
        self.unread = Vec::new();
        self.deframer = Deframer::new(self.deframer.framing(), LARGEST);
        self.is_lost = true;
    }

    /// The stream has ended, perhaps in the middle of a message.
    pub(super) fn finish(&mut self, take: impl FnOnce(Result<&[u8], FrameFault>)) {
        if self.unread.is_empty() || self.is_lost {
            return;
        }
        match self.deframer.finish(&self.unread) {
            Cut::Message { body, .. } => take(Ok(body)),
            // What there is of it is worth more than that it is not whole.
            Cut::Fault { fault: FrameFault::Truncated, .. } => take(Ok(&self.unread)),
            Cut::Fault { fault, .. } => take(Err(fault)),
            Cut::More { .. } => {}
        }
    }

    /// Where the next message begins; what is surely none is dropped.
    fn beginning(&mut self) -> Option<usize> {
        match self.deframer.framing() {
            Some(Framing::Headers) => {
                let name = b"content-length:";
                let found = self.unread.windows(name.len()).position(|part| part.eq_ignore_ascii_case(name));
                if found.is_none() {
                    let surplus = self.unread.len().saturating_sub(name.len());
                    self.unread.drain(..surplus);
                }
                found
            }
            _ => {
                let found = self.unread.iter().position(|&byte| byte == b'\n').map(|at| at + 1);
                if found.is_none() {
                    self.unread.clear();
                }
                found
            }
        }
    }
}

/// Bytes of memory that are kept for the next large message, and bytes that each stream keeps of its own.
const ROOM: usize = 8 << 20;
const OWN: usize = 16 << 10;

/// Keeps the beginning of a message, in memory that was used before if there is some.
pub(super) fn keep(unread: &mut Vec<u8>, bytes: &[u8], room: &mut Vec<u8>) {
    if unread.is_empty() && unread.capacity() < bytes.len() {
        std::mem::swap(unread, room);
    }
    unread.extend_from_slice(bytes);
}

/// Leaves memory that is not needed for the next stream that needs some: new memory costs as much as a copy.
pub(super) fn give_back(unread: &mut Vec<u8>, room: &mut Vec<u8>) {
    if unread.is_empty() && unread.capacity() > OWN {
        let given = std::mem::take(unread);
        if (room.capacity()..=ROOM).contains(&given.capacity()) {
            *room = given;
        }
    }
}

/// Cuts as far as it goes; how far that is.
fn cut(deframer: &mut Deframer, bytes: &[u8], take: &mut impl FnMut(Result<&[u8], FrameFault>)) -> usize {
    let mut done = 0;
    loop {
        match deframer.cut(&bytes[done..]) {
            Cut::Message { body, used } => {
                take(Ok(body));
                done += used;
            }
            Cut::Fault { fault, used, .. } => {
                take(Err(fault));
                done += used;
            }
            Cut::More { used, .. } => return done + used,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(cutter: &mut Cutter, bytes: &[u8]) -> Vec<String> {
        let mut out = Vec::new();
        cutter.pass(bytes, &mut Vec::new(), |cut| {
            out.push(match cut {
                Ok(body) => String::from_utf8_lossy(body).into_owned(),
                Err(fault) => fault.to_string(),
            });
        });
        out
    }

    #[test]
    fn messages_are_found_again_after_a_gap() {
        for (before, after, whole) in [
            (&b"{\"a\":1}\n{\"b\""[..], &b":2,\"x\":[{}]}\r\n{\"c\":3}\n"[..], "{\"c\":3}"),
            (
                b"Content-Length: 2\r\n\r\n{}Content-Len",
                b"xx{}}}Content-Length: 7\r\n\r\n{\"c\":3}",
                "{\"c\":3}",
            ),
        ] {
            let mut cutter = Cutter::default();
            assert_eq!(passed(&mut cutter, before).len(), 1);
            cutter.gap();
            let mut found = Vec::new();
            after.chunks(3).for_each(|part| found.extend(passed(&mut cutter, part)));
            assert_eq!(found, [whole]);
        }
    }

    #[test]
    fn a_message_that_was_cut_off_is_kept() {
        let mut cutter = Cutter::default();
        assert!(passed(&mut cutter, b"Content-Length: 9\r\n\r\n{\"a\"").is_empty());
        let mut rest = None;
        cutter.finish(|cut| rest = cut.ok().map(<[u8]>::to_vec));
        assert_eq!(rest.as_deref(), Some(&b"{\"a\""[..]));
    }
}
