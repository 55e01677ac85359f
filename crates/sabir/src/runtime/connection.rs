//! The connection on tokio: one task that reads, runs the handlers in place, and writes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

#[cfg(feature = "http")]
use sabir_proto::Origin;
use sabir_proto::{Cause, Config, Time, Usage};
use tokio::time::{Instant, Sleep};

use crate::peer::Peer;
use crate::peer::commands::Command;
use crate::router::Routes;
use crate::router::observe::{Observed, Side};
#[cfg(feature = "http")]
use crate::runtime::caller::HttpCaller;
use crate::runtime::engine::{Engine, OnReport, Stop};
use crate::runtime::io::{Io, IoProgress};
use crate::runtime::turn::yield_turn;
use crate::transport::network::Network;

/// How long closing a transport may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The same where somebody else waits for its place. What tells the peer why is sent before.
const HURRIED_CLOSE: Duration = Duration::from_millis(50);

/// Answers of spawned handlers that come so soon after a turn are gathered, and go out together.
const GATHERING: Duration = Duration::from_micros(20);

/// Drives one session over its transport until it ends.
pub(crate) struct Connection<P> {
    pub(super) engine: Engine,
    /// Whether it is more than the exchange of one request, and its end is still to be told.
    counts: bool,
    sleep: Pin<Box<Sleep>>,
    /// What `sleep` is set to.
    timer_deadline: Option<Time>,
    /// The session has ended, and the transport is being closed.
    closing: Option<Cause>,
    /// Others need its place: closing the transport must not take long.
    is_hurried: bool,
    /// It waits for spawned handlers that are about to finish.
    gathering: bool,
    /// All that was read is dealt with.
    drained: bool,
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
            is_hurried: false,
            gathering: false,
            drained: false,
            io,
        }
    }

    /// Says which way it goes to the server.
    pub(crate) fn set_network(&self, network: Arc<Network>) {
        let _ = self.engine.context.peer.shared.network.set(network);
    }

    /// Takes bytes that were read before the connection was made.
    pub(crate) fn take_bytes(&mut self, bytes: &[u8]) {
        let context = &mut self.engine.context;
        context.session.handle_bytes(context.now, bytes);
        context.tell(&Observed::Bytes { side: Side::Theirs, count: bytes.len() });
    }

    /// Takes a message that came outside of the port. What answers it has this origin.
    #[cfg(feature = "http")]
    pub(crate) fn take_message(&mut self, message: &[u8], origin: Origin) {
        self.engine.context.read_clock();
        self.engine.resume();
        let context = &mut self.engine.context;
        context.session.handle_message_from(context.now, message, origin);
        context.tell(&Observed::Bytes { side: Side::Theirs, count: message.len() });
    }

    /// Nobody waits any more for the answers to the message with this origin.
    #[cfg(feature = "nats")]
    pub(crate) fn expire(&mut self, origin: Origin) {
        self.engine.context.read_clock();
        let context = &mut self.engine.context;
        context.session.handle_expired(context.now, origin);
    }

    /// Runs what can be run without waiting, and sends what came of it.
    #[cfg(feature = "http")]
    pub(crate) fn run_once(&mut self, cx: &mut Context<'_>) {
        self.engine.run();
        self.io.send(cx, &mut self.engine.context);
    }

    /// Who opened the connection: what handlers see as their caller. Nobody, to forget it.
    #[cfg(feature = "http")]
    pub(crate) fn set_caller(&mut self, caller: Option<Arc<HttpCaller>>) {
        self.engine.context.callers.opener = caller;
    }

    /// How much it holds.
    pub(crate) fn usage(&self) -> Usage {
        self.engine.context.session.usage()
    }

    /// Whether it would read if something came.
    pub(crate) fn wants_read(&self) -> bool {
        self.engine.context.wants_read()
    }

    /// Reads nothing more, and refuses the requests that it has read; or no longer.
    pub(crate) fn set_overloaded(&mut self, overloaded: bool) {
        self.engine.context.session.set_overloaded(overloaded);
    }

    /// Refuses what may need more than so many bytes for its answers.
    pub(crate) fn set_room(&mut self, bytes: usize) {
        self.engine.context.session.set_room(bytes);
    }

    /// Ends it at once, and gives back what it holds. Whoever polls it sees that it has ended.
    pub(crate) fn abort(&mut self, cause: &'static str) {
        let context = &mut self.engine.context;
        context.session.handle_lost(context.now, cause);
    }

    /// When it last looked at the clock.
    pub(crate) fn now(&self) -> Instant {
        let context = &self.engine.context;
        context.instant(context.now).unwrap_or_else(Instant::now)
    }

    /// Whether everything that came is dealt with.
    pub(crate) fn is_idle(&self) -> bool {
        self.engine.context.session.is_idle()
    }

    /// Whether nobody else holds on to it, so that it can serve somebody else.
    #[cfg(feature = "http")]
    pub(crate) fn is_unshared(&self) -> bool {
        self.engine.is_unshared()
    }

    /// Lets it finish what is open, for so long at the most.
    pub(crate) fn shut_down(&self, grace: Duration) {
        let _ = self.engine.context.peer.shared.command(Command::Shutdown(grace));
    }

    /// Ends it at once: others need its place.
    pub(crate) fn make_room(&mut self) {
        self.is_hurried = true;
        self.shut_down(Duration::ZERO);
    }

    pub(crate) fn peer(&self) -> Peer {
        self.engine.context.peer.clone()
    }

    /// Waits for the session's deadline. Whether it has come.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.engine.deadline();
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

    /// Ends what waits first, then closes the transport.
    fn begin_close(&mut self, cause: Cause) {
        let cause = self.engine.context.close(cause);
        // Whoever waits for the end need not wait until the peer has answered that the transport closes.
        self.tell_closed(&cause);
        self.closing = Some(cause);
        let timeout = if self.is_hurried { HURRIED_CLOSE } else { CLOSE_TIMEOUT };
        self.sleep.as_mut().reset(Instant::now() + timeout);
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
        let last = self.engine.context.now;
        let now = self.engine.context.read_clock();
        // Each of them wakes the connection, which a runtime with several threads then runs before anything else. It
        // steps back once, behind the tasks that are ready, or each answer would be a write of its own.
        if !self.gathering && self.engine.context.peer.shared.is_gathering() && now - last < GATHERING {
            self.gathering = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.gathering = false;
        self.engine.resume();
        let mut has_read = false;
        // Whether it has written since it last tried to read.
        let mut has_written = false;
        // Whether what was written leaves the engine nothing to do.
        let mut is_still = false;
        loop {
            if let Some(cause) = self.closing.take() {
                return self.close(cx, cause);
            }
            if !std::mem::take(&mut is_still) {
                match self.engine.run() {
                    Stop::Done(cause) => {
                        self.begin_close(cause);
                        continue;
                    }
                    Stop::Yielding => {
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    Stop::Waiting => self.drained = true,
                    Stop::Pausing => {}
                }
            }
            // Everything that is ready goes out at once; only then is more taken in.
            let waited_for_write = self.engine.context.waits_for_write();
            let wrote = self.io.send(cx, &mut self.engine.context);
            self.engine.tell_congestion();
            let wrote = matches!(wrote, IoProgress::Yes);
            if self.engine.is_pausing() {
                // Input is read even while subscriptions keep the output busy.
                if self.drained
                    && self.wants_read()
                    && let IoProgress::Yes = self.io.receive(cx, &mut self.engine.context)
                {
                    self.drained = false;
                }
                return yield_turn(cx);
            }
            // What was written may let the session say more, which only the engine listens to. Subscriptions always may
            // have more to say.
            if wrote && !std::mem::replace(&mut has_written, true) {
                // A write that failed has ended the session.
                is_still = !waited_for_write && !self.engine.context.waits_for_write();
                continue;
            }
            has_written = false;
            // What takes several writes takes time.
            if wrote {
                self.engine.context.read_clock();
                self.engine.check_turn();
            }
            if self.wants_read()
                && let IoProgress::Yes = self.io.receive(cx, &mut self.engine.context)
            {
                self.drained = false;
                // What came first came before the turn began. Handlers look at the clock themselves.
                if std::mem::replace(&mut has_read, true) {
                    self.engine.context.read_clock();
                    self.engine.check_turn();
                }
                continue;
            }
            if wrote {
                continue;
            }
            if self.engine.has_ready() {
                return yield_turn(cx);
            }
            if self.wait(cx).is_pending() {
                return Poll::Pending;
            }
            self.engine.context.read_clock();
        }
    }
}

impl<P> Connection<P> {
    fn tell_closed(&mut self, cause: &Cause) {
        if std::mem::take(&mut self.counts) {
            self.engine.context.read_clock();
            let took = self.engine.context.now.elapsed();
            self.engine.context.tell(&Observed::Closed { cause, took });
        }
    }
}

impl<P> Drop for Connection<P> {
    fn drop(&mut self) {
        if self.counts {
            let cause = self.engine.end();
            self.tell_closed(&cause);
        }
    }
}

impl<P: Io + Unpin> Future for Connection<P> {
    type Output = Cause;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Cause> {
        self.get_mut().poll_run(cx)
    }
}
