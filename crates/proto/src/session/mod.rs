//! The engine that tracks calls in both directions. See [`Session`].

mod answer;
mod batch_replies;
mod batch_requests;
mod calls;
mod config;
mod event;
mod grow;
mod inbound;
mod input;
mod inspect;
mod item_text;
mod lost;
mod meta;
mod origins;
mod outbox;
mod outgoing;
mod oversize;
mod publish;
mod queue;
mod refusals;
mod report;
mod requests;
mod sinks;
mod subscribe;
mod subscriptions;
mod whole_messages;
#[cfg(test)]
mod work;

use std::collections::VecDeque;
use std::time::Duration;

pub use batch_replies::BatchKey;
use batch_replies::Gathering;
use batch_requests::BatchRequests;
use calls::Calls;
pub use config::{Config, Role, Usage};
pub use event::{
    CallError, CallKey, Cause, DeliveryFailure, Event, Origin, Outgoing, Output, Purpose, Report, RequestKey,
    SinkEnd, SinkKey, SubscriptionClosed, SubscriptionKey, Undelivered, Wait,
};
use inbound::Next;
use input::Input;
pub use lost::Lost;
pub use meta::TraceContext;
use outbox::Outbox;
pub use outgoing::{Batch, CallOptions, CancelOptions, SendError};
use publish::Tables;
pub use publish::{Accept, Finish, ItemError, Overflow, SinkStats};
use queue::Queue;
use requests::Requests;

use crate::byte_size::ByteSize;
use crate::dialect::Dialect;
use crate::frame::{Deframer, Framing};
use crate::limits::Limits;
use crate::message::decode::Entry;
use crate::message::error::{ErrorCode, ErrorObject};
use crate::time::Time;

/// Silence after which memory is given back that only a burst needed, how long to wait for such silence, and how
/// much memory is worth it.
const SHRINK_AFTER: Duration = Duration::from_secs(1);
const SHRINK_EVERY: Duration = Duration::from_secs(10);
const WORTH_SHRINKING: usize = 512 * 1024;

/// Entries that the lists of messages and events may keep room for.
const KEPT_ENTRIES: usize = 64;

/// How long the last answers of a shutdown may take to be sent.
const FLUSH: Duration = Duration::from_secs(1);

#[doc = include_str!("session.md")]
#[derive(Debug)]
pub struct Session {
    input: Input,
    core: Core,
}

/// Everything but the bytes that came, so that an event can borrow those while the rest changes.
#[derive(Debug)]
struct Core {
    dialect: Dialect,
    role: Role,
    limits: Limits,
    /// `None` where the transport delimits messages.
    deframer: Option<Deframer>,
    /// The messages in the input, where the transport delimits messages.
    whole: VecDeque<WholeMessage>,
    /// What the message belongs to that is being taken in.
    incoming: Origin,
    /// Bytes of the input that are done with.
    consumed: usize,
    /// Lent to the decoder for the entries of a batch.
    entries: Vec<Entry<'static>>,
    /// The batch that is being taken in.
    batch_requests: BatchRequests,
    queue: Queue,
    requests: Requests,
    calls: Calls,
    one_way: bool,
    gathering: Gathering,
    /// The last request that was answered with an error because its own answer could not be sent.
    replaced: Option<(RequestKey, ErrorCode)>,
    outbox: Outbox,
    /// Events that come before anything else.
    pending_events: VecDeque<Event<'static>>,
    /// A notification's handler runs: nothing else starts.
    barrier: bool,
    /// What subscriptions need, once there was one.
    subscriptions: Option<Box<Tables>>,
    /// Nothing is taken in, until a consumer has room.
    paused: bool,
    seed: u64,
    /// Unreadable messages in a row.
    error_replies: u32,
    /// Whether we ever sent a notification.
    notified: bool,
    phase: Phase,
    /// The peer sends no more, and then: everything that it sent is taken in.
    eof: bool,
    read: bool,
    /// Why the peer is gone: the session closes once everything that it sent is taken in.
    gone: Option<Lost>,
    now: Time,
    /// When something last came or went, or the application last gave a command.
    active: Time,
    /// Since when memory may have been taken that was not given back.
    shrink_since: Option<Time>,
    /// Whether the driver has waited since memory was last checked.
    waited_since_shrink: bool,
    /// Since when the peer has read nothing although there is something to send.
    write_blocked_since: Option<Time>,
    /// The driver has no memory for more.
    overloaded: bool,
    /// Bytes of answers that the driver has memory for.
    room: usize,
}

