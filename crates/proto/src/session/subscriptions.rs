//! Our subscriptions: which notification belongs to which, and what came before its subscription was known.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::event::{CallKey, Origin, SubscriptionKey};
use crate::limits::Limits;
use crate::message::error::ErrorObject;
use crate::message::id::Id;
use crate::subscription::{Routing, SubscriptionStyle};

/// What is kept of an item that came before its subscription was known, beside its text.
const EARLY_OVERHEAD: usize = size_of::<EarlyItem>();

#[derive(Debug)]
pub(super) struct Subscriptions {
    slots: Vec<Option<Box<Subscription>>>,
    free: Vec<u32>,
    by_id: HashMap<Id<'static>, u32, FixedState>,
    /// By the call that subscribes or unsubscribes.
    by_call: HashMap<u64, u32, FixedState>,
    /// Those that take all notifications of a method.
    by_method: Vec<u32>,
    /// Unsubscribes that wait for room.
    pub(super) leaving: VecDeque<SubscriptionKey>,
    early: HashMap<Id<'static>, Early, FixedState>,
    early_bytes: usize,
    /// How many wait for an id, and for how many of them nobody waits any more.
    asking: usize,
    abandoned: usize,
    /// How many wait for notifications, or are about to.
    receiving: usize,
    last_serial: u32,
}

