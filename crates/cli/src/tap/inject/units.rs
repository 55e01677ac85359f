//! A stream, cut where messages end, so that others can go in between and some can be left out.

use std::hash::{BuildHasher, RandomState};

use sabir_proto::{Cut, Deframer, Framing};

use crate::tap::decode::{Head, frame_head, unmask};
use crate::tap::queue::Channel;

/// Bytes of a message. Of a larger one, the parts are passed on as they come.
const LONGEST: usize = 64 << 20;

/// What the deframer is done with before its message is whole: headers, unless the message is passed over.
const HEADERS: usize = 64 << 10;

#[derive(Default)]
pub(in crate::tap) struct Units {
    pending: Pending,
    kind: Kind,
}

/// What has come since the end of the last message.
#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    /// How much of that was looked at, and handed out.
    read: usize,
    done: usize,
    /// The beginning of the message was handed out before its end was known.
    is_inside: bool,
}

impl Pending {
    /// Hands out all up to a place, with the text that is in it.
    fn hand_out(&mut self, end: usize, text: &[u8], each: &mut impl FnMut(&[u8], &[u8])) {
        each(&self.bytes[self.done..end], text);
        self.done = end;
    }
}

enum Kind {
    Stream(Deframer),
    Frames(Frames),
}

impl Default for Kind {
    fn default() -> Self {
        Kind::Stream(Deframer::new(None, LONGEST))
    }
}

/// WebSocket.
#[derive(Default)]
struct Frames {
    /// The payloads of a message so far.
    body: Vec<u8>,
    /// Bytes of a large frame that are still to come, and whether it is the last of its message.
    skip: u64,
    is_last: bool,
    /// What comes is not a WebSocket.
    is_lost: bool,
}

impl Units {
    pub(in crate::tap) fn new(channel: Channel) -> Self {
        match channel {
            Channel::Frames => Units { kind: Kind::Frames(Frames::default()), ..Units::default() },
            _ => Units::default(),
        }
    }

    /// Hands out each message: all of its bytes, and its text, which is empty for what is none.
    pub(in crate::tap) fn pass(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8], &[u8])) {
        let Units { pending, kind } = self;
        pending.bytes.extend_from_slice(bytes);
        match kind {
            Kind::Stream(deframer) => by_deframer(deframer, pending, &mut each),
            Kind::Frames(frames) => frames.pass(pending, &mut each),
        }
        let done = std::mem::take(&mut pending.done);
        pending.bytes.drain(..done);
        pending.read -= done;
    }

    /// What has come since the last message.
    pub(in crate::tap) fn rest(&self) -> &[u8] {
        &self.pending.bytes
    }

    /// Whether the last message has ended.
    pub(in crate::tap) fn is_between(&self) -> bool {
        !self.pending.is_inside && self.pending.bytes.trim_ascii().is_empty()
    }

    /// A message as it is sent to the server; `None` while that is not known.
    pub(in crate::tap) fn framed(&self, message: &str) -> Option<Vec<u8>> {
        match &self.kind {
            Kind::Frames(_) => Some(frame(message.as_bytes())),
            Kind::Stream(deframer) => match deframer.framing()? {
                Framing::Headers => {
                    Some(format!("Content-Length: {}\r\n\r\n{message}", message.len()).into_bytes())
                }
                _ => Some(format!("{message}\n").into_bytes()),
            },
        }
    }

    /// What has to reach the client of a message that is left out: pings that came in the middle of it.
    pub(in crate::tap) fn kept_of(&self, unit: &[u8]) -> Vec<u8> {
        let mut kept = Vec::new();
        if let Kind::Frames(_) = self.kind {
            let mut at = 0;
            while let Some((head, end)) = whole_frame(unit, at) {
                if head.is_control() {
                    kept.extend_from_slice(&unit[at..end]);
                }
                at = end;
            }
        }
        kept
    }
}

fn by_deframer(deframer: &mut Deframer, pending: &mut Pending, each: &mut impl FnMut(&[u8], &[u8])) {
    loop {
        let Pending { bytes, read, done, is_inside } = pending;
        let has_headers = deframer.framing() == Some(Framing::Headers);
        let (used, mut body) = match deframer.cut(&bytes[*read..]) {
            Cut::Message { body, used } => (used, body),
            Cut::Fault { used, .. } => (used, &b""[..]),
            Cut::More { used, .. } => {
                *read += used;
                // A message that is too large is passed over, and must not be held.
                if *read == bytes.len() && *read - *done > HEADERS {
                    *is_inside = true;
                    pending.hand_out(pending.read, b"", each);
                }
                return;
            }
        };
        *read += used;
        if std::mem::take(is_inside) && !body.is_empty() {
            // The end of what was passed over is before it, and perhaps its own headers.
            let start = body.as_ptr().addr() - bytes.as_ptr().addr();
            each(&bytes[*done..start], b"");
            *done = start;
            body = if has_headers { b"" } else { body };
        }
        each(&bytes[*done..*read], body);
        *done = *read;
    }
}

impl Frames {
    fn pass(&mut self, pending: &mut Pending, each: &mut impl FnMut(&[u8], &[u8])) {
        if self.skip > 0 {
            let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(pending.bytes.len());
            self.skip -= skipped as u64;
            pending.read = skipped;
            pending.is_inside = self.skip > 0 || !self.is_last;
            pending.hand_out(skipped, b"", each);
        }
        while !self.is_lost
            && let Some(head) = frame_head(&pending.bytes[pending.read..])
        {
            let room = LONGEST.saturating_sub(self.body.len()) as u64;
            if head.length > room {
                self.pass_large(&head, pending, each);
                continue;
            }
            let start = pending.read;
            let Some((head, end)) = whole_frame(&pending.bytes, start) else { break };
            pending.read = end;
            if head.is_control() {
                // By itself, unless it is in the middle of a message.
                if start == pending.done && !pending.is_inside {
                    pending.hand_out(end, b"", each);
                }
                continue;
            }
            let from = self.body.len();
            self.body.extend_from_slice(&pending.bytes[start + head.size..end]);
            unmask(&head, &mut self.body[from..]);
            if head.is_last {
                let body = if std::mem::take(&mut pending.is_inside) { &b""[..] } else { &self.body[..] };
                pending.hand_out(end, body, each);
                self.body.clear();
            }
        }
        if self.is_lost {
            pending.read = pending.bytes.len();
            pending.hand_out(pending.read, b"", each);
        }
    }

