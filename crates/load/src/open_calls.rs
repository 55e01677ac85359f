//! The calls that are open. The id of a call holds its place in the table, so that an answer is matched without a search,
//! and how often that place was used, so that no id comes twice.

use std::collections::HashSet;

use crate::plan::MOST_OPEN;

/// Ids of calls that have timed out, at most. The answers to others are taken for wrong ones.
const MOST_LATE: usize = 1 << 16;

/// Bits of an id that are the place.
const PLACE_BITS: u32 = MOST_OPEN.ilog2();

/// A call that was given to a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenCall {
    /// When it was due, when it was sent, and since when it waited for room.
    pub(crate) due: u64,
    pub(crate) sent: u64,
    /// By its place in the plan.
    pub(crate) call: u32,
    pub(crate) lane: u32,
    pub(crate) segment: u32,
}

/// What an id stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found<T> {
    Open(T),
    /// Its time was over before it was answered.
    Late,
    /// It was never sent, or answered before.
    Unknown,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    /// How often it was used, from 1 on.
    turn: u64,
    is_open: bool,
    call: OpenCall,
}

#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    places: Vec<Place>,
    free: Vec<u32>,
    /// The ids of calls that have timed out: their answers may still come.
    late: HashSet<u64>,
}

impl OpenCalls {
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Its id.
    pub(crate) fn insert(&mut self, call: OpenCall) -> u64 {
        let at = match self.free.pop() {
            Some(at) => {
                let place = &mut self.places[at as usize];
                *place = Place { turn: place.turn + 1, is_open: true, call };
                at
            }
            None => {
                self.places.push(Place { turn: 1, is_open: true, call });
                self.places.len() as u32 - 1
            }
        };
        self.places[at as usize].turn << PLACE_BITS | u64::from(at)
    }

    fn place(&mut self, id: u64) -> Option<(u32, &mut Place)> {
        let at = (id & ((1 << PLACE_BITS) - 1)) as u32;
        self.places.get_mut(at as usize).map(|place| (at, place))
    }

    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut OpenCall> {
        let (_, place) = self.place(id)?;
        (place.is_open && place.turn == id >> PLACE_BITS).then_some(&mut place.call)
    }

    /// Takes out the call with this id.
    pub(crate) fn remove(&mut self, id: u64, is_late: bool) -> Found<OpenCall> {
        let Some((at, place)) = self.place(id) else { return Found::Unknown };
        if place.is_open && place.turn == id >> PLACE_BITS {
            place.is_open = false;
            let call = place.call;
            self.free.push(at);
            if is_late && self.late.len() < MOST_LATE {
                self.late.insert(id);
            }
            return Found::Open(call);
        }
        if self.late.remove(&id) { Found::Late } else { Found::Unknown }
    }

    /// The ids of those that are open, with their calls.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &OpenCall)> {
        self.places
            .iter()
            .enumerate()
            .filter(|(_, place)| place.is_open)
            .map(|(at, place)| (place.turn << PLACE_BITS | at as u64, &place.call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(due: u64) -> OpenCall {
        OpenCall { due, sent: 0, call: 0, lane: 0, segment: 0 }
    }

    fn due(found: Found<OpenCall>) -> Found<u64> {
        match found {
            Found::Open(call) => Found::Open(call.due),
            Found::Late => Found::Late,
            Found::Unknown => Found::Unknown,
        }
    }

    #[test]
    fn an_answer_is_taken_once() {
        let mut calls = OpenCalls::default();
        let (a, b) = (calls.insert(call(1)), calls.insert(call(2)));
        assert_eq!(due(calls.remove(b, false)), Found::Open(2));
        assert_eq!(due(calls.remove(b, false)), Found::Unknown);
        let c = calls.insert(call(3));
        assert!(c != b && c != a, "ids are never used twice");
        assert_eq!(due(calls.remove(b, false)), Found::Unknown);
        assert_eq!(due(calls.remove(c, false)), Found::Open(3));
        assert_eq!(due(calls.remove(a, false)), Found::Open(1));
        assert_eq!((calls.len(), calls.iter().count()), (0, 0));
        for never in [0, 7, u64::MAX] {
            assert_eq!(due(calls.remove(never, false)), Found::Unknown);
        }
    }

    #[test]
    fn a_late_answer_is_not_a_wrong_one() {
        let mut calls = OpenCalls::default();
        let a = calls.insert(call(1));
        assert_eq!(due(calls.remove(a, true)), Found::Open(1));
        let b = calls.insert(call(2));
        assert_eq!(due(calls.remove(a, false)), Found::Late);
        assert_eq!(due(calls.remove(a, false)), Found::Unknown, "but only once");
        assert_eq!(due(calls.remove(b, false)), Found::Open(2));
    }
}
