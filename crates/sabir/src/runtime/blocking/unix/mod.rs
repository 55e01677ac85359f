//! Descriptors, and `poll(2)`.

mod wake;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ChildStdout;
use std::sync::Arc;
use std::task::Waker;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};
use rustix::io::Errno;
use wake::WakeFd;

use crate::Error;
use crate::runtime::blocking::Streams;
use crate::transport::ConnectError;
use crate::transport::fd::Flags;
use crate::transport::stdio::platform;

pub(crate) type Stream = OwnedFd;

/// Standard input and output, guarded.
pub(crate) fn stdio() -> io::Result<(Stream, Stream)> {
    platform::streams(true)
}

/// Connects to a Unix socket.
pub fn unix(path: impl AsRef<Path>) -> Result<Streams, Error> {
    let url = format!("unix:{}", path.as_ref().display());
    let stream = UnixStream::connect(path).map_err(|error| ConnectError::socket(&url, error))?;
    Ok(Streams::new(stream.try_clone()?, stream))
}

/// The output of a process, and what reads the rest of it.
pub(crate) fn output_of(output: ChildStdout) -> io::Result<(Stream, Rest)> {
    let output = OwnedFd::from(output);
    let rest = Rest(Some(output.try_clone()?));
    Ok((output, rest))
}

/// Reads what is left, once it is dropped, and drops it.
#[derive(Debug)]
pub(crate) struct Rest(Option<OwnedFd>);

impl Drop for Rest {
    fn drop(&mut self) {
        if let Some(output) = self.0.take() {
            let _ = rustix::io::ioctl_fionbio(&output, false);
            // It ends with the process.
            thread::spawn(move || io::copy(&mut File::from(output), &mut io::sink()));
        }
    }
}

/// Two descriptors that do not block, and the wait for them.
pub(crate) struct StreamIo {
    input: OwnedFd,
    output: OwnedFd,
    /// Other threads wake the loop by this.
    wake_fd: Arc<WakeFd>,
    flags: [Flags; 2],
    blocking: Blocking,
}

/// Whether the input is read without waiting for it first, which saves a system call for each message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blocking {
    /// Never: it is not a pipe, or others change its flags.
    Never,
    /// Not yet. It was possible so many times in a row.
    After(u32),
    /// Now.
    Now,
}

/// Changing it costs as much as it saves on two messages.
const BLOCK_AFTER: u32 = 16;

impl StreamIo {
    pub(crate) fn new(input: Stream, output: Stream) -> io::Result<Self> {
        let flags = [Flags::nonblocking(&input)?, Flags::nonblocking(&output)?];
        // Of a socket, input and output are one open file: a write would block, too. And whoever has left a pipe
        // non-blocking may share it.
        let may_block = is_pipe(&input)? && flags[0].is_ours();
        let blocking = if may_block { Blocking::After(0) } else { Blocking::Never };
        Ok(StreamIo { input, output, wake_fd: Arc::new(WakeFd::new()?), flags, blocking })
    }

    /// Whether it is a way to wait for input alone to block in `read`.
    pub(crate) fn can_block(&self) -> bool {
        self.blocking != Blocking::Never
    }

    /// Waits for input alone: nobody may want to wake us, and no time may be set. Whether it may be there.
    pub(crate) fn block(&mut self) -> io::Result<bool> {
        match self.blocking {
            Blocking::Now => return Ok(true),
            Blocking::After(times) if times < BLOCK_AFTER => self.blocking = Blocking::After(times + 1),
            _ => {
                self.flags[0].set_blocking(true)?;
                self.blocking = Blocking::Now;
                return Ok(true);
            }
        }
        self.poll(true, false, None)
    }

    pub(crate) fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.wake_fd))
    }

    /// How much was written. `None` if nothing can be, for now.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        at_once(|| rustix::io::write(&self.output, bytes))
    }

    /// How much was read: nothing at the end. `None` if there is nothing, for now.
    pub(crate) fn read(&mut self, space: &mut [u8]) -> io::Result<Option<usize>> {
        let read = at_once(|| rustix::io::read(&self.input, &mut *space));
        if self.blocking == Blocking::Now && matches!(read, Ok(None)) {
            // Somebody else, who shares the pipe, wants it otherwise.
            self.blocking = Blocking::Never;
        }
        read
    }

    /// Waits until something can be read or written, as far as that is wanted, or somebody wakes us. Whether there
    /// is something to read.
    pub(crate) fn wait(&mut self, read: bool, write: bool, timeout: Option<Duration>) -> io::Result<bool> {
        if self.blocking == Blocking::Now {
            self.flags[0].set_blocking(false)?;
        }
        if self.blocking != Blocking::Never {
            self.blocking = Blocking::After(0);
        }
        self.poll(read, write, timeout)
    }

    fn poll(&mut self, read: bool, write: bool, timeout: Option<Duration>) -> io::Result<bool> {
        let timeout = timeout.map(|left| Timespec {
            tv_sec: left.as_secs().cast_signed(),
            tv_nsec: left.subsec_nanos().into(),
        });
        let wanted = |wanted: bool, flags| if wanted { flags } else { PollFlags::empty() };
        let mut fds = [
            PollFd::new(&self.input, wanted(read, PollFlags::IN)),
            PollFd::new(&self.output, wanted(write, PollFlags::OUT)),
            PollFd::new(&self.wake_fd, PollFlags::IN),
        ];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !fds[2].revents().is_empty() {
            self.wake_fd.clear();
        }
        if fds[1].revents().contains(PollFlags::ERR) && !write && !read {
            return Err(Errno::PIPE.into());
        }
        Ok(read && !fds[0].revents().is_empty())
    }
}

/// Whether it is one end of a pipe, and no more: a FIFO can be opened for both.
fn is_pipe(fd: &OwnedFd) -> io::Result<bool> {
    let is_fifo = FileType::from_raw_mode(fstat(fd)?.st_mode) == FileType::Fifo;
    Ok(is_fifo && fcntl_getfl(fd)? & OFlags::RWMODE == OFlags::RDONLY)
}

/// Does what does not block, unless it would.
fn at_once(mut act: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match act() {
            Ok(count) => return Ok(Some(count)),
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
