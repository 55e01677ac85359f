//! Descriptors that were handed to the process, polled where the kernel allows it.
//!
//! Pipes and sockets are polled. Files and `/dev/null` are never waited for, so they are read and written
//! as they are. A terminal is read by a thread that nobody waits for.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

/// A descriptor that is read without ever blocking the runtime.
pub(super) enum Reader {
    Pipe { pipe: pipe::Receiver, _flags: Flags },
    Socket { socket: UnixStream, _flags: Flags },
    Direct(OwnedFd),
    Thread { chunks: mpsc::Receiver<io::Result<Vec<u8>>>, rest: Vec<u8> },
}

/// The same for writing.
pub(super) enum Writer {
    Pipe { pipe: pipe::Sender, _flags: Flags },
    Socket { socket: UnixStream, _flags: Flags },
    Direct(OwnedFd),
}

/// The flags of an open file, which other processes may share: put back as they were.
pub(crate) struct Flags {
    fd: OwnedFd,
    flags: OFlags,
}

impl Flags {
    pub(crate) fn of(fd: &OwnedFd) -> io::Result<Self> {
        Ok(Flags { flags: fcntl_getfl(fd)?, fd: duplicate(fd)? })
    }
}

impl Flags {
    /// Makes the open file non-blocking for as long as this lives.
    pub(crate) fn nonblocking(fd: &OwnedFd) -> io::Result<Self> {
        let before = Flags::of(fd)?;
        fcntl_setfl(fd, before.flags | OFlags::NONBLOCK)?;
        Ok(before)
    }
}

impl Drop for Flags {
    fn drop(&mut self) {
        let _ = fcntl_setfl(&self.fd, self.flags);
    }
}

fn file_type(fd: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

/// Any stream socket will do: only reading and writing are asked of it.
fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let stream = StdUnixStream::from(fd);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

impl Reader {
    pub(super) fn new(fd: OwnedFd) -> io::Result<Self> {
        let _flags = Flags::of(&fd)?;
        match file_type(&fd)? {
            FileType::Fifo => Ok(Reader::Pipe { pipe: pipe::Receiver::from_owned_fd(fd)?, _flags }),
            FileType::Socket => Ok(Reader::Socket { socket: socket(fd)?, _flags }),
            _ if rustix::termios::isatty(&fd) => Reader::thread(fd),
            _ => Ok(Reader::Direct(fd)),
        }
    }

    fn thread(fd: OwnedFd) -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(1);
        std::thread::Builder::new().name("sabir-stdin".to_owned()).spawn(move || {
            loop {
                let mut chunk = vec![0; 64 * 1024];
                let read = blocking_read(&fd, &mut chunk).map(|count| {
                    chunk.truncate(count);
                    chunk
                });
                let last = !matches!(&read, Ok(chunk) if !chunk.is_empty());
                if sender.blocking_send(read).is_err() || last {
                    break;
                }
            }
        })?;
        Ok(Reader::Thread { chunks, rest: Vec::new() })
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
                let count = blocking_read(fd, buffer.initialize_unfilled())?;
                buffer.advance(count);
                Poll::Ready(Ok(()))
            }
            Reader::Thread { chunks, rest } => {
                if rest.is_empty() {
                    match ready!(chunks.poll_recv(cx)) {
                        Some(chunk) => *rest = chunk?,
                        None => return Poll::Ready(Ok(())),
                    }
                }
                let count = rest.len().min(buffer.remaining());
                buffer.put_slice(&rest[..count]);
                rest.drain(..count);
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl Writer {
    pub(super) fn new(fd: OwnedFd) -> io::Result<Self> {
        let _flags = Flags::of(&fd)?;
        match file_type(&fd)? {
            FileType::Fifo => Ok(Writer::Pipe { pipe: pipe::Sender::from_owned_fd(fd)?, _flags }),
            FileType::Socket => Ok(Writer::Socket { socket: socket(fd)?, _flags }),
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
