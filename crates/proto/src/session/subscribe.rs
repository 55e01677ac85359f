//! Our subscriptions: asking for one, routing its items, and leaving it.

use super::event::{CallError, CallKey, Event, SubscriptionClosed, SubscriptionKey, Undelivered};
use super::outgoing::{CallOptions, CancelOptions, SendError, verbatim};
use super::subscriptions::{Early, State, Step};
use super::{Cause, Core, Origin, Purpose, Role, Session, item_text};
use crate::json::cursor::Cursor;
use crate::json::raw::{JsonKind, RawJson};
use crate::json::string::JsonStr;
use crate::message::encode;
use crate::message::error::{ErrorCode, ErrorObject};
use crate::message::id::Id;
use crate::subscription::{Routing, SubscriptionStyle};
use crate::time::Time;

/// What a token begins with that asks for the parts of a result. The number of the call follows.
const TOKEN: &str = "partial-";

/// Nobody gives out longer ids; each is kept as long as its subscription.
const LONGEST_ID: usize = 1024;

impl Session {
    /// Subscribes. [`Event::Subscribed`] follows, once, and then items; items that came before the response are kept.
    /// With [`Routing::Method`] nothing is sent.
    ///
    /// A timeout is for the response alone. If it comes later, the subscription is left at once.
    pub fn subscribe_raw(
        &mut self,
        now: Time,
        style: &SubscriptionStyle,
        params: Option<&RawJson<'_>>,
        options: &CallOptions<'_>,
    ) -> Result<SubscriptionKey, SendError> {
        self.core.act(now);
        self.core.subscribe(style, params, options)
    }

    /// Leaves a subscription: no item follows. The peer is told as soon as there is room for that, also if its response
    /// is still to come; where it answers, [`Event::Unsubscribed`] says what. Whether it was open.
    pub fn unsubscribe(&mut self, now: Time, subscription: SubscriptionKey) -> bool {
        self.core.act(now);
        self.core.unsubscribe(subscription)
    }

    /// The transport has no way for what the peer says unasked: subscriptions end whose items are notifications, and
    /// requests for such ones fail. The peer is told to end what it has. Those whose response is their end go on.
    pub fn handle_items_undelivered(&mut self, now: Time, reason: impl Into<Undelivered>) {
        self.core.advance(now);
        self.core.end_receiving(&reason.into());
    }

    /// Whether subscriptions wait for notifications, or will once they are answered: some transports need a stream for
    /// them.
    pub fn awaits_items(&self) -> bool {
        self.core.subscriptions.as_ref().is_some_and(|tables| tables.ours.receives())
    }

    /// Whether the call with this id on the wire asks for a subscription whose items are notifications.
    pub fn is_subscribing(&self, id: u64) -> bool {
        self.core.subscriptions.as_ref().is_some_and(|tables| {
            let slot = tables.ours.of_call(id).and_then(|key| tables.ours.get(key));
            slot.is_some_and(|slot| matches!(slot.state, State::Asking(_) | State::Abandoned(_)))
        })
    }

    /// Takes in nothing more, or goes on: for a consumer that must not miss an item, and has no room for it.
    pub fn set_paused(&mut self, paused: bool) {
        self.core.paused = paused;
    }
}

impl Core {
    fn subscribe(
        &mut self,
        style: &SubscriptionStyle,
        params: Option<&RawJson<'_>>,
        options: &CallOptions<'_>,
    ) -> Result<SubscriptionKey, SendError> {
        if style.routing == Routing::Method {
            self.check_open()?;
            let key = self.tables().ours.insert(style, State::Listening);
            self.pending_events.push_back(Event::Subscribed { subscription: key, outcome: Ok(Id::NULL) });
            return Ok(key);
        }
        // What the peer still owes counts, for it has to be left when it comes.
        let owed = self.subscriptions.as_ref().map_or(0, |tables| tables.ours.abandoned());
        if self.calls.len() + owed >= self.limits.calls {
            return Err(SendError::TooManyCalls);
        }
        let params = match (&style.topic, style.routing) {
            (Some(topic), _) => Some(with_topic(topic, params)),
            (None, Routing::Token) => Some(with_token(self.calls.next_id(), params)?),
            (None, _) => params.map(|params| params.as_str().to_owned()),
        };
        let params = params.as_deref().map(RawJson::trusted);
        let call = self.send(Purpose::of, |core, out| {
            core.write_call(out, &style.subscribe, &mut verbatim(params.as_ref()), options)
        })?;
        if style.routing == Routing::Id {
            // A peer that was told to cancel might not answer, and keep the subscription for good.
            self.calls.set_uncancellable(call);
            return Ok(self.tables().ours.insert(style, State::Asking(call)));
        }
        let key = self.tables().ours.insert(style, State::Following(call));
        let id = Id::from_json(RawJson::trusted(itoa::Buffer::new().format(call.id()))).map(Id::into_owned);
        let outcome = Ok(id.unwrap_or(Id::NULL));
        self.pending_events.push_back(Event::Subscribed { subscription: key, outcome });
        Ok(key)
    }

