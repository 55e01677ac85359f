//! Subscriptions that are made through a proxy: whose they are, and who tells the subscriber of their end.
//!
//! A proxy passes calls on without knowing what they mean, and so it learns of a subscription by its spelling: a method
//! that is called like `eth_subscribe`, answered with an id, and notifications whose params name that id. What it
//! recognises costs nothing if it is none: nothing is sent that was not asked for until an item has come, or the style was declared.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sabir_proto::{Cause, Id, Routing, SubscriptionStyle};

use crate::handler::ctx::Ctx;
use crate::peer::Peer;
use crate::peer::call::Call;
use crate::peer::commands::{CallCommand, Command, Room, Shared};
use crate::peer::relayed::Relayed;
use crate::proxy::spelling::{Spelling, is_last, is_silent, unsubscribed_id};
use crate::router::handlers::owned;
use crate::sync::lock;
use crate::{CallError, ErrorCode, ErrorObject, RawJson};

/// Subscriptions of one client, and those whose client has gone and that may have items still.
const MOST: usize = 1024;
/// Items that wait for the answer which names their subscription.
const HELD_ITEMS: usize = 64;
const HELD_BYTES: usize = 256 << 10;
/// Nobody gives out longer ids.
const LONGEST_ID: usize = 1024;
/// How long open requests of a client may take that cannot be told otherwise.
const GRACE: Duration = Duration::from_millis(1500);

/// What a connection knows of subscriptions that were passed on: as their upstream, and as their subscriber.
#[derive(Default)]
pub(crate) struct Relays {
    upstream: Mutex<Upstream>,
    /// The subscriptions of this client, and where they are.
    through: Mutex<Vec<(Weak<Shared>, Id<'static>)>>,
}

#[derive(Default)]
struct Upstream {
    open: HashMap<Id<'static>, Open>,
    /// Those without a client, the oldest first. No item has told yet that they are subscriptions.
    gone: VecDeque<Id<'static>>,
    /// Calls to subscribe that are not answered.
    asking: usize,
    /// Items that came before the answer to such a call.
    early: Held,
    over: bool,
}

struct Open {
    /// Nobody, if the client has gone, or was told of the end.
    subscriber: Option<Subscriber>,
    unsubscribe: String,
    /// The style was declared, or an item has come.
    is_known: bool,
    /// Its client has lagged behind: what still comes is dropped.
    is_left: bool,
    /// Items that wait for the answer to be sent.
    held: Option<Arc<Mutex<Held>>>,
}

/// Who is to hear of a subscription, and how.
#[derive(Clone)]
struct Subscriber {
    client: Weak<Shared>,
    /// The method of its items, once it is known.
    notification: Option<String>,
    /// Its protocol has no message for the end.
    is_silent: bool,
}

/// What came before the answer that it belongs behind.
#[derive(Default)]
struct Held {
    items: Vec<(Id<'static>, Item)>,
    bytes: usize,
    /// It has ended in the meantime, and who has to be told.
    end: Option<(Subscriber, ErrorObject)>,
    /// The answer was sent: nothing is held any more.
    is_released: bool,
}

struct Item {
    method: String,
    params: RawJson<'static>,
    is_end: bool,
}

impl Held {
    /// Sends what was held. Whether the end is among it.
    fn send(&self, client: &Shared) -> bool {
        for (_, Item { method, params, .. }) in &self.items {
            notify(client, method.clone(), params.clone());
        }
        self.items.iter().any(|(_, item)| item.is_end)
    }

    /// Whether there was room.
    fn push(&mut self, id: Id<'static>, item: Item) -> bool {
        let size = item.method.len() + item.params.as_str().len() + id.text().len();
        if self.items.len() >= HELD_ITEMS || self.bytes + size > HELD_BYTES {
            return false;
        }
        self.bytes += size;
        self.items.push((id, item));
        true
    }

