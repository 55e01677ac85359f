//! The caller's side: calls to any worker of a service, or all of them to one.

mod health;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_nats::message::OutboundMessage;
use async_nats::{Client, HeaderMap, HeaderValue, Message, StatusCode, Subject, Subscriber};
use bytes::Bytes;
use futures_util::{Sink, Stream};
use sabir_proto::{
    Cause, DeliveryFailure, ErrorObject, Lost, Origin, Outgoing, Purpose, RawJson, Undelivered,
};
use tokio::time::{Instant, Sleep};

use crate::Error;
use crate::client::http::Headers;
use crate::runtime::message_transport::{Incoming, Link};
use crate::transport::endpoint::Dial;
use crate::transport::nats::connect::{Events, connect, service};
use crate::transport::nats::open_calls::OpenCalls;
use crate::transport::nats::options::Nats;
use crate::transport::nats::parts::{Assembler, MOST_PARTS, split};
use crate::transport::nats::wire::{self, Status, Token};
use crate::transport::nats::{trace, wire::header};
use crate::transport::url::Url;

/// How often it is looked at what is overdue, at most.
const CHECK_EVERY: Duration = Duration::from_millis(500);

/// Calls whose answers the session has not looked at.
const MOST_ANSWERED: usize = 256;

/// Messages that are taken before it is looked whether something has happened to the connection.
const AT_ONCE: u8 = 64;

/// Bytes that are gathered for the server before nothing more is taken over.
const OUTBOX: usize = 8 << 20;

/// A service behind NATS, as its callers see it.
pub(crate) struct NatsLink {
    client: Client,
    inbox: Subscriber,
    events: Events,
    nats: Nats,
    service: String,
    /// The URL names more than one server.
    has_hosts: bool,
    calls_subject: Subject,
    /// What our reply subjects begin with.
    reply_prefix: String,
    calls: OpenCalls,
    parts: Assembler,
    sticky: Sticky,
    /// For the session.
    incoming: VecDeque<Incoming>,
    /// For the server.
    outbox: VecDeque<(Token, OutboundMessage)>,
    outbox_bytes: usize,
    /// How many messages may be taken before events are looked at, and when it was last looked.
    untold: u8,
    looked: Instant,
    connected: bool,
    /// It waits to leave a server that is about to stop.
    moving: Option<Moving>,
    /// Since when it waits to know who has the first message.
    asking_since: Option<Instant>,
    /// Calls whose last answer was passed on, which may be of no use.
    answered: Vec<u64>,
    /// The traces of calls.
    headers: Arc<Headers>,
    /// How long the call has left that is sent next.
    time_left: Option<Duration>,
    timer: Pin<Box<Sleep>>,
    timer_is_set: bool,
    /// Waits until what was said last is on its way.
    closing: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// A server that is about to stop is left when nothing is open.
struct Moving {
    /// It was asked for another server.
    asked: bool,
    /// When the connection was closed.
    closed: Option<Instant>,
    /// New calls wait for those that are open.
    holds: bool,
}

/// Whether all messages go to one worker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sticky {
    No,
    /// The first one is still to be sent.
    Unbound,
    /// It is on its way.
    Asking,
    Bound(usize),
}

