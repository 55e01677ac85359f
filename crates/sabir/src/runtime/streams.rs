//! What makes the items of the peer's subscriptions, polled by the connection as its handlers are.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use sabir_proto::{Session, SinkKey, SinkStats, Time};

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
    wakers: Vec<(Arc<TaskWaker>, Waker)>,
    random: Option<RandomState>,
    given: u64,
}

struct Stream {
    sink: SinkKey,
    method: Box<str>,
    items: BoxItems,
}

impl SinkStreams {
    /// Bits that nobody can guess: a keyed hash of a counter, with a key from the system.
    pub(crate) fn random(&mut self) -> u64 {
        self.given += 1;
        let mut hasher = self.random.get_or_insert_with(RandomState::new).build_hasher();
        hasher.write_u64(self.given);
        hasher.finish()
    }

    /// Starts a stream. It is polled with the next that is ready. The method of the one that was in its place, if that
    /// has ended and nobody has heard of it yet.
    pub(crate) fn open(
        &mut self,
        sink: SinkKey,
        method: &str,
        items: BoxItems,
        shared: &Arc<Shared>,
    ) -> Option<Box<str>> {
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
        before.map(|before| before.method)
    }

    /// Polls a stream that is ready. How it ended, if it has.
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
        let mut to = SinkHandle { session, now, sink: stream.sink };
        match stream.items.as_mut().poll(&mut Context::from_waker(wake), &mut to) {
            Poll::Pending => None,
            Poll::Ready(()) => {
                let stats = session.sink_stats(stream.sink).unwrap_or_default();
                let stream = self.slots[index].take()?;
                Some((stream.method, stats))
            }
        }
    }

    /// A subscription has ended: its stream is dropped. The name of its method.
    pub(crate) fn close(&mut self, sink: SinkKey) -> Option<Box<str>> {
        let slot = self.slots.get_mut(sink.index())?;
        let stream = slot.take_if(|stream| stream.sink == sink)?;
        Some(stream.method)
    }

    /// The connection has ended.
    pub(crate) fn clear(&mut self) {
        self.slots = Vec::new();
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
        self.slots.iter().all(Option::is_none)
    }

    /// How many wakers refer to the connection; `None` if somebody else holds one.
    #[cfg(feature = "http")]
    pub(crate) fn own_wakers(&self) -> Option<usize> {
        let unshared = self.wakers.iter().all(|(waker, _)| Arc::strong_count(waker) == 2);
        unshared.then_some(self.wakers.len())
    }
}
