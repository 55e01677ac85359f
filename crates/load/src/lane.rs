//! Connections that calls are sent over.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use sabir_proto::RawJson;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::codec::{Codec, Coder, Http, Piece};
use crate::drive::Shared;
use crate::generator::Ticket;
use crate::tally::{Class, Outcome};

/// Bytes that are read at once.
const READ: usize = 128 << 10;

/// Bytes that are written at once: what a pipe holds.
const WRITE: usize = 64 << 10;

/// Turns after which other connections have theirs.
const TURNS: usize = 16;

/// Both directions of a connection.
pub trait Duplex: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Duplex for T {}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// Opens a connection.
pub type Connect = Box<dyn Fn() -> BoxFuture<io::Result<Box<dyn Duplex>>>>;

/// Makes the calls of one message, by their places in the plan: one, or those of a batch. What became of each, in their order.
pub type CallFn = Box<dyn Fn(&[u32]) -> BoxFuture<Vec<Outcome>>>;

/// What the server is answered, as JSON: a result, or an error object.
pub type Answer = dyn Fn(&str, Option<&RawJson<'_>>) -> Result<String, String>;

/// A connection, or what stands for one.
pub enum Lane {
    /// A stream of bytes. Any number of calls may be open on it.
    Stream {
        /// The open connection.
        io: Box<dyn Duplex>,
        /// How messages are delimited.
        codec: Codec,
    },
    /// HTTP/1.1: one message is posted at a time, and the connection is opened again when it was closed.
    Http {
        /// A connection that is open already.
        first: Option<Box<dyn Duplex>>,
        /// Opens a connection.
        connect: Connect,
        /// The request line and all headers but `Content-Length`, each with its end.
        head: Vec<u8>,
    },
    /// Futures, for whatever has a client of its own.
    Calls(CallFn),
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Lane::Stream { .. } => "Lane::Stream",
            Lane::Http { .. } => "Lane::Http",
            Lane::Calls(_) => "Lane::Calls",
        })
    }
}

impl Lane {
    pub(crate) async fn run(self, shared: &Shared, index: usize) {
        match self {
            Lane::Stream { io, codec } => {
                let mut stream = Stream {
                    coder: Coder::new(codec, shared.max_size),
                    pipe: Pipe::new(io),
                    written: Vec::new(),
                };
                let what = std::future::poll_fn(|cx| stream.poll(shared, index, cx)).await;
                shared.lost(index, &what);
            }
            Lane::Http { first, connect, head } => posts(shared, index, first, &connect, &head).await,
            Lane::Calls(call) => calls(shared, index, &call).await,
        }
    }
}

/// Bytes in both directions.
struct Pipe {
    io: Box<dyn Duplex>,
    came: Vec<u8>,
    /// What of it is still to be looked at.
    start: usize,
    end: usize,
    out: Vec<u8>,
    sent: usize,
    needs_flush: bool,
}

impl Pipe {
    fn new(io: Box<dyn Duplex>) -> Pipe {
        Pipe { io, came: vec![0; READ], start: 0, end: 0, out: Vec::new(), sent: 0, needs_flush: false }
    }

    fn unread(&self) -> &[u8] {
        &self.came[self.start..self.end]
    }

    /// One read. How many bytes came; 0 at the end.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.came.len() - self.end < READ / 4 {
            self.came.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.came.len() - self.end < READ / 4 {
                self.came.resize(self.came.len() * 2, 0);
            }
        }
        let mut buffer = ReadBuf::new(&mut self.came[self.end..]);
        ready!(Pin::new(&mut self.io).poll_read(cx, &mut buffer))?;
        let count = buffer.filled().len();
        self.end += count;
        Poll::Ready(Ok(count))
    }

    /// Writes all that is to go out. Ready when it did.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.out.len() {
            let count = ready!(Pin::new(&mut self.io).poll_write(cx, &self.out[self.sent..]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += count;
            self.needs_flush = true;
        }
        if self.needs_flush {
            ready!(Pin::new(&mut self.io).poll_flush(cx))?;
            self.needs_flush = false;
        }
        self.out.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }
}

/// A stream of bytes with messages in it.
struct Stream {
    pipe: Pipe,
    coder: Coder,
    /// Notifications in what is to go out: they are done when it went.
    written: Vec<u64>,
}

