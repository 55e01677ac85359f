//! Subscriptions of both sides, as the driver of a session knows them.

use sabir_proto::{
    Accept, CallOptions, ErrorObject, Event, Finish, ItemError, Overflow, RawJson, RequestKey, Routing,
    Session, SinkKey, SubscriptionKey, SubscriptionStyle, Time,
};

use super::model::pick;

const OVERFLOWS: [Overflow; 4] =
    [Overflow::Wait, Overflow::DropOldest, Overflow::KeepLatest, Overflow::Close];

/// How subscriptions are written, in both directions.
fn style(choice: u8) -> SubscriptionStyle {
    match choice % 7 {
        0 => SubscriptionStyle::new("sub", "item", "unsub"),
        1 => SubscriptionStyle::notified("sub", "item", "unsub"),
        2 => SubscriptionStyle::ethereum("heads"),
        3 => SubscriptionStyle::solana("slot"),
        4 => SubscriptionStyle::method("n"),
        5 => SubscriptionStyle::mcp_listen(),
        _ => SubscriptionStyle::lsp_partial("m"),
    }
}

#[derive(Default)]
pub(crate) struct Subscriptions {
    /// The peer's that are open, and whether they were told to wait.
    sinks: Vec<(SinkKey, bool)>,
    ended_sinks: Vec<SinkKey>,
    /// Requests that are answered when their subscription ends.
    pub(crate) held: Vec<RequestKey>,
    ours: Vec<Ours>,
    ended: Vec<SubscriptionKey>,
}

#[derive(Clone, Copy)]
struct Ours {
    key: SubscriptionKey,
    /// Nothing has to come back first.
    at_once: bool,
    open: bool,
    left: bool,
}

impl Subscriptions {
    /// Accepts a request as a subscription. Whether it was.
    pub(crate) fn accept(&mut self, session: &mut Session, now: Time, request: RequestKey, bits: u8) -> bool {
        let style = style(bits);
        let token = RawJson::from_value("t").expect("a string is JSON");
        let overflow = OVERFLOWS[bits as usize / 7 % 4];
        let items = (bits > 128).then_some(bits as usize % 3);
        // Few bits, so that ids meet.
        let accept =
            Accept { style: &style, overflow, items, token: Some(&token), random: u64::from(bits % 3) };
        let Ok(sink) = session.accept(now, request, &accept) else { return false };
        assert!(self.sinks.iter().all(|(open, _)| *open != sink), "{sink:?} came twice");
        self.sinks.push((sink, false));
        if session.id(request).is_some() {
            self.held.push(request);
        }
        true
    }

    /// Sends an item. Whether that may have been the end of the session: there are styles that cannot tell otherwise that
    /// the peer reads too slowly.
    pub(crate) fn send(&mut self, session: &mut Session, now: Time, choice: u8, size: u8) -> bool {
        let Some(sink) = self.pick_sink(choice) else { return false };
        let item = "x".repeat(size as usize);
        let room = session.has_room(sink);
        let sent = if size.is_multiple_of(5) {
            session.send_item(
                now,
                sink,
                u64::from(size % 3),
                &serde_json::json!({"method": "n", "params": {"a": item}}),
            )
        } else {
            session.send_item(now, sink, u64::from(size % 3), &item)
        };
        let known = self.sinks.iter_mut().find(|(open, _)| *open == sink);
        match sent {
            Ok(()) => assert!(known.is_some() && room, "{sink:?} has taken an item"),
            Err(ItemError::Full) => {
                assert!(!room, "{sink:?} had room");
                known.expect("only what is open is full").1 = true;
            }
            Err(ItemError::Closed) => return known.is_some(),
            Err(_) => {}
        }
        false
    }

    /// The driver asks, and is told later if the answer is no.
    pub(crate) fn ask_room(&mut self, session: &mut Session, choice: u8) {
        let Some(sink) = self.pick_sink(choice) else { return };
        let room = session.has_room(sink);
        if let Some((_, waits)) = self.sinks.iter_mut().find(|(open, _)| *open == sink) {
            *waits |= !room;
        }
    }

    pub(crate) fn finish(&mut self, session: &mut Session, now: Time, choice: u8, kind: u8) {
        let Some(sink) = self.pick_sink(choice) else { return };
        let (result, error) = (RawJson::from_value(&[kind]).expect("JSON"), ErrorObject::new(1, "e"));
        let finish = match kind % 3 {
            0 => Finish::Finished,
            1 => Finish::Result(&result),
            _ => Finish::Failed(&error),
        };
        if session.finish(now, sink, finish) {
            self.end_sink(sink);
        }
        assert!(!session.finish(now, sink, finish), "{sink:?} ended twice");
    }