/// A message of a transport that delimits messages.
#[derive(Debug)]
struct WholeMessage {
    /// How many bytes of the input are its own: all, or how it begins.
    kept: usize,
    too_large: bool,
    origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    Open,
    /// Told to shut down: takes no new requests, finishes what is open, until the given moment.
    Draining(Time),
    /// Has answered everything it will answer: sends that, until the given moment.
    Flushing(Time),
    /// The peer sends no more: answers what is open.
    Ended,
    Closed(Cause),
}

/// What `poll_output` has decided on, before it borrows.
enum Pick {
    Start,
    BatchRequest,
    Wait,
    Done(Cause),
}

impl Session {
    /// A session in which nothing has happened yet.
    pub fn new(config: Config) -> Self {
        let deframer = match config.framing {
            Some(Framing::Whole) => None,
            framing => Some(Deframer::new(framing, config.limits.message_bytes)),
        };
        let core = Core {
            dialect: config.dialect,
            role: config.role,
            limits: config.limits,
            deframer,
            whole: VecDeque::new(),
            incoming: Origin::NONE,
            consumed: 0,
            entries: Vec::new(),
            batch_requests: BatchRequests::default(),
            queue: Queue::default(),
            requests: Requests::new(config.seed),
            calls: Calls::new(config.seed, config.ids_above),
            one_way: config.one_way,
            gathering: Gathering::default(),
            replaced: None,
            outbox: Outbox::new(config.framing.unwrap_or(Framing::Lines), config.limits.outbound_bytes),
            pending_events: VecDeque::new(),
            barrier: false,
            subscriptions: None,
            paused: false,
            seed: config.seed,
            error_replies: 0,
            notified: false,
            phase: Phase::Open,
            eof: false,
            read: false,
            gone: None,
            now: Time::START,
            active: Time::START,
            shrink_since: None,
            waited_since_shrink: false,
            write_blocked_since: None,
            overloaded: false,
            room: usize::MAX,
        };
        Session { input: Input::new(), core }
    }

    /// Room to read into. Call [`handle_read`](Self::handle_read) with how much was read.
    ///
    /// # Panics
    /// If the session was made with [`Framing::Whole`].
    pub fn space(&mut self) -> &mut [u8] {
        self.assert_stream();
        self.settle_input();
        self.input.space(self.core.limits.message_bytes)
    }

    /// `count` bytes were read into [`space`](Self::space).
    ///
    /// # Panics
    /// If the space was smaller.
    pub fn handle_read(&mut self, now: Time, count: usize) {
        self.core.act(now);
        self.input.filled(count);
    }

    /// These bytes came: the same as reading into [`space`](Self::space), for drivers that hold them
    /// already.
    ///
    /// # Panics
    /// If the session was made with [`Framing::Whole`].
    pub fn handle_bytes(&mut self, now: Time, bytes: &[u8]) {
        self.assert_stream();
        self.settle_input();
        self.core.act(now);
        self.input.push(bytes, self.core.limits.message_bytes);
    }

    /// The first `count` bytes of [`Wait::write`] were written.
    ///
    /// # Panics
    /// If there were not that many.
    pub fn handle_written(&mut self, now: Time, count: usize) {
        self.core.advance(now);
        self.core.outbox.wrote(count);
        if count > 0 {
            self.core.write_blocked_since = None;
            self.core.active = self.core.now;
        }
    }

    /// The peer will send no more. What it sent is still answered; our calls end.
    pub fn handle_eof(&mut self, now: Time) {
        self.core.advance(now);
        self.core.eof = true;
        if self.core.phase == Phase::Open {
            self.core.phase = Phase::Ended;
        }
        self.core.close_sinks();
    }

