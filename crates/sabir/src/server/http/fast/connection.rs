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

use crate::server::acceptor::ServerState;
use crate::server::budget::{MemoryBudget, Reservation};
use crate::server::deadline_timer::DeadlineTimer;
use crate::server::http::caller::PeerAddress;
use crate::server::http::{
    Admission, Admitted, Answer, Answering, HttpService, ParseOutcome, ParsedHead, Start, Streaming,
};
use crate::server::lingering_close::LingeringClose;
use crate::transport::Duplex;

/// What is read at once.
const READ: usize = 8 * 1024;

/// What is taken of the next requests while one is being answered, and of answers before they are sent.
const ENOUGH: usize = 64 * 1024;

/// A connection, and where it stands.
pub(crate) struct FastConnection<'a, S> {
    state: &'a ServerState,
    service: &'a HttpService,
    stream: S,
    peer_address: PeerAddress,
    timer: DeadlineTimer,
    phase: Phase,
    /// What came and is not dealt with. Between two requests it holds nothing, not even memory.
    input: Vec<u8>,
    /// What is to be sent, and how much of it was.
    output: Vec<u8>,
    sent: usize,
    /// What it waits for, and since when.
    waiting_for: WaitingFor,
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
    Closing(LingeringClose),
}

/// What is left to hyper.
pub(crate) struct HandOver<S> {
    /// What was read, from the head of a request on.
    pub(crate) read: Vec<u8>,
    pub(crate) stream: S,
    /// The answer to the first request, if that has begun.
    pub(crate) pending: Option<Streaming>,
}

/// What came of the input.
enum Step {
    /// More is needed, or an answer.
    Needs,
    /// There is more, once the answers are sent.
    HasMore,
    /// It is not plain.
    Other,
}

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WaitingFor {
    Request,
    Head,
    Body,
    Answer,
    /// To be read by the peer.
    Room,
}

/// How it ends here.
pub(crate) enum Outcome {
    Over,
    /// What has come is for hyper.
    Other,
}

impl<'a, S: Duplex> FastConnection<'a, S> {
    /// A connection of which something was read already.
    pub(crate) fn new(
        state: &'a ServerState,
        service: &'a HttpService,
        read: (Vec<u8>, S),
        peer_address: PeerAddress,
        timer: DeadlineTimer,
        budget: Arc<MemoryBudget>,
    ) -> Self {
        let (input, stream) = read;
        FastConnection {
            state,
            service,
            stream,
            peer_address,
            timer,
            phase: Phase::Head,
            input,
            output: Vec::new(),
            sent: 0,
            waiting_for: WaitingFor::Request,
            since: None,
            stopped: None,
            budget,
            reservation: Reservation::default(),
        }
    }