    /// Params that name a subscription of the peer, as it would unsubscribe.
    pub(crate) fn params(&self, session: &Session, choice: u8) -> Option<RawJson<'static>> {
        let id = self.pick_sink(choice).and_then(|sink| session.sink_id(sink));
        match choice % 4 {
            0 => None,
            1 => RawJson::from_value(&["unknown"]).ok(),
            _ => RawJson::from_value(&[id?]).ok(),
        }
    }

    pub(crate) fn subscribe(
        &mut self,
        session: &mut Session,
        now: Time,
        bits: u8,
        options: &CallOptions<'_>,
    ) {
        let style = style(bits);
        let params = RawJson::from_value(&serde_json::json!({})).expect("JSON");
        let params = (bits > 128).then_some(&params);
        if let Ok(key) = session.subscribe_raw(now, &style, params, options) {
            assert!(self.ours.iter().all(|ours| ours.key != key), "{key:?} came twice");
            let at_once = style.routing != Routing::Id;
            self.ours.push(Ours { key, at_once, open: false, left: false });
        }
    }

    pub(crate) fn leave(&mut self, session: &mut Session, now: Time, choice: u8) {
        let keys: Vec<_> = self.ours.iter().map(|ours| ours.key).collect();
        let Some(&key) = pick(&keys, &self.ended, choice) else { return };
        let left = session.unsubscribe(now, key);
        assert!(!session.unsubscribe(now, key), "{key:?} was left twice");
        let Some(at) = self.ours.iter().position(|ours| ours.key == key) else {
            // The session may still wait for the answer to something that nobody waits for any more.
            return assert!(!left, "{key:?} was left, which had ended");
        };
        if left {
            self.ours[at].left = true;
            // What is left before its response has come ends without a word.
            if !self.ours[at].open && !self.ours[at].at_once {
                self.ours.remove(at);
                self.ended.push(key);
            }
        }
    }

    pub(crate) fn ours(&self) -> usize {
        self.ours.len()
    }

    pub(crate) fn sinks(&self) -> usize {
        self.sinks.len()
    }

    /// An event, if it is about subscriptions.
    pub(crate) fn event(&mut self, event: &Event<'static>) {
        match event {
            Event::SinkReady { sink } => {
                let known = self.sinks.iter_mut().find(|(open, _)| open == sink);
                let (_, waits) = known.unwrap_or_else(|| panic!("{sink:?} is not open, and has room"));
                assert!(std::mem::take(waits), "{sink:?} was told of room that it had");
            }
            Event::SinkClosed { sink, .. } => self.end_sink(*sink),
            Event::Subscribed { subscription, outcome } => {
                let ours = self.of(*subscription);
                assert!(!ours.open && (!ours.left || ours.at_once), "{subscription:?} was answered twice");
                match outcome {
                    Ok(_) => ours.open = true,
                    Err(_) => self.end(*subscription),
                }
            }
            Event::Item { subscription, .. } | Event::ItemsLost { subscription, .. } => {
                let ours = self.of(*subscription);
                assert!(ours.open && !ours.left, "an item of {subscription:?}");
            }
            Event::SubscriptionEnded { subscription, .. } => {
                let ours = self.of(*subscription);
                assert!(ours.open && !ours.left, "the end of {subscription:?}");
                self.end(*subscription);
            }
            Event::Unsubscribed { subscription, .. } => {
                assert!(self.of(*subscription).left, "{subscription:?} was not left");
                self.end(*subscription);
            }
            _ => {}
        }
    }

    fn pick_sink(&self, choice: u8) -> Option<SinkKey> {
        let open: Vec<_> = self.sinks.iter().map(|(sink, _)| *sink).collect();
        pick(&open, &self.ended_sinks, choice).copied()
    }

    fn end_sink(&mut self, sink: SinkKey) {
        let at = self.sinks.iter().position(|(open, _)| *open == sink);
        self.sinks.remove(at.unwrap_or_else(|| panic!("{sink:?} ended twice")));
        self.ended_sinks.push(sink);
    }

    fn of(&mut self, key: SubscriptionKey) -> &mut Ours {
        self.ours.iter_mut().find(|ours| ours.key == key).unwrap_or_else(|| panic!("{key:?} is not open"))
    }

    fn end(&mut self, key: SubscriptionKey) {
        self.ours.retain(|ours| ours.key != key);
        self.ended.push(key);
    }
}
