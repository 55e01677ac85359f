//! The worker's side of a session: messages of one caller, and what answers them.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_nats::message::OutboundMessage;
use async_nats::{Client, HeaderMap, HeaderValue, Message, Subject};
use bytes::Bytes;
use foldhash::fast::RandomState;
use futures_util::Sink;
use sabir_proto::{Cause, ErrorCode, Origin, Outgoing, Purpose, RawJson};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

use crate::ErrorObject;
use crate::runtime::caller::HttpCaller;
use crate::runtime::message_transport::{Incoming, Link};
use crate::server::budget::MemoryBudget;
use crate::server::nats::deadlines::Deadlines;
use crate::server::nats::dispatch::weight;
use crate::server::nats::micro::Stats;
use crate::server::nats::session::Item;
use crate::transport::nats::parts::{Assembler, MOST_PARTS, PartError, split};
use crate::transport::nats::wire::{self, Status};
use crate::transport::nats::{Nats, trace};

/// Bytes that are gathered for the server before nothing more is taken over.
const OUTBOX: usize = 1 << 20;

/// A message that is not answered yet.
struct Unanswered {
    reply: Option<Subject>,
    since: Instant,
    /// The caller knows that we are at work.
    accepted: bool,
}

/// How a session has ended.
pub(super) enum SessionEnd {
    Over,
    /// The worker stops.
    Stopped,
}

/// What a link is made from.
pub(super) struct LinkParts {
    pub(super) client: Client,
    pub(super) nats: Nats,
    pub(super) stats: Arc<Stats>,
    /// Where the caller reaches this session. `None` for a single message of somebody who knows of no sessions.
    pub(super) own_subject: Option<Subject>,
    pub(super) message_bytes: usize,
    /// What all sessions of the worker may hold of messages that have come in part.
    pub(super) parts: Arc<MemoryBudget>,
    /// Whether the worker only leaves its server.
    pub(super) moves: Arc<AtomicBool>,
}

pub(super) struct WorkerLink {
    client: Client,
    nats: Nats,
    stats: Arc<Stats>,
    moves: Arc<AtomicBool>,
    own_subject: Option<Subject>,
    inbox: mpsc::UnboundedReceiver<Item>,
    unanswered: HashMap<u64, Unanswered, RandomState>,
    last_origin: u64,
    /// Where the caller last wanted its answer.
    last_reply: Option<Subject>,
    parts: Assembler,
    parts_timer: Option<Pin<Box<Sleep>>>,
    sticky: bool,
    /// The caller has more open here than its requests.
    held: bool,
    deadlines: Deadlines,
    beat_timer: Option<Pin<Box<Sleep>>>,
    last_beat: Option<Instant>,
    outbox: VecDeque<OutboundMessage>,
    outbox_bytes: usize,
    /// Bytes that were taken from the inbox.
    taken: usize,
    /// Nothing more comes.
    ended: bool,
}

impl WorkerLink {
    pub(super) fn new(parts: LinkParts, inbox: mpsc::UnboundedReceiver<Item>) -> Self {
        let accept_within = parts.nats.accept_within;
        WorkerLink {
            client: parts.client,
            nats: parts.nats,
            stats: parts.stats,
            moves: parts.moves,
            own_subject: parts.own_subject,
            inbox,
            unanswered: HashMap::default(),
            last_origin: 0,
            last_reply: None,
            parts: Assembler::sharing(parts.message_bytes, accept_within, parts.parts),
            parts_timer: None,
            sticky: false,
            held: false,
            deadlines: Deadlines::default(),
            beat_timer: None,
            last_beat: None,
            outbox: VecDeque::new(),
            outbox_bytes: 0,
            taken: 0,
            ended: false,
        }
    }

    pub(super) fn is_sticky(&self) -> bool {
        self.sticky
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.outbox.is_empty() || !self.parts.is_empty()
    }

    pub(super) fn take_taken(&mut self) -> usize {
        std::mem::take(&mut self.taken)
    }

    fn is_single(&self) -> bool {
        self.own_subject.is_none()
    }

    fn room(&self) -> usize {
        wire::room(self.client.max_payload())
    }