    /// The transport failed: nothing can be read or written any more. Every call ends with this cause.
    pub fn handle_lost(&mut self, now: Time, cause: impl Into<Lost>) {
        self.core.advance(now);
        self.core.close(Cause::Lost(cause.into()));
        self.core.consumed = 0;
        self.input = Input::new();
    }

    /// The transport refused a message for its size, and cannot go on behind it. It may have been the answer to any
    /// of our calls: they all end with [`Undelivered::too_large`], and the session with them.
    pub fn handle_oversize(&mut self, now: Time, limit: usize) {
        self.core.advance(now);
        let calls = self.core.calls.take_all();
        let mut reason = Undelivered::too_large(limit);
        if calls.len() > 1 {
            reason.reason =
                format!("an answer, to this call or to another one, is larger than {}", ByteSize(limit))
                    .into();
        }
        for call in calls {
            let outcome = Err(CallError::Undelivered(reason.clone()));
            self.core.pending_events.push_back(Event::Reply { call, outcome });
        }
        self.core.close(Cause::Lost(format!("a message was larger than {}", ByteSize(limit)).into()));
    }

    /// Ends the session gracefully: no new requests are taken, what is open is finished. What is still
    /// open after `grace` is answered [`SHUTTING_DOWN`](ErrorCode::SHUTTING_DOWN).
    pub fn shutdown(&mut self, now: Time, grace: Duration) {
        self.core.advance(now);
        if matches!(self.core.phase, Phase::Open | Phase::Ended) {
            self.core.phase = Phase::Draining(self.core.now + grace);
            self.core.close_sinks();
        }
    }

    /// What to do next. Call it after anything else was called, until it says [`Output::Wait`].
    pub fn poll_output(&mut self, now: Time) -> Output<'_> {
        self.poll(now, true)
    }

    /// The same for drivers that ask [`unsent`](Self::unsent), [`wants_read`](Self::wants_read) and
    /// [`deadline`](Self::deadline) when they need to know: [`Output::Wait`] is empty. That is quicker where nothing but
    /// an event matters.
    pub fn poll_event(&mut self, now: Time) -> Output<'_> {
        self.poll(now, false)
    }

    /// One function for both, so that what it calls is inlined.
    fn poll(&mut self, now: Time, with_wait: bool) -> Output<'_> {
        self.core.advance(now);
        let Session { input, core } = self;
        // Once in a while is enough.
        if std::mem::take(&mut core.waited_since_shrink) && core.shrink_at().is_some_and(|at| at <= core.now)
        {
            core.shrink(input);
        }
        let pick = loop {
            if let Some(event) = core.pending_events.pop_front() {
                // Events are large: without subscriptions they are not moved once more.
                if core.subscriptions.is_none() {
                    return Output::Event(event);
                }
                match core.told(event) {
                    Some(event) => return Output::Event(event),
                    None => continue,
                }
            }
            if let Phase::Closed(cause) = &core.phase {
                break Pick::Done(cause.clone());
            }
            if core.can_start_waiting() {
                break Pick::Start;
            }
            if !core.batch_requests.is_empty() {
                if core.has_batch_request() {
                    break Pick::BatchRequest;
                }
                core.queue_rest();
                continue;
            }
            // What has come counts before the time that is up: an answer beats its own deadline.
            match core.next_message(input.unread()) {
                Next::Event(event) if core.subscriptions.is_none() => return Output::Event(event),
                Next::Event(event) => match core.told(event) {
                    Some(event) => return Output::Event(event),
                    None => continue,
                },
                Next::Again => continue,
                Next::Nothing => {}
            }
            if core.subscriptions.is_some() && core.send_waiting() {
                continue;
            }
            if !core.end_overdue() && !core.finish() {
                break Pick::Wait;
            }
        };
        match pick {
            Pick::Start => Output::Event(core.start_waiting()),
            Pick::BatchRequest => Output::Event(core.next_batch_request()),
            Pick::Done(cause) => Output::Done(cause),
            Pick::Wait => {
                core.waited_since_shrink = true;
                if with_wait {
                    return Output::Wait(core.wait(input.capacity()));
                }
                core.note_unsent();
                Output::Wait(Wait { write: &[], read: false, deadline: None })
            }
        }
    }

    /// What can move the session on: the same as [`Output::Wait`] says, for drivers that want to know it
    /// again. It takes no event away, and says nothing of those that may be there.
    pub fn wait(&mut self) -> Wait<'_> {
        self.core.wait(self.input.capacity())
    }

    /// Bytes to write, if there are any: [`Wait::write`].
    pub fn unsent(&mut self) -> &[u8] {
        self.core.note_unsent();
        self.core.outbox.unsent()
    }

    /// Whether to read: [`Wait::read`].
    pub fn wants_read(&self) -> bool {
        self.core.wants_read()
    }

    /// When to poll again even if nothing comes: [`Wait::deadline`].
    pub fn deadline(&self) -> Option<Time> {
        self.core.deadline(self.input.capacity())
    }

    fn assert_stream(&self) {
        assert!(self.core.deframer.is_some(), "the session expects whole messages");
    }

    /// Frees the input that events may have borrowed from until now.
    fn settle_input(&mut self) {
        self.input.consume(std::mem::take(&mut self.core.consumed));
    }
}

