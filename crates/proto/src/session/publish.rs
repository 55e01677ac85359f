//! Serving subscriptions: a request is accepted as one, and items follow its answer.
//!
//! Items wait in the queue of their subscription, not among the answers: they move on, by turns, only while little is
//! unsent. So an answer never waits behind more than [`ITEM_WATER`] bytes of items.

use serde::Serialize;

use super::event::{Event, Purpose, RequestKey, SinkEnd, SinkKey};
use super::meta::LONGEST_TOKEN;
use super::sinks::{Ending, Sinks};
use super::subscriptions::Subscriptions;
use super::{Cause, Core, Phase, Session};
use crate::json::cursor::Cursor;
use crate::json::raw::{JsonKind, RawJson};
use crate::message::encode;
use crate::message::error::{ErrorCode, ErrorObject};
use crate::message::id::Id;
use crate::subscription::{EndSignal, Routing, SubscriptionStyle};
use crate::time::Time;

/// Unsent bytes from which on items wait. Enough for a write to be worth it.
const ITEM_WATER: usize = 64 * 1024;

/// What both sides of subscriptions keep. A connection without any has none of it.
#[derive(Debug)]
pub(super) struct Tables {
    /// The peer's.
    pub(super) sinks: Sinks,
    /// Ours.
    pub(super) ours: Subscriptions,
}

/// How a request becomes a subscription.
#[derive(Debug, Clone, Copy)]
pub struct Accept<'a> {
    /// How it is written.
    pub style: &'a SubscriptionStyle,
    /// What is done with items for which there is no room.
    pub overflow: Overflow,
    /// How many items may wait, if that is fewer than [`Limits::subscription_items`](crate::Limits::subscription_items).
    pub items: Option<usize>,
    /// The token that items name, for [`Routing::Token`].
    pub token: Option<&'a RawJson<'a>>,
    /// Bits that nobody can guess: the id is made of them.
    pub random: u64,
}

/// What is done with an item of a subscription whose peer does not read fast enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// It is not taken: [`Event::SinkReady`] says when the next one will be.
    #[default]
    Wait,
    /// The oldest one that waits is dropped.
    DropOldest,
    /// The one that waits and has the same key is replaced, and the new one has its place in the order; if there is none, the
    /// oldest one is dropped.
    KeepLatest,
    /// The subscription ends.
    Close,
}

/// Why an item was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ItemError {
    /// There is no room: [`Event::SinkReady`] says when there is.
    Full,
    /// The subscription has ended.
    Closed,
    /// It is larger than may be sent.
    TooLarge,
    /// It cannot be written as JSON, or not in this style.
    Unwritable(String),
}

/// How a subscription ends that its server ends.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Finish<'a> {
    /// There are no more items.
    Finished,
    /// The same, and where the end is a response, this is its result.
    Result(&'a RawJson<'a>),
    /// It failed.
    Failed(&'a ErrorObject<'a>),
}

/// How much a subscription has sent, and lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SinkStats {
    /// Items that were sent; as long as it is open, also those that wait to be.
    pub sent: u64,
    /// Items that were dropped or replaced.
    pub lost: u64,
}