    fn unsubscribe(&mut self, key: SubscriptionKey) -> bool {
        let Some(tables) = &mut self.subscriptions else { return false };
        let ours = &mut tables.ours;
        let Some(slot) = ours.get(key) else { return false };
        match slot.state.clone() {
            State::Asking(call) => {
                self.calls.remove(call);
                ours.set(key, State::Abandoned(call));
            }
            State::Open(id) => {
                if slot.style.unsubscribe.is_empty() {
                    ours.remove(key);
                    return true;
                }
                ours.set(key, State::Leaving { id, awaited: true, step: Step::Queued });
                ours.leaving.push_back(key);
            }
            State::Following(call) => {
                ours.remove(key);
                match self.calls.remove(call) {
                    Some(ended) => self.send_cancel(call, &ended, &CancelOptions::default()),
                    // It has just ended, and nobody wants to hear of it any more.
                    None => self
                        .pending_events
                        .retain(|event| !matches!(event, Event::Reply { call: ended, .. } if *ended == call)),
                }
                self.pending_events.push_back(Event::Unsubscribed { subscription: key, outcome: Ok(true) });
            }
            State::Listening => {
                ours.remove(key);
                self.pending_events.push_back(Event::Unsubscribed { subscription: key, outcome: Ok(true) });
            }
            State::Abandoned(_) | State::Leaving { .. } => return false,
        }
        true
    }

    /// Sends unsubscribes that wait, as far as there is room.
    pub(super) fn send_unsubscribes(&mut self) {
        while let Some(tables) = &mut self.subscriptions
            && let Some(&key) = tables.ours.leaving.front()
        {
            let Some(slot) = tables.ours.get(key) else {
                tables.ours.leaving.pop_front();
                continue;
            };
            let State::Leaving { id, .. } = &slot.state else {
                tables.ours.leaving.pop_front();
                continue;
            };
            let params = format!("[{}]", id.text());
            let method = slot.style.unsubscribe.clone();
            self.outbox.set_origin(slot.origin);
            let params = RawJson::trusted(&params);
            let sent = self.send(Purpose::of, |core, out| {
                core.write_call(out, &method, &mut verbatim(Some(&params)), &CallOptions::default())
            });
            match sent {
                Ok(call) => {
                    let ours = &mut self.tables().ours;
                    ours.leaving.pop_front();
                    ours.leaves_by(key, call);
                }
                Err(SendError::TooManyCalls | SendError::Congested) => return,
                Err(_) => {
                    self.tables().ours.leaving.clear();
                    return;
                }
            }
        }
    }

