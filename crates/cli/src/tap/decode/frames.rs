//! The frames of a WebSocket, read from a copy of its bytes: messages, and how it is closed.

use super::Found;
use super::cutter::{LARGEST, give_back, keep};

/// One direction.
#[derive(Debug, Default)]
pub(in crate::tap) struct Frames {
    unread: Vec<u8>,
    /// The parts of a message so far.
    message: Vec<u8>,
    /// Bytes of a frame that is too large, or of no interest, which are still to come.
    skip: u64,
    is_too_large: bool,
    /// Where a frame begins is not known any more.
    is_lost: bool,
    /// With which code and reason this side has ended it.
    closed: Option<String>,
}

/// How one side of a WebSocket has ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tap) enum Closing {
    /// Without a word.
    Silent,
    /// What it said is not known.
    Unknown,
    /// With a code and a reason.
    Said(String),
}

/// What the header of a frame says.
pub(in crate::tap) struct Head {
    pub(in crate::tap) is_last: bool,
    is_packed: bool,
    opcode: u8,
    mask: Option<[u8; 4]>,
    /// Of the payload, as the peer says.
    pub(in crate::tap) length: u64,
    /// Of the header itself.
    pub(in crate::tap) size: usize,
}

impl Head {
    /// Whether it is a ping, a pong or the end, and no part of a message.
    pub(in crate::tap) fn is_control(&self) -> bool {
        self.opcode & 8 != 0
    }
}

/// Makes a payload readable.
pub(in crate::tap) fn unmask(head: &Head, payload: &mut [u8]) {
    if let Some(mask) = head.mask {
        payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    }
}

impl Frames {
    pub(super) fn held(&self) -> usize {
        self.unread.len() + self.message.len()
    }

    pub(super) fn closing(&self) -> Closing {
        match &self.closed {
            Some(told) => Closing::Said(told.clone()),
            None if self.is_lost => Closing::Unknown,
            None => Closing::Silent,
        }
    }

    pub(super) fn gap(&mut self) {
        *self = Frames { is_lost: true, ..Frames::default() };
    }

    pub(super) fn pass(&mut self, mut bytes: &[u8], room: &mut Vec<u8>, take: &mut impl FnMut(Found<'_>)) {
        if self.is_lost {
            return;
        }
        let skipped = self.skip.min(bytes.len() as u64);
        self.skip -= skipped;
        bytes = &bytes[skipped as usize..];
        keep(&mut self.unread, bytes, room);
        let mut done = 0;
        while let Some(head) = frame_head(&self.unread[done..]) {
            let start = done + head.size;
            if head.length.saturating_add(self.message.len() as u64) > LARGEST as u64 {
                let held = ((self.unread.len() - start) as u64).min(head.length);
                self.skip = head.length - held;
                done = start + held as usize;
                if !std::mem::replace(&mut self.is_too_large, true) {
                    take(Found::Missing("a message is too large to be recorded".to_owned()));
                }
                self.message = Vec::new();
                self.is_too_large &= !head.is_last;
                continue;
            }
            let end = start + head.length as usize;
            let Some(payload) = self.unread.get_mut(start..end) else { break };
            unmask(&head, payload);
            let payload = &self.unread[start..end];
            done = end;
            match head.opcode {
                0..=2 if head.is_packed => take(Found::Missing("a message is compressed".to_owned())),
                0..=2 if self.is_too_large => self.is_too_large = !head.is_last,
                // Most messages are one frame.
                1 | 2 if head.is_last => take(Found::Message(payload)),
                0..=2 => {
                    self.message.extend_from_slice(payload);
                    if head.is_last {
                        take(Found::Message(&self.message));
                        self.message.clear();
                    }
                }
                8 => {
                    let told = closed(payload);
                    self.closed.get_or_insert_with(|| told.clone());
                    take(Found::Closing(told));
                }
                // Pings and pongs.
                _ => {}
            }
        }
        self.unread.drain(..done);
        give_back(&mut self.unread, room);
    }
}

/// The header with which the bytes begin, if all of it is there.
pub(in crate::tap) fn frame_head(bytes: &[u8]) -> Option<Head> {
    let (&first, &second) = (bytes.first()?, bytes.get(1)?);
    let (length, mut size) = match second & 0x7f {
        126 => (u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)), 4),
        127 => (u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?), 10),
        short => (u64::from(short), 2),
    };
    let mut mask = None;
    if second & 0x80 != 0 {
        mask = Some(bytes.get(size..size + 4)?.try_into().ok()?);
        size += 4;
    }
    Some(Head {
        is_last: first & 0x80 != 0,
        is_packed: first & 0x40 != 0,
        opcode: first & 0x0f,
        mask,
        length,
        size,
    })
}

fn closed(payload: &[u8]) -> String {
    match payload {
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            format!("{code} {}", String::from_utf8_lossy(reason)).trim_end().to_owned()
        }
        // Without a code.
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: &[u8], chunk: usize) -> Vec<String> {
        let mut frames = Frames::default();
        let mut out = Vec::new();
        for part in bytes.chunks(chunk) {
            frames.pass(part, &mut Vec::new(), &mut |found| {
                out.push(match found {
                    Found::Message(text) => String::from_utf8_lossy(text).into_owned(),
                    Found::Note(text) | Found::Missing(text) => format!("! {text}"),
                    Found::Closing(text) => format!("! close {text}"),
                });
            });
        }
        out
    }

    #[test]
    fn frames_are_read_however_they_are_chunked() {
        let mut bytes = vec![0x81, 2, b'{', b'}'];
        // Masked, and in two parts with a ping between them.
        bytes.extend([0x01, 0x82, 1, 2, 3, 4, b'[' ^ 1, b'1' ^ 2, 0x89, 0, 0x80, 1, b']']);
        bytes.extend([0x81, 126, 0, 200]);
        bytes.extend([b'x'; 200]);
        bytes.extend([0xc1, 1, 0]);
        bytes.extend([0x88, 5, 0x03, 0xe8, b'b', b'y', b'e']);
        for chunk in [1, 3, bytes.len()] {
            let want = [
                "{}".to_owned(),
                "[1]".to_owned(),
                "x".repeat(200),
                "! a message is compressed".to_owned(),
                "! close 1000 bye".to_owned(),
            ];
            assert_eq!(told(&bytes, chunk), want, "{chunk}");
        }
    }

    #[test]
    fn a_frame_that_is_too_large_is_passed_over() {
        let length = LARGEST as u64 + 1;
        let mut bytes = vec![0x82, 127];
        bytes.extend(length.to_be_bytes());
        bytes.resize(bytes.len() + length as usize, b'x');
        bytes.extend([0x81, 2, b'{', b'}']);
        assert_eq!(told(&bytes, 1 << 20), ["! a message is too large to be recorded", "{}"]);
    }

    #[test]
    fn a_length_that_nothing_has_is_passed_over() {
        let mut bytes = vec![0x01, 1, b'[', 0x80, 127];
        bytes.extend([0xff; 8]);
        bytes.resize(1 << 20, b'x');
        assert_eq!(told(&bytes, 1000), ["! a message is too large to be recorded"]);
        let mut frames = Frames::default();
        bytes.chunks(1000).for_each(|part| frames.pass(part, &mut Vec::new(), &mut |_| {}));
        assert!(frames.unread.len() < 1000, "{}", frames.unread.len());
    }

    #[test]
    fn any_bytes_are_survived() {
        let mut state = 7_u32;
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(200_000)
        .collect();
        drop(told(&bytes, 1000));
    }
}
