//! A connection of HTTP/1.1 over which small calls are posted, one after the other.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::ReadBuf;
use tokio::time::Instant;

use crate::runtime::turn::TURN;
use crate::runtime::turn::yield_turn;
use crate::server::activity::Doing;
use crate::server::budget::{MemoryBudget, Reservation};
use crate::server::deadline_timer::DeadlineTimer;
use crate::server::http::fast::head::{Parsed, parse};
use crate::server::http::fast::{FirstRequest, write};
use crate::server::http::idle_monitor::Timeouts;
use crate::server::http::peer_address::PeerAddress;
use crate::server::http::pending::PendingResponse;
use crate::server::http::response::{Answer, Refusal};
use crate::server::http::service::{Admitted, HttpService};
use crate::server::lingering_close::LingeringClose;
use crate::transport::Duplex;

const READ: usize = 8 * 1024;
/// The largest request that is taken here. Two of them may be held: less than what is counted in a budget.
const REQUEST: usize = 16 * 1024;

/// The largest answer that is sent from here, and how much of them is gathered.
const ANSWER: usize = 16 * 1024;

/// What hyper reads in the place of a request that was read here already, and of one whose body did not come.
const READ_ALREADY: &[u8] = b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n";
const UNFINISHED: &[u8] = b"POST / HTTP/1.1\r\ncontent-length: 1\r\n\r\n";

pub(crate) struct FastConnection<'a, S> {
    service: &'a HttpService,
    stream: S,
    peer_address: PeerAddress,
    budget: Arc<MemoryBudget>,
    timeouts: Timeouts,
    timer: DeadlineTimer,
    phase: Phase,
    /// What came and is not dealt with. Between two requests it holds nothing, not even memory.
    input: Vec<u8>,
    /// What is to be sent, and how much of it was.
    output: Vec<u8>,
    sent: usize,
    waiting_for: WaitingFor,
    since: Option<Instant>,
    stopped: Option<Instant>,
    /// When the first answer of this turn was ready, and whether others are to have their turn.
    turn: Option<Instant>,
    is_turn_over: bool,
}

enum Phase {
    Head,
    /// The next is a body of this length.
    Body(Admitted, usize),
    Answering(Pin<Box<dyn Future<Output = Answer> + Send>>),
    HandingOver(Option<FirstRequest>),
    Closing(LingeringClose),
}

/// What is left to hyper.
pub(crate) struct HandOver<S> {
    /// What was read, from the head of a request on.
    pub(crate) read: Vec<u8>,
    pub(crate) stream: S,
    pub(crate) first: Option<FirstRequest>,
}

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WaitingFor {
    Request,
    Head,
    Body,
    Answer,
    Room,
}

impl<'a, S: Duplex> FastConnection<'a, S> {
    pub(crate) fn new(
        service: &'a HttpService,
        (input, stream): (Vec<u8>, S),
        peer_address: PeerAddress,
        budget: Arc<MemoryBudget>,
        timeouts: Timeouts,
        timer: DeadlineTimer,
    ) -> Self {
        FastConnection {
            service,
            stream,
            peer_address,
            budget,
            timeouts,
            timer,
            phase: Phase::Head,
            input,
            output: Vec::new(),
            sent: 0,
            waiting_for: WaitingFor::Request,
            since: None,
            stopped: None,
            turn: None,
            is_turn_over: false,
        }
    }

