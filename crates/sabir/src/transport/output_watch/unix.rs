//! A descriptor is asked, every now and then.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::time::{Interval, interval};

/// How often it is looked at, once the input has ended.
const EVERY: Duration = Duration::from_millis(250);

/// Whoever reads the other end of a descriptor.
pub(crate) struct OutputWatch {
    output: OwnedFd,
    watch: Option<Interval>,
}

impl OutputWatch {
    pub(crate) fn of(output: OwnedFd) -> Self {
        OutputWatch { output, watch: None }
    }

    /// From now on it matters.
    pub(crate) fn watch(&mut self) {
        self.watch = Some(interval(EVERY));
    }

    /// Waits until nobody reads any more, if it is watched.
    pub(crate) fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let Some(watch) = &mut self.watch else { return Poll::Pending };
        loop {
            ready!(watch.poll_tick(cx));
            let mut fds = [PollFd::new(&self.output, PollFlags::empty())];
            let looked = poll(&mut fds, Some(&Timespec::default()));
            // A pipe without readers has an error, and a socket whose peer has closed has hung up.
            if looked.is_ok() && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
                return Poll::Ready(Errno::PIPE.into());
            }
        }
    }
}
