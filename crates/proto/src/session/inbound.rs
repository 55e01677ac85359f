//! What comes in: cutting, decoding, and deciding what may start.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::dialect::NotificationStyle;
use crate::frame::{Cut, FrameFault};
use crate::json::cursor::Cursor;
use crate::json::raw::RawJson;
use crate::json::scan::ParseError;
use crate::json::string::JsonStr;
use crate::limits::Limits;
use crate::message::decode::{Entry, decode_batch, decode_single, is_batch};
use crate::message::error::{ErrorCode, ErrorObject};
use crate::message::id::Id;
use crate::message::{Fault, Invalid, Message, Notification, Request, Response};
use crate::session::event::{CallError, CallKey, Event, Origin, RequestKey};
use crate::session::meta::{LONGEST_TOKEN, Meta, may_have_long_token};
use crate::session::queue::Waiting;
use crate::session::refusals::{REPORTED, SMALL_ERROR, is_long_answer};
use crate::session::report::Report;
use crate::session::requests::Requests;
use crate::session::{Core, Phase, Role, WholeMessage};

/// A batch with more entries leaves no room for so many behind.
const KEPT_BATCH: usize = 1024;

/// Tables up to this size count as nothing.
const SMALL_TABLE: usize = 64 * 1024;

/// How much is shown of an id that is refused.
const SHOWN_ID: usize = 64;

/// What came of looking at the input.
pub(crate) enum Next<'i> {
    Event(Event<'i>),
    /// A message was dealt with; there may be more.
    Again,
    /// There is no whole message, or none may be taken.
    Nothing,
}

impl<'i> From<Option<Event<'i>>> for Next<'i> {
    fn from(event: Option<Event<'i>>) -> Self {
        event.map_or(Next::Again, Next::Event)
    }
}

impl Core {
    /// Whether to take in more at all. What the peer leaves unread stops that only once the queue is half
    /// full too: until then, answers to our own calls and cancels still get through. What is answered
    /// without waiting in the queue, such as junk, could go on for ever, so there is an end to it too.
    pub(crate) fn may_take(&self) -> bool {
        !self.paused
            && !self.is_outbound_full()
            && (!self.is_congested() || self.queue.bytes() < self.limits.queued_bytes / 2)
    }

    /// Whether all that may be kept for the peer is kept, unfinished batches included.
    pub(crate) fn is_outbound_full(&self) -> bool {
        self.outbox.load() + self.gathering.bytes() >= self.limits.outbound_bytes
    }

