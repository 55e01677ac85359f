//! The loop around `poll(2)`.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use sabir_proto::{Cause, Config, Lost, Role};

use crate::peer::Peer;
use crate::router::Router;
use crate::runtime::blocking::DRIVING;
use crate::runtime::blocking::streams::Streams;
use crate::runtime::engine::{Engine, Stop};
use crate::transport::fd::Flags;

/// A wait is renewed after this long, if it is longer.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) struct Driver {
    engine: Engine,
    streams: Streams,
    /// Other threads wake the loop by this.
    wake_fd: Arc<WakeFd>,
    _flags: [Flags; 2],
}

struct WakeFd(OwnedFd);

impl Wake for WakeFd {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A bell that is ringing already needs no second stroke.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

impl Driver {
    pub(crate) fn new(streams: Streams, router: Router, role: Role) -> io::Result<(Self, Peer)> {
        let config = Config { role, ..streams.config };
        let engine = Engine::new(config, router.into_routes(), None);
        let wake_fd = Arc::new(WakeFd(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?));
        engine.context.peer.shared.register(&Waker::from(Arc::clone(&wake_fd)));
        let _flags = [Flags::nonblocking(&streams.input)?, Flags::nonblocking(&streams.output)?];
        let peer = engine.context.peer.clone();
        Ok((Driver { engine, streams, wake_fd, _flags }, peer))
    }

    /// Runs until the connection ends.
    pub(crate) fn run(mut self) -> Cause {
        let driving = DRIVING.replace(true);
        let cause = self.drive();
        DRIVING.set(driving);
        self.engine.context.close(cause)
    }

    fn drive(&mut self) -> Cause {
        loop {
            self.engine.context.read_clock();
            self.engine.resume();
            match self.engine.run() {
                Stop::Done(cause) => return cause,
                Stop::Yielding => continue,
                Stop::Waiting | Stop::Pausing => {}
            }
            let wrote = self.write();
            self.engine.tell_congestion();
            // What was written may let the session say more, which only the engine listens to.
            if wrote || self.engine.is_pausing() {
                continue;
            }
            match self.wait() {
                Ok(true) => self.read(),
                Ok(false) => {}
                Err(error) => self.lost(error),
            }
        }
    }

    /// Writes what there is, as far as it goes without waiting. Whether that changed anything.
    fn write(&mut self) -> bool {
        let context = &mut self.engine.context;
        let (now, session) = (context.now, &mut context.session);
        let bytes = session.wait().write;
        if bytes.is_empty() {
            return false;
        }
        match rustix::io::write(&self.streams.output, bytes) {
            Ok(count) => session.handle_written(now, count),
            Err(Errno::AGAIN) => return false,
            Err(Errno::INTR) => {}
            Err(error) => self.lost(error),
        }
        true
    }

    fn read(&mut self) {
        let context = &mut self.engine.context;
        let now = context.read_clock();
        let session = &mut context.session;
        match rustix::io::read(&self.streams.input, session.space()) {
            Ok(0) => match self.streams.exit_reason() {
                Some(cause) => session.handle_gone(now, cause),
                None => context.handle_eof(),
            },
            Ok(count) => session.handle_read(now, count),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => self.lost(error),
        }
    }

    fn lost(&mut self, error: Errno) {
        // A process that has ended says more than the pipe that broke with it.
        let exit_reason = self.streams.exit_reason().map(Lost::from);
        let cause = exit_reason.unwrap_or_else(|| Lost::from_error(io::Error::from(error)));
        self.engine.context.session.handle_lost(self.engine.context.now, cause);
    }

    /// Waits for whatever the session waits for. Whether there is something to read.
    fn wait(&mut self) -> rustix::io::Result<bool> {
        let now = self.engine.context.read_clock();
        let wait = self.engine.context.session.wait();
        let timeout = wait.deadline.map(|at| {
            // A deadline may be further away than the kernel can count.
            let left = (at - now).min(LONGEST_WAIT);
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() }
        });
        let wanted = |wanted: bool, flags| if wanted { flags } else { PollFlags::empty() };
        let mut fds = [
            PollFd::new(&self.streams.input, wanted(wait.read, PollFlags::IN)),
            PollFd::new(&self.streams.output, wanted(!wait.write.is_empty(), PollFlags::OUT)),
            PollFd::new(&self.wake_fd.0, PollFlags::IN),
        ];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        if !fds[2].revents().is_empty() {
            let _ = rustix::io::read(&self.wake_fd.0, &mut [0; 8]);
        }
        if fds[1].revents().contains(PollFlags::ERR) && wait.write.is_empty() && !wait.read {
            return Err(Errno::PIPE);
        }
        Ok(wait.read && !fds[0].revents().is_empty())
    }
}
