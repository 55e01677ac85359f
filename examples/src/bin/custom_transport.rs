//! A transport of one's own: JSON-RPC over channels of byte chunks, as a message bus or a worker would have them.
//!
//! Run with `cargo run -q -p sabir-examples --bin custom_transport`. Whatever reads and writes bytes is a transport.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use sabir::{Router, Transport, transport};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

/// Reads what comes through a channel, chunk by chunk.
struct Incoming {
    chunks: mpsc::Receiver<Vec<u8>>,
    /// What is left of the last chunk.
    rest: Vec<u8>,
}

impl AsyncRead for Incoming {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.rest.is_empty() {
            // `None`, and with it nothing read, is the end: the sender is gone.
            match ready!(self.chunks.poll_recv(cx)) {
                Some(chunk) => self.rest = chunk,
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = self.rest.len().min(buf.remaining());
        buf.put_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Poll::Ready(Ok(()))
    }
}

type Reservation = Pin<Box<dyn Future<Output = Result<mpsc::OwnedPermit<Vec<u8>>, io::Error>> + Send>>;

/// Writes into a channel. When the channel is full it waits: that is all that backpressure needs.
struct Outgoing {
    chunks: Option<mpsc::Sender<Vec<u8>>>,
    waiting: Option<Reservation>,
}

impl AsyncWrite for Outgoing {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Some(chunks) = self.chunks.clone() else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        let reserve = || -> Reservation {
            Box::pin(
                async move { chunks.reserve_owned().await.map_err(|_| io::ErrorKind::BrokenPipe.into()) },
            )
        };
        let outcome = ready!(self.waiting.get_or_insert_with(reserve).as_mut().poll(cx));
        self.waiting = None;
        outcome?.send(bytes.to_vec());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        (self.chunks, self.waiting) = (None, None);
        Poll::Ready(Ok(()))
    }
}

/// Two transports that are connected by channels with room for a few chunks.
fn channels() -> (Transport, Transport) {
    let ((to_b, from_a), (to_a, from_b)) = (mpsc::channel(4), mpsc::channel(4));
    let end = |chunks, sender| {
        let incoming = Incoming { chunks, rest: Vec::new() };
        transport::streams(incoming, Outgoing { chunks: Some(sender), waiting: None })
    };
    (end(from_b, to_b), end(from_a, to_a))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (ours, theirs) = channels();
    let echo = Router::new().method("echo", |_, (text,): (String,)| async move { Ok(text) });
    let server = tokio::spawn(sabir::serve(theirs, echo));

    let peer = sabir::connect(ours, Router::new()).await?;
    let text = "x".repeat(1 << 20);
    let back: String = peer.call("echo", (&text,)).await?;
    assert_eq!(back, text);
    eprintln!("{} bytes went over and back", back.len());

    peer.shutdown(std::time::Duration::from_secs(1)).await;
    server.await??;
    Ok(())
}