    /// Answers plain requests, until the connection ends or something else has come.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        loop {
            let worked = self.work(cx);
            // Everything that is ready goes out at once; only then is more taken in.
            match self.send(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(Outcome::Over),
                Poll::Pending => return self.wait(cx, WaitingFor::Room).map(|()| Outcome::Over),
            }
            match worked {
                Step::Needs => {}
                Step::HasMore => continue,
                Step::Other => return Poll::Ready(Outcome::Other),
            }
            if let Phase::Closing(linger) = &mut self.phase {
                return linger.poll_close(cx, &mut self.stream).map(|_| Outcome::Over);
            }
            let waiting_for = self.waiting_for();
            match self.receive(cx) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0)) if waiting_for == WaitingFor::Body => self.refuse(&HttpService::broken()),
                // Whoever sends no more has gone, and what it still waits for is of no use to anybody.
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Outcome::Over),
                Poll::Pending => {
                    ready!(self.wait(cx, waiting_for));
                    if waiting_for != WaitingFor::Body {
                        return Poll::Ready(Outcome::Over);
                    }
                    self.refuse(&HttpService::too_slow());
                }
            }
        }
    }

    /// What is left to hyper, if anything is.
    pub(crate) fn into_hand_over(self, end: Outcome) -> Option<HandOver<S>> {
        let pending = match (end, self.phase) {
            (Outcome::Over, _) => return None,
            (Outcome::Other, Phase::Streaming(streaming)) => Some(streaming),
            (Outcome::Other, _) => None,
        };
        Some(HandOver { read: self.input, stream: self.stream, pending })
    }

    /// Deals with what has come.
    fn work(&mut self, cx: &mut Context<'_>) -> Step {
        match &mut self.phase {
            Phase::Answering(answering) => match answering.as_mut().poll(cx) {
                Poll::Pending => return Step::Needs,
                Poll::Ready(answer) => self.answer(&answer),
            },
            Phase::Streaming(_) => return Step::Other,
            Phase::Head | Phase::Body(..) | Phase::Closing(_) => {}
        }
        let mut input = std::mem::take(&mut self.input);
        let mut at = 0;
        let worked = loop {
            let rest = &input[at..];
            if self.output.len() > ENOUGH {
                break Step::HasMore;
            }
            match std::mem::replace(&mut self.phase, Phase::Head) {
                Phase::Head if rest.is_empty() => break Step::Needs,
                Phase::Head => match ParsedHead::find(rest) {
                    ParseOutcome::ParsedHead(parsed) => match self.admit(&parsed, rest.len()) {
                        Some(taken) => at += taken,
                        None => break Step::Other,
                    },
                    ParseOutcome::Part => break Step::Needs,
                    ParseOutcome::Other => break Step::Other,
                },
                Phase::Body(admitted, length) if length <= rest.len() => {
                    match self.service.start(cx, admitted, &rest[..length], &self.budget) {
                        Start::Answered(answer) => self.answer(&answer),
                        Start::Answering(answering) => self.phase = Phase::Answering(answering),
                        Start::Streaming(streaming) => {
                            // For hyper the request is put together again.
                            self.input = [streaming.head(), rest].concat();
                            self.phase = Phase::Streaming(streaming);
                            return Step::Other;
                        }
                    }
                    at += length;
                }
                phase => {
                    self.phase = phase;
                    break Step::Needs;
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
    fn admit(&mut self, parsed: &ParsedHead<'_>, read: usize) -> Option<usize> {
        let head = parsed.head.len();
        let whole = parsed.length <= read - head;
        self.since = None;
        match self.service.admit(parsed, whole, &self.peer_address) {
            Admission::Admitted(_)
                if !self.reservation.resize(&self.budget, parsed.length + self.output.capacity()) =>
            {
                self.refuse(&HttpService::overloaded());
                Some(head)
            }
            Admission::Admitted(admitted) => {
                self.phase = Phase::Body(admitted, parsed.length);
                Some(head)
            }
            Admission::Refused(response) => {
                self.refuse(&response);
                Some(head + parsed.length)
            }
            Admission::Other => None,
        }
    }

    fn answer(&mut self, answer: &Answer) {
        let closes = self.timer.is_stopped();
        // It is idle from now on, as far as anybody knows.
        let now = *self.since.insert(Instant::now());
        let before = self.output.len();
        crate::server::http::fast::write::answer(&mut self.output, answer, closes, now);
        if !self.reservation.resize(&self.budget, self.output.capacity()) {
            self.output.truncate(before);
            self.output.shrink_to_fit();
            return self.refuse(&HttpService::overloaded());
        }
        self.phase = if closes { Phase::Closing(LingeringClose::default()) } else { Phase::Head };
    }

    fn refuse(&mut self, response: &Response<Bytes>) {
        crate::server::http::fast::write::response(&mut self.output, response, Instant::now());
        let closes = response.headers().contains_key(header::CONNECTION);
        self.phase = if closes { Phase::Closing(LingeringClose::default()) } else { Phase::Head };
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
            if self.waiting_for == WaitingFor::Room {
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

    fn waiting_for(&self) -> WaitingFor {
        match self.phase {
            Phase::Answering(_) => WaitingFor::Answer,
            Phase::Body(..) => WaitingFor::Body,
            _ if self.input.is_empty() => WaitingFor::Request,
            _ => WaitingFor::Head,
        }
    }

    /// Waits for as long as there is patience.
    fn wait(&mut self, cx: &mut Context<'_>, waiting_for: WaitingFor) -> Poll<()> {
        if self.waiting_for != waiting_for {
            (self.waiting_for, self.since) = (waiting_for, None);
        }
        let limit = match waiting_for {
            WaitingFor::Request => Some(self.state.connections.idle),
            WaitingFor::Head => Some(self.state.connections.head),
            WaitingFor::Body => Some(self.service.body_deadline()),
            WaitingFor::Room => Some(self.state.stall()),
            WaitingFor::Answer => None,
        };
        let since = *self.since.get_or_insert_with(Instant::now);
        let mut deadline = limit.map(|limit| since + limit);
        if self.timer.is_stopped() {
            if matches!(waiting_for, WaitingFor::Request | WaitingFor::Head) {
                return Poll::Ready(());
            }
            // What is open may finish, and then a little longer: the service answers what it has given up.
            let end = *self.stopped.get_or_insert_with(Instant::now) + 2 * self.state.grace;
            deadline = Some(deadline.map_or(end, |deadline| deadline.min(end)));
        }
        self.timer.poll(cx, deadline)
    }
}