    /// A frame whose message is too large to be held.
    fn pass_large(&mut self, head: &Head, pending: &mut Pending, each: &mut impl FnMut(&[u8], &[u8])) {
        let held = (pending.bytes.len() - pending.read - head.size) as u64;
        self.is_lost = head.length > u64::MAX / 2;
        self.skip = head.length.saturating_sub(held);
        self.is_last = head.is_last;
        self.body = Vec::new();
        pending.is_inside = self.skip > 0 || !head.is_last;
        pending.read = match self.skip {
            0 => pending.read + head.size + head.length as usize,
            _ => pending.bytes.len(),
        };
        pending.hand_out(pending.read, b"", each);
    }
}

/// The frame that begins at a place, and where it ends, if all of it is there.
fn whole_frame(bytes: &[u8], at: usize) -> Option<(Head, usize)> {
    let head = frame_head(bytes.get(at..)?)?;
    let end = (at + head.size).checked_add(usize::try_from(head.length).ok()?)?;
    (end <= bytes.len()).then_some((head, end))
}

/// A message in one frame, as clients send it.
fn frame(text: &[u8]) -> Vec<u8> {
    let mut out = vec![0x81];
    match text.len() {
        length @ ..126 => out.push(0x80 | length as u8),
        length @ ..=0xffff => {
            out.push(0x80 | 126);
            out.extend((length as u16).to_be_bytes());
        }
        length => {
            out.push(0x80 | 127);
            out.extend((length as u64).to_be_bytes());
        }
    }
    // Any number that nobody can tell in advance.
    let mask: [u8; 4] = (RandomState::new().hash_one(text) as u32).to_be_bytes();
    out.extend(mask);
    out.extend(text.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the messages, which are handed out with all bytes, however they come.
    fn cut(channel: Channel, bytes: &[u8], step: usize) -> (Vec<String>, bool, usize) {
        let mut units = Units::new(channel);
        let (mut bodies, mut all, mut most) = (Vec::new(), Vec::new(), 0);
        for part in bytes.chunks(step) {
            units.pass(part, |unit, body| {
                all.extend_from_slice(unit);
                bodies.push(String::from_utf8_lossy(body).into_owned());
            });
            most = most.max(units.rest().len());
        }
        all.extend_from_slice(units.rest());
        assert!(all == bytes, "bytes are missing, or in another order");
        bodies.retain(|body| !body.is_empty());
        (bodies, units.is_between(), most)
    }

    #[test]
    fn units_end_where_messages_do() {
        let frames =
            [&[0x81, 2, b'{', b'}', 0x01, 0x81, 1, 0, 0, 0, b'[' ^ 1][..], &[0x89, 0, 0x80, 1, b']']];
        for (channel, bytes, want) in [
            (Channel::Stream, &b"{\"a\":1}\n{\"b\":2}\n"[..], vec!["{\"a\":1}", "{\"b\":2}"]),
            (Channel::Stream, b"Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]", vec!["{}", "[1]"]),
            (Channel::Frames, &frames.concat(), vec!["{}", "[]"]),
        ] {
            for step in [1, 5, 100] {
                let (bodies, is_between, _) = cut(channel, bytes, step);
                assert_eq!((bodies, is_between), (want.iter().map(|&b| b.to_owned()).collect(), true));
                assert!(!cut(channel, &bytes[..bytes.len() - 1], step).1);
            }
        }
    }

    #[test]
    fn what_is_too_large_is_passed_on_and_not_held() {
        let size = LONGEST * 2;
        let mut line = vec![b'x'; size];
        line.extend(b"\n{}\n");
        let mut frame = [&[0x01, 1, b'['], &[0x80, 127][..], &(size as u64).to_be_bytes()].concat();
        frame.resize(frame.len() + size, b'x');
        frame.extend([0x81, 2, b'{', b'}']);
        for (channel, bytes) in [(Channel::Stream, line), (Channel::Frames, frame)] {
            let (bodies, is_between, most) = cut(channel, &bytes, 1 << 20);
            assert_eq!((bodies, is_between), (vec!["{}".to_owned()], true));
            assert!(most <= LONGEST + (1 << 20), "{most}");
        }
        // A length that nothing has.
        let mut endless = [&[0x01, 1, b'[', 0x80, 127][..], &[0xff; 8]].concat();
        endless.resize(8 << 20, b'x');
        assert!(cut(Channel::Frames, &endless, 1 << 16).2 < 1 << 17);
    }

    #[test]
    fn frames_for_a_server_can_be_read() {
        for size in [5, 200, 70_000] {
            let (text, units) = ("x".repeat(size), Units::new(Channel::Frames));
            let framed = units.framed(&text).unwrap_or_default();
            assert_ne!(framed[1] & 0x80, 0, "masked");
            assert_eq!(cut(Channel::Frames, &framed, 1000).0, [text]);
        }
        let pinged = [&[0x01, 1, b'['], &[0x89, 0][..], &[0x80, 1, b']']].concat();
        assert_eq!(Units::new(Channel::Frames).kept_of(&pinged), [0x89, 0]);
    }
}
