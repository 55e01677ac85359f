//! Subscriptions of both sides, where the session and the handles to it meet.

use std::sync::Arc;

use sabir_proto::{
    Accept, BatchKey, Id, RequestKey, SinkEnd, SinkStats, SubscriptionClosed, SubscriptionKey,
};

use crate::peer::commands::OnBehalfOf;
use crate::peer::subscription::{Pushed, SubscribeCommand, SubscriptionSlot};
use crate::router::observe::{CallEnd, Observed};
use crate::router::subscription::InsteadOfReply;
use crate::runtime::session_context::SessionContext;
use crate::{CallError, RawJson};

impl SessionContext {
    /// A handler has finished, and its request is to be accepted as a subscription, or to end one.
    #[cold]
    pub(super) fn answer_otherwise(
        &mut self,
        key: RequestKey,
        batch: Option<BatchKey>,
        instead: InsteadOfReply,
    ) {
        let outcome = match instead {
            InsteadOfReply::Unsubscribe(params) => {
                self.session.reply_unsubscribe(self.now, key, params.as_ref());
                Ok(())
            }
            InsteadOfReply::Accept { style, token, items } => {
                let accept = Accept {
                    style: &style,
                    overflow: items.overflow(),
                    items: items.capacity(),
                    token: token.as_ref(),
                    random: self.streams.random(),
                };
                self.session.accept(self.now, key, &accept).map(|sink| {
                    self.tell(&Observed::Subscribed { method: &style.subscribe });
                    self.streams.open(sink, &style.subscribe, items, &self.peer.shared);
                })
            }
        };
        if let Err(error) = &outcome {
            self.reply_error(key, error);
        }
        if let Some(watches) = &mut self.watches {
            watches.end(key, CallEnd::of_handler(&outcome));
        }
        self.finished(key, batch);
    }

    /// Polls what makes the items of a subscription.
    pub(super) fn poll_stream(&mut self, index: usize) {
        if let Some((method, stats)) = self.streams.poll(index, &mut self.session, self.now) {
            self.tell_ended(&method, None, stats);
        }
    }

    /// A subscription of the peer has ended: what made its items is dropped.
    pub(super) fn sink_closed(&mut self, sink: sabir_proto::SinkKey, end: SinkEnd, stats: SinkStats) {
        if let Some((method, stats)) = self.streams.close(sink, end, stats) {
            self.tell_ended(&method, Some(end), stats);
        }
    }

    fn tell_ended(&self, method: &str, end: Option<SinkEnd>, SinkStats { sent, lost }: SinkStats) {
        self.tell(&Observed::SubscriptionEnded { method, end, sent, lost });
    }

    pub(super) fn subscribe(&mut self, on_behalf_of: OnBehalfOf, subscribe: &SubscribeCommand) {
        let SubscribeCommand { style, params, options, slot } = subscribe;
        if slot.is_dropped() {
            return;
        }
        self.session.relate(on_behalf_of);
        match self.session.subscribe_raw(self.now, style, params.as_ref(), options) {
            Ok(key) => {
                slot.sent(key);
                let index = key.index();
                if self.subscriptions.len() <= index {
                    self.subscriptions.resize_with(index + 1, || None);
                }
                self.subscriptions[index] = Some((key, Arc::clone(slot)));
            }
            Err(refused) => slot.subscribed(Err(CallError::NotSent(refused))),
        }
    }

    /// Its consumer has left it.
    pub(super) fn unsubscribe(&mut self, slot: &Arc<SubscriptionSlot>) {
        self.resume(slot);
        let Some(key) = slot.key() else { return slot.left(false) };
        if !self.session.unsubscribe(self.now, key) {
            slot.left(false);
        } else if slot.is_dropped() {
            self.forget(key);
        }
    }

    /// A consumer has room again.
    pub(super) fn resume(&mut self, slot: &SubscriptionSlot) {
        if slot.take_paused() {
            self.paused -= 1;
            self.session.set_paused(self.paused > 0);
        }
    }

    fn slot(&self, key: SubscriptionKey) -> Option<Arc<SubscriptionSlot>> {
        let (own, slot) = self.subscriptions.get(key.index())?.as_ref()?;
        (*own == key).then(|| Arc::clone(slot))
    }

    fn forget(&mut self, key: SubscriptionKey) {
        if let Some(slot) = self.subscriptions.get_mut(key.index()) {
            slot.take_if(|(own, _)| *own == key);
        }
    }

    pub(super) fn subscribed(&mut self, key: SubscriptionKey, outcome: Result<Id<'_>, CallError>) {
        let Some(slot) = self.slot(key) else { return };
        if outcome.is_err() {
            self.forget(key);
        }
        slot.subscribed(outcome.map(Id::into_owned));
    }

    /// An item has come. Whether its consumer should have a turn soon.
    pub(super) fn item(&mut self, key: SubscriptionKey, item: RawJson<'static>) -> bool {
        let Some(slot) = self.slot(key) else { return false };
        let pushed = slot.push(item);
        self.pushed(key, pushed)
    }

    pub(super) fn items_lost(&mut self, key: SubscriptionKey, count: u64) -> bool {
        let Some(slot) = self.slot(key) else { return false };
        let pushed = slot.lost(count);
        self.pushed(key, pushed)
    }

    fn pushed(&mut self, key: SubscriptionKey, pushed: Pushed) -> bool {
        match pushed {
            Pushed::Kept => return false,
            Pushed::Filling => {}
            Pushed::Pause => {
                self.paused += 1;
                self.session.set_paused(true);
            }
            Pushed::Leave => {
                self.session.unsubscribe(self.now, key);
                self.forget(key);
            }
        }
        true
    }

    pub(super) fn subscription_ended(&mut self, key: SubscriptionKey, end: SubscriptionClosed<'_>) {
        if let Some(slot) = self.slot(key) {
            self.forget(key);
            slot.ended(end);
        }
    }

    pub(super) fn unsubscribed(&mut self, key: SubscriptionKey, outcome: Result<bool, CallError>) {
        if let Some(slot) = self.slot(key) {
            self.forget(key);
            slot.left(outcome.unwrap_or(false));
        }
    }
}