impl NatsLink {
    pub(crate) async fn open(url: &Url, dial: &Dial) -> Result<NatsLink, Error> {
        let service = service(url)?.to_owned();
        let nats = dial.nats.clone();
        let tls = dial.tls.clone().or(&nats.tls);
        let (client, events) = connect(url, &nats, &tls, "sabir").await?;
        let reply_prefix = wire::reply_prefix(&nats.inbox_prefix, &wire::unique_name());
        let subscribed = client.subscribe(format!("{reply_prefix}*")).await;
        let inbox =
            subscribed.map_err(|error| Error::config(format!("cannot use `{reply_prefix}*`: {error}")))?;
        let sticky = nats.sticky.unwrap_or(dial.has_sessions);
        Ok(NatsLink {
            calls_subject: wire::calls_subject(&service).into(),
            client,
            inbox,
            events,
            nats,
            service,
            has_hosts: url.authority().contains(','),
            reply_prefix,
            calls: OpenCalls::default(),
            parts: Assembler::new(dial.limits.message_bytes, dial.nats.accept_within),
            sticky: if sticky { Sticky::Unbound } else { Sticky::No },
            incoming: VecDeque::new(),
            outbox: VecDeque::new(),
            outbox_bytes: 0,
            untold: 0,
            looked: Instant::now(),
            connected: true,
            moving: None,
            asking_since: None,
            answered: Vec::new(),
            headers: Arc::default(),
            time_left: None,
            timer: Box::pin(tokio::time::sleep(CHECK_EVERY)),
            timer_is_set: false,
            closing: None,
        })
    }

    /// Where the traces of calls are left that are about to be sent.
    pub(crate) fn headers(&self) -> &Arc<Headers> {
        &self.headers
    }

    /// What one message may have, beside its headers.
    fn room(&self) -> usize {
        wire::room(self.client.max_payload())
    }

    fn queue(&mut self, subject: Subject, token: Token, payload: Bytes, headers: Option<HeaderMap>) {
        self.outbox_bytes += payload.len();
        let reply = Some(token.subject(&self.reply_prefix).into());
        self.outbox.push_back((token, OutboundMessage { subject, reply, payload, headers }));
    }

    /// Hands over what waits for the server.
    fn poll_outbox(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outbox.is_empty() {
            ready!(Pin::new(&mut self.client).poll_ready(cx)).map_err(io::Error::other)?;
            let Some((token, message)) = self.outbox.pop_front() else { break };
            self.outbox_bytes -= message.payload.len();
            // The server may take less than it did when the message was cut.
            if let Err(error) = Pin::new(&mut self.client).start_send(message) {
                let reason = Undelivered::new(DeliveryFailure::Refused, error.to_string());
                self.fail(token, &reason);
            }
        }
        Poll::Ready(Ok(()))
    }

    /// What has this token did not get through.
    fn fail(&mut self, token: Token, reason: &Undelivered) {
        match token {
            Token::Call(first) => {
                if let Some(ids) = self.calls.take(first) {
                    self.incoming.push_back(Incoming::Undelivered { ids, reason: reason.clone() });
                }
            }
            Token::Notification => self.incoming.push_back(Incoming::NotDelivered(reason.clone())),
            Token::Other => {}
        }
        if self.sticky == Sticky::Asking {
            self.sticky = Sticky::Unbound;
        }
    }

    /// A message cannot be sent.
    fn calls_are_refused(&mut self, token: Token, last: u64, reason: String) {
        match token {
            Token::Call(first) => self.fail_ids((first..=last).collect(), DeliveryFailure::Refused, reason),
            Token::Notification | Token::Other => {
                let reason = Undelivered::new(DeliveryFailure::Refused, reason);
                self.incoming.push_back(Incoming::NotDelivered(reason));
            }
        }
    }

    fn fail_ids(&mut self, ids: Vec<u64>, failure: DeliveryFailure, reason: impl Into<Cow<'static, str>>) {
        if !ids.is_empty() {
            let reason = Undelivered::new(failure, reason);
            self.incoming.push_back(Incoming::Undelivered { ids, reason });
        }
    }