impl Session {
    /// Makes a request a subscription. Its answer, with the id, goes out before any item; where the answer is the end,
    /// the request stays open. On an error nothing has happened: it is what to answer the request with.
    pub fn accept(
        &mut self,
        now: Time,
        request: RequestKey,
        accept: &Accept<'_>,
    ) -> Result<SinkKey, ErrorObject<'static>> {
        self.core.act(now);
        self.core.accept(request, accept)
    }

    /// Sends an item, or lets it wait for its turn. `key` says which items replace each other under
    /// [`Overflow::KeepLatest`].
    pub fn send_item<T: Serialize + ?Sized>(
        &mut self,
        now: Time,
        sink: SinkKey,
        key: u64,
        item: &T,
    ) -> Result<(), ItemError> {
        self.core.act(now);
        self.core.send_item(sink, key, |out| serde_json::to_writer(out, item))
    }

    /// Whether [`send_item`](Self::send_item) would take an item now. If not, [`Event::SinkReady`] says when.
    pub fn has_room(&mut self, sink: SinkKey) -> bool {
        let limit = self.core.limits.subscription_bytes;
        let clear = self.core.is_clear(sink);
        let Some(tables) = &mut self.core.subscriptions else { return false };
        let Some(open) = tables.sinks.get(sink).filter(|sink| sink.ending.is_none()) else { return false };
        clear || open.overflow != Overflow::Wait || tables.sinks.has_room(sink, limit)
    }

    /// Ends a subscription behind the items that wait. The style decides what the peer is sent. Whether it was open.
    pub fn finish(&mut self, now: Time, sink: SinkKey, finish: Finish<'_>) -> bool {
        self.core.act(now);
        let ending = match finish {
            Finish::Finished => Ending::Finished(None),
            Finish::Result(result) => Ending::Finished(Some(result.as_str().to_owned())),
            Finish::Failed(error) => Ending::Failed(error.clone().into_owned()),
        };
        self.core.begin_end(sink, ending)
    }

    /// Answers a request to unsubscribe, whose params are `[id]`: `true` if there was such a subscription, else `false`.
    /// It ends at once, and [`Event::SinkClosed`] follows. Whether there was still a request to answer.
    pub fn reply_unsubscribe(
        &mut self,
        now: Time,
        request: RequestKey,
        params: Option<&RawJson<'_>>,
    ) -> bool {
        self.core.act(now);
        let Some(id) = params.and_then(unsubscribed_id) else {
            let error = ErrorObject::because(ErrorCode::INVALID_PARAMS, "expected the id of a subscription");
            return self.core.answer_error(request, &error);
        };
        let sink = self.core.subscriptions.as_ref().and_then(|tables| tables.sinks.find(&id));
        if let Some(sink) = sink {
            self.core.close_sink(sink, SinkEnd::Unsubscribed);
        }
        self.core.answer_with(request, if sink.is_some() { "true" } else { "false" })
    }

    /// The id of a subscription of the peer, in its JSON text.
    pub fn sink_id(&self, sink: SinkKey) -> Option<RawJson<'_>> {
        Some(RawJson::trusted(self.core.subscriptions.as_ref()?.sinks.get(sink)?.id()))
    }

    /// How much a subscription of the peer has sent, and lost, as long as it is open.
    pub fn sink_stats(&self, sink: SinkKey) -> Option<SinkStats> {
        let sink = self.core.subscriptions.as_ref()?.sinks.get(sink)?;
        Some(SinkStats { sent: sink.sent, lost: sink.lost })
    }
}

impl Core {
    /// Moves on what subscriptions have to send, and what is to be said of our own. Whether there is more to poll.
    #[cold]
    pub(super) fn send_waiting(&mut self) -> bool {
        let calls = self.calls.len();
        self.send_unsubscribes();
        // Each call that is open makes room for one more request.
        let has_called = self.calls.len() > calls;
        self.send_queued() || has_called
    }

    pub(super) fn has_no_subscriptions(&self) -> bool {
        self.subscriptions.as_ref().is_none_or(|tables| tables.sinks.is_empty() && tables.ours.is_empty())
    }

    /// Whether there are any of ours.
    pub(super) fn has_subscriptions(&self) -> bool {
        self.subscriptions.as_ref().is_some_and(|tables| !tables.ours.is_empty())
    }

    /// Whether items, or unsubscribes of ours, wait to be sent.
    pub(super) fn has_unsent_items(&self) -> bool {
        self.subscriptions
            .as_ref()
            .is_some_and(|tables| tables.sinks.has_queued() || !tables.ours.leaving.is_empty())
    }

    /// Items wait above this many unsent bytes.
    fn item_water(&self) -> usize {
        ITEM_WATER.min(self.limits.high_water / 2).max(1)
    }

    pub(super) fn tables(&mut self) -> &mut Tables {
        let seed = self.seed;
        self.subscriptions.get_or_insert_with(|| {
            Box::new(Tables { sinks: Sinks::new(seed), ours: Subscriptions::new(seed) })
        })
    }

