//! What a connection sends and receives through: a stream of bytes, or a link that carries whole messages.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use sabir_proto::{Cause, Lost};
use tokio::io::ReadBuf;

use crate::router::observe::{Observed, Side};
use crate::runtime::session_context::SessionContext;
use crate::transport::{ByteTransport, Direction, Duplex};

/// Bytes that are written at once. The system copies them, which takes time of a turn: 128 KiB some 50 µs.
pub(crate) const LARGEST_WRITE: usize = 128 << 10;

/// Whether anything happened.
pub(crate) enum IoProgress {
    Yes,
    No,
}

/// The transport's side of a connection.
pub(crate) trait Io: Send {
    /// Sends what the session has. An error on this side ends the connection.
    fn send(&mut self, cx: &mut Context<'_>, context: &mut SessionContext) -> IoProgress;

    /// Takes in what has come. Only called while the session wants to read.
    fn receive(&mut self, cx: &mut Context<'_>, context: &mut SessionContext) -> IoProgress;

    /// Closes the transport once everything is sent.
    fn poll_close(&mut self, cx: &mut Context<'_>, cause: &Cause) -> Poll<()>;
}

impl<S: Duplex> Io for ByteTransport<S> {
    fn send(&mut self, cx: &mut Context<'_>, context: &mut SessionContext) -> IoProgress {
        if let Some(output_watch) = &mut self.output_watch
            && let Poll::Ready(gone) = output_watch.poll_gone(cx)
        {
            return lost(context, gone);
        }
        let unsent = context.session.unsent();
        if unsent.is_empty() {
            return self.flush(cx, context);
        }
        let unsent = &unsent[..unsent.len().min(LARGEST_WRITE)];
        match Pin::new(&mut self.stream).poll_write(cx, unsent) {
            Poll::Pending => IoProgress::No,
            Poll::Ready(Ok(count)) => {
                if let Some(tap) = &mut self.tap {
                    tap(Direction::Sent, &unsent[..count]);
                }
                context.session.handle_written(context.now, count);
                context.tell(&Observed::Bytes { side: Side::Ours, count });
                self.unflushed = true;
                IoProgress::Yes
            }
            Poll::Ready(Err(error)) => lost(context, error),
        }
    }

    fn receive(&mut self, cx: &mut Context<'_>, context: &mut SessionContext) -> IoProgress {
        if self.ending {
            return self.end(cx, context);
        }
        let mut buffer = ReadBuf::new(context.session.space());
        match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
            Poll::Pending => IoProgress::No,
            Poll::Ready(Ok(())) => {
                if let Some(tap) = &mut self.tap {
                    tap(Direction::Received, buffer.filled());
                }
                match buffer.filled().len() {
                    0 => self.ending = true,
                    count => {
                        context.session.handle_read(context.now, count);
                        context.tell(&Observed::Bytes { side: Side::Theirs, count });
                    }
                }
                IoProgress::Yes
            }
            Poll::Ready(Err(error)) => lost(context, error),
        }
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, _: &Cause) -> Poll<()> {
        Pin::new(&mut self.stream).poll_shutdown(cx).map(drop)
    }
}

impl<T: Io + ?Sized> Io for Box<T> {
    fn send(&mut self, cx: &mut Context<'_>, context: &mut SessionContext) -> IoProgress {
        (**self).send(cx, context)
    }

    fn receive(&mut self, cx: &mut Context<'_>, context: &mut SessionContext) -> IoProgress {
        (**self).receive(cx, context)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, cause: &Cause) -> Poll<()> {
        (**self).poll_close(cx, cause)
    }
}

impl<S: Duplex> ByteTransport<S> {
    /// Flushes a stream that buffers, as TLS does, once there is nothing more to write.
    fn flush(&mut self, cx: &mut Context<'_>, context: &mut SessionContext) -> IoProgress {
        if self.unflushed {
            match Pin::new(&mut self.stream).poll_flush(cx) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.unflushed = false,
                Poll::Ready(Err(error)) => return lost(context, error),
            }
        }
        IoProgress::No
    }

    /// The input has ended. The transport may know more, such as how a process exited.
    fn end(&mut self, cx: &mut Context<'_>, context: &mut SessionContext) -> IoProgress {
        let exit_reason = match &mut self.exit_reason {
            Some(exit_reason) => match exit_reason.as_mut().poll(cx) {
                Poll::Ready(exit_reason) => exit_reason,
                Poll::Pending => return IoProgress::No,
            },
            None => None,
        };
        self.exit_reason = None;
        match exit_reason {
            Some(cause) => context.session.handle_gone(context.now, cause),
            None => {
                if let Some(output_watch) = &mut self.output_watch {
                    output_watch.watch();
                }
                context.handle_eof();
            }
        }
        IoProgress::Yes
    }
}

fn lost(context: &mut SessionContext, error: io::Error) -> IoProgress {
    context.session.handle_lost(context.now, Lost::from_error(error));
    IoProgress::Yes
}
