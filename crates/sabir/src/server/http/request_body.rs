//! Taking in a body: whole, not too large, and in time.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body::Body;
use tokio::time::sleep;

use crate::server::budget::{MemoryBudget, Reservation};
use crate::server::http::config::Http;
use crate::server::http::response::Refusal;

/// How long a body may take to come, unless that is set.
const DEADLINE: Duration = Duration::from_secs(30);

/// How long a body may take to come.
pub(crate) fn deadline(http: &Http) -> Duration {
    http.body_deadline.unwrap_or(DEADLINE)
}

/// Whether a body says of itself that it is too large. Then it need not be sent.
pub(crate) fn check_length(headers: &HeaderMap, limit: usize) -> Result<(), Refusal> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > limit as u64) { Err(Refusal::TOO_LARGE) } else { Ok(()) }
}

/// The body, in one piece, and the room that was reserved for it. One that came in one piece is not copied.
pub(crate) async fn whole<B: Body>(
    mut body: Pin<&mut B>,
    limit: usize,
    deadline: Duration,
    budget: &Arc<MemoryBudget>,
) -> Result<(Bytes, Reservation), Refusal> {
    let mut gathered = Gathered::default();
    let mut reservation = Reservation::default();
    let mut timer_deadline = None;
    poll_fn(|cx| {
        loop {
            let frame = match body.as_mut().poll_frame(cx) {
                Poll::Pending => break,
                Poll::Ready(None) => return Poll::Ready(Ok(gathered.take())),
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(Refusal::BROKEN)),
                Poll::Ready(Some(Ok(frame))) => frame,
            };
            if let Ok(mut data) = frame.into_data() {
                let length = data.remaining();
                if length > limit - gathered.len() {
                    return Poll::Ready(Err(Refusal::TOO_LARGE));
                }
                gathered.push(data.copy_to_bytes(length));
                if !reservation.resize(budget, gathered.capacity()) {
                    return Poll::Ready(Err(Refusal::OVERLOADED));
                }
            }
            if body.is_end_stream() {
                return Poll::Ready(Ok(gathered.take()));
            }
        }
        // Most bodies are there already: a timer is made for those that are not.
        let timer_deadline = timer_deadline.get_or_insert_with(|| Box::pin(sleep(deadline)));
        Pin::new(timer_deadline).poll(cx).map(|()| Err(Refusal::TOO_SLOW))
    })
    .await
    .map(|message| (message, reservation))
}

/// Bytes of a body that nobody wants, and how long they are waited for.
const DROPPED: usize = 256 * 1024;
const DROPPED_TIME: Duration = Duration::from_millis(500);

/// Reads the rest of a body that nobody wants. Whether it ended: if so, the next request can be read.
pub(crate) async fn drop_rest<B: Body>(mut body: Pin<&mut B>) -> bool {
    let mut left = DROPPED;
    let rest = poll_fn(|cx| {
        loop {
            if body.is_end_stream() {
                return Poll::Ready(true);
            }
            match ready!(body.as_mut().poll_frame(cx)) {
                None => return Poll::Ready(true),
                Some(Err(_)) => return Poll::Ready(false),
                Some(Ok(frame)) => {
                    let length = frame.data_ref().map_or(0, Buf::remaining);
                    let Some(less) = left.checked_sub(length) else { return Poll::Ready(false) };
                    left = less;
                }
            }
        }
    });
    tokio::time::timeout(DROPPED_TIME, rest).await.unwrap_or(false)
}

#[derive(Default)]
struct Gathered {
    first: Bytes,
    all: BytesMut,
}

impl Gathered {
    fn len(&self) -> usize {
        self.first.len().max(self.all.len())
    }

    /// Bytes that it takes up.
    fn capacity(&self) -> usize {
        self.first.len() + self.all.capacity()
    }

    fn push(&mut self, more: Bytes) {
        if self.len() == 0 {
            self.first = more;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&more);
    }

    fn take(&mut self) -> Bytes {
        if self.all.is_empty() { std::mem::take(&mut self.first) } else { self.all.split().freeze() }
    }
}
