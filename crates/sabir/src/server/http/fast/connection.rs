//! A connection of HTTP/1.1 over which calls are posted, one after the other.
//!
//! Plain requests are read and answered right here, and cost little more than the calls that they carry.
//! With the first one that is not plain, or whose answer is a stream, the connection is hyper's, and all that
//! was read with it.

use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Response, header};
use tokio::io::{AsyncReadExt, ReadBuf};
use tokio::time::Instant;

use crate::server::acceptor::Hall;
use crate::server::budget::{MemoryBudget, Reservation};
use crate::server::deadline_timer::Leash;
use crate::server::http::caller::Whence;
use crate::server::http::{
    Admission, Admitted, Answer, Answering, Found, HttpService, Plain, Start, Streaming,
};
use crate::server::lingering_close::Linger;
use crate::transport::Duplex;

/// What is read at once.
const READ: usize = 8 * 1024;

/// What is taken of the next requests while one is being answered, and of answers before they are sent.
const ENOUGH: usize = 64 * 1024;

/// A connection, and where it stands.
pub(crate) struct Posts<'a, S> {
    hall: &'a Hall,
    service: &'a HttpService,
    stream: S,
    whence: Whence,
    leash: Leash,
    phase: Phase,
    /// What came and is not dealt with. Between two requests it holds nothing, not even memory.
    input: Vec<u8>,
    /// What is to be sent, and how much of it was.
    output: Vec<u8>,
    sent: usize,
    /// What it waits for, and since when.
    waits: Waits,
    since: Option<Instant>,
    /// When it was seen that the server stops.
    stopped: Option<Instant>,
    /// What it may hold, and what is held of that in the input and the output.
    budget: Arc<MemoryBudget>,
    reservation: Reservation,
}

enum Phase {
    /// The next is the head of a request.
    Head,
    /// The next is a body of this length.
    Body(Admitted, usize),
    Answering(Answering),
    /// Hyper is to send this.
    Streaming(Streaming),
    /// Nothing more is answered.
    Closing(Linger),
}

/// What is left to hyper.
pub(crate) struct Left<S> {
    /// What was read, from the head of a request on.
    pub(crate) read: Vec<u8>,
    pub(crate) stream: S,
    /// The answer to the first request, if that has begun.
    pub(crate) begun: Option<Streaming>,
}

/// What came of the input.
enum Worked {
    /// More is needed, or an answer.
    Needs,
    /// There is more, once the answers are sent.
    HasMore,
    /// It is not plain.
    Other,
}

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Request,
    Head,
    Body,
    Answer,
    /// To be read by the peer.
    Room,
}

/// How it ends here.
pub(crate) enum End {
    Over,
    /// What has come is for hyper.
    Other,
}

impl<'a, S: Duplex> Posts<'a, S> {
    /// A connection of which something was read already.
    pub(crate) fn new(
        hall: &'a Hall,
        service: &'a HttpService,
        read: (Vec<u8>, S),
        whence: Whence,
        leash: Leash,
        budget: Arc<MemoryBudget>,
    ) -> Self {
        let (input, stream) = read;
        Posts {
            hall,
            service,
            stream,
            whence,
            leash,
            phase: Phase::Head,
            input,
            output: Vec::new(),
            sent: 0,
            waits: Waits::Request,
            since: None,
            stopped: None,
            budget,
            reservation: Reservation::default(),
        }
    }