impl Core {
    /// Time never goes back, whatever the driver says.
    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// Gives back memory that only a burst needed.
    fn shrink(&mut self, input: &mut Input) {
        input.consume(std::mem::take(&mut self.consumed));
        input.release();
        self.outbox.release();
        self.batch_requests.release();
        self.queue.release();
        self.gathering.release();
        self.requests.release();
        self.calls.release();
        if let Some(tables) = &mut self.subscriptions {
            tables.sinks.release();
            tables.ours.release();
        }
        if self.entries.capacity() > KEPT_ENTRIES {
            self.entries = Vec::new();
        }
        self.pending_events.shrink_to(KEPT_ENTRIES);
        self.whole.shrink_to(KEPT_ENTRIES);
        self.shrink_since = None;
    }

    /// Something came, or the application told the session to do something.
    #[inline]
    fn act(&mut self, now: Time) {
        self.advance(now);
        self.active = self.now;
        self.shrink_since.get_or_insert(self.now);
    }

    fn is_congested(&self) -> bool {
        self.outbox.load() >= self.limits.high_water
    }

    /// Deals with everything whose time is up. Whether there was anything.
    fn end_overdue(&mut self) -> bool {
        if let Some(call) = self.calls.expired(self.now) {
            self.calls.remove(call).inspect(|ended| self.send_cancel(call, ended, &CancelOptions::default()));
            self.pending_events.push_back(Event::Reply { call, outcome: Err(CallError::TimedOut) });
            return true;
        }
        let due = |at: Option<Time>| at.is_some_and(|at| at <= self.now);
        match self.phase {
            _ if due(self.stall_deadline()) => self.close(Cause::Stalled),
            _ if due(self.idle_deadline()) => self.close(Cause::Idle),
            Phase::Draining(until) if until <= self.now => self.give_up_draining(),
            Phase::Flushing(until) if until <= self.now => self.close(Cause::Shutdown),
            _ => return false,
        }
        true
    }

    /// The time for finishing is over: what is open gets an error, which may still be sent.
    fn give_up_draining(&mut self) {
        self.drop_sinks();
        self.end_calls(&Cause::Shutdown);
        for key in self.requests.keys() {
            self.answer_error(key, &ErrorObject::standard(ErrorCode::SHUTTING_DOWN));
        }
        self.queue.clear();
        self.barrier = false;
        self.phase = Phase::Flushing(self.now + FLUSH);
    }

    fn stall_deadline(&self) -> Option<Time> {
        Some(self.write_blocked_since? + self.limits.stall?)
    }