    /// Sends a message, in parts if it is too large for one. With calls in it, the rest waits until a worker has the first
    /// part, unless the worker is known.
    fn send(&mut self, token: Token, worker: Option<usize>, message: &[u8], last: u64, now: Instant) {
        let mut headers = None;
        // The params of a call need not have a place for it.
        let trace = match token {
            Token::Call(first) => self.headers.take_trace(first),
            Token::Notification | Token::Other => Vec::new(),
        };
        match trace.is_empty() {
            true => trace::to_headers(message, &mut headers),
            false => trace::add(trace, &mut headers),
        }
        if let Some(left) = self.time_left.take() {
            let left = HeaderValue::from(left.as_millis() as u64);
            headers.get_or_insert_with(HeaderMap::new).insert(wire::DEADLINE, left);
        }
        if self.sticky == Sticky::Asking && worker.is_none() {
            headers.get_or_insert_with(HeaderMap::new).insert(wire::STICKY, HeaderValue::from(1u64));
        }
        let subject =
            worker.and_then(|worker| self.calls.subject(worker)).unwrap_or(&self.calls_subject).clone();
        let text = Bytes::copy_from_slice(message);
        let mut held = Vec::new();
        if text.len() <= self.room() {
            self.queue(subject, token, text, headers);
        } else if text.len().div_ceil(self.room()) > MOST_PARTS as usize {
            let (size, limit) = (text.len(), self.client.max_payload());
            let reason =
                format!("the message has {size} bytes: too many for a server that takes {limit} at a time");
            self.calls_are_refused(token, last, reason);
            return;
        } else {
            let parts = split(&text, self.room()).map(|(number, part)| {
                let mut headers = headers.clone().unwrap_or_default();
                headers.insert(
                    wire::PART,
                    number.parse::<HeaderValue>().unwrap_or_else(|_| HeaderValue::from(0u64)),
                );
                (part, Some(headers))
            });
            let mut parts = parts.collect::<Vec<_>>();
            if worker.is_none() {
                held = parts.split_off(1);
            }
            for (part, headers) in parts {
                self.queue(subject.clone(), token, part, headers);
            }
        }
        if let Token::Call(first) = token {
            self.calls.sent(first, last, worker, now).held = held;
        }
    }

    /// Something came for what has this token from a worker: what waited for that goes there.
    fn found_worker(&mut self, token: Token, worker: usize) {
        if self.sticky == Sticky::Asking {
            self.sticky = Sticky::Bound(worker);
        }
        let Token::Call(first) = token else { return };
        let held = self.calls.set_worker(first, worker);
        let Some(subject) = self.calls.subject(worker).cloned() else { return };
        for (payload, headers) in held {
            let is_part = headers.is_some();
            self.queue(subject.clone(), if is_part { token } else { Token::Other }, payload, headers);
        }
    }

    fn lose_worker(&mut self, worker: usize, ids: Vec<u64>, reason: &str) {
        self.fail_ids(ids, DeliveryFailure::Closed, reason.to_owned());
        match self.sticky {
            Sticky::Bound(bound) if bound == worker => {
                self.incoming.push_back(Incoming::Lost(reason.to_owned().into()))
            }
            _ => self
                .incoming
                .push_back(Incoming::OriginLost(Some(origin_of(worker)), reason.to_owned().into())),
        }
    }

