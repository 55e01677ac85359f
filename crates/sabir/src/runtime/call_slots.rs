//! Where the outcomes of a connection's calls go, by the keys of the calls.

use std::sync::Arc;

use sabir_proto::CallKey;

use crate::peer::call_slot::CallSlot;

/// The slots of calls that have no outcome yet.
#[derive(Default)]
pub(crate) struct CallSlots {
    /// By the index of the call.
    places: Vec<Option<Arc<CallSlot>>>,
    /// Of calls that are over for the session, which has given their indices to others before it could tell.
    displaced: Vec<Arc<CallSlot>>,
}

impl CallSlots {
    pub(crate) fn keep(&mut self, call: CallKey, slot: &Arc<CallSlot>) {
        if self.places.len() <= call.index() {
            self.places.resize_with(call.index() + 1, || None);
        }
        let before = self.places[call.index()].replace(Arc::clone(slot));
        self.displaced.extend(before.filter(|before| !before.is_over()));
    }

    pub(crate) fn get(&self, call: CallKey) -> Option<&Arc<CallSlot>> {
        let displaced = self.displaced.iter().find(|slot| slot.key() == Some(call));
        displaced.or_else(|| self.places.get(call.index())?.as_ref())
    }

    #[inline]
    pub(crate) fn take(&mut self, call: CallKey) -> Option<Arc<CallSlot>> {
        if !self.displaced.is_empty()
            && let Some(at) = self.displaced.iter().position(|slot| slot.key() == Some(call))
        {
            return Some(self.displaced.swap_remove(at));
        }
        self.places.get_mut(call.index())?.take()
    }

    #[cfg(debug_assertions)]
    pub(crate) fn is_empty(&self) -> bool {
        self.displaced.is_empty() && self.places.iter().all(Option::is_none)
    }

    /// All of them. None is left.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Arc<CallSlot>> {
        let displaced = std::mem::take(&mut self.displaced);
        self.places.drain(..).flatten().chain(displaced)
    }
}

#[cfg(test)]
mod tests {
    use sabir_proto::{CallOptions, Config, DeliveryFailure, Session, Time, Undelivered};

    use super::*;

    #[test]
    fn a_call_that_takes_the_index_of_another_one_does_not_take_its_outcome() {
        let (now, mut session, mut slots) =
            (Time::default(), Session::new(Config::default()), CallSlots::default());
        let mut call = |session: &mut Session| {
            let key = session.call_raw(now, "add", None, &CallOptions::default()).expect("room");
            let slot = Arc::new(CallSlot::default());
            slot.sent(key);
            slots.keep(key, &slot);
            (key, slot)
        };
        let (first, first_slot) = call(&mut session);
        let lost = Undelivered::new(DeliveryFailure::Closed, "lost");
        assert!(session.handle_undelivered(now, first.id(), lost));
        let (second, second_slot) = call(&mut session);
        assert_eq!(first.index(), second.index());
        assert!(slots.get(first).is_some_and(|slot| Arc::ptr_eq(slot, &first_slot)));
        for (key, slot) in [(first, first_slot), (second, second_slot)] {
            assert!(slots.take(key).is_some_and(|taken| Arc::ptr_eq(&taken, &slot)), "{key:?}");
        }
        assert_eq!(slots.drain().count(), 0);
    }
}