    fn idle_deadline(&self) -> Option<Time> {
        let idle = self.limits.idle?;
        let quiet = self.requests.len() == 0
            && self.calls.len() == 0
            && self.outbox.pending() == 0
            && !self.barrier
            && self.has_no_subscriptions()
            && self.phase == Phase::Open;
        quiet.then(|| self.active + idle)
    }

    /// Moves on towards the end, where nothing else is to be done. Whether anything changed.
    fn finish(&mut self) -> bool {
        let answered = self.requests.len() == 0 && self.queue.is_empty() && !self.barrier;
        let answered = answered && !self.has_unsent_items();
        match self.phase {
            _ if self.read && self.gone.is_some() => self.close_gone(),
            _ if self.read && (self.calls.len() > 0 || self.has_subscriptions()) => {
                self.end_calls(&Cause::Ended);
                self.end_subscriptions(&Cause::Ended);
            }
            Phase::Ended if self.read && answered && self.outbox.is_empty() => self.close(Cause::Ended),
            Phase::Draining(_) | Phase::Flushing(_)
                if answered && self.calls.len() == 0 && self.outbox.is_empty() =>
            {
                self.close(Cause::Shutdown);
            }
            _ => return false,
        }
        true
    }

    fn close(&mut self, cause: Cause) {
        if matches!(self.phase, Phase::Closed(_)) {
            return;
        }
        self.end_calls(&cause);
        self.end_subscriptions(&cause);
        self.drop_sinks();
        self.requests.clear();
        self.batch_requests.clear();
        self.queue.clear();
        self.gathering.clear();
        self.outbox.discard();
        self.barrier = false;
        self.write_blocked_since = None;
        self.phase = Phase::Closed(cause);
    }

    fn end_calls(&mut self, cause: &Cause) {
        for call in self.calls.take_all() {
            self.pending_events
                .push_back(Event::Reply { call, outcome: Err(CallError::Closed(cause.clone())) });
        }
    }

    /// Memory of all buffers and tables that the peer can fill.
    fn held(&self, input_capacity: usize) -> usize {
        input_capacity
            + self.outbox.capacity()
            + self.batch_requests.capacity()
            + self.queue.capacity()
            + self.gathering.held()
            + self.requests.held()
            + self.subscriptions.as_ref().map_or(0, |tables| tables.sinks.held() + tables.ours.held())
            + self.entries.capacity() * size_of::<Entry<'_>>()
            + self.pending_events.capacity() * size_of::<Event<'_>>()
            + self.whole.capacity() * size_of::<WholeMessage>()
    }

    /// When to give memory back: once nothing has come for a while, and now and then where there is always
    /// something.
    fn shrink_at(&self) -> Option<Time> {
        Some((self.active + SHRINK_AFTER).min(self.shrink_since? + SHRINK_EVERY))
    }

    fn wait(&mut self, input_capacity: usize) -> Wait<'_> {
        self.note_unsent();
        let (read, deadline) = (self.wants_read(), self.deadline(input_capacity));
        Wait { write: self.outbox.unsent(), read, deadline }
    }

    /// Since when there is something to write.
    fn note_unsent(&mut self) {
        if self.outbox.pending() > 0 {
            self.write_blocked_since.get_or_insert(self.now);
        } else {
            self.write_blocked_since = None;
        }
    }

    fn wants_read(&self) -> bool {
        !self.eof && !matches!(self.phase, Phase::Closed(_)) && self.may_take() && !self.overloaded
    }

    fn deadline(&self, input_capacity: usize) -> Option<Time> {
        let drain = match self.phase {
            Phase::Draining(until) | Phase::Flushing(until) => Some(until),
            _ => None,
        };
        let mut earliest = self.calls.deadline();
        for deadline in [self.stall_deadline(), self.idle_deadline(), drain].into_iter().flatten() {
            earliest = Some(earliest.map_or(deadline, |earliest| earliest.min(deadline)));
        }
        // Waking up a connection that holds little would cost more than it gives.
        let shrinks = self.held(input_capacity) > WORTH_SHRINKING;
        let shrink = if shrinks { self.shrink_at() } else { None };
        shrink.into_iter().chain(earliest).min()
    }
}
