//! The connection: one task that reads, runs the handlers in place, and writes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use sabir_proto::{
    CallKey, CallOptions, Cause, Config, Event, Output, Refused, Report, RequestKey, Session, Time,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::CallError;
use crate::call::CallSlot;
use crate::ctx::Ctx;
use crate::peer::Peer;
use crate::router::Routes;
use crate::shared::{BatchEntry, CallWish, Shared, TaskWaker, Wish};
use crate::task::BoxTask;
use crate::transport::Io;

/// Called with everything that the peer does wrong.
pub(crate) type OnReport = Box<dyn FnMut(&Report<'_>) + Send>;

/// What handlers may touch while they are polled.
pub(crate) struct Desk {
    pub(crate) session: Session,
    pub(crate) peer: Peer,
    /// By the index of the call.
    calls: Vec<Option<Arc<CallSlot>>>,
    /// Kept for its memory.
    wishes: Vec<Wish>,
    now: Time,
}

/// Drives one session over its streams until it ends.
pub(crate) struct Connection {
    desk: Desk,
    io: Io,
    /// By the index of the request.
    tasks: Vec<Option<(RequestKey, BoxTask)>>,
    /// The notification whose handler is not done.
    notification: Option<BoxTask>,
    /// By the index of the request, and at 0 the notification's.
    wakers: Vec<(Arc<TaskWaker>, Waker)>,
    ready: Vec<usize>,
    start: Instant,
    sleep: Pin<Box<Sleep>>,
    /// What `sleep` is set to.
    alarm: Option<Time>,
    congested: bool,
    on_report: Option<OnReport>,
    /// The input has ended, and the transport is asked why.
    ending: bool,
    /// A caller was given its answer, and has not had a chance to look at it.
    answered: bool,
    /// What came behind that answer.
    held: Option<Event<'static>>,
}

enum Moved {
    Yes,
    No,
}

/// Why `run` has come to a stop.
enum Stop {
    /// Only I/O or time can move it on.
    Waiting,
    /// Others are to have their turn first.
    Yielding,
    Done(Cause),
}

impl Connection {
    pub(crate) fn new(config: Config, routes: Arc<Routes>, io: Io, on_report: Option<OnReport>) -> Self {
        let peer = Peer { shared: Arc::new(Shared::new(routes)) };
        let desk = Desk {
            session: Session::new(config),
            peer,
            calls: Vec::new(),
            wishes: Vec::new(),
            now: Time::START,
        };
        Connection {
            desk,
            io,
            tasks: Vec::new(),
            notification: None,
            wakers: Vec::new(),
            ready: Vec::new(),
            start: Instant::now(),
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            alarm: None,
            congested: false,
            on_report,
            ending: false,
            answered: false,
            held: None,
        }
    }

    pub(crate) fn peer(&self) -> Peer {
        self.desk.peer.clone()
    }

    /// Lets everything happen that needs no I/O: handlers that can go on, wishes, messages that came.
    ///
    /// Whoever is given an answer gets to see it before the handler of anything that came behind it starts:
    /// to the application, too, things happen in the order of the wire.
    fn run(&mut self) -> Stop {
        loop {
            self.desk.carry_out_wishes();
            let output = match self.held.take() {
                Some(held) => Output::Event(held),
                None => self.desk.session.poll_output(self.desk.now),
            };
            let (key, method, params, meta) = match output {
                Output::Event(event @ (Event::Request { .. } | Event::Notification { .. }))
                    if self.answered =>
                {
                    self.held = Some(event.into_owned());
                    return Stop::Yielding;
                }
                Output::Event(Event::Request { key, method, params, meta }) => {
                    (Some(key), method, params, meta)
                }
                Output::Event(Event::Notification { method, params }) => (None, method, params, None),
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
                    if let Some(on_report) = &mut self.on_report {
                        on_report(&report);
                    }
                    continue;
                }
                Output::Event(_) => continue,
                Output::Wait(_) => return Stop::Waiting,
                Output::Done(cause) => return Stop::Done(cause),
            };
            let ctx =
                Ctx { peer: self.desk.peer.clone(), key, meta: meta.map(|meta| Arc::new(meta.into_owned())) };
            let started = self.desk.peer.shared.routes.start(&method, ctx, params.as_ref());
            match (started, key) {
                (Ok(task), Some(key)) => self.poll_request(key, task),
                (Ok(task), None) => self.poll_notification(task),
                (Err(error), Some(key)) => drop(self.desk.session.reply_error(key, &error)),
                (Err(_), None) => self.desk.session.finish_notification(),
            }
        }
    }

    fn poll_request(&mut self, key: RequestKey, mut task: BoxTask) {
        let index = key.index();
        self.prepare_waker(index + 1);
        let (_, waker) = &self.wakers[index + 1];
        if task.as_mut().poll(&mut Context::from_waker(waker), &mut self.desk, Some(key)).is_pending() {
            if self.tasks.len() <= index {
                self.tasks.resize_with(index + 1, || None);
            }
            self.tasks[index] = Some((key, task));
        }
    }

    fn poll_notification(&mut self, mut task: BoxTask) {
        self.prepare_waker(0);
        let (_, waker) = &self.wakers[0];
        match task.as_mut().poll(&mut Context::from_waker(waker), &mut self.desk, None) {
            Poll::Ready(()) => self.desk.session.finish_notification(),
            Poll::Pending => self.notification = Some(task),
        }
    }

    /// Sees to it that a slot has its waker, and that it is heard again.
    fn prepare_waker(&mut self, index: usize) {
        while self.wakers.len() <= index {
            let waker = Arc::new(TaskWaker {
                index: self.wakers.len(),
                shared: Arc::clone(&self.desk.peer.shared),
                queued: false.into(),
            });
            self.wakers.push((Arc::clone(&waker), Waker::from(waker)));
        }
        self.wakers[index].0.queued.store(false, Ordering::Release);
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

    fn tell_congestion(&mut self) {
        let congested = self.desk.session.is_congested();
        if congested != self.congested {
            self.congested = congested;
            self.desk.peer.shared.set_congested(congested);
        }
    }

    /// Writes what there is. An error on this side ends the connection.
    fn write(&mut self, cx: &mut Context<'_>) -> Moved {
        let now = self.desk.now;
        let Output::Wait(wait) = self.desk.session.poll_output(now) else { return Moved::Yes };
        if wait.write.is_empty() {
            return Moved::No;
        }
        match Pin::new(&mut self.io.write).poll_write(cx, wait.write) {
            Poll::Pending => Moved::No,
            Poll::Ready(Ok(count)) => {
                self.desk.session.handle_written(now, count);
                Moved::Yes
            }
            Poll::Ready(Err(error)) => {
                self.desk.session.handle_lost(now, lost(&error));
                Moved::Yes
            }
        }
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Moved {
        let now = self.desk.now;
        match self.desk.session.poll_output(now) {
            Output::Wait(wait) if wait.read => {}
            Output::Wait(_) => return Moved::No,
            Output::Event(_) | Output::Done(_) => return Moved::Yes,
        }
        if self.ending {
            return self.end(cx);
        }
        let mut buffer = ReadBuf::new(self.desk.session.space());
        match Pin::new(&mut self.io.read).poll_read(cx, &mut buffer) {
            Poll::Pending => Moved::No,
            Poll::Ready(Ok(())) => {
                match buffer.filled().len() {
                    0 => self.ending = true,
                    count => self.desk.session.handle_read(now, count),
                }
                Moved::Yes
            }
            Poll::Ready(Err(error)) => {
                self.desk.session.handle_lost(now, lost(&error));
                Moved::Yes
            }
        }
    }

    /// The input has ended. The transport may know more, such as how a process exited.
    fn end(&mut self, cx: &mut Context<'_>) -> Moved {
        let now = self.desk.now;
        let epitaph = match &mut self.io.epitaph {
            Some(epitaph) => match epitaph.as_mut().poll(cx) {
                Poll::Ready(epitaph) => epitaph,
                Poll::Pending => return Moved::No,
            },
            None => None,
        };
        self.io.epitaph = None;
        match epitaph {
            Some(cause) => self.desk.session.handle_lost(now, cause),
            None => self.desk.session.handle_eof(now),
        }
        Moved::Yes
    }

    /// Waits for the session's deadline. Whether it has come.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = match self.desk.session.poll_output(self.desk.now) {
            Output::Wait(wait) => wait.deadline,
            Output::Event(_) | Output::Done(_) => return Poll::Ready(()),
        };
        let Some(deadline) = deadline else { return Poll::Pending };
        if self.alarm != Some(deadline) {
            self.alarm = Some(deadline);
            self.sleep.as_mut().reset(self.start + deadline.elapsed());
        }
        ready!(self.sleep.as_mut().poll(cx));
        self.alarm = None;
        Poll::Ready(())
    }
}