    fn take(&mut self, id: &Id<'_>) -> Held {
        let mut taken = Held::default();
        for (of, item) in std::mem::take(self).items {
            let to = if of == *id { &mut taken } else { &mut *self };
            to.push(of, item);
        }
        taken
    }
}

/// A call to subscribe on its way to the upstream. Dropped before its answer was taken, it is not cancelled: an upstream
/// that was told to cancel might not answer, and keep the subscription for good.
pub(super) struct SubscribeCall {
    call: Option<Call<RawJson<'static>>>,
    asked: Arc<Asked>,
}

struct Asked {
    upstream: Weak<Shared>,
    client: Weak<Shared>,
    spelling: Spelling,
    answer: Mutex<Answer>,
}

#[derive(Default)]
struct Answer {
    id: Option<Id<'static>>,
    held: Arc<Mutex<Held>>,
    /// The client does not want it any more.
    abandoned: bool,
}

impl SubscribeCall {
    /// The call, if it subscribes by its name.
    pub(super) fn new(
        to: &Peer,
        ctx: &Ctx,
        method: &str,
        params: Option<&RawJson<'_>>,
    ) -> Option<Result<Self, ErrorObject>> {
        let spelling = Spelling::of(&ctx.peer.shared.routes, method)?;
        // Names with a slash are those of MCP and LSP, whose items do not name a subscription.
        if ctx.peer.shared.one_way && (spelling.is_declared || !method.contains('/')) {
            let reason = "a subscription needs a connection that stays open: a WebSocket, a socket, a pipe, NATS, or a session";
            return Some(Err(ErrorObject::because(ErrorCode::METHOD_NOT_FOUND, reason)));
        }
        if !ctx.peer.shared.relays().make_room() {
            return Some(Err(ErrorObject::standard(ErrorCode::TOO_MANY_SUBSCRIPTIONS)));
        }
        let client = if ctx.peer.shared.one_way { Weak::new() } else { Arc::downgrade(&ctx.peer.shared) };
        let asked = Arc::new(Asked {
            upstream: Arc::downgrade(&to.shared),
            client,
            spelling,
            answer: Mutex::default(),
        });
        lock(&to.shared.relays().upstream).asking += 1;
        let (answered, sent) = (Arc::clone(&asked), Arc::clone(&asked));
        let call =
            Call::relay(to.clone(), ctx, method, params).on_reply(move |outcome| answered.answered(outcome));
        // What came behind the upstream's answer goes out behind ours.
        ctx.after_reply(move |_| sent.release());
        Some(Ok(SubscribeCall { call: Some(call), asked }))
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Relayed, CallError>> {
        let Some(call) = &mut self.call else { return Poll::Ready(Err(CallError::Cancelled)) };
        let outcome = ready!(call.poll_relayed(cx));
        self.call = None;
        Poll::Ready(outcome)
    }
}

impl Drop for SubscribeCall {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        if call.detach() {
            self.asked.abandon();
        } else if let Some(upstream) = self.asked.upstream.upgrade() {
            lock(&upstream.relays().upstream).asked();
        }
    }
}

impl Asked {
    /// The upstream has answered, or never will. What came behind has not been looked at yet.
    fn answered(&self, outcome: &Result<RawJson<'static>, CallError>) {
        let Some(upstream) = self.upstream.upgrade() else { return };
        let relays = upstream.relays();
        let id = outcome.as_ref().ok().and_then(id_of);
        let mut answer = lock(&self.answer);
        let mut table = lock(&relays.upstream);
        if let Some(id) = id.filter(|_| !table.over) {
            let held = table.early.take(&id);
            let early = held.items.first().map(|(_, item)| item.method.clone());
            *lock(&answer.held) = held;
            let Spelling { unsubscribe, notification, is_declared, is_silent } = &self.spelling;
            let is_known = *is_declared || early.is_some();
            let mut subscriber = Subscriber {
                client: Weak::clone(&self.client),
                notification: notification.clone(),
                is_silent: *is_silent,
            };
            if let Some(method) = early {
                subscriber.learn(&method);
            }
            let open = Open {
                subscriber: Some(subscriber),
                unsubscribe: unsubscribe.clone(),
                is_known,
                is_left: false,
                held: Some(Arc::clone(&answer.held)),
            };
            table.open.insert(id.clone(), open);
            table.asked();
            drop(table);
            answer.id = Some(id.clone());
            let is_wanted = !answer.abandoned
                && self.client.upgrade().is_some_and(|client| {
                    lock(&client.relays().through).push((Weak::clone(&self.upstream), id.clone()));
                    client.cause().is_none()
                });
            if !is_wanted {
                drop(answer);
                relays.client_gone(&upstream, self.client.as_ptr(), &id);
            }
        } else {
            table.asked();
        }
    }

