//! What makes the items of the peer's subscriptions, polled by the connection as its handlers are.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::task::{Context, Waker};

use sabir_proto::{Session, SinkEnd, SinkKey, SinkStats, Time};

use crate::handler::items::{BoxItems, SinkHandle};
use crate::peer::commands::{Shared, TaskWaker};

/// Marks the indices of streams among those of tasks that are ready.
pub(crate) const STREAM: usize = 1 << (usize::BITS - 1);

/// Slots that are kept for the next flood.
const KEPT_SLOTS: usize = 64;

#[derive(Default)]
pub(crate) struct SinkStreams {
    /// By the index of the sink.
    slots: Vec<Option<Stream>>,
    /// Those whose place another one has already, until the session tells how they ended.
    replaced: Vec<Stream>,
    wakers: Vec<(Arc<TaskWaker>, Waker)>,
    random: Option<RandomState>,
    given: u64,
}

struct Stream {
    sink: SinkKey,
    method: Box<str>,
    items: BoxItems,
}

impl Stream {
    /// What the session counts, and what it never got.
    fn with_lost(&self, stats: SinkStats) -> SinkStats {
        SinkStats { lost: stats.lost + self.items.lost(), ..stats }
    }
}

impl SinkStreams {
    /// Bits that nobody can guess: a keyed hash of a counter, with a key from the system.
    pub(crate) fn random(&mut self) -> u64 {
        self.given += 1;
        let mut hasher = self.random.get_or_insert_with(RandomState::new).build_hasher();
        hasher.write_u64(self.given);
        hasher.finish()
    }

    /// Starts a stream. It is polled with the next that is ready.
    pub(crate) fn open(&mut self, sink: SinkKey, method: &str, items: BoxItems, shared: &Arc<Shared>) {
        let index = sink.index();
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        while self.wakers.len() <= index {
            let waker = Arc::new(TaskWaker {
                index: self.wakers.len() | STREAM,
                shared: Arc::clone(shared),
                queued: Default::default(),
            });
            self.wakers.push((Arc::clone(&waker), Waker::from(waker)));
        }
        let before = self.slots[index].replace(Stream { sink, method: method.into(), items });
        let (waker, wake) = &self.wakers[index];
        waker.queued.leave();
        wake.wake_by_ref();
        self.replaced.extend(before);
    }

    /// Polls a stream that is ready. Its method and what it has sent, if it has ended its subscription. If the session
    /// has, that says why: the stream stays until then.
    pub(crate) fn poll(
        &mut self,
        index: usize,
        session: &mut Session,
        now: Time,
    ) -> Option<(Box<str>, SinkStats)> {
        let (waker, wake) = self.wakers.get(index)?;
        // Before it is polled: what wakes it from here on puts it back among the ready ones.
        waker.queued.leave();
        let stream = self.slots.get_mut(index)?.as_mut()?;
        let mut to = SinkHandle { session, now, sink: stream.sink, finished: false };
        let polled = stream.items.as_mut().poll(&mut Context::from_waker(wake), &mut to);
        if polled.is_pending() || !to.finished {
            return None;
        }
        let stats = session.sink_stats(stream.sink).unwrap_or_default();
        let stream = self.slots[index].take()?;
        let stats = stream.with_lost(stats);
        Some((stream.method, stats))
    }

    /// The session has ended a subscription: its stream is dropped. Its method and what it has sent.
    pub(crate) fn close(
        &mut self,
        sink: SinkKey,
        end: SinkEnd,
        stats: SinkStats,
    ) -> Option<(Box<str>, SinkStats)> {
        let slot = self.slots.get_mut(sink.index())?;
        let mut stream = match slot.take_if(|stream| stream.sink == sink) {
            Some(stream) => stream,
            None => {
                let at = self.replaced.iter().position(|stream| stream.sink == sink)?;
                self.replaced.swap_remove(at)
            }
        };
        stream.items.as_mut().closed(end);
        let stats = stream.with_lost(stats);
        Some((stream.method, stats))
    }

    /// The connection has ended.
    pub(crate) fn clear(&mut self) {
        self.slots = Vec::new();
        self.replaced = Vec::new();
    }

    /// Gives back what a flood left behind.
    pub(crate) fn shrink(&mut self) {
        if self.wakers.len() > KEPT_SLOTS {
            self.slots = Vec::new();
            self.wakers.truncate(KEPT_SLOTS);
            self.wakers.shrink_to_fit();
        }
    }

    #[cfg(debug_assertions)]
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.iter().all(Option::is_none) && self.replaced.is_empty()
    }

    /// How many wakers refer to the connection; `None` if somebody else holds one.
    pub(crate) fn own_wakers(&self) -> Option<usize> {
        let unshared = self.wakers.iter().all(|(waker, _)| Arc::strong_count(waker) == 2);
        unshared.then_some(self.wakers.len())
    }
}
