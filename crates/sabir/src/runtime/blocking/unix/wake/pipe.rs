//! With a pipe, where there is no eventfd.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::task::Wake;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

pub(crate) struct WakeFd {
    read: PipeReader,
    write: PipeWriter,
}

impl WakeFd {
    pub(crate) fn new() -> io::Result<Self> {
        let (read, write) = io::pipe()?;
        for fd in [read.as_fd(), write.as_fd()] {
            fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?;
        }
        Ok(WakeFd { read, write })
    }

    /// Makes it unreadable until the next wake. Nobody else reads, so a short read means that the pipe is empty.
    pub(crate) fn clear(&self) {
        let mut bytes = [0; 4096];
        while rustix::io::read(&self.read, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
    }
}

impl AsFd for WakeFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.read.as_fd()
    }
}

impl Wake for WakeFd {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // This fails only when the pipe is full, and then the thread is woken anyway.
        let _ = rustix::io::write(&self.write, &[1]);
    }
}