    fn accept(&mut self, request: RequestKey, accept: &Accept<'_>) -> Result<SinkKey, ErrorObject<'static>> {
        let Accept { style, overflow, items, token, random } = *accept;
        let Some(slot) = self.requests.get(request) else {
            return Err(ErrorObject::because(ErrorCode::INTERNAL_ERROR, "the request is over"));
        };
        if slot.cancelled.is_some() {
            return Err(ErrorObject::standard(ErrorCode::REQUEST_CANCELLED));
        }
        let stays_open = style.end == EndSignal::Response;
        if self.one_way && !stays_open {
            let reason = "a subscription needs a connection that stays open: a WebSocket, a socket, a pipe, NATS, or a session";
            return Err(ErrorObject::because(ErrorCode::METHOD_NOT_FOUND, reason));
        }
        let (batch, origin) = (slot.batch, slot.origin);
        let request_id = slot.id().to_owned();
        let most = items.unwrap_or(usize::MAX).min(self.limits.subscription_items);
        let limit = self.limits.subscriptions;
        let sinks = &mut self.tables().sinks;
        if sinks.len() >= limit {
            return Err(ErrorObject::standard(ErrorCode::TOO_MANY_SUBSCRIPTIONS));
        }
        let id = match (style.routing, token) {
            (Routing::Id, _) => (0..).map(|n| id_text(style, random, n)).find(|id| sinks.find(id).is_none()),
            (Routing::Token, Some(token)) if token.as_str().len() > LONGEST_TOKEN => {
                let reason = format!("`partialResultToken` is longer than {LONGEST_TOKEN} bytes");
                return Err(ErrorObject::because(ErrorCode::INVALID_PARAMS, reason));
            }
            (Routing::Token, Some(token)) => Some(token.as_str().to_owned()),
            (Routing::Token, None) => {
                return Err(ErrorObject::because(
                    ErrorCode::INVALID_PARAMS,
                    "`partialResultToken` is missing",
                ));
            }
            (Routing::Meta, _) => Some(request_id),
            (Routing::Method, _) => Some("true".to_owned()),
        };
        let id = id.unwrap_or_default();
        let open = stays_open.then_some(request);
        // Items of a subscription that outlives its request belong to no message.
        let origin = if stays_open { origin } else { super::Origin::NONE };
        let batch = batch.filter(|_| !stays_open);
        let sink = sinks.insert(style, id.clone(), open, (origin, batch), (overflow, most));
        if !stays_open {
            self.answer_with(request, &id);
            if matches!(self.replaced, Some((replaced, _)) if replaced == request) {
                self.tables().sinks.remove(sink);
                return Err(ErrorObject::standard(ErrorCode::ANSWER_TOO_LARGE));
            }
        }
        if self.phase != Phase::Open {
            self.close_sink(sink, SinkEnd::Disconnected);
        }
        Ok(sink)
    }

    /// Whether an item of this sink may go out without waiting.
    fn is_clear(&self, key: SinkKey) -> bool {
        self.outbox.load() < self.item_water()
            && self.subscriptions.as_ref().is_some_and(|tables| {
                !tables.sinks.has_queued() && tables.sinks.get(key).is_some_and(super::sinks::Sink::is_clear)
            })
    }

    fn send_item(
        &mut self,
        key: SinkKey,
        replaces: u64,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>,
    ) -> Result<(), ItemError> {
        let sink = self.subscriptions.as_ref().and_then(|tables| tables.sinks.get(key));
        if sink.is_none_or(|sink| sink.end != EndSignal::Outcome) {
            return self.take_item(key, replaces, write);
        }
        let mut text = Vec::new();
        write(&mut text).map_err(|error| ItemError::Unwritable(error.to_string()))?;
        let is_last = std::str::from_utf8(&text).is_ok_and(|text| EndSignal::Outcome.is_by(text));
        self.take_item(key, replaces, |out| {
            out.extend_from_slice(&text);
            Ok(())
        })?;
        if is_last {
            self.close_sink(key, SinkEnd::Finished);
        }
        Ok(())
    }

    fn take_item(
        &mut self,
        key: SinkKey,
        replaces: u64,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>,
    ) -> Result<(), ItemError> {
        if self.is_clear(key) {
            return self.write_item(key, write);
        }
        let limit = self.limits.subscription_bytes;
        let largest = self.limits.outbound_bytes;
        let Some(tables) = &mut self.subscriptions else { return Err(ItemError::Closed) };
        let sinks = &mut tables.sinks;
        let Some(sink) = sinks.get(key).filter(|sink| sink.ending.is_none()) else {
            return Err(ItemError::Closed);
        };
        let overflow = sink.overflow;
        let room = sinks.has_room(key, limit);
        if !room && overflow == Overflow::Wait {
            return Err(ItemError::Full);
        }
        if !room && overflow == Overflow::Close {
            self.close_sink(key, SinkEnd::Lagged);
            return Err(ItemError::Closed);
        }
        let mut text = Vec::new();
        write(&mut text).map_err(|error| ItemError::Unwritable(error.to_string()))?;
        if text.len() > largest {
            return Err(ItemError::TooLarge);
        }
        if let Some(sink) = sinks.get(key).filter(|sink| sink.is_choosy() && !sink.takes(&text)) {
            return Err(ItemError::Unwritable(sink.wants().to_owned()));
        }
        let mut text = Some(text);
        if overflow == Overflow::KeepLatest {
            text = text.and_then(|text| sinks.replace(key, replaces, text, limit).err());
        }
        if let Some(text) = text {
            while !sinks.has_room(key, limit) && sinks.drop_oldest(key) {}
            if !sinks.has_room(key, limit) {
                // The others hold too much, and it has nothing older to drop.
                if let Some(sink) = sinks.get_mut(key) {
                    sink.lost += 1;
                }
                return Ok(());
            }
            sinks.push(key, replaces, text);
        }
        if let Some(sink) = sinks.get_mut(key) {
            sink.sent += 1;
        }
        Ok(())
    }

    /// Writes an item to the outbox.
    fn write_item(
        &mut self,
        key: SinkKey,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>,
    ) -> Result<(), ItemError> {
        let Some(tables) = &mut self.subscriptions else { return Err(ItemError::Closed) };
        let Some(sink) = tables.sinks.get_mut(key) else { return Err(ItemError::Closed) };
        self.outbox.set_origin(sink.origin);
        let mark = self.outbox.begin();
        let written = sink.write_item(self.outbox.buffer(), write);
        let fits = self.outbox.body_len(mark) <= self.limits.outbound_bytes;
        let failed = match written {
            Ok(()) if fits => None,
            Ok(()) => Some(ItemError::TooLarge),
            Err(Some(error)) => Some(ItemError::Unwritable(error.to_string())),
            Err(None) => Some(ItemError::Unwritable(sink.wants().to_owned())),
        };
        if let Some(failed) = failed {
            self.outbox.cancel(mark);
            return Err(failed);
        }
        sink.sent += 1;
        self.outbox.end(mark, Purpose::Notify);
        self.notified = true;
        Ok(())
    }

    /// Moves items that wait on, by turns, while little is unsent. Whether anything happened that the driver must hear, or
    /// that lets a request start.
    pub(super) fn send_queued(&mut self) -> bool {
        let events = self.pending_events.len();
        let requests = self.requests.len();
        while self.outbox.load() < self.item_water()
            && let Some((key, item)) = self.subscriptions.as_mut().and_then(|tables| tables.sinks.next())
        {
            let Some(text) = item else {
                self.complete_end(key);
                continue;
            };
            let written = self.write_item(key, |out| {
                out.extend_from_slice(&text);
                Ok(())
            });
            // It was counted when it was taken.
            let Some(tables) = &mut self.subscriptions else { break };
            if let Some(sink) = tables.sinks.get_mut(key) {
                sink.sent -= 1;
                sink.lost += u64::from(written.is_err());
            }
            if tables.sinks.take_room(key) {
                self.pending_events.push_back(Event::SinkReady { sink: key });
            }
        }
        let limit = self.limits.subscription_bytes;
        while let Some(sink) = self.subscriptions.as_mut().and_then(|tables| tables.sinks.next_starved(limit))
        {
            self.pending_events.push_back(Event::SinkReady { sink });
        }
        self.pending_events.len() > events || self.requests.len() < requests
    }

    /// Lets a sink end behind what waits.
    fn begin_end(&mut self, key: SinkKey, ending: Ending) -> bool {
        let Some(tables) = &mut self.subscriptions else { return false };
        let Some(sink) = tables.sinks.get_mut(key).filter(|sink| sink.ending.is_none()) else { return false };
        sink.ending = Some(ending);
        tables.sinks.enqueue(key);
        true
    }

    /// A sink ends that its server has not ended.
    pub(super) fn close_sink(&mut self, key: SinkKey, end: SinkEnd) {
        let Some(tables) = &mut self.subscriptions else { return };
        let Some(sink) = tables.sinks.get(key) else { return };
        let (is_ending, signal, request) = (sink.ending.is_some(), sink.end, sink.request);
        if is_ending && end != SinkEnd::Unsubscribed {
            return;
        }
        // What waits when the connection ends, or for the last item, may still be sent.
        let keeps = matches!(end, SinkEnd::Disconnected | SinkEnd::Finished);
        let dropped = if keeps { 0 } else { tables.sinks.drop_queue(key) };
        let Some(sink) = tables.sinks.get_mut(key) else { return };
        if end == SinkEnd::Lagged {
            sink.lost += dropped + 1;
        }
        let stats = SinkStats { sent: sink.sent, lost: sink.lost };
        let mut silenced = false;
        match end {
            SinkEnd::Unsubscribed => drop(tables.sinks.remove(key)),
            SinkEnd::Lagged => {
                let reason = ErrorObject::standard(ErrorCode::SUBSCRIPTION_LAGGED);
                silenced = signal.is_silent();
                self.begin_end(key, Ending::Failed(reason));
            }
            SinkEnd::Disconnected if request.is_some() => drop(self.begin_end(key, Ending::Finished(None))),
            SinkEnd::Disconnected | SinkEnd::Finished => drop(self.begin_end(key, Ending::Silent)),
        }
        if !is_ending {
            self.pending_events.push_back(Event::SinkClosed { sink: key, end, stats });
        }
        if silenced {
            // Nothing else tells the peer that it has missed something.
            self.close(Cause::Lagged);
        }
    }

    /// All items of a sink are sent: says what is to be said of its end.
    fn complete_end(&mut self, key: SinkKey) {
        let Some(sink) = self.subscriptions.as_mut().and_then(|tables| tables.sinks.remove(key)) else {
            return;
        };
        let Some(ending) = &sink.ending else { return };
        if let Some(request) = sink.request {
            match ending {
                Ending::Silent | Ending::Finished(None) => {
                    self.answer_with(request, &final_result(sink.routing, sink.id()))
                }
                Ending::Finished(Some(result)) => self.answer_with(request, result),
                Ending::Failed(error) => self.answer_error(request, error),
            };
            return;
        }
        let finished = ErrorObject::standard(ErrorCode::SUBSCRIPTION_FINISHED);
        let error = match (ending, sink.end) {
            (Ending::Failed(error), EndSignal::IfFailed | EndSignal::Always) => error,
            (Ending::Finished(_), EndSignal::Always) => &finished,
            _ => return,
        };
        self.outbox.set_origin(sink.origin);
        let mark = self.outbox.begin();
        sink.write_error(self.outbox.buffer(), error);
        self.outbox.end(mark, Purpose::Notify);
        self.notified = true;
    }

    /// The connection ends, or is about to: all sinks end behind what waits for them.
    pub(super) fn close_sinks(&mut self) {
        let Some(tables) = &self.subscriptions else { return };
        let keys: Vec<_> = tables.sinks.keys().collect();
        for key in keys {
            self.close_sink(key, SinkEnd::Disconnected);
        }
    }

    /// Nothing more is sent: drops what waits.
    pub(super) fn drop_sinks(&mut self) {
        if let Some(tables) = &mut self.subscriptions {
            let keys: Vec<_> = tables.sinks.keys().collect();
            for key in keys {
                tables.sinks.drop_queue(key);
            }
        }
        self.close_sinks();
        if let Some(tables) = &mut self.subscriptions {
            tables.sinks.clear();
        }
    }

    /// The peer cancels a request that is a subscription. Whether it was one.
    pub(super) fn cancel_sink(&mut self, request: RequestKey) -> bool {
        let sink = self.subscriptions.as_ref().and_then(|tables| tables.sinks.of_request(request));
        let Some(sink) = sink else { return false };
        self.close_sink(sink, SinkEnd::Unsubscribed);
        self.answer_nothing(request);
        true
    }
}

/// The result of a request whose items were sent before.
fn final_result(routing: Routing, id: &str) -> String {
    match routing {
        Routing::Meta => format!("{{\"resultType\":\"complete\",\"_meta\":{{\"{META_ID}\":{id}}}}}"),
        // All parts were sent: what the response adds to them is nothing.
        _ => "[]".to_owned(),
    }
}

/// Where MCP names the subscription that a notification belongs to.
pub(super) const META_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The `n`th id to try: random bits rarely meet an id that is taken.
fn id_text(style: &SubscriptionStyle, random: u64, n: u64) -> String {
    style.ids.text(random.wrapping_add(n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).max(1))
}

/// The id in `[id]`, or in an object, in the spelling that we gave it.
fn unsubscribed_id(params: &RawJson<'_>) -> Option<String> {
    let cursor = Cursor::new(params);
    let text = match params.kind() {
        JsonKind::Array => cursor.elements().next(),
        JsonKind::Object => cursor.member("subscription").or_else(|| cursor.member("id")),
        _ => None,
    }?;
    let id = Id::from_json(RawJson::trusted(text))?;
    let mut out = Vec::new();
    match (id.as_str(), id.as_u64()) {
        (Some(text), _) => encode::string(&mut out, &text),
        (None, Some(number)) => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        (None, None) => return Some(id.text().to_owned()),
    }
    String::from_utf8(out).ok()
}