    /// The client no longer wants it.
    fn abandon(&self) {
        let mut answer = lock(&self.answer);
        answer.abandoned = true;
        if let (Some(id), Some(upstream)) = (answer.id.take(), self.upstream.upgrade()) {
            drop(answer);
            if let Some(client) = self.client.upgrade() {
                client.relays().forget(self.upstream.as_ptr(), &id);
            }
            upstream.relays().client_gone(&upstream, self.client.as_ptr(), &id);
        }
    }

    /// The client was answered: items may follow.
    fn release(&self) {
        let answer = lock(&self.answer);
        let (Some(id), Some(client)) = (&answer.id, self.client.upgrade()) else { return };
        let upstream = self.upstream.upgrade();
        // Nothing can come in between while this is locked.
        let mut table = upstream.as_ref().map(|upstream| lock(&upstream.relays().upstream));
        let released = Held { is_released: true, ..Held::default() };
        let held = std::mem::replace(&mut *lock(&answer.held), released);
        let mut is_over = held.send(&client);
        if let Some((subscriber, error)) = held.end
            && !std::mem::replace(&mut is_over, true)
        {
            subscriber.tell_end(id, &error);
        }
        if let Some(table) = &mut table
            && let Some(open) = table.open.get_mut(id)
            && open.held.take_if(|held| Arc::ptr_eq(held, &answer.held)).is_some()
            && is_over
        {
            table.open.remove(id);
        }
        drop(table);
        if is_over {
            client.relays().forget(self.upstream.as_ptr(), id);
        }
    }
}

impl Upstream {
    /// One fewer is to be answered.
    fn asked(&mut self) {
        self.asking = self.asking.saturating_sub(1);
        if self.asking == 0 {
            self.early = Held::default();
        }
    }

    /// One that no client has is kept for a while: its items may show that it is a subscription, or still come.
    fn keep_gone(&mut self, id: &Id<'static>) {
        self.gone.push_back(id.clone());
        if self.gone.len() > MOST
            && let Some(oldest) = self.gone.pop_front()
            && self.open.get(&oldest).is_some_and(|open| open.subscriber.is_none())
        {
            self.open.remove(&oldest);
        }
    }
}

impl Relays {
    /// Whether there is room for one more subscription of this client. What has shown no sign of being one makes room.
    fn make_room(&self) -> bool {
        let through = {
            let through = lock(&self.through);
            if through.len() < MOST {
                return true;
            }
            through.clone()
        };
        let unknown = through.into_iter().find(|(upstream, id)| {
            upstream.upgrade().is_none_or(|upstream| {
                let mut table = lock(&upstream.relays().upstream);
                let is_unknown = table.open.get(id).is_none_or(|open| !open.is_known);
                if is_unknown {
                    table.open.remove(id);
                }
                is_unknown
            })
        });
        let Some((upstream, id)) = unknown else { return false };
        self.forget(upstream.as_ptr(), &id);
        true
    }

    /// This client is no longer subscribed.
    fn forget(&self, upstream: *const Shared, id: &Id<'_>) {
        lock(&self.through)
            .retain(|(other, other_id)| !std::ptr::eq(other.as_ptr(), upstream) || other_id != id);
    }

