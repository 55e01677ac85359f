//! Recognises from the first bytes of an answer that a peer speaks another protocol or framing than expected. Waiting
//! for a message would be in vain.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use sabir::Framing;
use tokio::sync::Notify;

use crate::peer::PeerOptions;

/// Bytes at the start of a line that are looked at. `Content-Length:` has 15.
const START: usize = 16;

/// What a peer speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detected {
    Tls,
    Http,
    /// JSON, one message per line.
    Lines,
    /// Messages behind `Content-Length` headers.
    Headers,
    Unknown,
}

impl Detected {
    /// What a connection speaks that begins with these bytes.
    pub(crate) fn of(start: &[u8]) -> Detected {
        let begins =
            |with: &[u8]| start.len() >= with.len() && start[..with.len()].eq_ignore_ascii_case(with);
        match start {
            // A record of TLS: an alert or a handshake, in any version.
            [0x15 | 0x16, 3, ..] => Detected::Tls,
            [b'{' | b'[', ..] => Detected::Lines,
            // Some servers answer a request that is not HTTP with a bare page.
            [b'<', ..] => Detected::Http,
            _ if begins(b"HTTP/") => Detected::Http,
            _ if begins(b"content-length:") || begins(b"content-type:") => Detected::Headers,
            _ => Detected::Unknown,
        }
    }
}

/// Looks at what a stream receives.
#[derive(Debug)]
pub(crate) struct Detector {
    framing: Framing,
    /// A program may print anything before its first message.
    is_socket: bool,
    /// The start of the current line.
    line: Vec<u8>,
    first_line: bool,
    done: bool,
}

impl Detector {
    pub(crate) fn new(options: &PeerOptions) -> Self {
        Detector {
            framing: options.wire_framing(),
            is_socket: options.target.scheme().is_some(),
            line: Vec::new(),
            first_line: true,
            done: options.wire_framing() == Framing::Whole,
        }
    }

    /// The protocol of the peer, once it is known not to be the expected one.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Option<Detected> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.done {
                return None;
            }
            if self.line.len() < START {
                self.line.extend(part.iter().take(START - self.line.len()));
                if let found @ Some(_) = self.inspect() {
                    self.done = true;
                    return found;
                }
            }
            if part.ends_with(b"\n") {
                self.line.clear();
                self.first_line = false;
            }
        }
        None
    }

    fn inspect(&mut self) -> Option<Detected> {
        let protocol = Detected::of(&self.line);
        match (protocol, self.framing) {
            (Detected::Tls | Detected::Http, _) if self.is_socket && self.first_line => Some(protocol),
            (Detected::Headers, Framing::Lines) | (Detected::Lines, Framing::Headers) => Some(protocol),
            // What follows are bodies.
            (Detected::Headers, Framing::Headers) => {
                self.done = true;
                None
            }
            _ => None,
        }
    }
}

/// Tells those who wait for a peer that it speaks another protocol.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch(Arc<Watched>);

#[derive(Debug, Default)]
struct Watched {
    found: OnceLock<Detected>,
    notify: Notify,
    received: AtomicBool,
}

impl Watch {
    /// To be shown what a connection receives.
    pub(crate) fn tap(&self, options: &PeerOptions) -> WatchTap {
        WatchTap { watched: Arc::clone(&self.0), detector: Detector::new(options) }
    }

    /// What the peer speaks instead, if that is known.
    pub(crate) fn found(&self) -> Option<Detected> {
        self.0.found.get().copied()
    }

    /// Whether anything was received.
    pub(crate) fn received(&self) -> bool {
        self.0.received.load(Ordering::Relaxed)
    }

    /// Waits until the peer is known to speak something else.
    pub(crate) async fn mismatch(&self) -> Detected {
        loop {
            if let Some(protocol) = self.found() {
                return protocol;
            }
            self.0.notify.notified().await;
        }
    }
}

/// Looks at what one connection receives.
#[derive(Debug)]
pub(crate) struct WatchTap {
    watched: Arc<Watched>,
    detector: Detector,
}

impl WatchTap {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.watched.received.fetch_or(!bytes.is_empty(), Ordering::Relaxed);
        if let Some(protocol) = self.detector.feed(bytes) {
            let _ = self.watched.found.set(protocol);
            self.watched.notify.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(framing: Framing, is_socket: bool, text: &[u8], want: Option<Detected>) {
        for size in [1, 3, text.len().max(1)] {
            let detector = Detector { framing, is_socket, line: Vec::new(), first_line: true, done: false };
            let mut detector = detector;
            let found = text.chunks(size).find_map(|chunk| detector.feed(chunk));
            assert_eq!(found, want, "{framing:?} {} in chunks of {size}", text.escape_ascii());
        }
    }

    #[test]
    fn another_protocol_is_recognised() {
        use Framing::{Headers, Lines};
        let (answer, headers) = (b"{\"jsonrpc\":\"2.0\"}\n", b"Content-Length: 2\r\n\r\n{}");
        check(Lines, true, answer, None);
        check(Lines, true, headers, Some(Detected::Headers));
        check(Lines, false, b"Starting\ncontent-LENGTH: 2\r\n\r\n{}", Some(Detected::Headers));
        check(Headers, true, answer, Some(Detected::Lines));
        check(Headers, false, b"Starting\n{}\n", Some(Detected::Lines));
        check(Headers, true, headers, None);
        check(
            Headers,
            true,
            b"Content-Type: x\r\nContent-Length: 3\r\n\r\n{\n}Content-Length: 2\r\n\r\n{}",
            None,
        );
        check(Lines, true, b"HTTP/1.1 400 Bad Request\r\n\r\n", Some(Detected::Http));
        check(Headers, true, b"HTTP/1.1 400 Bad Request\r\n\r\n", Some(Detected::Http));
        check(Lines, true, b"<!doctype html>\n", Some(Detected::Http));
        check(Lines, true, b"\x15\x03\x01\x00\x02\x02\x46", Some(Detected::Tls));
        // A program prints what it likes.
        check(Lines, false, b"HTTP/1.1 server at port 80\n{}\n", None);
        check(Lines, false, b"<info> starting\n{}\n", None);
        check(Lines, true, b"", None);
    }
}
