//! The loop around whatever waits for streams: `poll(2)`, or threads on Windows.

use std::io;
use std::time::Duration;

use sabir_proto::{Cause, Config, Lost, Role};

use crate::peer::Peer;
use crate::router::Router;
use crate::runtime::blocking::DRIVING;
use crate::runtime::blocking::platform::StreamIo;
use crate::runtime::blocking::process::Process;
use crate::runtime::blocking::streams::Streams;
use crate::runtime::engine::{Engine, Stop};

/// A wait is renewed after this long, if it is longer.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) struct Driver {
    engine: Engine,
    io: StreamIo,
    /// Dropped behind the streams: the process loses its input first.
    process: Option<Process>,
}

impl Driver {
    pub(crate) fn new(streams: Streams, router: Router, role: Role) -> io::Result<(Self, Peer)> {
        let Streams { input, output, config, process } = streams;
        let engine = Engine::new(Config { role, ..config }, router.into_routes(), None);
        let io = StreamIo::new(input, output)?;
        engine.context.peer.shared.register(&io.waker());
        let peer = engine.context.peer.clone();
        Ok((Driver { engine, io, process }, peer))
    }

    /// Runs until the connection ends.
    pub(crate) fn run(mut self) -> Cause {
        let driving = DRIVING.replace(true);
        let cause = self.drive();
        DRIVING.set(driving);
        self.engine.context.close(cause)
    }

    fn drive(&mut self) -> Cause {
        let mut was_busy = false;
        // For a lone call, to look at the clock costs a tenth of what is not a system call.
        let mut has_read_clock = false;
        loop {
            if !std::mem::take(&mut has_read_clock) {
                self.engine.context.read_clock();
            }
            self.engine.resume();
            match self.engine.run() {
                Stop::Done(cause) => return cause,
                Stop::Yielding => continue,
                Stop::Waiting | Stop::Pausing => {}
            }
            let may_say_more = self.write();
            self.engine.tell_congestion();
            // Only the engine listens to what the session says. Subscriptions always may have more to say: every other
            // time, input is read.
            let is_busy = may_say_more || self.engine.is_pausing() || self.engine.has_ready();
            was_busy = is_busy && !was_busy;
            if was_busy {
                continue;
            }
            match self.wait(is_busy) {
                Ok(true) => {
                    self.read();
                    has_read_clock = true;
                }
                Ok(false) => {}
                Err(error) => self.lost(error),
            }
        }
    }

    /// Writes what there is, as far as it goes without waiting. Whether the session may have more to say then.
    fn write(&mut self) -> bool {
        let context = &mut self.engine.context;
        let may_say_more = context.waits_for_write();
        let (now, session) = (context.now, &mut context.session);
        let bytes = session.unsent();
        if bytes.is_empty() {
            return false;
        }
        match self.io.write(bytes) {
            Ok(Some(count)) => {
                session.handle_written(now, count);
                // What came behind it is not under way yet: a thread that writes has to be asked before it is waited for.
                may_say_more || !session.unsent().is_empty()
            }
            Ok(None) => false,
            Err(error) => {
                self.lost(error);
                true
            }
        }
    }

    fn read(&mut self) {
        let context = &mut self.engine.context;
        let read = self.io.read(context.session.space());
        // It may have waited in there.
        let now = context.read_clock();
        let session = &mut context.session;
        match read {
            Ok(Some(0)) => match self.process.as_mut().and_then(Process::exit_reason) {
                Some(cause) => session.handle_gone(now, cause),
                None => context.handle_eof(),
            },
            Ok(Some(count)) => session.handle_read(now, count),
            Ok(None) => {}
            Err(error) => self.lost(error),
        }
    }

    fn lost(&mut self, error: io::Error) {
        // A process that has ended says more than the pipe that broke with it.
        let exit_reason = self.process.as_mut().and_then(Process::exit_reason).map(Lost::from);
        let cause = exit_reason.unwrap_or_else(|| Lost::from_error(error));
        self.engine.context.session.handle_lost(self.engine.context.now, cause);
    }

    /// Whether only the peer can give it something to do: nobody holds a handle, no handler runs, and no time is set.
    fn is_alone(&self) -> bool {
        self.engine.deadline().is_none() && self.engine.is_unshared()
    }

    /// Waits for whatever the session waits for, or only looks for it. Whether there is something to read.
    fn wait(&mut self, only_looks: bool) -> io::Result<bool> {
        let wants_read = self.engine.context.wants_read();
        let wants_write = !self.engine.context.session.unsent().is_empty();
        if !only_looks && wants_read && !wants_write && self.io.can_block() && self.is_alone() {
            return self.io.block();
        }
        let now = self.engine.context.read_clock();
        // A deadline may be further away than the system can count.
        let timeout = match only_looks {
            true => Some(Duration::ZERO),
            false => self.engine.deadline().map(|at| (at - now).min(LONGEST_WAIT)),
        };
        self.io.wait(wants_read, wants_write, timeout)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;
    use crate::runtime::blocking::memory;

    /// It would block in `read`, and what was to be sent would wait for the peer.
    #[test]
    fn what_a_handle_leaves_behind_is_done_before_only_the_peer_can_wake_it() {
        let (near, _far) = memory().unwrap();
        let (mut driver, peer) = Driver::new(near, Router::new(), Role::Server).unwrap();
        peer.try_notify("late", ()).unwrap();
        drop(peer);
        assert!(!driver.engine.is_unshared());
        driver.engine.run();
        assert!(driver.engine.is_unshared());
    }
}
