//! What handlers touch while they run: the session, the calls that wait, and the commands of handles.

use std::collections::VecDeque;
use std::sync::Arc;

use sabir_proto::{
    BatchKey, CallKey, CancelOptions, Cause, Config, RequestKey, SendError, Session, SubscriptionKey, Time,
};
use tokio::time::Instant;

#[cfg(feature = "http")]
use crate::TraceContext;
use crate::peer::Peer;
use crate::peer::call_slot::{BegunOptions, DEFAULT_OPTIONS};
use crate::peer::commands::{
    AfterReply, BatchEntry, CallCommand, Command, OnBehalfOf, Room, end_batch, not_sent,
};
use crate::peer::subscription::SubscriptionSlot;
use crate::router::observe::{CallEnd, Observed, Side, Watches};
use crate::runtime::call_slots::CallSlots;
#[cfg(feature = "http")]
use crate::runtime::caller::HttpCallers;
use crate::runtime::streams::SinkStreams;
use crate::{CallError, ErrorObject};

/// Bytes that may wait for another connection before nothing more is read.
const ENOUGH_QUEUED: usize = 1 << 20;

/// The part of an engine that is given to handlers while they are polled.
pub(crate) struct SessionContext {
    pub(crate) session: Session,
    pub(crate) peer: Peer,
    #[cfg(feature = "http")]
    pub(crate) callers: HttpCallers,
    pub(crate) calls: CallSlots,
    /// What makes the items of the peer's subscriptions.
    pub(crate) streams: SinkStreams,
    /// Subscriptions of ours, by their index.
    pub(crate) subscriptions: Vec<Option<(SubscriptionKey, Arc<SubscriptionSlot>)>>,
    /// For how many of them nothing is read.
    pub(super) paused: usize,
    /// Calls that wait for room.
    waiting: VecDeque<(OnBehalfOf, Room, CallCommand, BegunOptions)>,
    /// Hooks of requests that are answered, but whose batch is not.
    in_batches: Vec<(BatchKey, Vec<AfterReply>)>,
    /// Kept for its memory.
    commands: Vec<Command>,
    /// The requests that are being handled, if anybody observes.
    pub(crate) watches: Option<Watches>,
    /// The method of the notification that is being handled, and what has come of it if that is an error.
    pub(crate) notification: String,
    pub(crate) failed: Option<ErrorObject>,
    /// What times are measured from. Outside a runtime, too: tokio's clock is the system's, unless paused.
    start: Instant,
    /// The time when the clock was last read. Replies use it: a clock read for each would be noticeable.
    pub(crate) now: Time,
}

impl SessionContext {
    pub(crate) fn new(config: Config, peer: Peer) -> Self {
        SessionContext {
            session: Session::new(config),
            watches: Watches::new(&peer.shared.routes),
            notification: String::new(),
            failed: None,
            peer,
            #[cfg(feature = "http")]
            callers: Default::default(),
            calls: CallSlots::default(),
            streams: SinkStreams::default(),
            subscriptions: Vec::new(),
            paused: 0,
            waiting: VecDeque::new(),
            in_batches: Vec::new(),
            commands: Vec::new(),
            start: Instant::now(),
            now: Time::START,
        }
    }

    /// Reads the clock.
    pub(crate) fn read_clock(&mut self) -> Time {
        self.now = Time::since(self.start.elapsed());
        self.now
    }

    /// A time of the session, as the runtime's clock tells it.
    pub(crate) fn instant(&self, at: Time) -> Option<Instant> {
        self.start.checked_add(at.elapsed())
    }

    /// Executes the commands of handles.
    #[inline]
    pub(crate) fn execute_commands(&mut self) {
        if self.peer.shared.has_commands.is_up() {
            self.execute_all();
        }
        if !self.waiting.is_empty() {
            self.send_waiting();
        }
        if !self.in_batches.is_empty() {
            self.run_batch_hooks();
        }
    }

    fn send_call(
        &mut self,
        on_behalf_of: OnBehalfOf,
        call: &CallCommand,
        options: &BegunOptions,
    ) -> Result<CallKey, SendError> {
        let options = options.as_deref().unwrap_or(&DEFAULT_OPTIONS);
        self.session.relate(on_behalf_of);
        let sent = self.session.call_raw(self.now, &call.method, call.params.as_ref(), options);
        #[cfg(feature = "http")]
        if let (Some(trace), Ok(key)) = (&options.trace, &sent)
            && let Some(headers) = self.peer.shared.headers.get()
        {
            let meta = call.params.as_ref().filter(|_| !options.relay).and_then(|params| params.get("_meta"));
            // Those who look there see what those see who look at the params.
            let own = meta.as_ref().and_then(TraceContext::from_meta);
            headers.keep_trace(key.id(), own.as_ref().unwrap_or(trace));
        }
        sent
    }

