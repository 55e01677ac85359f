//! Events of `text/event-stream`.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::time::{Instant, Sleep, sleep};

/// Says nothing, and that the stream is alive.
pub(crate) const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// Tells when a stream that has nothing to say is to show that it is alive.
pub(crate) struct KeepAlive {
    sleep: Pin<Box<Sleep>>,
    every: Duration,
}

impl KeepAlive {
    pub(crate) fn new(every: Duration) -> Self {
        KeepAlive { sleep: Box::pin(sleep(every)), every }
    }

    /// Whether it is time. The next time is as long from now.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.sleep.as_mut().poll(cx));
        self.sleep.as_mut().reset(Instant::now() + self.every);
        Poll::Ready(())
    }
}

/// Which event it is, so that a client can say what it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventId {
    /// Whether the stream is the answer to a POST.
    pub(crate) posted: bool,
    pub(crate) stream: u64,
    pub(crate) number: u64,
}

impl EventId {
    fn write(self, out: &mut BytesMut) {
        out.put_slice(b"id: ");
        out.put_u8(if self.posted { b'p' } else { b'g' });
        out.put_slice(self.stream.to_string().as_bytes());
        out.put_u8(b'-');
        out.put_slice(self.number.to_string().as_bytes());
        out.put_u8(b'\n');
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (posted, rest) = match text.split_at_checked(1)? {
            ("p", rest) => (true, rest),
            ("g", rest) => (false, rest),
            _ => return None,
        };
        let (stream, number) = rest.split_once('-')?;
        Some(EventId { posted, stream: number_in(stream)?, number: number_in(number)? })
    }
}

/// A number as it is written: no sign, and no zeros before it.
fn number_in(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    is_plain.then(|| text.parse().ok()).flatten()
}

/// A message as an event.
pub(crate) fn event(id: Option<EventId>, message: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(message.len() + 48);
    if let Some(id) = id {
        id.write(&mut out);
    }
    // A result that was JSON already may have line breaks between its tokens; each line is a field.
    for line in message.split(|&byte| byte == b'\n' || byte == b'\r') {
        out.put_slice(b"data: ");
        out.put_slice(line);
        out.put_u8(b'\n');
    }
    out.put_u8(b'\n');
    out.freeze()
}

/// An event without data, from which on a client knows how to come back.
pub(crate) fn priming(id: EventId, retry: Duration) -> Bytes {
    let mut out = BytesMut::new();
    id.write(&mut out);
    out.put_slice(format!("retry: {}\ndata:\n\n", retry.as_millis()).as_bytes());
    out.freeze()
}
