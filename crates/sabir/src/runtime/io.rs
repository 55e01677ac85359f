//! What a connection sends and receives through: a stream of bytes, or a link that carries whole messages.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use sabir_proto::Cause;
use tokio::io::ReadBuf;

use crate::router::observe::{Observed, Side};
use crate::runtime::serve::lost_text;
use crate::runtime::session_context::Desk;
use crate::transport::{Duplex, Io, Wire};

/// Whether anything happened.
pub(crate) enum Moved {
    Yes,
    No,
}

/// The transport's side of a connection.
pub(crate) trait Port: Send {
    /// Sends what the session has. An error on this side ends the connection.
    fn send(&mut self, cx: &mut Context<'_>, desk: &mut Desk) -> Moved;

    /// Takes in what has come. Only called while the session wants to read.
    fn receive(&mut self, cx: &mut Context<'_>, desk: &mut Desk) -> Moved;

    /// Says goodbye once everything is sent.
    fn poll_close(&mut self, cx: &mut Context<'_>, cause: &Cause) -> Poll<()>;
}

impl<S: Duplex> Port for Io<S> {
    fn send(&mut self, cx: &mut Context<'_>, desk: &mut Desk) -> Moved {
        if let Some(audience) = &mut self.audience
            && let Poll::Ready(gone) = audience.poll_gone(cx)
        {
            return lost(desk, &gone);
        }
        let wait = desk.session.wait();
        if wait.write.is_empty() {
            return self.flush(cx, desk);
        }
        match Pin::new(&mut self.stream).poll_write(cx, wait.write) {
            Poll::Pending => Moved::No,
            Poll::Ready(Ok(count)) => {
                if let Some(tap) = &mut self.tap {
                    tap(Wire::Sent, &wait.write[..count]);
                }
                desk.session.handle_written(desk.now, count);
                desk.tell(&Observed::Bytes { side: Side::Ours, count });
                self.unflushed = true;
                Moved::Yes
            }
            Poll::Ready(Err(error)) => lost(desk, &error),
        }
    }

    fn receive(&mut self, cx: &mut Context<'_>, desk: &mut Desk) -> Moved {
        if self.ending {
            return self.end(cx, desk);
        }
        let mut buffer = ReadBuf::new(desk.session.space());
        match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
            Poll::Pending => Moved::No,
            Poll::Ready(Ok(())) => {
                if let Some(tap) = &mut self.tap {
                    tap(Wire::Received, buffer.filled());
                }
                match buffer.filled().len() {
                    0 => self.ending = true,
                    count => {
                        desk.session.handle_read(desk.now, count);
                        desk.tell(&Observed::Bytes { side: Side::Theirs, count });
                    }
                }
                Moved::Yes
            }
            Poll::Ready(Err(error)) => lost(desk, &error),
        }
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, _: &Cause) -> Poll<()> {
        Pin::new(&mut self.stream).poll_shutdown(cx).map(drop)
    }
}

impl Port for Box<dyn Port> {
    fn send(&mut self, cx: &mut Context<'_>, desk: &mut Desk) -> Moved {
        (**self).send(cx, desk)
    }

    fn receive(&mut self, cx: &mut Context<'_>, desk: &mut Desk) -> Moved {
        (**self).receive(cx, desk)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, cause: &Cause) -> Poll<()> {
        (**self).poll_close(cx, cause)
    }
}

impl<S: Duplex> Io<S> {
    /// A stream that gathers, as TLS does, is told when there is nothing more to come.
    fn flush(&mut self, cx: &mut Context<'_>, desk: &mut Desk) -> Moved {
        if self.unflushed {
            match Pin::new(&mut self.stream).poll_flush(cx) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.unflushed = false,
                Poll::Ready(Err(error)) => return lost(desk, &error),
            }
        }
        Moved::No
    }

    /// The input has ended. The transport may know more, such as how a process exited.
    fn end(&mut self, cx: &mut Context<'_>, desk: &mut Desk) -> Moved {
        let epitaph = match &mut self.epitaph {
            Some(epitaph) => match epitaph.as_mut().poll(cx) {
                Poll::Ready(epitaph) => epitaph,
                Poll::Pending => return Moved::No,
            },
            None => None,
        };
        self.epitaph = None;
        match epitaph {
            Some(cause) => desk.session.handle_lost(desk.now, cause),
            None => {
                if let Some(audience) = &mut self.audience {
                    audience.watch();
                }
                desk.handle_eof();
            }
        }
        Moved::Yes
    }
}

fn lost(desk: &mut Desk, error: &io::Error) -> Moved {
    desk.session.handle_lost(desk.now, lost_text(error));
    Moved::Yes
}
