//! What a connection is doing, as others see it: whether it may be closed to make room.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::task::Waker;

use tokio::time::Instant;

use crate::sync::lock;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Doing {
    /// Nothing: it has not said what it speaks, or waits for the next message.
    Nothing,
    /// It waits for calls that are running, or for a message that has begun to come.
    Waiting,
    /// It was asked to end.
    Ending,
}

/// The activity of a connection. Only whole messages count: a byte now and then keeps no place, and neither does a ping.
#[derive(Debug)]
pub(crate) struct Activity {
    start: Instant,
    /// When a message last came or went, in milliseconds since the start.
    last: AtomicU64,
    doing: AtomicU8,
    is_evicted: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Activity {
    /// A connection that has just come. Times are measured from `start`.
    pub(crate) fn new(start: Instant, now: Instant) -> Self {
        let activity = Activity {
            start,
            last: AtomicU64::new(0),
            doing: AtomicU8::new(Doing::Nothing as u8),
            is_evicted: AtomicBool::new(false),
            waker: Mutex::default(),
        };
        activity.touch(now);
        activity
    }

    /// A whole message came, or something was sent.
    pub(crate) fn touch(&self, now: Instant) {
        self.last.store(now.saturating_duration_since(self.start).as_millis() as u64, Relaxed);
    }

    pub(crate) fn set(&self, doing: Doing) {
        self.doing.store(doing as u8, Relaxed);
    }

    pub(crate) fn doing(&self) -> Doing {
        match self.doing.load(Relaxed) {
            _ if self.is_evicted() => Doing::Ending,
            0 => Doing::Nothing,
            _ => Doing::Waiting,
        }
    }

    /// Milliseconds since the start of the server when a message last came or went.
    pub(crate) fn last(&self) -> u64 {
        self.last.load(Relaxed)
    }

    /// Asks it to end.
    pub(crate) fn evict(&self) {
        self.is_evicted.store(true, Relaxed);
        if let Some(waker) = lock(&self.waker).take() {
            waker.wake();
        }
    }

    pub(crate) fn is_evicted(&self) -> bool {
        self.is_evicted.load(Relaxed)
    }

    /// Wakes this when the connection is asked to end.
    pub(crate) fn register(&self, waker: &Waker) {
        let mut kept = lock(&self.waker);
        match &mut *kept {
            Some(kept) => kept.clone_from(waker),
            None => *kept = Some(waker.clone()),
        }
    }

    /// Waits until the connection is asked to end.
    #[cfg(any(feature = "http", feature = "tls"))]
    pub(crate) async fn evicted(&self) {
        use std::task::Poll;
        std::future::poll_fn(|cx| {
            self.register(cx.waker());
            if self.is_evicted() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
