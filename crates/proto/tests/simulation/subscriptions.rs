//! Subscriptions of one end: the sources behind the peer's, and what is known of its own.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use sabir_proto::{
    Accept, CallError, CallOptions, Config, ErrorCode, ErrorObject, Event, Finish, ItemError, Overflow,
    RawJson, RequestKey, Routing, SendError, Session, SinkKey, SubscriptionClosed, SubscriptionKey,
    SubscriptionStyle, Time,
};
use serde::{Deserialize, Serialize};

use crate::map::Map;
use crate::random::Random;

/// How the sources are written. The first four send arrays, and are for the dialects that have them.
static STYLES: LazyLock<[SubscriptionStyle; 7]> = LazyLock::new(|| {
    [
        SubscriptionStyle::notified("subscribe", "item", "unsubscribe"),
        SubscriptionStyle::new("watch", "watched", "unwatch"),
        SubscriptionStyle::ethereum("items"),
        SubscriptionStyle::solana("item"),
        SubscriptionStyle { subscribe: HAPPEN.into(), ..SubscriptionStyle::method("happened") },
        SubscriptionStyle::mcp_listen(),
        SubscriptionStyle::lsp_partial("partial"),
    ]
});

/// What lets a source make items that come unasked. Who listens to them sends nothing.
pub(crate) const HAPPEN: &str = "happen";

/// Notifications that only come to those who have subscribed.
pub(crate) const ITEMS: [&str; 4] = ["item", "watched", "eth_subscription", "itemNotification"];

const OVERFLOWS: [Overflow; 4] =
    [Overflow::Wait, Overflow::DropOldest, Overflow::KeepLatest, Overflow::Close];

#[derive(Default)]
pub(crate) struct Subscriptions {
    /// By the key, in the order in which they came.
    sources: BTreeMap<u64, (SinkKey, Source)>,
    ours: Map<SubscriptionKey, Ours>,
    made: u64,
    /// A consumer has no room: nothing is read until then.
    paused_until: Option<Time>,
    /// The peer refused an unsubscribe, or the response to a subscribe could not be used: it may go on sending.
    pub(crate) peer_goes_on: bool,
}

struct Source {
    routing: Routing,
    overflow: usize,
    next: u64,
    to: u64,
    at: Time,
    /// It was told that there is no room.
    blocked: bool,
}

/// What the sources send: which item it is of how many, and by which policy.
#[derive(Serialize, Deserialize)]
struct Item {
    n: u64,
    p: u64,
    to: u64,
}

/// The same where it is a notification of its own.
#[derive(Serialize, Deserialize)]
struct Listened<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    params: Item,
}

#[derive(Default)]
struct Ours {
    number: u64,
    open: bool,
    at_once: bool,
    left: bool,
    /// The last item of each key, and how many there were.
    last: Map<u64, u64>,
    seen: u64,
    lossy: bool,
}

impl Subscriptions {
    /// Subscribes, in one of the styles that the dialect can carry.
    pub(crate) fn subscribe(
        &mut self,
        session: &mut Session,
        config: &Config,
        now: Time,
        random: &mut Random,
    ) -> Result<(), SendError> {
        let first = if config.dialect.array_params { 0 } else { 4 };
        let style = &STYLES[random.between(first, STYLES.len() - 1)];
        let timeout = random.chance(20).then(|| Duration::from_millis(random.between(1, 2000) as u64));
        let options = CallOptions { timeout, ..CallOptions::default() };
        let params = (style.routing != Routing::Id).then(|| RawJson::new("{}").unwrap());
        let options = if style.routing == Routing::Id { options } else { CallOptions::default() };
        let key = session.subscribe_raw(now, style, params.as_ref(), &options)?;
        self.made += 1;
        // Where the response is the end, it is open at once.
        let open = style.routing != Routing::Id;
        // Of what comes unasked, nothing says from which source it is, nor how much there was before.
        let lossy = style.routing == Routing::Method;
        let ours = Ours { number: self.made, open, at_once: open, lossy, ..Ours::default() };
        assert!(self.ours.insert(key, ours).is_none(), "a key is used twice");
        Ok(())
    }

    /// Leaves one of its own. Whether there was one.
    pub(crate) fn leave_one(&mut self, session: &mut Session, now: Time, random: &mut Random) -> bool {
        let open = self.open();
        if !open.is_empty() {
            self.leave(session, now, random.pick(&open));
        }
        !open.is_empty()
    }