    /// Takes in the next message.
    pub(crate) fn next_message<'i>(&mut self, input: &'i [u8]) -> Next<'i> {
        if !self.may_take() {
            return Next::Nothing;
        }
        let unread = &input[self.consumed..];
        let Some(deframer) = &mut self.deframer else { return self.next_whole(unread) };
        let ended = self.eof;
        if unread.is_empty() && !ended {
            return Next::Nothing;
        }
        let unknown = deframer.framing().is_none();
        let cut = if ended { deframer.finish(unread) } else { deframer.cut(unread) };
        if unknown && let Some(framing) = deframer.framing() {
            self.outbox.set_framing(framing);
        }
        match cut {
            Cut::Message { body, used } => {
                self.consumed += used;
                self.message(body)
            }
            Cut::Fault { fault, start, used } => {
                self.consumed += used;
                match fault {
                    FrameFault::TooLarge { limit } => self.too_large(start, limit),
                    fault => Next::Event(self.frame_fault(fault)),
                }
            }
            Cut::More { used, .. } => {
                self.consumed += used;
                self.input_read();
                Next::Nothing
            }
        }
    }

    fn next_whole<'i>(&mut self, unread: &'i [u8]) -> Next<'i> {
        let Some(WholeMessage { kept, too_large, origin }) = self.whole.pop_front() else {
            self.input_read();
            return Next::Nothing;
        };
        self.incoming = origin;
        self.consumed += kept;
        if !too_large {
            return self.message(&unread[..kept]);
        }
        let next = self.too_large(&unread[..kept], self.limits.message_bytes);
        self.outbox.settle(origin);
        next
    }

    fn input_read(&mut self) {
        self.read = self.eof;
    }

    #[inline]
    fn message<'i>(&mut self, body: &'i [u8]) -> Next<'i> {
        if is_batch(body) {
            return self.batch_message(body);
        }
        match decode_single(body, &self.dialect, &self.limits) {
            Ok(entry) => self.single(entry),
            Err(error) => Next::Event(self.not_json(body, error)),
        }
    }

    #[inline(never)]
    fn batch_message<'i>(&mut self, body: &'i [u8]) -> Next<'i> {
        let mut entries: Vec<Entry<'i>> = std::mem::take(&mut self.entries);
        let mut decoded = decode_batch(body, &self.dialect, &self.limits, &mut entries);
        // The answer to a batch of ours may be as long as that.
        if let Ok(Err(Err(invalid))) = &decoded
            && is_long_answer(invalid)
            && self.calls.longest_batch() > self.limits.batch_len
        {
            entries.clear();
            let limits = Limits { batch_len: self.calls.longest_batch(), ..self.limits };
            decoded = decode_batch(body, &self.dialect, &limits, &mut entries);
        }
        let next = match decoded {
            Ok(Ok(text)) => {
                self.batch(text, &mut entries);
                Next::Again
            }
            Ok(Err(Err(invalid))) if is_long_answer(&invalid) => self.long_answer(body, invalid),
            Ok(Err(refused)) => self.single(refused),
            Err(error) => Next::Event(self.not_json(body, error)),
        };
        self.entries = emptied(entries);
        next
    }

    /// A message that is not a batch, or a batch that counts as one message.
    #[inline]
    pub(crate) fn single<'i>(&mut self, entry: Entry<'i>) -> Next<'i> {
        let open = self.requests.len();
        let next = self.entry(entry, None);
        if self.requests.len() <= open {
            self.outbox.settle(self.incoming);
        }
        next
    }

    #[cold]
    fn not_json<'i>(&mut self, body: &'i [u8], error: ParseError) -> Event<'i> {
        if !self.dialect.allow_non_json {
            self.reply_unreadable("null", &error.error());
        }
        self.outbox.settle(self.incoming);
        Event::Report(Report::NotJson { text: Cow::Borrowed(body), error })
    }

    /// The id to refuse a message with. With the id of a request that is in flight, the error would be taken for
    /// its answer.
    pub(crate) fn answerable<'t>(&mut self, id: Option<&'t Id<'_>>) -> &'t str {
        id.filter(|id| self.requests.find(id).is_none()).map_or("null", Id::text)
    }

    fn frame_fault(&mut self, fault: FrameFault) -> Event<'static> {
        if !self.dialect.allow_non_json {
            self.reply_unreadable("null", &ErrorObject::because(ErrorCode::PARSE_ERROR, fault));
        }
        Event::Report(Report::Frame(fault))
    }

    /// Answers something that is not a message, unless that has gone on for too long. A client does not: what a
    /// server prints beside its answers would be answered with something that it has not asked for.
    pub(crate) fn reply_unreadable(&mut self, id: &str, error: &ErrorObject<'_>) {
        let answers = self.role == Role::Server && self.error_replies < self.limits.max_error_replies;
        if answers && self.has_room(SMALL_ERROR) {
            self.error_replies += 1;
            self.send_error(id, error, None);
        }
    }

    /// A batch of nothing but requests is started request by request, as if each had come alone. Of any other, nothing
    /// starts before all of it is taken in: its requests wait in the queue.
    fn batch(&mut self, text: &str, entries: &mut Vec<Entry<'_>>) {
        // Only what is owed an answer may be refused with one.
        let asks = |entry: &Entry<'_>| match entry {
            Ok(Message::Request(_)) => true,
            Err(invalid) => !invalid.response && self.role == Role::Server,
            Ok(_) => false,
        };
        let answers = entries.len() * SMALL_ERROR;
        if (self.is_outbound_full() || !self.has_room(answers)) && entries.iter().any(asks) {
            self.refuse_batch();
            self.outbox.settle(self.incoming);
            return;
        }
        let batch = self.gathering.begin(self.incoming);
        if self.batch_requests.take_on(text, entries, batch, &self.dialect) {
            self.error_replies = 0;
            return;
        }
        if self.is_too_much_junk(entries) {
            self.refuse_batch();
            return self.settle(batch);
        }
        let mut answered = BTreeSet::new();
        let mut refusals = Vec::new();
        let mut reports = 0;
        for entry in entries.drain(..) {
            if let Ok(Message::Response(Response { id, outcome: Err(error) })) = &entry
                && id.is_null()
            {
                if refusals.len() < REPORTED {
                    refusals.push(error.clone().into_owned());
                }
                continue;
            }
            let response = match &entry {
                Ok(Message::Response(response)) => Some(&response.id),
                Err(Invalid { response: true, id: Some(id), .. }) => Some(id),
                _ => None,
            };
            let id = response.and_then(|id| self.number_of(id));
            answered.extend(id.and_then(|id| self.calls.batch_of(id)));
            if let Next::Event(event) = self.entry(entry, Some(batch)) {
                self.push_batch_event(event, &mut reports);
            }
        }
        self.settle(batch);
        let ours_answered = !answered.is_empty();
        // The answer to a batch of ours comes in one piece: what is not in it will not come.
        for ours in answered {
            for call in self.calls.take_batch(ours) {
                self.pending_events.push_back(Event::Reply { call, outcome: Err(CallError::Unanswered) });
            }
        }
        // An array of nothing but such errors does not tell which batch it answers.
        for error in refusals {
            let event = if ours_answered {
                Some(Event::Report(Report::PeerError(error)))
            } else {
                self.refused(error)
            };
            self.pending_events.extend(event);
        }
    }

    /// One message, alone or in a batch.
    #[inline]
    fn entry<'i>(&mut self, entry: Entry<'i>, batch: Option<u32>) -> Next<'i> {
        match entry {
            Ok(message) => {
                self.error_replies = 0;
                match message {
                    Message::Request(request) => self.request(request, batch),
                    Message::Notification(notification) => {
                        self.notification(notification, batch.is_some()).into()
                    }
                    Message::Response(Response { id, outcome: Err(error) })
                        if id.is_null() && batch.is_none() =>
                    {
                        self.refused(error.into_owned()).into()
                    }
                    Message::Response(response) => self.response(response).into(),
                }
            }
            Err(invalid) if self.is_meant_as_answer(&invalid) => Next::Event(self.invalid_response(invalid)),
            Err(invalid) => {
                let id = self.answerable(invalid.id.as_ref());
                match batch {
                    Some(_) if self.role == Role::Client => {}
                    Some(_) => {
                        let error = self.error_in(batch, invalid.code(), || invalid.error());
                        self.send_error(id, &error, batch);
                    }
                    None => self.reply_unreadable(id, &invalid.error()),
                }
                Next::Event(Event::Report(Report::Invalid(invalid)))
            }
        }
    }

    /// What looks like a response, and what has nothing but the id of a call of ours: servers that leave out
    /// a result of `undefined` answer so.
    fn is_meant_as_answer(&self, invalid: &Invalid<'_>) -> bool {
        let bare = || invalid.id.as_ref().is_some_and(|id| self.call_of(id).is_some());
        invalid.response || (invalid.fault == Fault::Shapeless && bare())
    }

    /// A call whose answer cannot be understood has ended all the same: no other one will come.
    fn invalid_response<'i>(&mut self, invalid: Invalid<'i>) -> Event<'i> {
        match invalid.id.as_ref().and_then(|id| self.call_of(id)) {
            Some(call) => {
                self.calls.remove(call);
                Event::Reply { call, outcome: Err(CallError::Malformed(invalid.fault)) }
            }
            None => Event::Report(Report::Invalid(invalid)),
        }
    }

    #[inline]
    pub(crate) fn request<'i>(&mut self, request: Request<'i>, batch: Option<u32>) -> Next<'i> {
        let Request { id, method, params } = request;
        let text = params.map(RawJson::borrowed);
        if matches!(self.phase, Phase::Draining(_) | Phase::Flushing(_)) {
            self.send_error(id.text(), &ErrorObject::standard(ErrorCode::SHUTTING_DOWN), batch);
            return Next::Again;
        }
        if self.overloaded {
            let error = self.error_in(batch, ErrorCode::OVERLOADED, overloaded);
            self.send_error(id.text(), &error, batch);
            return Next::Event(Event::Report(Report::Overloaded(id)));
        }
        let bytes = method.len() + text.map_or(0, str::len) + id.text().len();
        let starts_now = batch.is_none() && self.queue.is_empty() && self.can_start(bytes);
        // The ids of all requests are kept beside the queue, in a table, and count in it.
        let has_room = || {
            let room = self.limits.queued_bytes.saturating_sub(self.requests.id_bytes() + id.text().len());
            let room = room.saturating_sub(self.requests.held().saturating_sub(SMALL_TABLE));
            self.queue.has_room(&method, text, room)
        };
        if !starts_now && !has_room() {
            let error = self.error_in(batch, ErrorCode::OVERLOADED, overloaded);
            self.send_error(id.text(), &error, batch);
            return Next::Event(Event::Report(Report::Overloaded(id)));
        }
        let cancellable = self.dialect.can_be_cancelled(&method);
        let Some(key) = self.requests.insert(&id, batch, self.incoming, cancellable) else {
            let error = self.error_in(batch, ErrorCode::INVALID_REQUEST, || in_flight(&id));
            self.send_error("null", &error, batch);
            return Next::Event(Event::Report(Report::DuplicateId(id)));
        };
        if let Some(batch) = batch {
            self.gathering.expect(batch);
        }
        let meta = match text {
            Some(text) if starts_now || may_have_long_token(text) => Meta::read(text, &self.dialect),
            _ => Meta::default(),
        };
        if meta.has_long_token() {
            self.answer_error(key, &long_token());
            return Next::Again;
        }
        if !starts_now {
            self.queue.push(Waiting::Request(key), &method, text);
            return Next::Again;
        }
        Next::Event(start(&mut self.requests, key, method, text, &meta))
    }

    /// Whether a request with this much text may run beside those that do.
    ///
    /// A running request may be waiting for the answer to a call of ours, and the peer may need to ask
    /// back before it can give that. So each open call makes room for one more request: were all that run
    /// waiting for answers, there would still be `in_flight` places free, and two peers cannot block each
    /// other, however deep they nest.
    #[inline]
    pub(crate) fn can_start(&self, bytes: usize) -> bool {
        !self.barrier
            && !self.is_congested()
            && self.requests.running() < self.limits.in_flight.max(1) + self.calls.len()
            && self.has_byte_room(bytes)
    }

    fn has_byte_room(&self, bytes: usize) -> bool {
        let held = self.requests.running_bytes();
        self.requests.running() == 0 || held + bytes <= self.limits.in_flight_bytes
    }

    /// Whether a request with this much text might wait for ever: it finds no room, and all that run may
    /// be waiting for the peer. Memory cannot give way as numbers can, so it has to be refused.
    fn is_hopeless(&self, bytes: usize) -> bool {
        self.requests.running() <= self.calls.len() && !self.has_byte_room(bytes)
    }

    /// Whether the first in the queue may start. Requests that were cancelled there are passed over.
    pub(crate) fn can_start_waiting(&mut self) -> bool {
        while let Some((waiting, bytes)) = self.queue.front() {
            match waiting {
                Waiting::Request(key) if self.requests.get(key).is_none() => drop(self.queue.pop()),
                Waiting::Request(key) if self.is_hopeless(bytes) || self.is_in_full_batch(key) => {
                    self.answer_error(key, &overloaded());
                    self.queue.pop();
                }
                Waiting::Request(_) => return self.can_start(bytes),
                Waiting::Notification => return !self.barrier && !self.is_congested(),
            }
        }
        false
    }

    fn is_in_full_batch(&self, key: RequestKey) -> bool {
        let batch = self.requests.get(key).and_then(|slot| slot.batch);
        batch.is_some_and(|batch| self.is_batch_full(batch))
    }

    /// Whether answers to this batch would only be thrown away. They wait for each other, so that a peer that
    /// reads makes no room.
    pub(crate) fn is_batch_full(&self, batch: u32) -> bool {
        let limit = self.limits.outbound_bytes;
        self.gathering.is_full(batch) || self.gathering.bytes() >= limit - limit / 4
    }

    /// Starts the first in the queue, which there is.
    pub(crate) fn start_waiting(&mut self) -> Event<'_> {
        let Core { queue, requests, dialect, barrier, .. } = self;
        let Some((waiting, method, params)) = queue.pop() else { unreachable!("the queue was looked at") };
        let method = Cow::Borrowed(method);
        match waiting {
            Waiting::Request(key) => {
                let meta = params.map(|params| Meta::read(params, dialect)).unwrap_or_default();
                start(requests, key, method, params, &meta)
            }
            Waiting::Notification => {
                *barrier = true;
                Event::Notification { method, params: params.map(RawJson::trusted) }
            }
        }
    }

    fn notification<'i>(&mut self, notification: Notification<'i>, in_batch: bool) -> Option<Event<'i>> {
        let Notification { method, params } = notification;
        let params = params.map(RawJson::borrowed);
        if self.subscriptions.is_some()
            && let Some(event) = self.item(&method, params)
        {
            return event;
        }
        match method.as_ref() {
            "$/cancelRequest" if self.accepts_cancel(NotificationStyle::Dollar) => {
                return self.cancelled(NotificationStyle::Dollar, params?);
            }
            "notifications/cancelled" if self.accepts_cancel(NotificationStyle::Notifications) => {
                return self.cancelled(NotificationStyle::Notifications, params?);
            }
            "$/progress" | "notifications/progress" => {
                let style = if method.starts_with('$') {
                    NotificationStyle::Dollar
                } else {
                    NotificationStyle::Notifications
                };
                if let Some(event) = params.and_then(|params| self.progressed(style, params)) {
                    return Some(event);
                }
            }
            _ => {}
        }
        // Nobody would wait for its handler, and one of before may still be running.
        if matches!(self.phase, Phase::Flushing(_)) {
            return Some(Event::Report(Report::Dropped { method }));
        }
        if !in_batch && self.queue.is_empty() && !self.barrier && !self.is_congested() {
            self.barrier = true;
            return Some(Event::Notification { method, params: params.map(RawJson::trusted) });
        }
        if !self.queue.has_room(&method, params, self.limits.queued_bytes) {
            return Some(Event::Report(Report::Dropped { method }));
        }
        self.queue.push(Waiting::Notification, &method, params);
        None
    }

    fn accepts_cancel(&self, style: NotificationStyle) -> bool {
        self.dialect.cancel == style || self.dialect.either_cancel
    }

    /// The peer cancels a request. To name one that is unknown, or already answered, is not an error.
    fn cancelled<'i>(&mut self, style: NotificationStyle, params: &'i str) -> Option<Event<'i>> {
        let name = if style == NotificationStyle::Dollar { "id" } else { "requestId" };
        let id = Id::from_json(RawJson::trusted(Cursor::trusted(params).member(name)?))?;
        let key = self.requests.find(&id)?;
        let slot = self.requests.get_mut(key)?;
        if !slot.cancellable || slot.cancelled.is_some() {
            return None;
        }
        slot.cancelled = Some(style);
        if !slot.is_running() {
            self.answer_nothing(key);
            return None;
        }
        if self.subscriptions.is_some() && self.cancel_sink(key) {
            return None;
        }
        let reason = Cursor::trusted(params).member("reason").and_then(JsonStr::trusted);
        Some(Event::Cancel { key, reason: reason.and_then(JsonStr::value) })
    }

    /// Progress of a call of ours, or `None` if it belongs to no call.
    fn progressed<'i>(&mut self, style: NotificationStyle, params: &'i str) -> Option<Event<'i>> {
        let member = |name| Cursor::trusted(params).member(name);
        let (token, value) = match style {
            NotificationStyle::Dollar => (member("token")?, member("value")?),
            NotificationStyle::Notifications => (member("progressToken")?, params),
        };
        let (call, open) = self.calls.find(Id::from_json(RawJson::trusted(token))?.as_u64()?)?;
        if !open.progress {
            return None;
        }
        self.calls.progressed(call, self.now);
        Some(Event::Progress { call, value: RawJson::trusted(value) })
    }

    /// The open call that an id names.
    fn call_of(&self, id: &Id<'_>) -> Option<CallKey> {
        self.calls.find(self.number_of(id)?).map(|(call, _)| call)
    }

    pub(crate) fn number_of(&self, id: &Id<'_>) -> Option<u64> {
        id.as_u64().or_else(|| {
            // Old servers send a number back as a string.
            if self.dialect.lenient_responses { id.as_str()?.parse().ok() } else { None }
        })
    }

    fn response<'i>(&mut self, response: Response<'i>) -> Option<Event<'i>> {
        let Response { id, outcome } = response;
        Some(match (self.call_of(&id), outcome) {
            (Some(call), outcome) => {
                self.calls.remove(call);
                Event::Reply { call, outcome: outcome.map_err(|error| CallError::Error(error.into_owned())) }
            }
            (None, outcome) if self.number_of(&id).is_some_and(|id| self.calls.was_used(id)) => {
                if self.subscriptions.is_some()
                    && let Some(number) = self.number_of(&id)
                    && self.late_id(number, outcome.map_err(|error| CallError::Error(error.into_owned())))
                {
                    return None;
                }
                Event::Report(Report::LateReply(id))
            }
            (None, _) => Event::Report(Report::UnknownReply(id)),
        })
    }
}