    /// A notification has come from this upstream. Whether it was dealt with; if not, its router is to have it.
    pub(crate) fn take_item(
        &self,
        upstream: &Arc<Shared>,
        method: &str,
        params: Option<&RawJson<'_>>,
    ) -> bool {
        let Some(params) = params else { return false };
        let Some(id) = params.get("subscription").as_ref().and_then(id_of) else { return false };
        let passes_by_itself = upstream.routes.forwards;
        let is_end = is_last(method, params);
        let item = || Item { method: method.to_owned(), params: owned(params), is_end };
        let mut table = lock(&self.upstream);
        let Some(open) = table.open.get_mut(&id) else {
            let is_early = table.asking > 0 && !passes_by_itself && upstream.routes.route(method).is_none();
            return is_early && table.early.push(id, item());
        };
        open.is_known = true;
        if open.is_left {
            return true;
        }
        let Some(subscriber) = &mut open.subscriber else {
            drop(table);
            self.client_gone(upstream, std::ptr::null(), &id);
            return true;
        };
        subscriber.learn(method);
        let Some(client) = subscriber.client.upgrade() else {
            let client = subscriber.client.as_ptr();
            drop(table);
            self.client_gone(upstream, client, &id);
            return true;
        };
        if let Some(held) = &open.held {
            if lock(held).push(id.clone(), item()) {
                return true;
            }
        } else if passes_by_itself || !client.is_full() {
            if !passes_by_itself {
                notify(&client, method.to_owned(), owned(params));
            }
            if is_end {
                table.open.remove(&id);
                drop(table);
                client.relays().forget(Arc::as_ptr(upstream), &id);
            }
            return !passes_by_itself;
        }
        // Others share this upstream, or wait for the same answer: it does not wait for one of them.
        let lagged = ErrorObject::standard(ErrorCode::SUBSCRIPTION_LAGGED);
        let (subscriber, held) = (open.subscriber.take(), open.held.take());
        open.is_left = true;
        let name = open.unsubscribe.clone();
        table.keep_gone(&id);
        if let (Some(subscriber), Some(held)) = (subscriber.clone(), &held) {
            lock(held).end = Some((subscriber, lagged.clone()));
        }
        drop(table);
        client.relays().forget(Arc::as_ptr(upstream), &id);
        if let Some(subscriber) = subscriber.filter(|_| held.is_none()) {
            subscriber.tell_end(&id, &lagged);
        }
        unsubscribe(upstream, name, &id);
        true
    }

    /// Its client has gone, or does not want it: the upstream is told, once it is certain that it is a subscription.
    fn client_gone(&self, upstream: &Arc<Shared>, client: *const Shared, id: &Id<'static>) {
        let mut table = lock(&self.upstream);
        let Some(open) = table.open.get_mut(id) else { return };
        // An upstream may give the same id to another client: then that one has it now.
        if open.is_left
            || open.subscriber.as_ref().is_some_and(|owner| !std::ptr::eq(owner.client.as_ptr(), client))
        {
            return;
        }
        if open.held.as_ref().is_some_and(|held| !lock(held).items.is_empty()) {
            open.is_known = true;
        }
        (open.subscriber, open.held) = (None, None);
        if open.is_known {
            let open = table.open.remove(id);
            drop(table);
            if let Some(open) = open {
                unsubscribe(upstream, open.unsubscribe, id);
            }
            return;
        }
        table.keep_gone(id);
    }

    /// The connection has ended. What it was the upstream of ends, and what it has subscribed to is left.
    pub(crate) fn close(&self, connection: &Shared, cause: &Cause) {
        let ended = {
            let mut table = lock(&self.upstream);
            table.over = true;
            std::mem::take(&mut table.open)
        };
        if !ended.is_empty() {
            let error = ErrorObject::because(
                ErrorCode::UPSTREAM_FAILED,
                format_args!("the upstream has ended: {cause}"),
            );
            for (id, open) in ended {
                let Some(subscriber) = open.subscriber else { continue };
                if let Some(client) = subscriber.client.upgrade() {
                    client.relays().forget(connection, &id);
                }
                if let Some(held) = open.held {
                    let mut held = lock(&held);
                    if !held.is_released {
                        // It is told behind the answer.
                        held.end = Some((subscriber, error.clone()));
                        continue;
                    }
                }
                subscriber.tell_end(&id, &error);
            }
        }
        let through = std::mem::take(&mut *lock(&self.through));
        for (upstream, id) in through {
            if let Some(upstream) = upstream.upgrade() {
                upstream.relays().client_gone(&upstream, connection, &id);
            }
        }
    }
}

impl Subscriber {
    /// An item shows what its method is called, unless that was declared.
    fn learn(&mut self, method: &str) {
        if self.notification.is_none() {
            self.notification = Some(method.to_owned());
            self.is_silent = is_silent(method);
        }
    }