    /// Answers plain requests, until the connection ends or something else has come.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        loop {
            let worked = self.work(cx);
            // Everything that is ready goes out at once; only then is more taken in.
            match self.send(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(End::Over),
                Poll::Pending => return self.wait(cx, Waits::Room).map(|()| End::Over),
            }
            match worked {
                Worked::Needs => {}
                Worked::HasMore => continue,
                Worked::Other => return Poll::Ready(End::Other),
            }
            if let Phase::Closing(linger) = &mut self.phase {
                return linger.poll_close(cx, &mut self.stream).map(|_| End::Over);
            }
            let waits = self.waits_for();
            match self.receive(cx) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0)) if waits == Waits::Body => self.refuse(&HttpService::broken()),
                // Whoever sends no more has gone, and what it still waits for is of no use to anybody.
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(End::Over),
                Poll::Pending => {
                    ready!(self.wait(cx, waits));
                    if waits != Waits::Body {
                        return Poll::Ready(End::Over);
                    }
                    self.refuse(&HttpService::too_slow());
                }
            }
        }
    }

    /// What is left to hyper, if anything is.
    pub(crate) fn left(self, end: End) -> Option<Left<S>> {
        let begun = match (end, self.phase) {
            (End::Over, _) => return None,
            (End::Other, Phase::Streaming(streaming)) => Some(streaming),
            (End::Other, _) => None,
        };
        Some(Left { read: self.input, stream: self.stream, begun })
    }

    /// Deals with what has come.
    fn work(&mut self, cx: &mut Context<'_>) -> Worked {
        match &mut self.phase {
            Phase::Answering(answering) => match answering.as_mut().poll(cx) {
                Poll::Pending => return Worked::Needs,
                Poll::Ready(answer) => self.answer(&answer),
            },
            Phase::Streaming(_) => return Worked::Other,
            Phase::Head | Phase::Body(..) | Phase::Closing(_) => {}
        }
        let mut input = std::mem::take(&mut self.input);
        let mut at = 0;
        let worked = loop {
            let rest = &input[at..];
            if self.output.len() > ENOUGH {
                break Worked::HasMore;
            }
            match std::mem::replace(&mut self.phase, Phase::Head) {
                Phase::Head if rest.is_empty() => break Worked::Needs,
                Phase::Head => match Plain::find(rest) {
                    Found::Plain(plain) => match self.admit(&plain, rest.len()) {
                        Some(taken) => at += taken,
                        None => break Worked::Other,
                    },
                    Found::Part => break Worked::Needs,
                    Found::Other => break Worked::Other,
                },
                Phase::Body(admitted, length) if length <= rest.len() => {
                    match self.service.start(cx, admitted, &rest[..length], &self.budget) {
                        Start::Answered(answer) => self.answer(&answer),
                        Start::Answering(answering) => self.phase = Phase::Answering(answering),
                        Start::Streaming(streaming) => {
                            // For hyper the request is put together again.
                            self.input = [streaming.head(), rest].concat();
                            self.phase = Phase::Streaming(streaming);
                            return Worked::Other;
                        }
                    }
                    at += length;
                }
                phase => {
                    self.phase = phase;
                    break Worked::Needs;
                }
            }
        };
        if at < input.len() {
            input.drain(..at);
            if input.capacity() > ENOUGH {
                input.shrink_to_fit();
            }
            self.input = input;
        }
        // Less is held than before, or no more than was reserved.
        let body = if let Phase::Body(_, length) = self.phase { length } else { 0 };
        let held = body.max(self.input.capacity()) + self.output.capacity();
        let _ = self.reservation.resize(&self.budget, held);
        worked
    }

    /// Looks at a request whose head has come, and as much of its body as was read. Returns how much of that
    /// is dealt with; `None` if it is not for here.
    fn admit(&mut self, plain: &Plain<'_>, read: usize) -> Option<usize> {
        let head = plain.head.len();
        let whole = plain.length <= read - head;
        self.since = None;
        match self.service.admit(plain, whole, &self.whence) {
            Admission::Admitted(_)
                if !self.reservation.resize(&self.budget, plain.length + self.output.capacity()) =>
            {
                self.refuse(&HttpService::overloaded());
                Some(head)
            }
            Admission::Admitted(admitted) => {
                self.phase = Phase::Body(admitted, plain.length);
                Some(head)
            }
            Admission::Refused(response) => {
                self.refuse(&response);
                Some(head + plain.length)
            }
            Admission::Other => None,
        }
    }

    fn answer(&mut self, answer: &Answer) {
        let closes = self.leash.is_stopped();
        // It is idle from now on, as far as anybody knows.
        let now = *self.since.insert(Instant::now());
        let before = self.output.len();
        crate::server::http::fast::write::answer(&mut self.output, answer, closes, now);
        if !self.reservation.resize(&self.budget, self.output.capacity()) {
            self.output.truncate(before);
            self.output.shrink_to_fit();
            return self.refuse(&HttpService::overloaded());
        }
        self.phase = if closes { Phase::Closing(Linger::default()) } else { Phase::Head };
    }

    fn refuse(&mut self, response: &Response<Bytes>) {
        crate::server::http::fast::write::response(&mut self.output, response, Instant::now());
        let closes = response.headers().contains_key(header::CONNECTION);
        self.phase = if closes { Phase::Closing(Linger::default()) } else { Phase::Head };
    }

    fn send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.output.is_empty() {
            return Poll::Ready(Ok(()));
        }
        while self.sent < self.output.len() {
            match ready!(Pin::new(&mut self.stream).poll_write(cx, &self.output[self.sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.sent += count,
            }
            if self.waits == Waits::Room {
                self.since = None;
            }
        }
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.output = Vec::new();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }

    /// Takes in more. Returns how much; 0 is the end.
    fn receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match self.phase {
            // Nothing is made room for that has not come: twice of what is there at the most.
            Phase::Body(_, length) => {
                let missing = length - self.input.len();
                self.input.reserve_exact(missing.min(self.input.len().max(READ)));
                return pin!(self.stream.read_buf(&mut self.input)).poll(cx);
            }
            Phase::Answering(_) if self.input.len() >= ENOUGH => return Poll::Pending,
            _ => {}
        }
        let mut space = [const { MaybeUninit::uninit() }; READ];
        let mut read = ReadBuf::uninit(&mut space);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut read))?;
        self.input.extend_from_slice(read.filled());
        Poll::Ready(Ok(read.filled().len()))
    }

    fn waits_for(&self) -> Waits {
        match self.phase {
            Phase::Answering(_) => Waits::Answer,
            Phase::Body(..) => Waits::Body,
            _ if self.input.is_empty() => Waits::Request,
            _ => Waits::Head,
        }
    }

    /// Waits for as long as there is patience.
    fn wait(&mut self, cx: &mut Context<'_>, waits: Waits) -> Poll<()> {
        if self.waits != waits {
            (self.waits, self.since) = (waits, None);
        }
        let limit = match waits {
            Waits::Request => Some(self.hall.connections.idle),
            Waits::Head => Some(self.hall.connections.head),
            Waits::Body => Some(self.service.body_deadline()),
            Waits::Room => Some(self.hall.stall()),
            Waits::Answer => None,
        };
        let since = *self.since.get_or_insert_with(Instant::now);
        let mut deadline = limit.map(|limit| since + limit);
        if self.leash.is_stopped() {
            if matches!(waits, Waits::Request | Waits::Head) {
                return Poll::Ready(());
            }
            // What is open may finish, and then a little longer: the service answers what it has given up.
            let end = *self.stopped.get_or_insert_with(Instant::now) + 2 * self.hall.grace;
            deadline = Some(deadline.map_or(end, |deadline| deadline.min(end)));
        }
        self.leash.poll(cx, deadline)
    }
}