    /// What goes to a session says where it came from: the caller may have something to say to this worker.
    fn queue(&mut self, subject: Subject, payload: Bytes, headers: Option<HeaderMap>) {
        let reply = self.own_subject.clone();
        self.queue_from(reply, subject, payload, headers);
    }

    fn queue_from(
        &mut self,
        reply: Option<Subject>,
        subject: Subject,
        payload: Bytes,
        headers: Option<HeaderMap>,
    ) {
        self.outbox_bytes += payload.len();
        self.outbox.push_back(OutboundMessage { subject, reply, payload, headers });
    }

    /// Says something that is not a message. The caller's server answers with "no responders" if the caller is gone.
    fn say(&mut self, subject: Subject, status: Status) {
        let mut headers = status.headers();
        headers.insert(wire::BEAT, HeaderValue::from(self.nats.beat_every.as_millis() as u64));
        self.queue(subject, Bytes::new(), Some(headers));
    }

    fn poll_outbox(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outbox.is_empty() {
            ready!(Pin::new(&mut self.client).poll_ready(cx)).map_err(io::Error::other)?;
            let Some(message) = self.outbox.pop_front() else { break };
            self.outbox_bytes -= message.payload.len();
            // Too large for the server that it is connected to by now: the caller notices that nothing comes.
            if let Err(error) = Pin::new(&mut self.client).start_send(message) {
                self.stats.failed(&error.to_string());
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The session has ended: nothing more is answered. What was not looked at is refused.
    pub(super) fn end(&mut self, end: SessionEnd) {
        if let (SessionEnd::Stopped, Some(reply)) = (end, self.last_reply.clone())
            && (self.sticky || self.last_beat.is_some())
        {
            let status = if self.moves.load(Ordering::Relaxed) { Status::Moved } else { Status::Gone };
            self.say(reply, status);
        }
        self.inbox.close();
        while let Ok(item) = self.inbox.try_recv() {
            let Item::Message(message) = item else { continue };
            self.taken += weight(&message);
            if let Some(reply) = message.reply {
                self.refuse(reply, &ErrorObject::standard(ErrorCode::SHUTTING_DOWN));
            }
        }
    }

    /// Says that it is alive, while it is at work. Whether everything is sent.
    pub(super) fn tend(&mut self, cx: &mut Context<'_>, is_open: bool) -> Poll<()> {
        if !self.is_single() {
            match is_open || self.sticky {
                true => self.poll_beats(cx),
                false => {
                    self.beat_timer = None;
                    if self.last_beat.take().is_some()
                        && let Some(reply) = self.last_reply.clone()
                        && !self.ended
                    {
                        self.say(reply, Status::Idle);
                    }
                }
            }
        }
        self.poll_parts(cx);
        self.poll_outbox(cx).map(drop)
    }

    /// Refuses messages whose next part has not come.
    fn poll_parts(&mut self, cx: &mut Context<'_>) {
        while let Some(at) = self.parts.expires() {
            let timer = self.parts_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
            if timer.deadline() != at {
                timer.as_mut().reset(at);
            }
            if timer.as_mut().poll(cx).is_pending() {
                return;
            }
            for reply in self.parts.expire(Instant::now()) {
                let reason = "the rest of a message in parts has not come";
                let error = ErrorObject::because(ErrorCode::INVALID_REQUEST, reason);
                self.refuse(Subject::from(&*reply), &error);
            }
        }
    }

    fn poll_beats(&mut self, cx: &mut Context<'_>) {
        let after = self.nats.accept_after;
        let mut timer = self.beat_timer.take().unwrap_or_else(|| Box::pin(tokio::time::sleep(after)));
        while timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            self.beat(now);
            let next = after.min(self.nats.beat_every).max(Duration::from_millis(1));
            timer.as_mut().reset(now + next);
        }
        self.beat_timer = Some(timer);
    }

    fn beat(&mut self, now: Instant) {
        let after = self.nats.accept_after;
        let late = self
            .unanswered
            .values_mut()
            .filter(|open| !open.accepted && now.duration_since(open.since) >= after);
        let replies: Vec<_> = late
            .filter_map(|open| {
                open.accepted = true;
                open.reply.clone()
            })
            .collect();
        let is_due = self.last_beat.is_none_or(|last| now.duration_since(last) >= self.nats.beat_every);
        if let (true, true, Some(reply)) = (replies.is_empty(), is_due, self.last_reply.clone()) {
            self.say(reply, Status::Alive);
            self.last_beat = Some(now);
        }
        for reply in replies {
            self.say(reply, Status::Accepted);
            self.last_beat = Some(now);
        }
    }

    /// Answers in the place of the session.
    fn refuse(&mut self, reply: Subject, error: &ErrorObject) {
        self.stats.failed(&error.to_string());
        let (text, headers) = refusal(error);
        self.queue(reply, text, Some(headers));
    }

    /// Takes a message in. `None` if it is not a whole one.
    fn take(&mut self, message: Message) -> Option<Incoming> {
        self.taken += weight(&message);
        let now = Instant::now();
        if let (Some(reply), false) = (&message.reply, self.is_single()) {
            self.last_reply = Some(reply.clone());
        }
        let mut accepted = false;
        if message.headers.is_some() && !self.is_single() {
            let first_part = wire::header(&message, wire::PART).is_some_and(|part| part.starts_with("1/"));
            // Whether somebody is still there is known by where it is answered.
            let sticks = wire::header(&message, wire::STICKY).is_some() && message.reply.is_some();
            self.sticky |= sticks;
            // The caller waits to know where the rest goes.
            if (first_part || sticks)
                && let Some(reply) = message.reply.clone()
            {
                self.say(reply, Status::Accepted);
                self.last_beat = Some(now);
                accepted = true;
            }
        }
        let whole = match wire::header(&message, wire::PART) {
            None => None,
            Some(part) => {
                let key = message.reply.as_deref().unwrap_or_default();
                match self.parts.push(key, part, &message.payload, now) {
                    Ok(Some(text)) => Some(text),
                    Ok(None) => return None,
                    Err(error) => {
                        let code = match error {
                            PartError::TooLarge { .. } => ErrorCode::MESSAGE_TOO_LARGE,
                            _ => ErrorCode::INVALID_REQUEST,
                        };
                        let error = ErrorObject::because(code, error);
                        self.refuse(message.reply?, &error);
                        return None;
                    }
                }
            }
        };
        self.last_origin += 1;
        let origin = self.last_origin;
        if let Some(left) = wire::number(&message, wire::DEADLINE) {
            // Nobody waits for years, and the clock does not reach that far.
            let left = Duration::from_millis(left.min(u64::from(u32::MAX)));
            let unanswered = &self.unanswered;
            self.deadlines
                .push(now + left, origin, unanswered.len(), |origin| unanswered.contains_key(&origin));
        }
        let caller = trace::from_headers(&message).map(|trace| Arc::new(HttpCaller::traced(trace)));
        self.unanswered.insert(origin, Unanswered { reply: message.reply, since: now, accepted });
        let text = whole.unwrap_or(message.payload);
        Some(Incoming::Message { text, origin: Origin(origin), caller })
    }

    /// The next message whose time is up.
    pub(super) fn poll_expired(&mut self, cx: &mut Context<'_>) -> Option<Origin> {
        self.deadlines.poll(cx, |origin| self.unanswered.contains_key(&origin)).map(Origin)
    }

    /// An answer that is too large for somebody who takes no parts.
    fn too_large(&self, message: &[u8]) -> (Bytes, ErrorObject) {
        let reason = format!(
            "the answer has {} bytes, and the server of NATS takes {} with its headers",
            message.len(),
            self.client.max_payload()
        );
        let error = ErrorObject::because(ErrorCode::ANSWER_TOO_LARGE, reason);
        let id = RawJson::from_bytes(message).ok();
        let id = id.and_then(|message| Some(message.get("id")?.as_str().to_owned()));
        (error_text(id.as_deref().unwrap_or("null"), &error), error)
    }

    fn send(&mut self, subject: Subject, outgoing: &Outgoing<'_>) {
        let is_answer = matches!(outgoing.purpose, Purpose::Answer | Purpose::Error(_));
        let is_final = outgoing.last && is_answer;
        let mut headers = (!is_final).then(|| Status::More.headers());
        if let Purpose::Error(code) = outgoing.purpose {
            let error = RawJson::from_bytes(outgoing.message).ok();
            let error =
                error.and_then(|message| message.get("error")?.get("message")?.parse::<String>().ok());
            let error = error.unwrap_or_default();
            self.stats.failed(&error);
            if self.is_single() {
                add_error(headers.get_or_insert_with(HeaderMap::new), code, &error);
            }
        }
        // What is in an answer is nobody's params.
        if !is_answer {
            trace::to_headers(outgoing.message, &mut headers);
        }
        let text = Bytes::copy_from_slice(outgoing.message);
        // Without parts, an answer may fill what its headers leave.
        let fits = match self.is_single() {
            true => wire::fits(text.len(), headers.as_ref(), self.client.max_payload()),
            false => text.len() <= self.room(),
        };
        if fits {
            // Behind the last answer there is nothing to say, unless it began a subscription.
            let is_over = is_final && !self.held && !self.sticky;
            let reply = self.own_subject.clone().filter(|_| !is_over);
            return self.queue_from(reply, subject, text, headers);
        }
        if self.is_single() || text.len().div_ceil(self.room()) > MOST_PARTS as usize {
            let (text, error) = self.too_large(outgoing.message);
            self.stats.failed(&error.message);
            if self.is_single() {
                add_error(headers.get_or_insert_with(HeaderMap::new), error.code, &error.message);
            }
            return self.queue(subject, text, headers);
        }
        for (number, part) in split(&text, self.room()) {
            let mut headers = headers.clone().unwrap_or_default();
            headers.insert(wire::PART, number.as_str());
            self.queue(subject.clone(), part, Some(headers));
        }
    }
}

impl Link for WorkerLink {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Incoming> {
        if let Poll::Ready(Err(error)) = self.poll_outbox(cx) {
            return Poll::Ready(Incoming::Lost(sabir_proto::Lost::from_error(error)));
        }
        while !self.ended {
            match ready!(self.inbox.poll_recv(cx)) {
                Some(Item::Message(message)) => {
                    if let Some(incoming) = self.take(message) {
                        return Poll::Ready(incoming);
                    }
                }
                Some(Item::Close) => {
                    self.ended = true;
                    return Poll::Ready(Incoming::Lost("the caller is gone".into()));
                }
                None => {
                    self.ended = true;
                    return Poll::Ready(Incoming::Ended);
                }
            }
        }
        Poll::Pending
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, outgoing: Outgoing<'_>) -> Poll<io::Result<()>> {
        if self.outbox_bytes >= OUTBOX {
            ready!(self.poll_outbox(cx))?;
        }
        let reply = match outgoing.last {
            true => self.unanswered.remove(&outgoing.origin.0).map(|answered| {
                self.stats.answered(answered.since.elapsed());
                answered.reply
            }),
            false => self.unanswered.get(&outgoing.origin.0).map(|open| open.reply.clone()),
        };
        let reply = reply.unwrap_or_else(|| self.last_reply.clone());
        // Somebody who knows of no sessions takes one answer, and nothing else.
        let is_wanted = outgoing.last || !self.is_single();
        if let (true, false, Some(reply)) = (is_wanted, outgoing.message.is_empty(), reply) {
            self.send(reply, &outgoing);
        }
        match self.poll_outbox(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn minds_what_is_open(&self) -> bool {
        true
    }

    fn set_held(&mut self, held: bool) {
        self.held = held;
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_outbox(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, _: &Cause) -> Poll<()> {
        self.poll_outbox(cx).map(drop)
    }
}

/// A message that refuses another one as a whole.
pub(super) fn refusal(error: &ErrorObject) -> (Bytes, HeaderMap) {
    let mut headers = Status::Refused.headers();
    add_error(&mut headers, error.code, &error.message);
    (error_text("null", error), headers)
}

fn error_text(id: &str, error: &ErrorObject) -> Bytes {
    let error = RawJson::from_value(error).unwrap_or(RawJson::NULL);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}", error.as_str()).into()
}

/// What tools of the micro protocol look for.
fn add_error(headers: &mut HeaderMap, code: ErrorCode, message: &str) {
    let line: String = message.chars().filter(|c| !c.is_control()).take(256).collect();
    headers.insert(wire::SERVICE_ERROR, line.as_str());
    headers.insert(wire::SERVICE_ERROR_CODE, code.0.to_string().as_str());
}
