//! Frames of WebSocket (RFC 6455), as a client.

use super::Piece;

/// Frames of control are shorter.
const LONGEST_CONTROL: usize = 125;

pub(crate) struct WebSocket {
    /// The message in parts that was handed out last.
    handed: Vec<u8>,
    /// A message in parts that is not complete.
    parts: Vec<u8>,
    is_partial: bool,
    max_size: usize,
    /// Masks protect proxies from pages of others, which choose what is sent. Here nobody else does.
    mask: u32,
}

impl WebSocket {
    pub(super) fn new(max_size: usize) -> WebSocket {
        WebSocket { handed: Vec::new(), parts: Vec::new(), is_partial: false, max_size, mask: 0x9e37_79b9 }
    }

    /// Appends a text message.
    pub(super) fn text(&mut self, out: &mut Vec<u8>, body: &[u8]) {
        self.frame(out, 0x1, body);
    }

    fn frame(&mut self, out: &mut Vec<u8>, opcode: u8, body: &[u8]) {
        self.mask = self.mask.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        let mask = self.mask.to_ne_bytes();
        out.push(0x80 | opcode);
        match body.len() {
            length @ 0..=125 => out.push(0x80 | length as u8),
            length @ 126..=0xffff => {
                out.push(0x80 | 126);
                out.extend_from_slice(&(length as u16).to_be_bytes());
            }
            length => {
                out.push(0x80 | 127);
                out.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        out.extend_from_slice(&mask);
        let start = out.len();
        out.extend_from_slice(body);
        for chunk in out[start..].chunks_mut(4) {
            chunk.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
        }
    }

    pub(super) fn next<'a>(&'a mut self, bytes: &'a [u8]) -> (Piece<'a>, usize) {
        let Some((head, length)) = head(bytes) else { return (Piece::More, 0) };
        let (is_last, opcode, is_masked) = (bytes[0] & 0x80 != 0, bytes[0] & 0x0f, bytes[1] & 0x80 != 0);
        let is_control = opcode & 0x8 != 0;
        let fits = match is_control {
            true => length <= LONGEST_CONTROL as u64 && is_last,
            false => length.saturating_add(self.parts.len() as u64) <= self.max_size as u64,
        };
        let starts = matches!(opcode, 1 | 2);
        if is_masked || bytes[0] & 0x70 != 0 || !fits || (!is_control && starts == self.is_partial) {
            // There is no way to go on after that.
            return (Piece::End, bytes.len());
        }
        let end = head + length as usize;
        let Some(body) = bytes.get(head..end) else { return (Piece::More, 0) };
        let piece = match opcode {
            1 | 2 if is_last => Piece::Message(body),
            0..=2 => {
                self.parts.extend_from_slice(body);
                self.is_partial = !is_last;
                match is_last {
                    false => Piece::Nothing,
                    true => return (self.whole(), end),
                }
            }
            8 => Piece::End,
            9 => {
                let mut pong = Vec::new();
                self.frame(&mut pong, 0xa, body);
                Piece::Reply(pong)
            }
            _ => Piece::Nothing,
        };
        (piece, end)
    }

    /// All parts.
    fn whole(&mut self) -> Piece<'_> {
        self.handed = std::mem::take(&mut self.parts);
        Piece::Message(&self.handed)
    }
}

/// How long the head of a frame is, and its body. `None` if more is needed.
fn head(bytes: &[u8]) -> Option<(usize, u64)> {
    let short = *bytes.get(1)? & 0x7f;
    Some(match short {
        126 => (4, u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => (10, u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)),
        short => (2, u64::from(short)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unmasked(bytes: &[u8]) -> (u8, Vec<u8>) {
        let (head, length) = head(bytes).expect("a whole head");
        let mask: [u8; 4] = bytes[head..head + 4].try_into().expect("a mask");
        let body = &bytes[head + 4..];
        assert_eq!(body.len() as u64, length);
        (bytes[0], body.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect())
    }

    #[test]
    fn frames_of_every_length_are_masked() {
        let mut frames = WebSocket::new(1 << 20);
        for length in [0, 1, 125, 126, 65535, 65536] {
            let (mut out, body) = (Vec::new(), vec![b'x'; length]);
            frames.text(&mut out, &body);
            assert!(out[1] & 0x80 != 0);
            assert_eq!(unmasked(&out), (0x81, body), "{length}");
        }
    }

    #[test]
    fn frames_are_cut_wherever_they_are_split() {
        let wire: &[u8] = b"\x81\x02hi\x01\x01a\x89\x01p\x80\x01b\x8a\x00\x82\x01c\x88\x00";
        for split in 0..wire.len() {
            let mut frames = WebSocket::new(100);
            let (mut messages, mut replies, mut ended) = (Vec::new(), 0, false);
            let (mut at, mut have) = (0, split);
            while !ended {
                let (piece, used) = frames.next(&wire[at..have]);
                match piece {
                    Piece::Message(text) => messages.push(String::from_utf8_lossy(text).into_owned()),
                    Piece::Reply(pong) => {
                        assert_eq!(unmasked(&pong), (0x8a, b"p".to_vec()));
                        replies += 1;
                    }
                    Piece::More => have = wire.len(),
                    Piece::End => ended = true,
                    Piece::Nothing | Piece::Fault(_) => {}
                }
                at += used;
            }
            assert_eq!((messages.join(" ").as_str(), replies, at), ("hi ab c", 1, wire.len()), "{split}");
        }
    }

    #[test]
    fn what_no_server_may_send_ends_the_connection() {
        for wire in [
            &b"\x81\x82masked"[..],
            b"\xc1\x01x",
            b"\x80\x01x",
            b"\x81\x7e\x10\x00",
            b"\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x09\x01p",
            b"\x89\x7e\x00\x80",
        ] {
            assert_eq!(WebSocket::new(100).next(wire).0, Piece::End, "{wire:?}");
        }
    }
}
