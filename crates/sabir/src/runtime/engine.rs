//! A session with its handlers, and no I/O: what the drivers with and without a runtime share.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use sabir_proto::{Cause, Config, Event, Origin, Output, Report, RequestKey};

use crate::handler::ctx::Ctx;
use crate::handler::task_pool::{Running, Spares};
use crate::peer::Peer;
use crate::peer::commands::{Shared, TaskWaker};
use crate::router::Routes;
use crate::router::observe::{Observed, Side};
use crate::runtime::session_context::Desk;
use crate::{ErrorCode, ErrorObject};

/// Called with everything that the peer does wrong.
pub(crate) type OnReport = Box<dyn FnMut(&Report<'_>) + Send>;

/// A session, the handlers that run for it, and the calls that wait.
pub(crate) struct Engine {
    pub(crate) desk: Desk,
    /// By the index of the request.
    tasks: Vec<Option<(RequestKey, Running)>>,
    /// The notification whose handler is not done.
    notification: Option<Running>,
    spares: Spares,
    /// By the index of the request, and at 0 the notification's.
    wakers: Vec<(Arc<TaskWaker>, Waker)>,
    ready: Vec<usize>,
    congested: bool,
    on_report: Option<OnReport>,
    /// A caller was given its answer, and has not had a chance to look at it.
    answered: bool,
    /// What came behind that answer.
    held: Option<Event<'static>>,
}

/// Why `run` has come to a stop.
pub(crate) enum Stop {
    /// Only I/O or time can move it on.
    Waiting,
    /// Others are to have their turn first.
    Yielding,
    Done(Cause),
}

impl Engine {
    pub(crate) fn new(config: Config, routes: Arc<Routes>, on_report: Option<OnReport>) -> Self {
        let peer = Peer::new(Arc::new(Shared::new(routes)));
        Engine {
            desk: Desk::new(config, peer),
            tasks: Vec::new(),
            notification: None,
            spares: Spares::default(),
            wakers: Vec::new(),
            ready: Vec::new(),
            congested: false,
            on_report,
            answered: false,
            held: None,
        }
    }

    /// Whether nobody else holds on to it: no handler, and nothing that a handler has left behind.
    #[cfg(feature = "http")]
    pub(crate) fn is_unshared(&self) -> bool {
        let shared = &self.desk.peer.shared;
        let wakers = self.wakers.iter().all(|(waker, _)| Arc::strong_count(waker) == 2);
        wakers && Arc::strong_count(shared) == 1 + self.wakers.len()
    }

    /// Whoever was given an answer has had a turn since.
    pub(crate) fn resume(&mut self) {
        self.answered = false;
    }

    /// Lets everything happen that needs no I/O: handlers that can go on, wishes, messages that came.
    ///
    /// Whoever is given an answer gets to see it before the handler of anything that came behind it starts:
    /// to the application, too, things happen in the order of the wire.
    pub(crate) fn run(&mut self) -> Stop {
        self.run_ready();
        loop {
            self.desk.carry_out_wishes();
            let output = match self.held.take() {
                Some(held) => Output::Event(held),
                None => self.desk.session.poll_output(self.desk.now),
            };
            let (key, method, params, meta, origin) = match output {
                Output::Event(event @ (Event::Request { .. } | Event::Notification { .. }))
                    if self.answered =>
                {
                    self.held = Some(event.into_owned());
                    return Stop::Yielding;
                }
                Output::Event(Event::Request { key, method, params, meta, origin }) => {
                    (Some(key), method, params, meta, origin)
                }
                Output::Event(Event::Notification { method, params }) => {
                    let told = Observed::Notification { side: Side::Theirs, method: &method };
                    self.desk.peer.shared.routes.tell(&told);
                    (None, method, params, None, Origin::NONE)
                }
                Output::Event(Event::Cancel { key, .. }) => {
                    self.cancel(key);
                    continue;
                }
                Output::Event(Event::Progress { call, value }) => {
                    if let Some(slot) = self.desk.calls.get(call.index()).and_then(Option::as_ref) {
                        slot.progress(value.into_owned());
                    }
                    continue;
                }
                Output::Event(Event::Reply { call, outcome }) => {
                    let slot = self.desk.calls.get_mut(call.index()).and_then(Option::take);
                    if let Some(slot) = slot {
                        slot.end(outcome.map(|raw| raw.into_owned()).map_err(|error| error.into_owned()));
                        self.answered = true;
                    }
                    continue;
                }
                Output::Event(Event::Report(report)) => {
                    self.desk.peer.shared.routes.tell(&Observed::Report(&report));
                    if let Some(on_report) = &mut self.on_report {
                        on_report(&report);
                    }
                    continue;
                }
                Output::Event(_) => continue,
                Output::Wait(_) => return Stop::Waiting,
                Output::Done(cause) => return Stop::Done(cause),
            };
            let meta = meta.map(|meta| Arc::new(meta.into_owned()));
            let ctx = Ctx {
                peer: Peer { about: key, ..self.desk.peer.clone() },
                key,
                meta,
                #[cfg(feature = "http")]
                caller: self.desk.callers.of(origin),
            };
            #[cfg(not(feature = "http"))]
            let _ = origin;
            let started = match self.spares.task(&method, &self.desk.peer.shared.routes) {
                None => Err(ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND)),
                Some(mut running) => {
                    let started = running.task.as_mut().start(ctx, &method, params.as_ref());
                    started.map(|()| running)
                }
            };
            match (started, key) {
                (Ok(running), Some(key)) => self.poll_request(key, running),
                (Ok(running), None) => self.poll_notification(running),
                (Err(error), key) => self.refuse(key, &error),
            }
        }
    }

    #[inline(always)]
    fn poll_request(&mut self, key: RequestKey, mut running: Running) {
        let index = key.index();
        self.prepare_waker(index + 1);
        let (_, waker) = &self.wakers[index + 1];
        let cx = &mut Context::from_waker(waker);
        if running.task.as_mut().poll(cx, &mut self.desk, Some(key)).is_ready() {
            return self.spares.keep(running);
        }
        if self.tasks.len() <= index {
            self.tasks.resize_with(index + 1, || None);
        }
        self.tasks[index] = Some((key, running));
    }

    fn poll_notification(&mut self, mut running: Running) {
        self.prepare_waker(0);
        let (_, waker) = &self.wakers[0];
        match running.task.as_mut().poll(&mut Context::from_waker(waker), &mut self.desk, None) {
            Poll::Ready(()) => {
                self.spares.keep(running);
                self.desk.session.finish_notification();
            }
            Poll::Pending => self.notification = Some(running),
        }
    }

    /// The handler could not even start.
    #[cold]
    fn refuse(&mut self, key: Option<RequestKey>, error: &ErrorObject) {
        match key {
            Some(key) => {
                self.desk.carry_out_wishes();
                self.desk.session.reply_error(key, error);
                self.desk.finished(key);
            }
            None => self.desk.session.finish_notification(),
        }
    }

    /// Sees to it that a slot has its waker, and that it is heard again.
    #[inline]
    fn prepare_waker(&mut self, index: usize) {
        match self.wakers.get(index) {
            Some((waker, _)) => waker.queued.store(false, Ordering::Release),
            None => self.make_wakers(index),
        }
    }

    #[cold]
    fn make_wakers(&mut self, index: usize) {
        while self.wakers.len() <= index {
            let waker = Arc::new(TaskWaker {
                index: self.wakers.len(),
                shared: Arc::clone(&self.desk.peer.shared),
                queued: false.into(),
            });
            self.wakers.push((Arc::clone(&waker), Waker::from(waker)));
        }
    }

    /// Polls the handlers that can go on, unless the peer leaves too much unread.
    fn run_ready(&mut self) {
        if self.desk.session.is_congested() {
            return;
        }
        let mut ready = std::mem::take(&mut self.ready);
        self.desk.peer.shared.take_ready(&mut ready);
        for index in ready.drain(..) {
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
        self.ready = ready;
    }

    /// The caller no longer wants the answer: the handler is dropped, unless it deals with that itself.
    fn cancel(&mut self, key: RequestKey) {
        let shared = &self.desk.peer.shared;
        if shared.hooked.load(Ordering::Acquire) && shared.tell_cancelled(key) {
            return;
        }
        if let Some(task) = self.tasks.get_mut(key.index()) {
            *task = None;
        }
        self.desk.session.abandon(key);
        self.desk.finished(key);
    }

    pub(crate) fn tell_congestion(&mut self) {
        let congested = self.desk.session.is_congested();
        if congested != self.congested {
            self.congested = congested;
            self.desk.peer.shared.set_congested(congested);
        }
    }
}

impl Engine {
    /// Ends, if it has not: whoever waits is told. Returns why it ended.
    pub(crate) fn end(&mut self) -> Cause {
        if let Some(cause) = self.desk.peer.cause() {
            return cause;
        }
        self.desk.session.handle_lost(self.desk.now, "the connection was dropped");
        self.answered = false;
        self.run();
        self.desk.close(Cause::Lost("the connection was dropped".into()))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.end();
    }
}