    /// What a driver is told of an event. Answers to calls that subscribe or unsubscribe are told as such.
    #[cold]
    pub(super) fn told<'e>(&mut self, event: Event<'e>) -> Option<Event<'e>> {
        match event {
            Event::Reply { call, outcome } => self.told_reply(call, outcome),
            event => Some(event),
        }
    }

    #[cold]
    fn told_reply<'e>(
        &mut self,
        call: CallKey,
        outcome: Result<RawJson<'e>, CallError>,
    ) -> Option<Event<'e>> {
        let ours = &mut self.tables().ours;
        let Some(key) = ours.of_call(call.id()) else { return Some(Event::Reply { call, outcome }) };
        let state = ours.get(key).map(|slot| slot.state.clone())?;
        match (state, outcome) {
            (State::Leaving { id, awaited, .. }, outcome) => {
                ours.forget_call(call.id());
                match &outcome {
                    // It has the subscription still: the next item is the time to try again.
                    Err(CallError::Error(error)) if error.code == ErrorCode::OVERLOADED => {
                        ours.set(key, State::Leaving { id, awaited: false, step: Step::Refused });
                    }
                    _ => drop(ours.remove(key)),
                }
                if !awaited {
                    return None;
                }
                let outcome = outcome.map(|result| !matches!(result.as_str(), "false" | "null"));
                Some(Event::Unsubscribed { subscription: key, outcome })
            }
            (State::Following(_), outcome) => {
                ours.remove(key);
                let end = match outcome {
                    Ok(result) => SubscriptionClosed::Finished(Some(result)),
                    Err(CallError::Error(error)) => SubscriptionClosed::Error(error),
                    Err(CallError::Closed(cause)) => SubscriptionClosed::Disconnected(cause),
                    Err(other) => {
                        SubscriptionClosed::Error(ErrorObject::because(ErrorCode::INTERNAL_ERROR, other))
                    }
                };
                Some(Event::SubscriptionEnded { subscription: key, end })
            }
            // The response may still come, and with it something to leave.
            (State::Asking(asked), Err(CallError::TimedOut)) => {
                ours.set(key, State::Abandoned(asked));
                Some(Event::Subscribed { subscription: key, outcome: Err(CallError::TimedOut) })
            }
            (state @ (State::Asking(_) | State::Abandoned(_)), Ok(result)) => {
                self.subscribed(key, &result, &state)
            }
            (State::Asking(_), Err(error)) => {
                ours.remove(key);
                Some(Event::Subscribed { subscription: key, outcome: Err(error) })
            }
            (_, _) => {
                ours.remove(key);
                None
            }
        }
    }

    /// The response gives the id of a subscription.
    fn subscribed(
        &mut self,
        key: SubscriptionKey,
        result: &RawJson<'_>,
        state: &State,
    ) -> Option<Event<'static>> {
        let id = Id::from_json(result.as_borrowed()).filter(|id| !id.is_null()).map(Id::into_owned);
        // A server's exchanges end with their answers, and its own calls go elsewhere.
        let incoming = if self.role == Role::Client { self.incoming } else { Origin::NONE };
        let ours = &mut self.tables().ours;
        let wanted = matches!(state, State::Asking(_));
        let problem = match &id {
            None => Some("the id of a subscription must be a string or a number"),
            Some(id) if id.text().len() > LONGEST_ID => Some("the id of the subscription is too long"),
            Some(id) => ours.of_id(id).map(|_| "the id of the subscription is that of another one"),
        };
        if let (State::Asking(call) | State::Abandoned(call), Some(_)) = (state, &id) {
            ours.forget_call(call.id());
        }
        let (Some(id), None) = (id, problem) else {
            ours.remove(key);
            let outcome = Err(CallError::Decode(problem.unwrap_or_default().into()));
            return wanted.then_some(Event::Subscribed { subscription: key, outcome });
        };
        let early = ours.take_early(&id);
        ours.set_origin(key, incoming);
        if !wanted {
            let no_way = ours.get(key).is_none_or(|slot| slot.style.unsubscribe.is_empty());
            ours.set(key, State::Leaving { id, awaited: false, step: Step::Queued });
            if no_way {
                ours.remove(key);
            } else {
                ours.leaving.push_back(key);
            }
            return None;
        }
        ours.set(key, State::Open(id.clone()));
        self.pending_events.push_back(Event::Subscribed { subscription: key, outcome: Ok(id) });
        self.deliver_early(key, early);
        None
    }

    fn deliver_early(&mut self, key: SubscriptionKey, early: Early) {
        let Early { items, lost } = early;
        let Some(end) = self.tables().ours.get(key).map(|slot| slot.style.end) else { return };
        for item in items {
            match item {
                Ok(text) => {
                    let item = RawJson::trusted(&text).into_owned();
                    self.pending_events.push_back(Event::Item { subscription: key, item });
                    if end.is_by(&text) {
                        self.finish_receiving(key);
                        return;
                    }
                }
                Err(error) => {
                    self.tables().ours.remove(key);
                    let end = ended_by(error);
                    self.pending_events.push_back(Event::SubscriptionEnded { subscription: key, end });
                    return;
                }
            }
        }
        if lost > 0 {
            self.pending_events.push_back(Event::ItemsLost { subscription: key, count: lost });
        }
    }

    /// The last item of a subscription of ours has come.
    fn finish_receiving(&mut self, key: SubscriptionKey) {
        self.tables().ours.remove(key);
        let end = SubscriptionClosed::Finished(None);
        self.pending_events.push_back(Event::SubscriptionEnded { subscription: key, end });
    }

    /// Nobody waits for the response to this call any more. Gives the subscription, if it asks for one.
    pub(super) fn abandon_subscribing(&mut self, call: CallKey) -> Option<SubscriptionKey> {
        let ours = &mut self.subscriptions.as_mut()?.ours;
        let key = ours.of_call(call.id())?;
        let asked = matches!(ours.get(key)?.state, State::Asking(_));
        asked.then(|| {
            ours.set(key, State::Abandoned(call));
            key
        })
    }

    /// A late answer: perhaps to a call that subscribes, and that nobody waits for any more.
    #[cold]
    pub(super) fn late_id(&mut self, id: u64, outcome: Result<RawJson<'_>, CallError>) -> bool {
        let Some(tables) = &mut self.subscriptions else { return false };
        let Some(key) = tables.ours.of_call(id) else { return false };
        let Some(State::Abandoned(call)) = tables.ours.get(key).map(|slot| slot.state.clone()) else {
            return false;
        };
        self.told_reply(call, outcome);
        true
    }

    /// Routes a notification to our subscriptions. `None` if it belongs to none of them.
    #[cold]
    pub(super) fn item<'i>(&mut self, method: &str, params: Option<&'i str>) -> Option<Option<Event<'i>>> {
        let ours = &self.subscriptions.as_ref()?.ours;
        if ours.has_listeners() {
            let keys = ours.of_method(method);
            if !keys.is_empty() {
                for subscription in keys {
                    let item = params.map_or(RawJson::NULL, |params| RawJson::trusted(params).into_owned());
                    self.pending_events.push_back(Event::Item { subscription, item });
                }
                return Some(None);
            }
        }
        let params = params.filter(|params| params.starts_with('{'))?;
        if ours.is_empty() {
            return None;
        }
        if method == "$/progress" {
            return self.part(params).map(Some);
        }
        if let Some(key) = item_text::listened_call(params).and_then(|call| ours.of_call(call))
            && ours.get(key).is_some_and(|slot| slot.style.routing == Routing::Meta)
        {
            let item = RawJson::trusted(&item_text::listened(method, params)).into_owned();
            return Some(Some(Event::Item { subscription: key, item }));
        }
        self.item_by_id(method, params)
    }

    /// A part of a result.
    fn part<'i>(&mut self, params: &'i str) -> Option<Event<'i>> {
        let ours = &self.subscriptions.as_ref()?.ours;
        let member = |name| Cursor::trusted(params).member(name);
        let token = JsonStr::trusted(member("token")?)?.value()?;
        let key = ours.of_call(token.strip_prefix(TOKEN)?.parse().ok()?)?;
        ours.get(key).filter(|slot| slot.style.routing == Routing::Token)?;
        Some(Event::Item { subscription: key, item: RawJson::trusted(member("value")?) })
    }

    fn item_by_id<'i>(&mut self, method: &str, params: &'i str) -> Option<Option<Event<'i>>> {
        let (mut id, mut result, mut error) = (None, None, None);
        for (name, value) in Cursor::trusted(params).members() {
            if name.is("subscription") {
                id = id.or_else(|| Id::from_json(RawJson::trusted(value)));
            } else if name.is("result") {
                result = result.or(Some(value));
            } else if name.is("error") {
                error = error.or(Some(value));
            }
        }
        let id = id?;
        let item = match (result, error) {
            (Some(result), _) => Ok(result),
            (None, Some(error)) => Err(read_error(error)),
            (None, None) => return None,
        };
        let limits = self.limits;
        let ours = &mut self.tables().ours;
        let Some(key) = ours.of_id(&id) else {
            if !ours.expects(method) {
                return None;
            }
            ours.keep_early(id, item, &limits);
            return Some(None);
        };
        let slot = ours.get(key);
        let leaving = slot.is_none_or(|slot| !matches!(slot.state, State::Open(_)));
        let is_last = slot.is_some_and(|slot| item.as_ref().is_ok_and(|item| slot.style.end.is_by(item)));
        if leaving {
            ours.leave_again(key);
        }
        Some(match item {
            // It was sent before the peer heard that nobody wants it.
            _ if leaving => None,
            Ok(item) => {
                if is_last {
                    self.finish_receiving(key);
                }
                Some(Event::Item { subscription: key, item: RawJson::trusted(item) })
            }
            Err(error) => {
                ours.remove(key);
                Some(Event::SubscriptionEnded { subscription: key, end: ended_by(error) })
            }
        })
    }

    /// No notification comes any more.
    fn end_receiving(&mut self, reason: &Undelivered) {
        let Some(tables) = &mut self.subscriptions else { return };
        let ours = &mut tables.ours;
        for key in ours.keys() {
            let Some(slot) = ours.get(key) else { continue };
            let ended = |subscription| Event::SubscriptionEnded {
                subscription,
                end: SubscriptionClosed::Undelivered(reason.clone()),
            };
            let event = match slot.state.clone() {
                State::Asking(call) => {
                    self.calls.remove(call);
                    ours.set(key, State::Abandoned(call));
                    let outcome = Err(CallError::Undelivered(reason.clone()));
                    Event::Subscribed { subscription: key, outcome }
                }
                State::Open(id) if !slot.style.unsubscribe.is_empty() => {
                    ours.set(key, State::Leaving { id, awaited: false, step: Step::Queued });
                    ours.leaving.push_back(key);
                    ended(key)
                }
                State::Open(_) | State::Listening => {
                    ours.remove(key);
                    ended(key)
                }
                State::Abandoned(_) | State::Following(_) | State::Leaving { .. } => continue,
            };
            self.pending_events.push_back(event);
        }
    }

    /// The connection has ended, and with it all that is ours. Calls have ended before.
    pub(super) fn end_subscriptions(&mut self, cause: &Cause) {
        let Some(tables) = &mut self.subscriptions else { return };
        tables.ours.leaving.clear();
        for key in tables.ours.keys() {
            let state = tables.ours.get(key).map(|slot| slot.state.clone());
            let event = match state {
                Some(State::Open(_) | State::Listening) => Event::SubscriptionEnded {
                    subscription: key,
                    end: SubscriptionClosed::Disconnected(cause.clone()),
                },
                // Their calls have ended, which is told when it is their turn.
                Some(State::Asking(_) | State::Following(_)) => continue,
                Some(State::Leaving { step: Step::Sent, .. }) => continue,
                Some(State::Leaving { awaited: true, .. }) => {
                    let outcome = Err(CallError::Closed(cause.clone()));
                    Event::Unsubscribed { subscription: key, outcome }
                }
                _ => {
                    tables.ours.remove(key);
                    continue;
                }
            };
            tables.ours.remove(key);
            self.pending_events.push_back(event);
        }
    }
}