    /// Sends what has waited for room, as far as there is any.
    #[cold]
    fn send_waiting(&mut self) {
        while let Some((on_behalf_of, room, call, options)) = self.waiting.pop_front() {
            if call.slot.is_over() {
                continue;
            }
            match self.send_call(on_behalf_of, &call, &options) {
                Err(refused) if room.waits_after(&refused) => {
                    return self.waiting.push_front((on_behalf_of, room, call, options));
                }
                sent => self.keep_call(sent, call),
            }
        }
    }

    fn execute_all(&mut self) {
        let mut commands = std::mem::take(&mut self.commands);
        self.peer.shared.take_commands(&mut commands);
        // A handler may have run for long since the clock was read, and timeouts of calls start here.
        self.read_clock();
        for command in commands.drain(..) {
            self.execute(command);
        }
        self.commands = commands;
    }

    fn execute(&mut self, command: Command) {
        match command {
            Command::Call { on_behalf_of, room, call } => {
                let Some(options) = call.slot.begin() else { return };
                // Those that came first go first.
                if room != Room::Refused && !self.waiting.is_empty() {
                    return self.waiting.push_back((on_behalf_of, room, call, options));
                }
                match self.send_call(on_behalf_of, &call, &options) {
                    Err(refused) if room.waits_after(&refused) => {
                        self.waiting.push_back((on_behalf_of, room, call, options));
                    }
                    sent => self.keep_call(sent, call),
                }
            }
            Command::Batch { on_behalf_of, entries } => {
                self.session.relate(on_behalf_of);
                self.send_batch(&entries);
            }
            Command::Notify { on_behalf_of, method, params } => {
                self.session.relate(on_behalf_of);
                if self.session.notify_raw(self.now, &method, params.as_ref()).is_ok() {
                    self.tell(&Observed::Notification { side: Side::Ours, method: &method });
                }
            }
            Command::Cancel { slot, words } => {
                let options = words.as_deref().map_or_else(CancelOptions::default, |words| CancelOptions {
                    style: words.style,
                    reason: words.reason.as_deref(),
                });
                // Once it has ended, another call may have its index.
                if let Some(call) = slot.key()
                    && self.session.cancel_with(self.now, call, &options)
                {
                    drop(self.calls.take(call));
                }
            }
            Command::Subscribe { on_behalf_of, subscribe } => self.subscribe(on_behalf_of, &subscribe),
            Command::Unsubscribe(slot) => self.unsubscribe(&slot),
            Command::Resume(slot) => self.resume(&slot),
            Command::Expire { slot, options } => {
                if let Some(call) = slot.key() {
                    self.session.set_timeout(self.now, call, &options);
                }
            }
            Command::Settle(key) => {
                if self.session.id(key).is_none() {
                    self.peer.shared.tell_cancelled(key);
                    self.finished(key, None);
                }
            }
            Command::Progress { key, value } => drop(self.session.progress(self.now, key, &value)),
            Command::RelayProgress { key, params } => {
                self.session.relay_progress(self.now, key, &params);
            }
            Command::Id { key, tell } => {
                if let Some(id) = self.session.id(key) {
                    let _ = tell.send(id.into_owned());
                }
            }
            Command::SetDialect(dialect) => self.session.set_dialect(dialect),
            Command::Shutdown(grace) => {
                self.session.shutdown(self.now, grace);
                self.peer.shared.closing.tell();
            }
        }
    }

    /// Tells whoever observes the router.
    #[inline]
    pub(crate) fn tell(&self, event: &Observed<'_>) {
        self.peer.shared.routes.tell(event);
    }

    /// Whether to read: not while so much of what came waits for another connection.
    #[inline]
    pub(crate) fn wants_read(&self) -> bool {
        let holds_input =
            || self.peer.shared.holds_input.is_up() && self.session.usage().queued > ENOUGH_QUEUED;
        self.session.wants_read() && !holds_input()
    }

    /// Whether what is written may let something go on.
    pub(crate) fn waits_for_write(&self) -> bool {
        !self.waiting.is_empty() || self.session.waits_for_write()
    }

    /// The peer sends no more.
    pub(crate) fn handle_eof(&mut self) {
        self.session.handle_eof(self.now);
        self.peer.shared.closing.tell();
    }

    fn keep_call(&mut self, sent: Result<CallKey, SendError>, mut call: CallCommand) {
        call.is_settled = true;
        match sent {
            Ok(key) => {
                let method = std::mem::take(&mut call.method);
                call.slot.sent_with(key, method, call.params.take());
                self.calls.keep(key, &call.slot);
            }
            Err(refused) => call.slot.end(Err(CallError::NotSent(refused))),
        }
    }

