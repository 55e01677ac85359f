//! Connections on one thread have their turns, whatever one of them asks for.

#![allow(clippy::unwrap_used)]

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use sabir::{Router, transport};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};

const CALLS: usize = 2000;

/// One peer sends many calls in one go, each of which keeps the processor busy. Another one calls meanwhile. How
/// many calls of the first had been worked on when the second had its answer.
async fn calls_before_another(handler: impl Fn(&Arc<AtomicUsize>) -> Router) -> usize {
    let done = Arc::new(AtomicUsize::new(0));
    let (mut busy, served) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(served);
    tokio::spawn(sabir::serve(transport::streams(reader, writer), handler(&done)));
    let messages: String =
        (0..CALLS).map(|n| format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"work\"}}\n")).collect();
    busy.write_all(messages.as_bytes()).await.unwrap();
    let (a, b) = transport::memory();
    tokio::spawn(sabir::serve(a, Router::new().method_sync("ping", |_, ()| Ok(1))));
    let peer = sabir::connect(b, Router::new()).await.unwrap();
    assert_eq!(peer.call("ping", ()).await, Ok(1));
    let before = done.load(Ordering::Relaxed);
    // All the rest is answered all the same.
    let mut answers = 0;
    let mut buffer = vec![0; 1 << 16];
    while answers < CALLS {
        let count = busy.read(&mut buffer).await.unwrap();
        answers += buffer[..count].iter().filter(|byte| **byte == b'\n').count();
    }
    assert_eq!(done.load(Ordering::Relaxed), CALLS);
    before
}

fn work(done: &AtomicUsize) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(200) {}
    done.fetch_add(1, Ordering::Relaxed);
}

/// There are a few turns between the two: to connect, to send, to answer, to hear of it.
const FEW: usize = CALLS / 4;

#[tokio::test]
async fn handlers_that_are_done_at_once_leave_others_their_turn() {
    let before = calls_before_another(|done| {
        let done = Arc::clone(done);
        Router::new().method_sync("work", move |_, ()| {
            work(&done);
            Ok(())
        })
    })
    .await;
    assert!(before < FEW, "{before} of {CALLS} calls came first");
}

#[tokio::test]
async fn handlers_that_wait_leave_others_their_turn() {
    let before = calls_before_another(|done| {
        let done = Arc::clone(done);
        Router::new().method("work", move |_, ()| {
            let done = Arc::clone(&done);
            async move {
                tokio::task::yield_now().await;
                work(&done);
                Ok(())
            }
        })
    })
    .await;
    assert!(before < FEW, "{before} of {CALLS} calls came first");
}

/// An invalid message is answered without a handler, and takes its time all the same.
#[tokio::test]
async fn junk_leaves_others_their_turn() {
    const JUNK: usize = 100_000;
    let done = Arc::new(AtomicUsize::new(0));
    let (mut busy, served) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(served);
    let counted = Arc::clone(&done);
    let streams = transport::streams(reader, writer).on_report(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    tokio::spawn(sabir::serve(streams, Router::new()));
    busy.write_all("1\n".repeat(JUNK).as_bytes()).await.unwrap();
    let (a, b) = transport::memory();
    tokio::spawn(sabir::serve(a, Router::new().method_sync("ping", |_, ()| Ok(1))));
    let peer = sabir::connect(b, Router::new()).await.unwrap();
    assert_eq!(peer.call("ping", ()).await, Ok(1));
    let before = done.load(Ordering::Relaxed);
    let mut answers = 0;
    let mut buffer = vec![0; 1 << 16];
    while answers < JUNK {
        let count = busy.read(&mut buffer).await.unwrap();
        answers += buffer[..count].iter().filter(|byte| **byte == b'\n').count();
    }
    assert!(before < JUNK / 4, "{before} of {JUNK} pieces of junk came first");
}

/// Takes all that is written at once, as a socket with large buffers does, and needs the processor for it.
struct CopyingWriter {
    bytes: Arc<AtomicUsize>,
}

impl AsyncWrite for CopyingWriter {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(bytes.len() as u64 >> 8) {}
        self.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The system copies what is written, which takes a large answer longer than a turn.
#[tokio::test]
async fn writing_leaves_others_their_turn() {
    const LARGE: usize = 8 << 20;
    let bytes = Arc::new(AtomicUsize::new(0));
    let (mut busy, served) = tokio::io::duplex(1 << 10);
    let router = Router::new().method_sync("large", |_, ()| Ok("x".repeat(LARGE)));
    let writer = CopyingWriter { bytes: Arc::clone(&bytes) };
    tokio::spawn(sabir::serve(transport::streams(served, writer), router));
    busy.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"large\"}\n").await.unwrap();
    let mut turns = 0;
    while bytes.load(Ordering::Relaxed) < LARGE {
        tokio::task::yield_now().await;
        turns += 1;
    }
    assert!(turns > 8, "{turns} turns while an answer of 8 MiB was written");
}