fn ended_by(error: ErrorObject<'static>) -> SubscriptionClosed<'static> {
    match error.code {
        ErrorCode::SUBSCRIPTION_FINISHED => SubscriptionClosed::Finished(None),
        _ => SubscriptionClosed::Error(error),
    }
}

/// Not everybody sends an error object where there is no response.
fn read_error(text: &str) -> ErrorObject<'static> {
    let raw = RawJson::trusted(text);
    raw.parse().unwrap_or_else(|_| {
        let message = JsonStr::trusted(text).and_then(JsonStr::value).map(std::borrow::Cow::into_owned);
        match message {
            Some(message) => ErrorObject::new(ErrorCode::INTERNAL_ERROR, message),
            None => ErrorObject::standard(ErrorCode::INTERNAL_ERROR).with_data(&raw),
        }
    })
}

/// Params with the topic before them.
fn with_topic(topic: &str, params: Option<&RawJson<'_>>) -> String {
    let mut out = b"[".to_vec();
    encode::string(&mut out, topic);
    let rest = match params {
        Some(params) if params.kind() == JsonKind::Array => {
            let text = params.as_str().trim_ascii();
            text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or_default().to_owned()
        }
        Some(params) => params.as_str().to_owned(),
        None => String::new(),
    };
    if !rest.trim_ascii().is_empty() {
        out.push(b',');
        out.extend_from_slice(rest.as_bytes());
    }
    out.push(b']');
    String::from_utf8(out).unwrap_or_default()
}

/// Params with the token that asks for the parts of the result.
fn with_token(call: u64, params: Option<&RawJson<'_>>) -> Result<String, SendError> {
    let text = params.map_or("{}", RawJson::as_str).trim_ascii();
    let Some(members) = text.strip_prefix('{') else { return Err(SendError::Progress) };
    let comma = if members.trim_ascii_start().starts_with('}') { "" } else { "," };
    Ok(format!("{{\"partialResultToken\":\"{TOKEN}{call}\"{comma}{members}"))
}