/// With the id itself, the peer would take this for the answer to its first request: it is sent with none.
pub(crate) fn in_flight(id: &Id<'_>) -> ErrorObject<'static> {
    let shown: String = id.text().chars().take(SHOWN_ID).collect();
    let more = if shown.len() < id.text().len() { "…" } else { "" };
    ErrorObject::because(ErrorCode::INVALID_REQUEST, format!("id {shown}{more} is already in flight"))
}

pub(crate) fn overloaded() -> ErrorObject<'static> {
    ErrorObject::because(ErrorCode::OVERLOADED, "too many requests are waiting: try again later")
}

/// The request is refused, and not served without progress: its caller waits for what would never come.
fn long_token() -> ErrorObject<'static> {
    let reason = format!("the progress token is longer than {LONGEST_TOKEN} bytes");
    ErrorObject::because(ErrorCode::INVALID_PARAMS, reason)
}

/// Starts a request that is in the table.
#[inline]
pub(crate) fn start<'t>(
    requests: &mut Requests,
    key: RequestKey,
    method: Cow<'t, str>,
    params: Option<&'t str>,
    meta: &Meta<'t>,
) -> Event<'t> {
    let bytes = method.len() + params.map_or(0, str::len) + meta.text.map_or(0, str::len);
    let origin = requests.start(key, bytes, meta.token).map_or(Origin::NONE, |slot| slot.origin);
    let raw = |text: Option<&'t str>| text.map(RawJson::trusted);
    Event::Request { key, method, params: raw(params), meta: raw(meta.text), origin }
}

/// The vector without its entries, and so free of what they borrowed. The standard library keeps the
/// allocation, since the types have the same layout.
fn emptied(mut entries: Vec<Entry<'_>>) -> Vec<Entry<'static>> {
    if entries.capacity() > KEPT_BATCH {
        return Vec::new();
    }
    entries.clear();
    entries.into_iter().map(|_| unreachable!("it was cleared")).collect()
}
