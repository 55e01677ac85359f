//! `--trace`: the wire as a transcript, message by message, however the bytes are chunked.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use sabir::{Framing, Limits, RawJson};
use sabir_proto::{Cut, Deframer, Line};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::json::compact;
use crate::print::Printer;

/// Shows what is read from, or written to, the stream inside.
pub(crate) struct Traced<S> {
    stream: S,
    view: View,
}

impl<S> Traced<S> {
    /// What is read, which comes from the server.
    pub(crate) fn reading(stream: S, framing: Framing, printer: &Printer) -> Self {
        Traced { stream, view: View::new(framing, false, printer) }
    }

    /// What is written, which goes to the server.
    pub(crate) fn writing(stream: S, framing: Framing, printer: &Printer) -> Self {
        Traced { stream, view: View::new(framing, true, printer) }
    }
}

/// One direction of the wire.
struct View {
    deframer: Deframer,
    unread: Vec<u8>,
    to_server: bool,
    printer: Printer,
}

impl View {
    fn new(framing: Framing, to_server: bool, printer: &Printer) -> Self {
        let deframer = Deframer::new(Some(framing), Limits::default().message_bytes);
        View { deframer, unread: Vec::new(), to_server, printer: printer.clone() }
    }

    fn pass(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
        let mut start = 0;
        loop {
            let cut = self.deframer.cut(&self.unread[start..]);
            start += show(cut, self.to_server, &self.printer);
            if let Cut::More { .. } = cut {
                break;
            }
        }
        self.unread.drain(..start);
    }

    fn end(&mut self) {
        let unread = std::mem::take(&mut self.unread);
        if !unread.is_empty() {
            show(self.deframer.finish(&unread), self.to_server, &self.printer);
        }
    }
}

/// How many bytes are done with.
fn show(cut: Cut<'_>, to_server: bool, printer: &Printer) -> usize {
    match cut {
        Cut::Message { body, used } => {
            printer.trace(&match (RawJson::from_bytes(body), to_server) {
                (Ok(message), true) => Line::ToServer(compact(message.as_str()).into_owned().into()),
                (Ok(message), false) => Line::ToClient(compact(message.as_str()).into_owned().into()),
                (Err(_), true) => Line::BytesToServer(body.to_vec()),
                (Err(_), false) => Line::BytesToClient(body.to_vec()),
            });
            used
        }
        Cut::Fault { fault, used } => {
            printer.trace(&Line::Event(fault.to_string().into()));
            used
        }
        Cut::More { used, .. } => used,
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Traced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        match &into.filled()[before..] {
            [] => self.view.end(),
            bytes => self.view.pass(bytes),
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Traced<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.view.pass(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
