//! With an eventfd: a counter in the kernel.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::Wake;

use rustix::event::{EventfdFlags, eventfd};

pub(crate) struct WakeFd(OwnedFd);

impl WakeFd {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(WakeFd(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes it unreadable until the next wake.
    pub(crate) fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for WakeFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Wake for WakeFd {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // This fails only when the counter is full, and then the thread is woken anyway.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}
