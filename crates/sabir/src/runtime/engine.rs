//! A session with its handlers, and no I/O: what the drivers with and without a runtime share.

use std::borrow::Cow;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use sabir_proto::{Cause, Config, Event, Output, Report, RequestKey, Time};

use crate::ErrorObject;
use crate::handler::task_pool::{Running, TaskPool};
use crate::peer::Peer;
use crate::peer::commands::{CancelWords, Shared, TaskWaker};
use crate::router::Routes;
#[cfg(debug_assertions)]
use crate::router::observe::Watches;
use crate::router::observe::{CallEnd, Observed, Side};
use crate::runtime::driving;
use crate::runtime::session_context::SessionContext;
use crate::runtime::starter::Starter;
use crate::runtime::streams::STREAM;
use crate::runtime::turn::TURN;

/// Handlers and reports between two looks at the clock, at the most.
const LONGEST_PACE: u32 = 16;

/// Slots for tasks that are kept for the next flood.
const KEPT_SLOTS: usize = 1024;

/// Called for every protocol violation of the peer.
pub(crate) type OnReport = Box<dyn FnMut(&Report<'_>) + Send>;

/// Bytes that are kept for the names of notifications.
const LONGEST_NAME: usize = 1024;

/// A session, the handlers that run for it, and the calls that wait.
pub(crate) struct Engine {
    pub(crate) context: SessionContext,
    /// By the index of the request.
    tasks: Vec<Option<(RequestKey, Running)>>,
    /// The notification whose handler is not done.
    notification: Option<Running>,
    task_pool: TaskPool,
    /// By the index of the request, and at 0 the notification's.
    wakers: Vec<(Arc<TaskWaker>, Waker)>,
    ready: Vec<usize>,
    congested: bool,
    on_report: Option<OnReport>,
    /// A caller was given its answer, and has not had a chance to look at it.
    answered: bool,
    /// What came behind that answer.
    held: Option<Event<'static>>,
    /// When this turn began.
    turn: Time,
    /// Handlers until the clock is looked at, and from one look to the next: more where they are fast.
    unclocked: u32,
    pace: u32,
    /// The turn is over, and there is more to do.
    pausing: bool,
}

/// What the engine does next.
enum Step {
    /// Polls the handler of a request or, without a key, of a notification; or refuses it.
    Run(Option<RequestKey>, Result<Running, ErrorObject>),
    Cancel(RequestKey, Option<String>),
    /// A notification was an item for a client of this proxy.
    Relayed,
    /// A caller was given its answer.
    Answered,
    /// Polls what makes the items of a subscription.
    Stream(usize),
    /// A consumer has much to take: it should have its turn.
    Pause,
    Nothing,
    /// It would start a handler, and a caller has not seen its answer yet.
    Hold(Event<'static>),
    Wait,
    Done(Cause),
}

/// Why `run` has come to a stop.
pub(crate) enum Stop {
    /// Only I/O or time can move it on.
    Waiting,
    /// Others are to have their turn first.
    Yielding,
    /// The same, but what is to be sent is sent before: this turn has been long.
    Pausing,
    Done(Cause),
}

impl Engine {
    pub(crate) fn new(config: Config, routes: Arc<Routes>, on_report: Option<OnReport>) -> Self {
        let peer = Peer::new(Arc::new(Shared::new(routes, config.one_way)));
        Engine {
            context: SessionContext::new(config, peer),
            tasks: Vec::new(),
            notification: None,
            task_pool: TaskPool::default(),
            wakers: Vec::new(),
            ready: Vec::new(),
            congested: false,
            on_report,
            answered: false,
            held: None,
            turn: Time::START,
            unclocked: 1,
            pace: 1,
            pausing: false,
        }
    }

    /// Whether nobody else holds on to it: no handler, and nothing that a handler has left behind, not even something to do.
    /// Nor does it hold much.
    pub(crate) fn is_unshared(&self) -> bool {
        let shared = &self.context.peer.shared;
        let wakers = self.wakers.iter().all(|(waker, _)| Arc::strong_count(waker) == 2);
        let streams = self.context.streams.own_wakers();
        !self.task_pool.is_large()
            && wakers
            && streams.is_some_and(|more| Arc::strong_count(shared) == 1 + self.wakers.len() + more)
            && Arc::weak_count(shared) == 0
            && !shared.has_work()
    }

    /// A new turn begins: whoever was given an answer has had a turn since. The clock was just read.
    pub(crate) fn resume(&mut self) {
        self.answered = false;
        self.pausing = false;
        self.turn = self.context.now;
    }

    /// Whether something can go on that `run` has left for the next turn.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty() && !self.context.session.is_congested()
    }

    /// Whether `run` has stopped because its turn was over.
    pub(crate) fn is_pausing(&self) -> bool {
        self.pausing
    }

    /// The clock was just read: the turn may be over without a handler having run, by reading and refusing alone.
    #[inline]
    pub(crate) fn check_turn(&mut self) {
        self.pausing = self.context.now - self.turn >= TURN;
    }

    /// Something was done for the peer: now and then, it is time to look at the clock.
    #[inline]
    fn count_step(&mut self) {
        self.unclocked -= 1;
        if self.unclocked == 0 {
            self.check_clock();
        }
    }

    /// Slow handlers are clocked one by one, fast ones by the dozen.
    #[inline(never)]
    fn check_clock(&mut self) {
        let before = self.context.now;
        let now = self.context.read_clock();
        self.pace = if now - before > TURN / 4 { 1 } else { (self.pace * 2).min(LONGEST_PACE) };
        self.unclocked = self.pace;
        self.pausing = now - self.turn >= TURN;
    }

    /// Lets everything happen that needs no I/O: handlers that can go on, commands, messages that came.
    ///
    /// When an answer has come, hooks of the call and handlers that await it see it before the handler of
    /// anything that came behind it starts. Other tasks are given a turn, without a guarantee on several
    /// threads.
    pub(crate) fn run(&mut self) -> Stop {
        let _driven = driving::drive(&self.context.peer.shared);
        self.run_ready();
        // However long those took, what has come moves on by a step.
        let mut stepped = false;
        loop {
            self.context.execute_commands();
            if self.pausing && stepped {
                return Stop::Pausing;
            }
            stepped = true;
            match self.next_step() {
                Step::Run(key, handler) => {
                    match handler {
                        Ok(running) => self.poll_first(key, running),
                        Err(error) => self.refuse(key, error),
                    }
                    self.count_step();
                }
                Step::Cancel(key, reason) => {
                    self.cancel(key, reason);
                    self.count_step();
                }
                Step::Relayed => {
                    self.context.session.finish_notification(self.context.now);
                    self.count_step();
                }
                Step::Answered => self.answered = true,
                Step::Stream(index) => {
                    self.context.poll_stream(index);
                    self.count_step();
                }
                Step::Pause => self.pausing = true,
                Step::Nothing => self.count_step(),
                Step::Hold(event) => {
                    self.held = Some(event);
                    return Stop::Yielding;
                }
                Step::Wait if self.context.has_due_hooks() => {}
                Step::Wait => {
                    self.shrink();
                    #[cfg(debug_assertions)]
                    self.check_tables();
                    return Stop::Waiting;
                }
                Step::Done(cause) => return Stop::Done(cause),
            }
        }
    }

    /// Takes the next event from the session. What an event borrows from the session is used here: a handler reads
    /// its params, and answers, progress and reports are passed on. The rest is left to the caller.
    #[inline]
    fn next_step(&mut self) -> Step {
        let output = match self.held.take() {
            Some(held) => Output::Event(held),
            None => self.context.session.poll_event(self.context.now),
        };
        let event = match output {
            Output::Event(event) => event,
            Output::Wait(_) => return Step::Wait,
            Output::Done(cause) => return Step::Done(cause),
        };
        let mut starter = Starter {
            task_pool: &mut self.task_pool,
            peer: &self.context.peer,
            #[cfg(feature = "http")]
            callers: &self.context.callers,
        };
        match event {
            Event::Request { .. } | Event::Notification { .. } if self.answered => {
                Step::Hold(event.into_owned())
            }
            Event::Request { key, method, params, meta, origin } => {
                if let Some(watches) = &mut self.context.watches {
                    watches.begin(key, &method);
                }
                Step::Run(Some(key), starter.request(key, &method, params.as_ref(), meta, origin))
            }
            Event::Notification { method, params } => {
                let shared = &self.context.peer.shared;
                shared.routes.tell(&Observed::Notification { side: Side::Theirs, method: &method });
                if let Some(relays) = shared.relays.get()
                    && relays.take_item(shared, &method, params.as_ref())
                {
                    return Step::Relayed;
                }
                let name = &mut self.context.notification;
                name.clear();
                // The peer chooses the name: a long one is not to stay.
                name.shrink_to(LONGEST_NAME);
                name.push_str(&method);
                Step::Run(None, starter.notification(&method, params.as_ref()))
            }
            Event::Cancel { key, reason } => Step::Cancel(key, reason.map(Cow::into_owned)),
            Event::Progress { call, value } => {
                if let Some(slot) = self.context.calls.get(call) {
                    slot.progress(value.into_owned());
                }
                Step::Nothing
            }
            Event::SinkReady { sink } => Step::Stream(sink.index()),
            Event::SinkClosed { sink, end, stats } => {
                self.context.sink_closed(sink, end, stats);
                Step::Nothing
            }
            Event::Subscribed { subscription, outcome } => {
                let outcome = outcome.map(sabir_proto::Id::into_owned);
                self.context.subscribed(subscription, outcome);
                Step::Nothing
            }
            Event::Item { subscription, item } => {
                let item = item.into_owned();
                if self.context.item(subscription, item) { Step::Pause } else { Step::Nothing }
            }
            Event::ItemsLost { subscription, count } => {
                if self.context.items_lost(subscription, count) {
                    Step::Pause
                } else {
                    Step::Nothing
                }
            }
            Event::SubscriptionEnded { subscription, end } => {
                let end = end.into_owned();
                self.context.subscription_ended(subscription, end);
                Step::Nothing
            }
            Event::Unsubscribed { subscription, outcome } => {
                self.context.unsubscribed(subscription, outcome);
                Step::Nothing
            }
            Event::Reply { call, outcome } => match self.context.calls.take(call) {
                Some(slot) => {
                    slot.end_with(outcome);
                    Step::Answered
                }
                None => Step::Nothing,
            },
            Event::Report(report) => {
                tell_report(&self.context.peer.shared.routes, &mut self.on_report, &report);
                Step::Nothing
            }
            _ => Step::Nothing,
        }
    }

    /// While nothing is open, nothing is kept for what was. Checked wherever debug assertions are on, so in all tests.
    #[cfg(debug_assertions)]
    fn check_tables(&self) {
        let SessionContext { session, peer, calls, watches, .. } = &self.context;
        if !session.is_idle() || peer.shared.closing.is_told() {
            return;
        }
        debug_assert!(self.tasks.iter().all(Option::is_none), "a handler is left of a request that is over");
        debug_assert!(self.context.streams.is_empty(), "a stream is left of a subscription that is over");
        debug_assert!(self.notification.is_none(), "a handler is left of a notification that is over");
        debug_assert!(watches.as_ref().is_none_or(Watches::is_empty), "an observed request never ended");
        debug_assert!(peer.shared.has_no_leftovers(), "something is left for a request that is over");
        if session.usage().calls == 0 {
            debug_assert!(calls.is_empty(), "a slot is left of a call that is over");
        }
        #[cfg(feature = "http")]
        if session.outgoing().is_none() {
            debug_assert!(
                self.context.callers.has_no_messages(),
                "a caller is left of a message that is over"
            );
        }
    }

    /// Polls a handler that has just started.
    #[inline]
    fn poll_first(&mut self, key: Option<RequestKey>, running: Running) {
        match key {
            Some(key) => {
                self.prepare_waker(key.index() + 1);
                self.poll_request(key, running);
            }
            None => {
                self.prepare_waker(0);
                self.poll_notification(running);
            }
        }
    }

    #[inline(always)]
    fn poll_request(&mut self, key: RequestKey, mut running: Running) {
        let index = key.index();
        let (_, waker) = &self.wakers[index + 1];
        let cx = &mut Context::from_waker(waker);
        if running.task.as_mut().poll(cx, &mut self.context, Some(key)).is_ready() {
            return self.task_pool.keep(running);
        }
        if self.tasks.len() <= index {
            self.tasks.resize_with(index + 1, || None);
        }
        self.tasks[index] = Some((key, running));
    }

    fn poll_notification(&mut self, mut running: Running) {
        let (_, waker) = &self.wakers[0];
        match running.task.as_mut().poll(&mut Context::from_waker(waker), &mut self.context, None) {
            Poll::Ready(()) => {
                self.task_pool.keep(running);
                if let Some(error) = self.context.failed.take() {
                    self.report_failed(error);
                }
                self.context.session.finish_notification(self.context.now);
            }
            Poll::Pending => self.notification = Some(running),
        }
    }

    /// The handler could not even start.
    #[cold]
    fn refuse(&mut self, key: Option<RequestKey>, error: ErrorObject) {
        match key {
            Some(key) => {
                self.context.answer(Some(key), Err::<(), _>(error), |_, _, _, ()| true);
            }
            None => {
                self.report_failed(error);
                self.context.session.finish_notification(self.context.now);
            }
        }
    }

    /// Nobody waits for an answer to a notification: a failure is reported.
    #[cold]
    fn report_failed(&mut self, error: ErrorObject) {
        let report = Report::NotificationFailed { method: self.context.notification.as_str().into(), error };
        tell_report(&self.context.peer.shared.routes, &mut self.on_report, &report);
    }

    /// Ensures that a slot has a waker, and re-arms it: the slot's task has not been polled yet.
    #[inline]
    fn prepare_waker(&mut self, index: usize) {
        match self.wakers.get(index) {
            Some((waker, _)) => waker.queued.reset(),
            None => self.make_wakers(index),
        }
    }

    #[cold]
    fn make_wakers(&mut self, index: usize) {
        while self.wakers.len() <= index {
            let waker = Arc::new(TaskWaker {
                index: self.wakers.len(),
                shared: Arc::clone(&self.context.peer.shared),
                queued: Default::default(),
            });
            self.wakers.push((Arc::clone(&waker), Waker::from(waker)));
        }
    }

    /// Takes what became ready, behind what a turn that was over has left. The next one is at the end.
    fn take_ready(&mut self) {
        let shared = &self.context.peer.shared;
        if self.ready.is_empty() {
            shared.take_ready(&mut self.ready);
            self.ready.reverse();
            return;
        }
        let mut more = Vec::new();
        shared.take_ready(&mut more);
        more.reverse();
        more.append(&mut self.ready);
        self.ready = more;
    }

    /// Polls the handlers that can go on, unless the peer leaves too much unread.
    fn run_ready(&mut self) {
        if self.context.session.is_congested() {
            return;
        }
        self.take_ready();
        while !self.pausing
            && let Some(index) = self.ready.pop()
        {
            if index & STREAM != 0 {
                // Streams may have an item at any time: what comes in has half of each turn.
                if self.context.now - self.turn >= TURN / 2 {
                    self.ready.push(index);
                    return;
                }
                self.count_step();
                self.context.poll_stream(index & !STREAM);
                continue;
            }
            self.count_step();
            // Before it is polled: what wakes it from here on puts it back among the ready ones.
            if let Some((waker, _)) = self.wakers.get(index) {
                waker.queued.leave();
            }
            match index.checked_sub(1) {
                None => {
                    if let Some(task) = self.notification.take() {
                        self.poll_notification(task);
                    }
                }
                Some(index) => {
                    if let Some((key, task)) = self.tasks.get_mut(index).and_then(Option::take) {
                        self.poll_request(key, task);
                    }
                }
            }
        }
    }

    /// The caller no longer wants the answer: the handler is dropped, unless it deals with that itself.
    fn cancel(&mut self, key: RequestKey, reason: Option<String>) {
        let shared = &self.context.peer.shared;
        if shared.has_hooks.is_up() && shared.tell_cancelled(key) {
            return;
        }
        if let Some(task) = self.tasks.get_mut(key.index()) {
            let words = CancelWords { style: self.context.session.cancelled_as(key), reason };
            driving::with_cancel_words(words, || *task = None);
        }
        if let Some(watches) = &mut self.context.watches {
            watches.end(key, CallEnd::Cancelled);
        }
        let batch = self.context.session.batch_of(key);
        self.context.session.abandon(self.context.now, key);
        self.context.finished(key, batch);
    }

    /// When to run again even if nothing comes.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let (session, pool) = (self.context.session.deadline(), self.task_pool.deadline());
        session.map_or(pool, |session| Some(pool.map_or(session, |pool| pool.min(session))))
    }

    /// Gives back what a flood left behind.
    #[inline]
    fn shrink(&mut self) {
        if self.task_pool.is_large() || self.task_pool.deadline().is_some() {
            self.task_pool.trim(self.context.now);
        }
        if self.tasks.len().max(self.wakers.len()) > KEPT_SLOTS && self.context.session.is_idle() {
            self.tasks = Vec::new();
            self.wakers.truncate(KEPT_SLOTS);
            self.wakers.shrink_to_fit();
            self.context.streams.shrink();
        }
    }

    pub(crate) fn tell_congestion(&mut self) {
        let congested = self.context.session.is_congested();
        if congested != self.congested {
            self.congested = congested;
            self.context.peer.shared.set_congested(congested);
        }
    }
}

impl Engine {
    /// Ends, unless it has ended, and ends everything that waits. Returns why it ended.
    pub(crate) fn end(&mut self) -> Cause {
        if let Some(cause) = self.context.peer.cause() {
            return cause;
        }
        self.context.session.handle_lost(self.context.now, "the connection was dropped");
        self.answered = false;
        // All remaining events are handled in one go.
        while let Stop::Pausing = self.run() {
            self.resume();
        }
        self.context.close(Cause::Lost("the connection was dropped".into()))
    }
}

fn tell_report(routes: &Routes, on_report: &mut Option<OnReport>, report: &Report<'_>) {
    routes.tell(&Observed::Report(report));
    if let Some(on_report) = on_report {
        on_report(report);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.end();
    }
}