    fn send_batch(&mut self, entries: &[BatchEntry]) {
        // Another thread may cancel a call at any moment: which of them are in the batch is decided once.
        let mut calls = Vec::new();
        let sent = self.session.batch(self.now).and_then(|mut batch| {
            for entry in entries {
                match entry {
                    BatchEntry::Call(call) => {
                        let Some(options) = call.slot.begin() else { continue };
                        let options = options.as_deref().unwrap_or(&DEFAULT_OPTIONS);
                        let key = batch.call_raw(&call.method, call.params.as_ref(), options)?;
                        calls.push((key, &call.slot));
                    }
                    BatchEntry::Notify { method, params } => batch.notify_raw(method, params.as_ref())?,
                }
            }
            batch.send()
        });
        match sent {
            Ok(()) => {
                for (call, slot) in calls {
                    slot.sent(call);
                    self.calls.keep(call, slot);
                }
                for entry in entries {
                    if let BatchEntry::Notify { method, .. } = entry {
                        self.tell(&Observed::Notification { side: Side::Ours, method });
                    }
                }
            }
            Err(refused) => end_batch(entries, &CallError::NotSent(refused)),
        }
    }

    /// A handler has finished. What it sent before goes out before its answer. A notification has none.
    #[inline]
    pub(crate) fn answer<R>(
        &mut self,
        key: Option<RequestKey>,
        outcome: crate::Result<R>,
        write: impl FnOnce(&mut Session, Time, RequestKey, &R) -> bool,
    ) {
        self.execute_commands();
        let Some(key) = key else {
            self.failed = outcome.err();
            return;
        };
        let has_hooks = self.peer.shared.has_hooks.is_up();
        let batch = if has_hooks { self.session.batch_of(key) } else { None };
        if has_hooks
            && let Some(instead) = self.peer.shared.take_otherwise(key)
            && outcome.is_ok()
        {
            return self.answer_otherwise(key, batch, instead);
        }
        match &outcome {
            Ok(result) => write(&mut self.session, self.now, key, result),
            Err(error) => self.reply_error(key, error),
        };
        if let Some(watches) = &mut self.watches {
            // What went out counts, which may be another error than the handler's, or one in place of its result.
            let end = match self.session.take_replaced(key) {
                Some(code) => CallEnd::Error(code),
                None => CallEnd::of_handler(&outcome),
            };
            watches.end(key, end);
        }
        if has_hooks {
            self.run_hooks(key, batch);
        }
    }

    #[cold]
    pub(super) fn reply_error(&mut self, key: RequestKey, error: &ErrorObject) -> bool {
        if self.peer.shared.routes.exposes_exceptions {
            return self.session.reply_error(self.now, key, &error.clone().with_exception());
        }
        self.session.reply_error(self.now, key, error)
    }

    /// A request is answered, in this batch if it came in one: its hooks run once the answer is on its way.
    #[inline]
    pub(crate) fn finished(&mut self, key: RequestKey, batch: Option<BatchKey>) {
        if self.peer.shared.has_hooks.is_up() {
            self.run_hooks(key, batch);
        }
    }

    #[cold]
    fn run_hooks(&mut self, key: RequestKey, batch: Option<BatchKey>) {
        let hooks = self.peer.shared.finished(key);
        match batch.filter(|batch| !hooks.is_empty() && self.session.is_gathering(*batch)) {
            Some(batch) => self.in_batches.push((batch, hooks)),
            None => hooks.into_iter().for_each(|hook| hook(self.peer.clone())),
        }
    }

    /// Whether there are hooks of batches whose answers are on their way.
    #[inline]
    pub(crate) fn has_due_hooks(&self) -> bool {
        self.in_batches.iter().any(|(batch, _)| !self.session.is_gathering(*batch))
    }

    /// Runs the hooks of batches whose answers are on their way.
    #[cold]
    fn run_batch_hooks(&mut self) {
        let session = &self.session;
        let sent = self.in_batches.extract_if(.., |(batch, _)| !session.is_gathering(*batch));
        for hook in sent.flat_map(|(_, hooks)| hooks).collect::<Vec<_>>() {
            hook(self.peer.clone());
        }
    }

    /// The connection has ended: everything that waits ends with the reason.
    pub(crate) fn close(&mut self, cause: Cause) -> Cause {
        if let Some(watches) = &mut self.watches {
            watches.end_all();
        }
        for command in self.peer.shared.close(&cause) {
            command.refuse(&not_sent(&cause));
        }
        for (_, _, call, _) in self.waiting.drain(..) {
            call.slot.end_unsent(&not_sent(&cause));
        }
        for (_, slot) in self.subscriptions.drain(..).flatten() {
            slot.closed(&CallError::Closed(cause.clone()));
        }
        self.streams.clear();
        self.in_batches.clear();
        for slot in self.calls.drain() {
            slot.end(Err(CallError::Closed(cause.clone())));
        }
        cause
    }
}