    fn receive(&mut self, message: Message) {
        let now = self.looked;
        let token = Token::of(&message.subject);
        if message.status == Some(StatusCode::NO_RESPONDERS) {
            return self.no_responders(token);
        }
        let worker = message.reply.as_ref().and_then(|reply| self.calls.worker(reply, now));
        if let Some(worker) = worker {
            self.found_worker(token, worker);
        } else if self.sticky == Sticky::Asking {
            // It knows of no sessions: there is nothing to stick to.
            self.sticky = Sticky::No;
        }
        let status = Status::of(&message);
        match (status, worker) {
            (Some(Status::Accepted | Status::Alive), Some(worker)) => {
                let beat = wire::number(&message, wire::BEAT).map(Duration::from_millis);
                return self.calls.set_beat(worker, Some(beat.unwrap_or(self.nats.beat_every)));
            }
            (Some(Status::Idle), Some(worker)) => return self.calls.set_beat(worker, None),
            (Some(Status::Gone), Some(worker)) => {
                let ids = self.calls.lose(worker);
                return self.lose_worker(worker, ids, "the worker has stopped");
            }
            (Some(Status::Moved), Some(worker)) => {
                let ids = self.calls.lose(worker);
                return self.lose_worker(worker, ids, "the worker has left its server of NATS, which stops");
            }
            (
                Some(
                    Status::Accepted
                    | Status::Alive
                    | Status::Idle
                    | Status::Gone
                    | Status::Moved
                    | Status::Closed,
                ),
                _,
            ) => return,
            (Some(Status::Refused), _) => return self.refused(token, message.payload),
            (Some(Status::More) | None, _) => {}
        }
        let whole = match header(&message, wire::PART) {
            None => None,
            Some(part) => match self.parts.push(&message.subject, part, &message.payload, now) {
                Ok(Some(text)) => Some(text),
                Ok(None) => return,
                Err(error) => {
                    let reason = Undelivered::new(DeliveryFailure::Incomplete, error.to_string());
                    return self.fail(token, &reason);
                }
            },
        };
        let is_last = status.is_none();
        if let (true, Token::Call(first)) = (is_last, token) {
            match self.calls.answered(first) {
                Some(ids) => self.answered.extend(ids),
                // Nobody waits for it any more.
                None => return,
            }
        }
        let origin = worker.map_or(Origin::NONE, origin_of);
        let text = whole.unwrap_or(message.payload);
        self.incoming.push_back(Incoming::Message { text, origin, caller: None });
    }

    /// Calls that are still open although their last answer came have none: nothing else would end them. The session looks
    /// at the answers first. Nearly all are of use, so it is not looked for the others each time.
    fn end_answered(&mut self) {
        const NO_USE: &str = "the worker has answered, but not this call: it may have run";
        let ids = std::mem::take(&mut self.answered);
        self.fail_ids(ids, DeliveryFailure::Other, NO_USE);
    }

    /// The server says that nobody was there to take a message.
    fn no_responders(&mut self, token: Token) {
        if let Sticky::Bound(_) = self.sticky {
            let gone = format!("the worker of `{}` that this session was with is gone", self.service);
            return self.incoming.push_back(Incoming::Lost(gone.into()));
        }
        let reason = format!("no worker of `{}` is connected to NATS", self.service);
        self.fail(token, &Undelivered::new(DeliveryFailure::NoWorker, reason));
    }