/// In the words of the transport; a peer that has gone away is no more than that.
fn lost(error: &std::io::Error) -> String {
    error.to_string()
}

impl Future for Connection {
    type Output = Cause;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Cause> {
        let this = self.get_mut();
        this.desk.peer.shared.register(cx.waker());
        this.answered = false;
        loop {
            this.desk.now = Time::since(this.start.elapsed());
            this.run_ready();
            match this.run() {
                Stop::Done(cause) => return Poll::Ready(this.desk.close(cause)),
                Stop::Yielding => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Stop::Waiting => {}
            }
            // Everything that is ready goes out at once; only then is more taken in.
            let wrote = this.write(cx);
            this.tell_congestion();
            let read = this.read(cx);
            if let (Moved::No, Moved::No) = (wrote, read)
                && this.wait(cx).is_pending()
            {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.desk.peer.cause().is_none() {
            self.desk.session.handle_lost(self.desk.now, "the connection was dropped");
            self.run();
            self.desk.close(Cause::Lost("the connection was dropped".into()));
        }
    }
}

impl Desk {
    /// Carries out what handles wish for.
    #[inline]
    pub(crate) fn carry_out_wishes(&mut self) {
        if self.peer.shared.wishing.load(Ordering::Acquire) {
            self.carry_out_all();
        }
    }

    fn carry_out_all(&mut self) {
        let mut wishes = std::mem::take(&mut self.wishes);
        self.peer.shared.take_wishes(&mut wishes);
        for wish in wishes.drain(..) {
            self.carry_out(wish);
        }
        self.wishes = wishes;
    }

    fn carry_out(&mut self, wish: Wish) {
        match wish {
            Wish::Call(CallWish { method, params, options, slot }) => {
                if slot.is_over() {
                    return;
                }
                let sent = self.session.call_raw(&method, params.as_ref(), &options);
                self.keep(sent, slot);
            }
            Wish::Batch(entries) => self.send_batch(entries),
            Wish::Notify { method, params } => drop(self.session.notify_raw(&method, params.as_ref())),
            Wish::Cancel(slot) => {
                if let Some(call) = slot.key() {
                    self.session.cancel(call);
                    if let Some(kept) = self.calls.get_mut(call.index()) {
                        *kept = None;
                    }
                }
            }
            Wish::Progress { key, value } => drop(self.session.progress(key, &value)),
            Wish::Shutdown(grace) => self.session.shutdown(self.now, grace),
        }
    }

    fn keep(&mut self, sent: Result<CallKey, Refused>, slot: Arc<CallSlot>) {
        match sent {
            Ok(call) => {
                slot.sent(call);
                if self.calls.len() <= call.index() {
                    self.calls.resize_with(call.index() + 1, || None);
                }
                self.calls[call.index()] = Some(slot);
            }
            Err(refused) => slot.end(Err(CallError::Refused(refused))),
        }
    }

    fn send_batch(&mut self, entries: Vec<BatchEntry>) {
        let mut calls = Vec::new();
        let sent = self.session.batch().and_then(|mut batch| {
            for entry in &entries {
                match entry {
                    BatchEntry::Call(CallWish { method, params, slot, .. }) if !slot.is_over() => {
                        calls.push(batch.call_raw(method, params.as_ref(), &CallOptions::default())?);
                    }
                    BatchEntry::Call(_) => {}
                    BatchEntry::Notify { method, params } => batch.notify_raw(method, params.as_ref())?,
                }
            }
            batch.send()
        });
        let mut calls = calls.into_iter();
        for entry in entries {
            if let BatchEntry::Call(CallWish { slot, .. }) = entry
                && !slot.is_over()
            {
                let call = sent.clone().and_then(|()| calls.next().ok_or(Refused::Closed));
                self.keep(call, slot);
            }
        }
    }

    /// A request is answered: its hooks run.
    #[inline]
    pub(crate) fn finished(&mut self, key: RequestKey) {
        if self.peer.shared.hooked.load(Ordering::Acquire) {
            for hook in self.peer.shared.finished(key) {
                hook(self.peer.clone());
            }
        }
    }

    /// Nothing more will happen: whoever waits is told why.
    fn close(&mut self, cause: Cause) -> Cause {
        for wish in self.peer.shared.close(&cause) {
            let ended = Err(CallError::Closed(cause.clone()));
            match wish {
                Wish::Call(CallWish { slot, .. }) => slot.end(ended),
                Wish::Batch(entries) => entries.into_iter().for_each(|entry| {
                    if let BatchEntry::Call(CallWish { slot, .. }) = entry {
                        slot.end(ended.clone());
                    }
                }),
                _ => {}
            }
        }
        for slot in self.calls.drain(..).flatten() {
            slot.end(Err(CallError::Closed(cause.clone())));
        }
        cause
    }
}
