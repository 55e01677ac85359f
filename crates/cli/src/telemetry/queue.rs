//! What waits to be sent to the collector. A push never waits: what does not fit is counted.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::span::{Log, Span};

/// Spans that wait, and logs.
const MOST: usize = 2048;

/// What goes into one request.
const BATCH: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// A request is full, or the program ends.
    pub(super) wake: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    spans: VecDeque<Span>,
    logs: VecDeque<Log>,
    counts: Counts,
    /// Taken out, and on their way.
    taken: u64,
    is_closed: bool,
}

/// What became of spans and logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    /// There was no room for them.
    pub(crate) dropped: u64,
    /// The collector did not take them.
    pub(crate) failed: u64,
}

impl Queue {
    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn span(&self, span: Span) {
        let mut waiting = self.lock();
        if waiting.spans.len() >= MOST || waiting.is_closed {
            waiting.counts.dropped += 1;
            return;
        }
        waiting.spans.push_back(span);
        if waiting.spans.len() == BATCH {
            self.wake.notify_one();
        }
    }

    pub(super) fn log(&self, log: Log) {
        let mut waiting = self.lock();
        if waiting.logs.len() >= MOST || waiting.is_closed {
            waiting.counts.dropped += 1;
            return;
        }
        waiting.logs.push_back(log);
        if waiting.logs.len() == BATCH {
            self.wake.notify_one();
        }
    }

    /// The next spans to send, as many as fit into a request.
    pub(super) fn take_spans(&self) -> Vec<Span> {
        let mut waiting = self.lock();
        let count = waiting.spans.len().min(BATCH);
        waiting.taken += count as u64;
        waiting.spans.drain(..count).collect()
    }

    pub(super) fn take_logs(&self) -> Vec<Log> {
        let mut waiting = self.lock();
        let count = waiting.logs.len().min(BATCH);
        waiting.taken += count as u64;
        waiting.logs.drain(..count).collect()
    }

    pub(super) fn is_full(&self) -> bool {
        let waiting = self.lock();
        waiting.spans.len() >= BATCH || waiting.logs.len() >= BATCH
    }

    /// So many were sent, and so many refused.
    pub(super) fn settled(&self, sent: u64, failed: u64) {
        let mut waiting = self.lock();
        waiting.taken = waiting.taken.saturating_sub(sent + failed);
        waiting.counts.sent += sent;
        waiting.counts.failed += failed;
    }

    /// What has come of all that is settled.
    pub(super) fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// What has come of all at the end: what still waits will not be sent.
    pub(super) fn final_counts(&self) -> Counts {
        let waiting = self.lock();
        let left = (waiting.spans.len() + waiting.logs.len()) as u64 + waiting.taken;
        Counts { failed: waiting.counts.failed + left, ..waiting.counts }
    }

    /// Nothing more is taken.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.wake.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::span::{Attributes, Place, SpanKind};

    #[test]
    fn what_does_not_fit_is_dropped_and_counted() {
        let queue = Queue::default();
        let now = std::time::SystemTime::now();
        let span = Span {
            place: Place { trace: 1, span: 1, parent: None, is_sampled: true },
            name: "add".to_owned(),
            kind: SpanKind::Server,
            start: now,
            end: now,
            is_error: false,
            attributes: Attributes::default(),
        };
        for _ in 0..MOST + 7 {
            queue.span(span.clone());
        }
        assert!(queue.is_full());
        assert_eq!(queue.final_counts(), Counts { sent: 0, dropped: 7, failed: MOST as u64 });
        assert_eq!(queue.counts(), Counts { sent: 0, dropped: 7, failed: 0 });
        let mut taken = 0;
        loop {
            let spans = queue.take_spans();
            assert!(spans.len() <= BATCH);
            if spans.is_empty() {
                break;
            }
            taken += spans.len();
            queue.settled(spans.len() as u64, 0);
        }
        queue.close();
        queue.span(span);
        assert_eq!(
            (taken, queue.final_counts()),
            (MOST, Counts { sent: MOST as u64, dropped: 8, failed: 0 })
        );
    }
}