#[derive(Debug)]
pub(super) struct Subscription {
    serial: u32,
    pub(super) style: SubscriptionStyle,
    pub(super) state: State,
    /// Where its id came from.
    pub(super) origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// The call that subscribes is not answered yet.
    Asking(CallKey),
    /// The same, and nobody wants it any more: what it gives is to be left.
    Abandoned(CallKey),
    /// The response gave this id.
    Open(Id<'static>),
    /// The call is answered at the end.
    Following(CallKey),
    /// All notifications of a method.
    Listening,
    /// Is to be unsubscribed, or is being. Somebody waits to hear of it, or nobody does.
    Leaving { id: Id<'static>, awaited: bool, step: Step },
}

/// How far an unsubscribe is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It was refused, and is to be sent again.
    Refused,
    /// It waits for room.
    Queued,
    /// It is not answered yet.
    Sent,
}

/// Items that came before their subscription was known.
#[derive(Debug, Default)]
pub(super) struct Early {
    pub(super) items: Vec<EarlyItem>,
    /// Items for which there was no room.
    pub(super) lost: u64,
}

/// An item, or the error that ends the subscription.
pub(super) type EarlyItem = Result<Box<str>, ErrorObject<'static>>;

impl Subscriptions {
    pub(super) fn new(seed: u64) -> Self {
        let hasher = FixedState::with_seed(seed);
        Subscriptions {
            slots: Vec::new(),
            free: Vec::new(),
            by_id: HashMap::with_hasher(hasher.clone()),
            by_call: HashMap::with_hasher(hasher.clone()),
            by_method: Vec::new(),
            leaving: VecDeque::new(),
            early: HashMap::with_hasher(hasher),
            early_bytes: 0,
            asking: 0,
            abandoned: 0,
            receiving: 0,
            last_serial: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Memory that the peer can fill.
    pub(super) fn held(&self) -> usize {
        self.early_bytes
            + self.early.capacity() * size_of::<(Id<'static>, Early)>()
            + self.slots.capacity() * size_of::<usize>()
            + self.len() * (size_of::<Subscription>() + 256)
    }

    /// Those that are open, so that their connection is not idle.
    pub(super) fn keys(&self) -> Vec<SubscriptionKey> {
        let slots = self.slots.iter().enumerate();
        slots
            .filter_map(|(index, slot)| {
                Some(SubscriptionKey { index: index as u32, serial: slot.as_ref()?.serial })
            })
            .collect()
    }

    pub(super) fn insert(&mut self, style: &SubscriptionStyle, state: State) -> SubscriptionKey {
        self.last_serial = self.last_serial.wrapping_add(1);
        let serial = self.last_serial;
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.receiving += usize::from(state.receives());
        match &state {
            State::Asking(call) => {
                self.asking += 1;
                self.by_call.insert(call.id(), index);
            }
            State::Following(call) => drop(self.by_call.insert(call.id(), index)),
            State::Listening => self.by_method.push(index),
            State::Abandoned(_) | State::Open(_) | State::Leaving { .. } => {}
        }
        self.slots[index as usize] =
            Some(Box::new(Subscription { serial, style: style.clone(), state, origin: Origin::NONE }));
        SubscriptionKey { index, serial }
    }

    pub(super) fn get(&self, key: SubscriptionKey) -> Option<&Subscription> {
        self.slots.get(key.index as usize)?.as_deref().filter(|slot| slot.serial == key.serial)
    }

    /// The peer that serves it can be reached there.
    pub(super) fn set_origin(&mut self, key: SubscriptionKey, origin: Origin) {
        if let Some(slot) = self.get_mut(key) {
            slot.origin = origin;
        }
    }

    fn get_mut(&mut self, key: SubscriptionKey) -> Option<&mut Subscription> {
        self.slots.get_mut(key.index as usize)?.as_deref_mut().filter(|slot| slot.serial == key.serial)
    }

    fn key_at(&self, index: u32) -> Option<SubscriptionKey> {
        Some(SubscriptionKey { index, serial: self.slots.get(index as usize)?.as_ref()?.serial })
    }

    /// An item came for one that is to be left. If nothing is under way for that, it is tried again.
    pub(super) fn leave_again(&mut self, key: SubscriptionKey) {
        if let Some(Subscription { state: State::Leaving { step: step @ Step::Refused, .. }, .. }) =
            self.get_mut(key)
        {
            *step = Step::Queued;
            self.leaving.push_back(key);
        }
    }

    /// The subscription that a call subscribes or unsubscribes.
    pub(super) fn of_call(&self, call: u64) -> Option<SubscriptionKey> {
        self.key_at(*self.by_call.get(&call)?)
    }

    /// A call that unsubscribes was sent.
    pub(super) fn leaves_by(&mut self, key: SubscriptionKey, call: CallKey) {
        if let Some(Subscription { state: State::Leaving { step, .. }, .. }) = self.get_mut(key) {
            *step = Step::Sent;
        }
        self.by_call.insert(call.id(), key.index);
    }

    pub(super) fn forget_call(&mut self, call: u64) {
        self.by_call.remove(&call);
    }

    pub(super) fn of_id(&self, id: &Id<'_>) -> Option<SubscriptionKey> {
        let by_id: &HashMap<Id<'_>, u32, FixedState> = &self.by_id;
        self.key_at(*by_id.get(id)?)
    }

    /// Those that take all notifications of a method.
    pub(super) fn of_method(&self, method: &str) -> Vec<SubscriptionKey> {
        let keys = self.by_method.iter().filter_map(|&index| self.key_at(index));
        keys.filter(|key| self.get(*key).is_some_and(|slot| slot.style.notification == method)).collect()
    }

    pub(super) fn has_listeners(&self) -> bool {
        !self.by_method.is_empty()
    }

    /// Moves a subscription on.
    pub(super) fn set(&mut self, key: SubscriptionKey, state: State) {
        let Some(slot) = self.get_mut(key) else { return };
        let before = std::mem::replace(&mut slot.state, state.clone());
        self.abandoned -= usize::from(matches!(before, State::Abandoned(_)));
        self.receiving += usize::from(state.receives());
        self.receiving -= usize::from(before.receives());
        if matches!(before, State::Asking(_) | State::Abandoned(_))
            && !matches!(state, State::Asking(_) | State::Abandoned(_))
        {
            self.asked();
        }
        match state {
            State::Open(id) | State::Leaving { id, .. } => drop(self.by_id.insert(id, key.index)),
            State::Abandoned(_) => self.abandoned += 1,
            State::Asking(_) | State::Following(_) | State::Listening => {}
        }
    }

    /// One fewer waits for its id.
    fn asked(&mut self) {
        self.asking -= 1;
        if self.asking == 0 {
            self.early = HashMap::with_hasher(self.early.hasher().clone());
            self.early_bytes = 0;
        }
    }

    /// Whether any waits for notifications, or is about to.
    pub(super) fn receives(&self) -> bool {
        self.receiving > 0
    }

    /// How many responses nobody waits for any more, but the peer still owes.
    pub(super) fn abandoned(&self) -> usize {
        self.abandoned
    }

    pub(super) fn remove(&mut self, key: SubscriptionKey) -> Option<Box<Subscription>> {
        self.get(key)?;
        let slot = self.slots[key.index as usize].take()?;
        self.free.push(key.index);
        self.receiving -= usize::from(slot.state.receives());
        match &slot.state {
            State::Asking(call) | State::Abandoned(call) => {
                self.abandoned -= usize::from(matches!(slot.state, State::Abandoned(_)));
                self.by_call.remove(&call.id());
                self.asked();
            }
            State::Following(call) => drop(self.by_call.remove(&call.id())),
            State::Open(id) | State::Leaving { id, .. } => {
                if self.by_id.get(id) == Some(&key.index) {
                    self.by_id.remove(id);
                }
            }
            State::Listening => self.by_method.retain(|&index| index != key.index),
        }
        Some(slot)
    }

    /// Whether somebody waits for an id whose items have this method.
    pub(super) fn expects(&self, method: &str) -> bool {
        self.asking > 0
            && self.slots.iter().flatten().any(|slot| {
                matches!(slot.state, State::Asking(_) | State::Abandoned(_))
                    && slot.style.routing == Routing::Id
                    && (slot.style.notification == method || slot.style.notification.is_empty())
            })
    }

    /// Keeps an item whose subscription is not known yet, if there is room.
    pub(super) fn keep_early(
        &mut self,
        id: Id<'_>,
        item: Result<&str, ErrorObject<'static>>,
        limits: &Limits,
    ) {
        let size = early_size(item.as_ref().map(|text| text.len()));
        let id_size = early_id_size(&id);
        let room = limits.subscription_bytes.saturating_sub(self.early_bytes);
        let known = self.early.contains_key(&id.clone().into_owned());
        if !known && (id_size > room || self.early.len() >= self.asking.max(limits.subscription_items)) {
            return;
        }
        let early = self.early.entry(id.into_owned()).or_insert_with(|| {
            self.early_bytes += id_size;
            Early::default()
        });
        if early.items.len() >= limits.subscription_items || size > room {
            early.lost += 1;
            return;
        }
        early.items.push(item.map(Box::from));
        self.early_bytes += size;
    }

    /// What came early for this id.
    pub(super) fn take_early(&mut self, id: &Id<'static>) -> Early {
        let Some(early) = self.early.remove(id) else { return Early::default() };
        let sizes = early.items.iter().map(|item| early_size(item.as_ref().map(|text| text.len())));
        // The same id may have been spelt longer.
        self.early_bytes = self.early_bytes.saturating_sub(sizes.sum::<usize>() + early_id_size(id));
        early
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Gives back what a flood left behind.
    pub(super) fn release(&mut self) {
        if self.is_empty() {
            self.slots = Vec::new();
            self.free = Vec::new();
            self.by_id.shrink_to(0);
            self.by_call.shrink_to(0);
        }
    }
}

impl State {
    /// Whether notifications are waited for. Where the response is the end, the items belong to a call.
    fn receives(&self) -> bool {
        matches!(self, State::Asking(_) | State::Open(_) | State::Listening)
    }
}

/// What an item costs that is kept, by the length of its text.
fn early_size(item: Result<usize, &ErrorObject<'_>>) -> usize {
    EARLY_OVERHEAD
        + item.unwrap_or_else(|error| {
            error.message.len() + error.data.as_ref().map_or(0, |data| data.as_str().len())
        })
}

/// What an id costs under which items are kept.
fn early_id_size(id: &Id<'_>) -> usize {
    id.text().len() + size_of::<(Id<'static>, Early)>()
}