    /// Leaves all of its own. Whether there were any.
    pub(crate) fn leave_all(&mut self, session: &mut Session, now: Time) -> bool {
        let open = self.open();
        open.iter().for_each(|key| self.leave(session, now, *key));
        !open.is_empty()
    }

    /// Those of its own that it has not left, in the order in which they were made.
    fn open(&self) -> Vec<SubscriptionKey> {
        let mut open: Vec<_> = self.ours.iter().filter(|(_, ours)| !ours.left).collect();
        open.sort_by_key(|(_, ours)| ours.number);
        open.into_iter().map(|(key, _)| *key).collect()
    }

    fn leave(&mut self, session: &mut Session, now: Time, key: SubscriptionKey) {
        assert!(session.unsubscribe(now, key), "what is open can be left");
        assert!(!session.unsubscribe(now, key), "and only once");
        let ours = self.ours.get_mut(&key).expect("it is known");
        ours.left = true;
        // What is left before its response has come ends without a word.
        if !ours.open {
            self.ours.remove(&key);
        }
    }

    /// A request of the peer, if it is about subscriptions. Whether it was.
    pub(crate) fn request(
        &mut self,
        session: &mut Session,
        now: Time,
        random: &mut Random,
        (key, method, params): (RequestKey, &str, Option<&RawJson<'_>>),
    ) -> bool {
        if STYLES.iter().any(|style| style.unsubscribe == method && !method.is_empty()) {
            assert!(session.reply_unsubscribe(now, key, params), "an open request can be answered");
            return true;
        }
        let Some(style) = STYLES.iter().find(|style| style.subscribe == method) else { return false };
        if random.chance(10) {
            return session.reply_error(now, key, &ErrorObject::new(1, "refused"));
        }
        let overflow = random.below(4);
        let token = params.and_then(|params| params.get("partialResultToken"));
        let accept = Accept {
            style,
            overflow: OVERFLOWS[overflow],
            items: random.chance(30).then(|| random.between(1, 10)),
            token: token.as_ref(),
            random: random.next(),
        };
        match session.accept(now, key, &accept) {
            Ok(sink) => {
                self.made += 1;
                let (to, at) = (random.between(0, 60) as u64, now);
                let routing = style.routing;
                let source = Source { routing, overflow, next: 0, to, at, blocked: false };
                self.sources.insert(self.made, (sink, source));
                // A key that is used again belongs to another source now.
                let known = self.sources.values().filter(|(other, _)| *other == sink).count();
                assert_eq!(known, 1, "a key is used twice");
            }
            Err(error) => drop(session.reply_error(now, key, &error)),
        }
        true
    }

    /// Sources whose time has come make some items, and consumers have room again.
    pub(crate) fn make_items(&mut self, session: &mut Session, now: Time, random: &mut Random) {
        if self.paused_until.take_if(|until| *until <= now).is_some() {
            session.set_paused(false);
        }
        let broken = ErrorObject::new(2, "broken");
        let mut ended = Vec::new();
        for (number, (sink, source)) in &mut self.sources {
            if source.at > now || source.blocked {
                continue;
            }
            source.at = now + Duration::from_millis(random.below(300) as u64);
            for _ in 0..random.between(1, 12) {
                if source.next == source.to {
                    let finish = if random.chance(30) { Finish::Failed(&broken) } else { Finish::Finished };
                    // The session may have ended it, and is about to say so.
                    source.blocked = true;
                    if session.finish(now, *sink, finish) {
                        assert!(!session.finish(now, *sink, finish), "it ends once");
                        ended.push(*number);
                    }
                    break;
                }
                let item = Item { n: source.next, p: source.overflow as u64, to: source.to };
                let room = session.has_room(*sink);
                let key = source.next % 3;
                let sent = match source.routing {
                    Routing::Meta => {
                        session.send_item(now, *sink, key, &Listened { method: "note".into(), params: item })
                    }
                    _ => session.send_item(now, *sink, key, &item),
                };
                match sent {
                    Ok(()) => {
                        assert!(room, "there was room");
                        source.next += 1;
                    }
                    Err(ItemError::Full) => {
                        assert!(!room && source.overflow == 0, "only what waits is told to");
                        source.blocked = true;
                        break;
                    }
                    // The session is about to say why.
                    Err(ItemError::Closed) => {
                        source.blocked = true;
                        break;
                    }
                    Err(error) => panic!("an item that can be sent: {error:?}"),
                }
            }
        }
        for number in ended {
            self.sources.remove(&number);
        }
    }

    /// A consumer that must not miss an item may have no room for the next one. Whether it is so.
    pub(crate) fn pause(&mut self, session: &mut Session, now: Time, random: &mut Random) -> bool {
        let pauses = self.paused_until.is_none() && random.chance(5);
        if pauses {
            session.set_paused(true);
            self.paused_until = Some(now + Duration::from_millis(random.below(2000) as u64));
        }
        pauses
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused_until.is_some()
    }

    /// When a source or a consumer has something to do.
    pub(crate) fn next(&self) -> Option<Time> {
        let sources = self.sources.values().filter(|(_, source)| !source.blocked);
        sources.map(|(_, source)| source.at).chain(self.paused_until).min()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ours.is_empty()
    }

    /// An event, if it is about subscriptions. What is said of it.
    pub(crate) fn event(&mut self, event: Event<'static>) -> Result<Cow<'static, str>, Event<'static>> {
        match event {
            Event::SinkReady { sink } => {
                let mut known = self.sources.values_mut().filter(|(own, _)| *own == sink);
                let (_, source) = known.next().expect("only what is open gets room");
                assert!(source.blocked, "only what waits is told");
                source.blocked = false;
                Ok("room".into())
            }
            Event::SinkClosed { sink, end, .. } => {
                let before = self.sources.len();
                self.sources.retain(|_, (own, _)| *own != sink);
                assert_eq!(self.sources.len() + 1, before, "it was open");
                Ok(format!("sink closed, {end:?}").into())
            }
            Event::Subscribed { subscription, outcome } => {
                Ok(self.subscribed(subscription, outcome.is_ok(), outcome.as_ref().err()).into())
            }
            Event::Item { subscription, item } => {
                self.item(subscription, &item);
                Ok("item".into())
            }
            Event::ItemsLost { subscription, .. } => {
                self.ours.get_mut(&subscription).expect("it is known").lossy = true;
                Ok("items lost".into())
            }
            Event::SubscriptionEnded { subscription, end } => {
                let ours = self.ours.remove(&subscription).expect("it ends once");
                assert!(ours.open && !ours.left, "only what is open ends");
                let kind = match end {
                    SubscriptionClosed::Finished(_) => "finished",
                    SubscriptionClosed::Error(error) if error.code == ErrorCode::SUBSCRIPTION_LAGGED => {
                        "lagged"
                    }
                    SubscriptionClosed::Error(_) => "failed",
                    SubscriptionClosed::Disconnected(_) => "disconnected",
                    _ => "unknown",
                };
                Ok(format!("subscription {kind}").into())
            }
            Event::Unsubscribed { subscription, outcome } => {
                let ours = self.ours.remove(&subscription).expect("it ends once");
                assert!(ours.left, "only what was left");
                self.peer_goes_on |= outcome.is_err();
                Ok(match outcome {
                    Ok(existed) => format!("unsubscribed, {existed}").into(),
                    Err(_) => "not unsubscribed".into(),
                })
            }
            other => Err(other),
        }
    }

    fn subscribed(&mut self, key: SubscriptionKey, ok: bool, error: Option<&CallError>) -> &'static str {
        let ours = self.ours.get_mut(&key).expect("it was asked for");
        if ours.at_once && ok {
            return "subscribed";
        }
        assert!(!ours.open && !ours.left, "the response comes once");
        if ok {
            ours.open = true;
            return "subscribed";
        }
        self.ours.remove(&key);
        self.peer_goes_on |= matches!(error, Some(CallError::Decode(_) | CallError::Malformed(_)));
        "not subscribed"
    }

    fn item(&mut self, key: SubscriptionKey, item: &RawJson<'_>) {
        let ours = self.ours.get_mut(&key).expect("no item comes behind the end");
        assert!(ours.open && !ours.left, "items come between the response and the end");
        // On a link that is not honest it may be anything.
        let read = match item.get("method") {
            Some(_) => item.parse::<Listened<'_>>().map(|whole| whole.params),
            None => item.parse(),
        };
        let Ok(Item { p: policy, n, .. }) = read else { return };
        if policy == 0 && !ours.lossy {
            ours.seen += 1;
            ours.last.insert(0, n);
            return;
        }
        ours.last.insert(if policy == 2 { n % 3 } else { 0 }, n);
    }

    /// Whether all items of each source that waits came in order, with none missing. For links that are honest.
    pub(crate) fn is_complete(&self) -> bool {
        self.ours.values().all(|ours| ours.seen == 0 || ours.lossy || ours.last[&0] + 1 == ours.seen)
    }

    pub(crate) fn end(&mut self) {
        assert!(self.ours.is_empty(), "every subscription has ended");
        assert!(self.sources.is_empty(), "every source was told");
    }
}
