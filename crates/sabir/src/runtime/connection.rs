//! The connection on tokio: one task that reads, runs the handlers in place, and writes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sabir_proto::{Cause, Config, Time};
use tokio::time::{Instant, Sleep};

use crate::peer::Peer;
use crate::router::Routes;
use crate::router::observe::Observed;
use crate::runtime::engine::{Engine, OnReport, Stop};
use crate::runtime::io::{Io, IoProgress};

/// How long the goodbye of a transport may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Drives one session over its transport until it ends.
pub(crate) struct Connection<P> {
    pub(crate) engine: Engine,
    /// Whether it is more than the exchange of one request.
    counts: bool,
    sleep: Pin<Box<Sleep>>,
    /// What `sleep` is set to.
    timer_deadline: Option<Time>,
    /// It is over, and the transport says goodbye.
    closing: Option<Cause>,
    pub(crate) io: P,
}

impl<P: Io> Connection<P> {
    pub(crate) fn new(config: Config, routes: Arc<Routes>, io: P, on_report: Option<OnReport>) -> Self {
        let counts = !config.one_way;
        if counts {
            routes.tell(&Observed::Opened);
        }
        Connection {
            counts,
            engine: Engine::new(config, routes, on_report),
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            timer_deadline: None,
            closing: None,
            io,
        }
    }

    pub(crate) fn peer(&self) -> Peer {
        self.engine.context.peer.clone()
    }

    /// Waits for the session's deadline. Whether it has come.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.engine.context.session.wait().deadline;
        let Some(deadline) = deadline else { return Poll::Pending };
        if self.timer_deadline != Some(deadline) {
            // A deadline beyond what the clock can tell never comes.
            let Some(at) = self.engine.context.instant(deadline) else { return Poll::Pending };
            self.timer_deadline = Some(deadline);
            self.sleep.as_mut().reset(at);
        }
        ready!(self.sleep.as_mut().poll(cx));
        self.timer_deadline = None;
        Poll::Ready(())
    }

    /// Whoever waits is told first; then the peer.
    fn begin_close(&mut self, cause: Cause) {
        self.closing = Some(self.engine.context.close(cause));
        self.sleep.as_mut().reset(Instant::now() + CLOSE_TIMEOUT);
    }

    fn close(&mut self, cx: &mut Context<'_>, cause: Cause) -> Poll<Cause> {
        if self.io.poll_close(cx, &cause).is_pending() && self.sleep.as_mut().poll(cx).is_pending() {
            self.closing = Some(cause);
            return Poll::Pending;
        }
        Poll::Ready(cause)
    }

    /// Everything that can be done now is done. Returns how it ended, if it has.
    pub(crate) fn poll_run(&mut self, cx: &mut Context<'_>) -> Poll<Cause> {
        self.engine.context.peer.shared.register(cx.waker());
        self.engine.context.read_clock();
        self.engine.resume();
        loop {
            if let Some(cause) = self.closing.take() {
                return self.close(cx, cause);
            }
            self.engine.context.read_clock();
            match self.engine.run() {
                Stop::Done(cause) => {
                    self.begin_close(cause);
                    continue;
                }
                Stop::Yielding => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Stop::Waiting | Stop::Pausing => {}
            }
            // Everything that is ready goes out at once; only then is more taken in.
            let wrote = self.io.send(cx, &mut self.engine.context);
            self.engine.tell_congestion();
            if self.engine.is_pausing() {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            // What was written may let the session say more, which only the engine listens to.
            if let IoProgress::Yes = wrote {
                continue;
            }
            if self.engine.context.session.wait().read
                && let IoProgress::Yes = self.io.receive(cx, &mut self.engine.context)
            {
                continue;
            }
            if self.wait(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl<P> Drop for Connection<P> {
    fn drop(&mut self) {
        if self.counts {
            let cause = self.engine.end();
            self.engine.context.tell(&Observed::Closed { cause: &cause });
        }
    }
}

impl<P: Io + Unpin> Future for Connection<P> {
    type Output = Cause;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Cause> {
        self.get_mut().poll_run(cx)
    }
}