    /// Answers requests, until the connection ends or is to be handed over.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        (self.turn, self.is_turn_over) = (None, false);
        loop {
            let has_more = self.work(cx);
            // Everything that is ready goes out at once; only then is more taken in.
            match self.send(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return self.end(),
                Poll::Pending => {
                    ready!(self.wait(cx, WaitingFor::Room));
                    return self.end();
                }
            }
            if self.is_turn_over {
                return yield_turn(cx);
            }
            if has_more {
                continue;
            }
            let waiting_for = match &mut self.phase {
                Phase::HandingOver(_) => return Poll::Ready(()),
                Phase::Closing(linger) => return linger.poll_close(cx, &mut self.stream).map(drop),
                Phase::Answering(_) => WaitingFor::Answer,
                Phase::Body(..) => WaitingFor::Body,
                Phase::Head if self.input.is_empty() => WaitingFor::Request,
                Phase::Head => WaitingFor::Head,
            };
            match self.receive(cx) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0)) if waiting_for == WaitingFor::Body => self.refuse(Refusal::BROKEN),
                // Whoever sends no more has gone, and nobody would read what it still waits for.
                Poll::Ready(Ok(0) | Err(_)) => return self.end(),
                Poll::Pending => {
                    ready!(self.wait(cx, waiting_for));
                    if waiting_for != WaitingFor::Body {
                        return self.end();
                    }
                    self.refuse(Refusal::TOO_SLOW);
                }
            }
        }
    }

    /// The connection is over, and nothing is left to hyper.
    fn end(&mut self) -> Poll<()> {
        self.phase = Phase::Head;
        Poll::Ready(())
    }

    /// What is left to hyper, if anything is.
    pub(crate) fn into_hand_over(self) -> Option<HandOver<S>> {
        match self.phase {
            Phase::HandingOver(first) => Some(HandOver { read: self.input, stream: self.stream, first }),
            _ => None,
        }
    }

    /// Deals with what has come. Whether there is more to do once the answers are sent.
    fn work(&mut self, cx: &mut Context<'_>) -> bool {
        if let Phase::Answering(answering) = &mut self.phase {
            let Poll::Ready(answer) = answering.as_mut().poll(cx) else { return false };
            self.answer(answer);
        }
        let mut input = std::mem::take(&mut self.input);
        let mut used = 0;
        let has_more = loop {
            let rest = &input[used..];
            if self.output.len() > ANSWER || self.is_turn_over {
                break true;
            }
            match std::mem::replace(&mut self.phase, Phase::Head) {
                Phase::Head if rest.is_empty() => break false,
                Phase::Head => match self.head(rest) {
                    0 => break false,
                    head => used += head,
                },
                Phase::Body(admitted, length) if length <= rest.len() => {
                    used += length;
                    self.start(cx, admitted, &rest[..length]);
                }
                phase => {
                    self.phase = phase;
                    break false;
                }
            }
        };
        if let Phase::HandingOver(Some(FirstRequest::Answered(_))) = self.phase {
            self.input = [READ_ALREADY, &input[used..]].concat();
        } else if used < input.len() {
            input.drain(..used);
            self.input = input;
        }
        has_more
    }

    /// Looks at what should be the head of a request. Returns its length if it is taken.
    fn head(&mut self, bytes: &[u8]) -> usize {
        let (mut parts, head, length) = match parse(bytes) {
            Parsed::Post { parts, head, length } if head + length.min(REQUEST) <= REQUEST => {
                (parts, head, length)
            }
            Parsed::Partial => return 0,
            Parsed::Post { .. } | Parsed::Other => {
                self.phase = Phase::HandingOver(None);
                return 0;
            }
        };
        if self.service.inner.may_need_session(&parts) {
            self.phase = Phase::HandingOver(None);
            return 0;
        }
        self.since = None;
        self.peer_address.tell(&mut parts.extensions);
        match self.service.inner.admit(parts, &self.budget) {
            Ok(admitted) => {
                self.phase = Phase::Body(admitted, length);
                head
            }
            Err(refusal) => {
                self.phase = Phase::HandingOver(Some(FirstRequest::Refused(refusal)));
                0
            }
        }
    }

    fn start(&mut self, cx: &mut Context<'_>, admitted: Admitted, message: &[u8]) {
        let Admitted { caller, accepts } = admitted;
        let inner = &self.service.inner;
        let pending = PendingResponse::new(inner, message, Reservation::default(), Arc::new(caller), accepts);
        let pending = match pending.now(inner, cx, &self.budget) {
            Ok(answer) => return self.answer(answer),
            Err(pending) => pending,
        };
        let (inner, budget) = (Arc::clone(inner), Arc::clone(&self.budget));
        if accepts.takes_events() {
            let response = Box::pin(pending.begins(inner, budget));
            self.phase = Phase::HandingOver(Some(FirstRequest::Answered(response)));
            return;
        }
        let mut answering = Box::pin(pending.whole(inner, budget));
        match answering.as_mut().poll(cx) {
            Poll::Ready(answer) => self.answer(answer),
            Poll::Pending => self.phase = Phase::Answering(answering),
        }
    }

    fn answer(&mut self, answer: Answer) {
        // It is idle from now on, as far as anybody knows.
        let now = *self.since.insert(Instant::now());
        self.timer.activity().touch(now);
        self.is_turn_over = now - *self.turn.get_or_insert(now) >= TURN;
        if answer.message.as_ref().is_some_and(|message| message.len() > ANSWER) {
            let response = Box::pin(std::future::ready(answer.response()));
            self.phase = Phase::HandingOver(Some(FirstRequest::Answered(response)));
            return;
        }
        let closes = self.timer.is_stopped();
        write::answer(&mut self.output, &answer, closes, now);
        self.phase = if closes { Phase::Closing(LingeringClose::default()) } else { Phase::Head };
    }

    /// The body did not come. Hyper says so: what has come of the body is dropped.
    fn refuse(&mut self, refusal: Refusal) {
        self.input = UNFINISHED.to_vec();
        self.phase = Phase::HandingOver(Some(FirstRequest::Refused(refusal)));
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
        if self.input.len() >= REQUEST {
            return Poll::Pending;
        }
        let mut space = [const { MaybeUninit::uninit() }; READ];
        let mut read = ReadBuf::uninit(&mut space);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut read))?;
        self.input.extend_from_slice(read.filled());
        Poll::Ready(Ok(read.filled().len()))
    }

    /// Waits until the deadline of what it waits for.
    fn wait(&mut self, cx: &mut Context<'_>, waiting_for: WaitingFor) -> Poll<()> {
        if self.waiting_for != waiting_for {
            (self.waiting_for, self.since) = (waiting_for, None);
        }
        let limit = match waiting_for {
            WaitingFor::Request => Some(self.timeouts.idle),
            WaitingFor::Head => Some(self.timeouts.head),
            WaitingFor::Body => Some(self.timeouts.body),
            WaitingFor::Room => Some(self.timeouts.stall),
            WaitingFor::Answer => None,
        };
        let is_idle = matches!(waiting_for, WaitingFor::Request | WaitingFor::Head);
        self.timer.activity().set(if is_idle { Doing::Nothing } else { Doing::Waiting });
        let since = *self.since.get_or_insert_with(Instant::now);
        let mut deadline = limit.map(|limit| since + limit);
        if self.timer.is_stopped() {
            if is_idle {
                return Poll::Ready(());
            }
            let end = *self.stopped.get_or_insert_with(Instant::now) + self.timeouts.stop;
            deadline = Some(deadline.map_or(end, |deadline| deadline.min(end)));
        }
        self.timer.poll(cx, deadline)
    }
}
