//! Descriptors that were handed to the process, polled where the kernel allows it.
//!
//! Pipes and sockets are polled. Files and `/dev/null` are never waited for, so they are read and written
//! as they are. A terminal is read by a thread that nobody waits for.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::task::coop::poll_proceed;

use super::thread_io::ThreadReader;

/// A descriptor that is read without ever blocking the runtime.
pub(super) enum Reader {
    Pipe { pipe: pipe::Receiver, _flags: Flags },
    Socket { socket: UnixStream, _flags: Flags },
    Direct(OwnedFd),
    Thread(ThreadReader),
}

/// The same for writing.
pub(super) enum Writer {
    Pipe { pipe: pipe::Sender, _flags: Flags },
    Socket { socket: UnixStream, _flags: Flags },
    Direct(OwnedFd),
}

/// An open file is non-blocking while this lives. Others may share the file, so it is left as it was.
pub(crate) struct Flags {
    fd: OwnedFd,
    /// Input and output may be one open file, which must not be taken for non-blocking just because the
    /// other half has made it so: whoever set the flag clears it.
    set: bool,
}

impl Flags {
    /// Makes the open file non-blocking.
    pub(crate) fn nonblocking(fd: &OwnedFd) -> io::Result<Self> {
        let fd = duplicate(fd)?;
        let flags = fcntl_getfl(&fd)?;
        fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
        Ok(Flags { fd, set: !flags.contains(OFlags::NONBLOCK) })
    }

    /// Whether nobody had made it non-blocking before.
    pub(crate) fn is_ours(&self) -> bool {
        self.set
    }

    /// Makes it block for a while, or not.
    pub(crate) fn set_blocking(&self, blocking: bool) -> io::Result<()> {
        let mut flags = fcntl_getfl(&self.fd)?;
        flags.set(OFlags::NONBLOCK, !blocking);
        Ok(fcntl_setfl(&self.fd, flags)?)
    }
}

impl Drop for Flags {
    fn drop(&mut self) {
        if self.set
            && let Ok(flags) = fcntl_getfl(&self.fd)
        {
            let _ = fcntl_setfl(&self.fd, flags - OFlags::NONBLOCK);
        }
    }
}

fn file_type(fd: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

/// Any stream socket will do: only reading and writing are asked of it.
fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    UnixStream::from_std(StdUnixStream::from(fd))
}

impl Reader {
    pub(super) fn new(fd: OwnedFd) -> io::Result<Self> {
        match file_type(&fd)? {
            FileType::Fifo => {
                let _flags = Flags::nonblocking(&fd)?;
                Ok(Reader::Pipe { pipe: pipe::Receiver::from_owned_fd(fd)?, _flags })
            }
            FileType::Socket => {
                let _flags = Flags::nonblocking(&fd)?;
                Ok(Reader::Socket { socket: socket(fd)?, _flags })
            }
            _ if rustix::termios::isatty(&fd) => {
                Ok(Reader::Thread(ThreadReader::new("sabir-stdin", Terminal(fd))?))
            }
            _ => Ok(Reader::Direct(fd)),
        }
    }
}

/// A terminal, read by a thread.
struct Terminal(OwnedFd);

impl Read for Terminal {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match blocking_read(&self.0, buffer) {
            // One that has been closed is the end of the input.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => Ok(0),
            read => read,
        }
    }
}

fn blocking_read(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match rustix::io::read(fd, &mut *buffer) {
            Ok(count) => return Ok(count),
            Err(rustix::io::Errno::INTR) => {}
            // The parent left it non-blocking: wait as if it were not.
            Err(rustix::io::Errno::AGAIN) => wait(fd, rustix::event::PollFlags::IN)?,
            Err(error) => return Err(error.into()),
        }
    }
}

fn wait(fd: &OwnedFd, flags: rustix::event::PollFlags) -> io::Result<()> {
    let mut fds = [rustix::event::PollFd::new(fd, flags)];
    match rustix::event::poll(&mut fds, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Reader::Pipe { pipe, .. } => Pin::new(pipe).poll_read(cx, buffer),
            Reader::Socket { socket, .. } => Pin::new(socket).poll_read(cx, buffer),
            Reader::Direct(fd) => {
                // A file always has something to read: others have to have their turn, too.
                let turn = ready!(poll_proceed(cx));
                turn.made_progress();
                let count = blocking_read(fd, buffer.initialize_unfilled())?;
                buffer.advance(count);
                Poll::Ready(Ok(()))
            }
            Reader::Thread(thread) => Pin::new(thread).poll_read(cx, buffer),
        }
    }
}

impl Writer {
    pub(super) fn new(fd: OwnedFd) -> io::Result<Self> {
        match file_type(&fd)? {
            FileType::Fifo => {
                let _flags = Flags::nonblocking(&fd)?;
                Ok(Writer::Pipe { pipe: pipe::Sender::from_owned_fd(fd)?, _flags })
            }
            FileType::Socket => {
                let _flags = Flags::nonblocking(&fd)?;
                Ok(Writer::Socket { socket: socket(fd)?, _flags })
            }
            _ => Ok(Writer::Direct(fd)),
        }
    }
}

impl AsyncWrite for Writer {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Writer::Pipe { pipe, .. } => Pin::new(pipe).poll_write(cx, bytes),
            Writer::Socket { socket, .. } => Pin::new(socket).poll_write(cx, bytes),
            Writer::Direct(fd) => loop {
                match rustix::io::write(&*fd, bytes) {
                    Ok(count) => return Poll::Ready(Ok(count)),
                    Err(rustix::io::Errno::INTR) => {}
                    Err(rustix::io::Errno::AGAIN) => wait(fd, rustix::event::PollFlags::OUT)?,
                    Err(error) => return Poll::Ready(Err(error.into())),
                }
            },
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A copy of a descriptor for ourselves, which children do not inherit.
pub(crate) fn duplicate(fd: impl AsFd) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, 3)?)
}
