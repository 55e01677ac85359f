//! What an application may ask of a session, and set, at any time.

use super::{BatchKey, Phase, RequestKey, Session, Usage};
use crate::dialect::Dialect;
use crate::frame::Framing;
use crate::message::id::Id;

impl Session {
    /// The id of a request that is not answered yet.
    pub fn id(&self, key: RequestKey) -> Option<Id<'_>> {
        self.core.requests.get(key).map(|slot| Id::trusted(slot.id()))
    }

    /// The batch that a request came in which is not answered yet. Its answer goes out with the others of the batch.
    pub fn batch_of(&self, key: RequestKey) -> Option<BatchKey> {
        let batch = self.core.requests.get(key)?.batch?;
        Some(self.core.gathering.key(batch))
    }

    /// Whether the answers of a batch wait for the last of them.
    pub fn is_gathering(&self, batch: BatchKey) -> bool {
        self.core.gathering.is_open(batch)
    }

    /// Speaks another dialect from the next message on. Some protocols agree on one in their first messages.
    pub fn set_dialect(&mut self, dialect: Dialect) {
        self.core.dialect = dialect;
    }

    /// The driver has no memory for more work, or has some again. Until then nothing is read, and requests that have
    /// come are answered [`OVERLOADED`](crate::ErrorCode::OVERLOADED). What is running goes on.
    pub fn set_overloaded(&mut self, overloaded: bool) {
        self.core.overloaded = overloaded;
    }

    /// The driver has memory for so many bytes of answers that wait to be sent. Batches that may need more are answered
    /// [`OVERLOADED`](crate::ErrorCode::OVERLOADED) as a whole, and invalid messages are reported and not answered. As much as
    /// the [`Limits`](crate::Limits) allow, unless this says less.
    pub fn set_room(&mut self, bytes: usize) {
        self.core.room = bytes;
    }

    /// Whether the peer leaves so much unread that handlers should rest.
    pub fn is_congested(&self) -> bool {
        self.core.is_congested()
    }

    /// Whether what is written may let it say more: it is congested, has subscribers, or is about to end. If not, there is
    /// no need to poll it behind [`handle_written`](Self::handle_written). Ask before that.
    pub fn waits_for_write(&self) -> bool {
        let core = &self.core;
        core.is_congested()
            || core.is_outbound_full()
            || core.eof
            || core.phase != Phase::Open
            || core.subscriptions.as_ref().is_some_and(|tables| !tables.sinks.is_empty())
    }

    /// Whether everything that came is dealt with: nothing waits, and no handler runs.
    pub fn is_idle(&self) -> bool {
        let core = &self.core;
        core.whole.is_empty()
            && core.pending_events.is_empty()
            && core.requests.len() == 0
            && core.batch_requests.is_empty()
            && core.queue.is_empty()
            && core.subscriptions.as_ref().is_none_or(|tables| tables.sinks.is_empty())
            && !core.barrier
    }

    /// How much the session holds right now.
    pub fn usage(&self) -> Usage {
        let core = &self.core;
        Usage {
            running: core.requests.running(),
            requests: core.requests.len(),
            calls: core.calls.len(),
            queued: core.queue.bytes(),
            sinks: core.subscriptions.as_ref().map_or(0, |tables| tables.sinks.len()),
            subscriptions: core.subscriptions.as_ref().map_or(0, |tables| tables.ours.len()),
            unsent: core.outbox.pending(),
            unread: self.input.unread().len() - core.consumed,
            bytes: core.held(self.input.capacity()) + core.requests.running_bytes(),
        }
    }

    /// The framing in use, once it is known.
    pub fn framing(&self) -> Option<Framing> {
        match &self.core.deframer {
            Some(deframer) => deframer.framing(),
            None => Some(Framing::Whole),
        }
    }
}