impl Stream {
    /// Reads, gives calls to send, and writes, as long as there is something to do. Ready when the connection is lost.
    fn poll(&mut self, shared: &Shared, index: usize, cx: &mut Context<'_>) -> Poll<String> {
        for _ in 0..TURNS {
            let came = match self.pipe.poll_read(cx) {
                Poll::Ready(Ok(0)) => return Poll::Ready("the server closed the connection".to_owned()),
                Poll::Ready(Ok(count)) => {
                    if let Some(end) = self.receive(shared, count) {
                        return Poll::Ready(end);
                    }
                    true
                }
                Poll::Ready(Err(error)) => return Poll::Ready(broken(&error)),
                Poll::Pending => false,
            };
            let took = match self.pipe.out.is_empty() {
                true => self.fill(shared, index),
                false => false,
            };
            let wrote = !self.pipe.out.is_empty();
            match self.pipe.poll_write(cx) {
                Poll::Ready(Ok(())) if wrote => self.all_written(shared),
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(broken(&error)),
                Poll::Pending => {}
            }
            if !came && !took && !wrote {
                shared.park(index, cx);
                return Poll::Pending;
            }
            if !came && !self.pipe.out.is_empty() {
                // The server has to read first.
                shared.park(index, cx);
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Handles what came. Why the connection is over, if it is.
    fn receive(&mut self, shared: &Shared, count: usize) -> Option<String> {
        let mut state = shared.state();
        let now = shared.now();
        state.generator.moved(0, count);
        let mut replies: Vec<String> = Vec::new();
        let mut frames = Vec::new();
        let ended = loop {
            let (piece, used) = self.coder.next(&self.pipe.came[self.pipe.start..self.pipe.end]);
            let more = match piece {
                Piece::Message(text) => {
                    let reply = &mut |text: &str| replies.push(text.to_owned());
                    shared.rendered.receive(text, now, &mut state.generator, &*shared.answer, reply);
                    true
                }
                Piece::Reply(frame) => {
                    frames.extend_from_slice(&frame);
                    true
                }
                Piece::Fault(_) => {
                    state.generator.stray();
                    true
                }
                Piece::Nothing => true,
                Piece::More => false,
                Piece::End => break Some("the server closed the connection".to_owned()),
            };
            self.pipe.start += used;
            if !more {
                break None;
            }
        };
        for reply in replies {
            self.coder.encode(&mut self.pipe.out, |out| out.extend_from_slice(reply.as_bytes()));
        }
        self.pipe.out.append(&mut frames);
        state.generator.poll(now);
        state.wake(shared);
        ended
    }

    /// Takes what is to be sent. Whether there is anything.
    fn fill(&mut self, shared: &Shared, index: usize) -> bool {
        let mut state = shared.state();
        let now = shared.now();
        let mut tickets = std::mem::take(&mut state.tickets);
        state.generator.set_room(index, shared.messages_at_once(WRITE));
        state.generator.poll(now);
        state.generator.take(index, now, &mut tickets);
        for message in tickets.chunk_by(|a, _| !a.is_last) {
            self.coder.encode(&mut self.pipe.out, |out| shared.rendered.write(out, message));
            let notifications = message.iter().filter(|ticket| shared.rendered.is_notification(**ticket));
            self.written.extend(notifications.map(|ticket| ticket.id));
        }
        let took = !tickets.is_empty();
        if took {
            // Nothing more until this went out: what waits in a buffer of ours would seem to be sent.
            state.generator.set_room(index, 0);
        }
        state.generator.moved(self.pipe.out.len(), 0);
        tickets.clear();
        state.tickets = tickets;
        state.wake(shared);
        took
    }

    fn all_written(&mut self, shared: &Shared) {
        if self.written.is_empty() {
            return;
        }
        let mut state = shared.state();
        let now = shared.now();
        self.written.drain(..).for_each(|id| state.generator.answered(id, now, &Outcome::Ok));
        state.wake(shared);
    }
}

/// Why a connection is over. Which of its ends is noticed first is chance.
fn broken(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
            "the server closed the connection".to_owned()
        }
        _ => format!("the connection broke: {error}"),
    }
}

/// HTTP: one message at a time.
async fn posts(
    shared: &Shared,
    index: usize,
    first: Option<Box<dyn Duplex>>,
    connect: &Connect,
    head: &[u8],
) {
    let mut is_first = first.is_none();
    let mut pipe = first.map(Pipe::new);
    let mut http = Http::new(shared.max_size);
    let (mut tickets, mut body) = (Vec::new(), Vec::new());
    loop {
        // Ahead of the call that needs it.
        if pipe.is_none() {
            match connect().await {
                Ok(io) => pipe = Some(Pipe::new(io)),
                Err(error) => {
                    take(shared, index, &mut tickets).await;
                    let failed = Outcome::Failed(Class::NotConnected, format!("cannot connect: {error}"));
                    shared.finish_all(&tickets, &failed);
                    continue;
                }
            }
            if !std::mem::take(&mut is_first) {
                shared.state().generator.reconnected();
            }
        }
        take(shared, index, &mut tickets).await;
        let Some(open) = &mut pipe else { continue };
        body.clear();
        shared.rendered.write(&mut body, &tickets);
        Http::request(&mut open.out, head, &body);
        let exchanged = std::future::poll_fn(|cx| exchange(open, &mut http, shared, index, cx)).await;
        let keeps = match exchanged {
            Ok(keeps) => keeps,
            Err(failed) => {
                shared.finish_all(&tickets, &failed);
                false
            }
        };
        if !keeps {
            pipe = None;
        }
        // What the response did not answer is not answered any more.
        let missing = Outcome::Failed(Class::Protocol, "the response has no answer to it".to_owned());
        shared.finish_all(&tickets, &missing);
    }
}

/// Waits for the next message to post.
async fn take(shared: &Shared, index: usize, tickets: &mut Vec<Ticket>) {
    tickets.clear();
    std::future::poll_fn(|cx| {
        let mut state = shared.state();
        let now = shared.now();
        state.generator.set_room(index, 1);
        state.generator.poll(now);
        state.generator.take(index, now, tickets);
        state.wake(shared);
        if tickets.is_empty() {
            // What timed out has no connection that waits for it.
            state.generator.take_timed_out(index);
            drop(state);
            shared.park(index, cx);
            return Poll::Pending;
        }
        state.generator.set_room(index, 0);
        Poll::Ready(())
    })
    .await;
}

/// Posts what is in `pipe`, and handles the response. Whether the connection can be used again.
fn exchange(
    pipe: &mut Pipe,
    http: &mut Http,
    shared: &Shared,
    index: usize,
    cx: &mut Context<'_>,
) -> Poll<Result<bool, Outcome>> {
    let failed = |what: String| Poll::Ready(Err(Outcome::Failed(Class::Transport, what)));
    let length = pipe.out.len();
    match pipe.poll_write(cx) {
        Poll::Ready(Ok(())) => shared.state().generator.moved(length, 0),
        Poll::Ready(Err(error)) => return failed(broken(&error)),
        Poll::Pending => {}
    }
    loop {
        let (count, at_end) = match pipe.poll_read(cx) {
            Poll::Ready(Ok(0)) => (0, true),
            Poll::Ready(Ok(count)) => (count, false),
            Poll::Ready(Err(error)) => return failed(broken(&error)),
            Poll::Pending => {
                if shared.state().generator.take_timed_out(index) {
                    // Its response may come at any time: the connection is of no use any more.
                    return Poll::Ready(Ok(false));
                }
                shared.park(index, cx);
                return Poll::Pending;
            }
        };
        let mut state = shared.state();
        let now = shared.now();
        state.generator.moved(0, count);
        let response = match http.response(pipe.unread(), at_end) {
            Ok(Some(response)) => response,
            Ok(None) if at_end => return failed("the server closed the connection".to_owned()),
            Ok(None) => continue,
            Err(what) => return Poll::Ready(Err(Outcome::Failed(Class::Protocol, what))),
        };
        let (status, keeps, used) = (response.status, response.keeps, response.used);
        let is_success = (200..300).contains(&status);
        if is_success && response.body.is_empty() {
            state.accepted(now, index);
        } else {
            let mut asks = |_: &str| {};
            shared.rendered.receive(response.body, now, &mut state.generator, &*shared.answer, &mut asks);
        }
        pipe.start += used;
        // Whatever follows was not asked for.
        let keeps = keeps && pipe.unread().is_empty();
        return Poll::Ready(match is_success {
            true => Ok(keeps),
            false => Err(Outcome::Failed(Class::Transport, format!("HTTP {status}"))),
        });
    }
}

/// Futures: as many as are asked for.
async fn calls(shared: &Shared, index: usize, call: &CallFn) {
    let mut open = FuturesUnordered::new();
    let mut tickets = Vec::new();
    std::future::poll_fn(|cx| {
        for _ in 0..TURNS {
            let mut state = shared.state();
            let now = shared.now();
            state.generator.set_room(index, u32::MAX);
            state.generator.poll(now);
            state.generator.take(index, now, &mut tickets);
            state.wake(shared);
            drop(state);
            for message in tickets.split_inclusive(|ticket| ticket.is_last) {
                let ids: Vec<u64> = message.iter().map(|ticket| ticket.id).collect();
                let future = call(&message.iter().map(|ticket| ticket.call).collect::<Vec<u32>>());
                open.push(async move { (ids, future.await) });
            }
            tickets.clear();
            match open.poll_next_unpin(cx) {
                Poll::Ready(Some((ids, outcomes))) => {
                    let (mut state, now) = (shared.state(), shared.now());
                    for (id, outcome) in ids.into_iter().zip(&outcomes) {
                        state.generator.answered(id, now, outcome);
                    }
                }
                Poll::Ready(None) | Poll::Pending => {
                    shared.park(index, cx);
                    return Poll::<()>::Pending;
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