    /// Tells the subscriber that no more will come: by the message that the style has for it, or by the end of its
    /// connection.
    fn tell_end(&self, id: &Id<'_>, error: &ErrorObject) {
        let Some(client) = self.client.upgrade() else { return };
        let told = self.notification.as_ref().filter(|_| !self.is_silent).and_then(|notification| {
            let error = RawJson::from_value(error).ok()?;
            let text = format!(r#"{{"subscription":{},"error":{}}}"#, id.text(), error.as_str());
            notify(&client, notification.clone(), RawJson::new(text).ok()?);
            Some(())
        });
        if told.is_none() {
            let _ = client.command(Command::Shutdown(GRACE));
        }
    }
}

/// What becomes of a call that unsubscribes, by its name.
pub(super) enum Unsubscribe {
    /// It is passed on, and then this is over.
    Own(Id<'static>),
    /// It names the subscription of another client.
    Foreign,
}

impl Unsubscribe {
    pub(super) fn of(to: &Peer, ctx: &Ctx, method: &str, params: Option<&RawJson<'_>>) -> Option<Self> {
        let relays = to.shared.relays.get()?;
        if !Spelling::is_unsubscribe(&ctx.peer.shared.routes, method) {
            return None;
        }
        let id = id_of(&unsubscribed_id(params?)?)?;
        let table = lock(&relays.upstream);
        let owner = table.open.get(&id)?.subscriber.as_ref();
        let is_own =
            owner.is_some_and(|owner| std::ptr::eq(owner.client.as_ptr(), Arc::as_ptr(&ctx.peer.shared)));
        Some(if is_own { Unsubscribe::Own(id) } else { Unsubscribe::Foreign })
    }

    /// Forgets the subscription once the upstream has answered.
    pub(super) fn watch(
        id: Id<'static>,
        to: &Peer,
        ctx: &Ctx,
        call: Call<RawJson<'static>>,
    ) -> Call<RawJson<'static>> {
        let (upstream, client) = (Arc::downgrade(&to.shared), Arc::downgrade(&ctx.peer.shared));
        call.on_reply(move |outcome| {
            let Some(upstream) = upstream.upgrade().filter(|_| outcome.is_ok()) else { return };
            lock(&upstream.relays().upstream).open.remove(&id);
            if let Some(client) = client.upgrade() {
                client.relays().forget(Arc::as_ptr(&upstream), &id);
            }
        })
    }
}

impl crate::Router {
    /// Says how subscriptions are written that are passed on, where the proxy cannot see it: by a method whose name has
    /// no `subscribe` in it. It also lets the proxy tell of the end of one that has had no item yet.
    ///
    /// ```
    /// use sabir::{Peer, Router, SubscriptionStyle};
    ///
    /// fn proxy(node: Peer) -> Router {
    ///     let watch = SubscriptionStyle::new("author_submitAndWatchExtrinsic", "author_extrinsicUpdate", "author_unwatchExtrinsic");
    ///     Router::new().forward_to(node).forward_subscription(watch)
    /// }
    /// ```
    ///
    /// # Panics
    /// If items do not name their subscription by an id: such styles need nothing of a proxy.
    #[must_use]
    pub fn forward_subscription(mut self, style: SubscriptionStyle) -> Self {
        assert!(style.routing == Routing::Id, "only styles with ids are declared: `{}`", style.subscribe);
        self.routes.forward_subscriptions.push(style);
        self
    }
}

/// The text of an id, as subscriptions have them.
fn id_of(raw: &RawJson<'_>) -> Option<Id<'static>> {
    (raw.as_str().len() <= LONGEST_ID).then_some(())?;
    Id::from_json(raw.clone()).filter(|id| !id.is_null()).map(Id::into_owned)
}

fn notify(client: &Shared, method: String, params: RawJson<'static>) {
    let _ =
        client.command(Command::Notify { on_behalf_of: None, method: method.into(), params: Some(params) });
}

/// Sends an unsubscribe whose answer nobody waits for.
fn unsubscribe(upstream: &Shared, method: String, id: &Id<'_>) {
    let params = RawJson::new(format!("[{}]", id.text())).ok();
    let Some(params) = params.filter(|_| !method.is_empty()) else { return };
    let call =
        CallCommand { method: method.into(), params: Some(params), slot: Arc::default(), is_settled: false };
    let _ = upstream.command(Command::Call { on_behalf_of: None, room: Room::Waits, call });
}