    fn refused(&mut self, token: Token, text: Bytes) {
        let error = RawJson::from_bytes(&text).ok();
        let error = error.and_then(|text| text.get("error")?.parse::<ErrorObject<'static>>().ok());
        let Some(error) = error else { return };
        match token {
            Token::Call(first) => {
                if let Some(ids) = self.calls.take(first) {
                    self.incoming.push_back(Incoming::Refused { text, ids, error });
                }
            }
            _ => {
                let reason = Undelivered::new(DeliveryFailure::Refused, error.to_string());
                self.incoming.push_back(Incoming::NotDelivered(reason));
            }
        }
    }

    /// Where a message goes: to a worker, or to any.
    fn worker_for(&self, outgoing: &Outgoing<'_>) -> Option<usize> {
        match (self.sticky, outgoing.origin) {
            (Sticky::Bound(worker), _) => Some(worker),
            (_, Origin::NONE) => None,
            (_, Origin(number)) => Some(number as usize - 1),
        }
    }

    /// Refuses what cannot be sent while there is no connection.
    fn refuse_unconnected(&mut self, cx: &Context<'_>, purpose: Purpose) {
        let reason = "there is no connection to NATS for now: the message was not sent";
        match purpose {
            Purpose::Call { first, last } => {
                self.headers.take_trace(first);
                self.fail_ids((first..=last).collect(), DeliveryFailure::Connect, reason);
            }
            Purpose::Notify => {
                let reason = Undelivered::new(DeliveryFailure::Connect, reason);
                self.incoming.push_back(Incoming::NotDelivered(reason));
            }
            Purpose::Cancel(_) | Purpose::Answer | Purpose::Error(_) => {}
        }
        cx.waker().wake_by_ref();
    }
}

fn origin_of(worker: usize) -> Origin {
    Origin(worker as u64 + 1)
}

impl Link for NatsLink {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Incoming> {
        loop {
            if let Poll::Ready(Err(error)) = self.poll_outbox(cx) {
                return Poll::Ready(Incoming::Lost(Lost::from_error(error)));
            }
            if let Some(incoming) = self.incoming.pop_front() {
                return Poll::Ready(incoming);
            }
            if self.untold == 0 {
                if let Poll::Ready(Some(event)) = self.events.poll_recv(cx) {
                    self.happened(event);
                    continue;
                }
                self.untold = AT_ONCE;
                self.looked = Instant::now();
            }
            match Pin::new(&mut self.inbox).poll_next(cx) {
                Poll::Ready(Some(message)) => {
                    self.untold -= 1;
                    self.receive(message);
                    if self.answered.len() >= MOST_ANSWERED {
                        self.end_answered();
                    }
                    continue;
                }
                Poll::Ready(None) => {
                    return Poll::Ready(Incoming::Lost("the connection to NATS was closed".into()));
                }
                // Events come behind what was there before them.
                Poll::Pending if self.untold < AT_ONCE => {
                    self.untold = 0;
                    continue;
                }
                Poll::Pending => {}
            }
            // Time passes until something comes.
            self.untold = 0;
            self.poll_check(cx);
            if self.incoming.is_empty() {
                return Poll::Pending;
            }
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, outgoing: Outgoing<'_>) -> Poll<io::Result<()>> {
        if self.outbox_bytes >= OUTBOX {
            ready!(self.poll_outbox(cx))?;
        }
        let message = outgoing.message;
        if message.is_empty() {
            return Poll::Ready(Ok(()));
        }
        if !self.connected && self.moving.is_none() {
            self.refuse_unconnected(cx, outgoing.purpose);
            return Poll::Ready(Ok(()));
        }
        let is_new = matches!(outgoing.purpose, Purpose::Call { .. } | Purpose::Notify);
        // Until it is known where the others go, or the server is left.
        let holds = self.moving.as_ref().is_some_and(|moving| moving.holds);
        if is_new && (self.sticky == Sticky::Asking || holds) {
            return Poll::Pending;
        }
        if is_new && self.sticky == Sticky::Unbound {
            self.sticky = Sticky::Asking;
            self.asking_since = Some(Instant::now());
        }
        let (worker, now) = (self.worker_for(&outgoing), Instant::now());
        match outgoing.purpose {
            Purpose::Call { first, last } => self.send(Token::Call(first), worker, message, last, now),
            Purpose::Notify => self.send(Token::Notification, worker, message, 0, now),
            Purpose::Cancel(id) => {
                if let Some(worker) = self.calls.cancel(id, message) {
                    self.send(Token::Other, Some(worker), message, 0, now);
                }
            }
            // An answer to what did not come from a worker would be one to nobody.
            Purpose::Answer | Purpose::Error(_) => {
                if worker.is_some() {
                    self.send(Token::Other, worker, message, 0, now);
                }
            }
        }
        // It is taken over; what the server has no room for yet follows later.
        match self.poll_outbox(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn carries_deadlines(&self) -> bool {
        true
    }

    fn set_time_left(&mut self, left: Option<Duration>) {
        self.time_left = left;
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_outbox(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, _: &Cause) -> Poll<()> {
        if !self.connected {
            return Poll::Ready(());
        }
        if self.closing.is_none() {
            self.close_sessions();
            if ready!(self.poll_outbox(cx)).is_err() {
                return Poll::Ready(());
            }
        }
        let client = &self.client;
        let closing = self.closing.get_or_insert_with(|| {
            let client = client.clone();
            Box::pin(async move { drop(client.flush().await) })
        });
        closing.as_mut().poll(cx)
    }
}
