//! The peer's requests that are waiting or running.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::{HashTable, hash_table};

use super::{Origin, RequestKey, grow};
use crate::dialect::NotificationStyle;
use crate::message::id::Id;

/// Ids longer than this are not worth keeping memory for, nor those of a table that a flood has made large.
const KEPT_TEXT: usize = 128;
const KEPT_SLOTS: usize = 1024;

/// Slots that a table keeps when it shrinks.
const LEAST_SLOTS: usize = 256;

/// What a driver keeps for each slot, about: a task and a waker.
const DRIVERS_SHARE: usize = 128;

/// A slab that keeps the memory of finished requests for the next ones, with an index by id.
#[derive(Debug)]
pub(super) struct Requests {
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_id: HashTable<u32>,
    /// Slots of requests that are not in the index. Most peers count their ids up, and then there is nothing to
    /// look up: a higher id than all others cannot be in use.
    unindexed: Vec<u32>,
    /// No id of those is higher. `None` if there is only one, and nobody has asked.
    highest: Option<u64>,
    /// Seeded, so that a peer cannot choose ids that collide.
    hasher: FixedState,
    /// Where the generations of new slots start.
    first_generation: u32,
    running: usize,
    running_bytes: usize,
    id_bytes: usize,
    /// Memory of all ids and tokens, of free slots too.
    text_bytes: usize,
    /// Slots that were looked at, beside the one that was asked for.
    #[cfg(test)]
    pub(super) steps: usize,
}

#[derive(Debug, Default)]
pub(super) struct Slot {
    generation: u32,
    state: State,
    id: String,
    lookup: Lookup,
    /// Its position among the unindexed ones.
    at: u32,
    /// Hash of the id, once it is in the index.
    hash: u64,
    /// Length of id, params, token and meta while it runs.
    bytes: usize,
    pub(super) batch: Option<u32>,
    /// The message that it came in.
    pub(super) origin: Origin,
    pub(super) cancelled: Option<NotificationStyle>,
    pub(super) cancellable: bool,
    /// JSON text of the progress token, if `token_style` is set.
    token: String,
    token_style: Option<NotificationStyle>,
}

/// Where a request can be found by its id.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Lookup {
    /// Nowhere: its id is null.
    #[default]
    Nameless,
    /// Only by looking at all unindexed ones.
    Unindexed,
    Indexed,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    Waiting,
    Running,
}

impl Slot {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    #[inline]
    fn has_id(&self, id: &Id<'_>) -> bool {
        self.id == id.text() || Id::trusted(&self.id) == *id
    }

    pub(super) fn is_running(&self) -> bool {
        self.state == State::Running
    }

    pub(super) fn token(&self) -> Option<(NotificationStyle, &str)> {
        self.token_style.map(|style| (style, self.token.as_str()))
    }
}

impl Requests {
    pub(super) fn new(seed: u64) -> Self {
        Requests {
            slots: Vec::new(),
            free: Vec::new(),
            by_id: HashTable::new(),
            unindexed: Vec::new(),
            highest: None,
            hasher: FixedState::with_seed(seed),
            first_generation: 0,
            running: 0,
            running_bytes: 0,
            id_bytes: 0,
            text_bytes: 0,
            #[cfg(test)]
            steps: 0,
        }
    }

    /// How many run.
    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// Bytes of ids and params that running requests hold.
    pub(super) fn running_bytes(&self) -> usize {
        self.running_bytes
    }

    /// Bytes of the ids of all requests.
    pub(super) fn id_bytes(&self) -> usize {
        self.id_bytes
    }

    /// Memory of the table, with what a driver keeps beside it.
    pub(super) fn held(&self) -> usize {
        self.slots.capacity() * (size_of::<Slot>() + DRIVERS_SHARE)
            + (self.free.capacity() + self.unindexed.capacity()) * size_of::<u32>()
            + self.by_id.allocation_size()
            + self.text_bytes
    }

    /// How many there are, waiting ones included.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn find(&mut self, id: &Id<'_>) -> Option<RequestKey> {
        self.index_loose();
        let index =
            *self.by_id.find(self.hasher.hash_one(id), |&index| self.slots[index as usize].has_id(id))?;
        Some(RequestKey { index, generation: self.slots[index as usize].generation })
    }

    /// Takes in a waiting request; `None` if its id is in use. Null ids may be there any number of times,
    /// since no one can refer to them.
    #[inline(always)]
    pub(super) fn insert(
        &mut self,
        id: &Id<'_>,
        batch: Option<u32>,
        origin: Origin,
        cancellable: bool,
    ) -> Option<RequestKey> {
        let index = self.free.last().map_or(self.slots.len() as u32, |&index| index);
        let (lookup, hash) = if id.is_null() {
            (Lookup::Nameless, 0)
        } else if self.by_id.is_empty() && (self.unindexed.is_empty() || self.is_highest(id)) {
            if self.unindexed.is_empty() {
                self.highest = None;
            }
            grow::reserve(&mut self.unindexed, 1);
            self.unindexed.push(index);
            (Lookup::Unindexed, 0)
        } else {
            self.index_loose();
            let Requests { slots, by_id, hasher, .. } = self;
            let hash = hasher.hash_one(id);
            let same = |&index: &u32| slots[index as usize].has_id(id);
            match by_id.entry(hash, same, |&index| slots[index as usize].hash) {
                hash_table::Entry::Occupied(_) => return None,
                hash_table::Entry::Vacant(vacant) => vacant.insert(index),
            };
            (Lookup::Indexed, hash)
        };
        if self.free.pop().is_none() {
            grow::reserve(&mut self.slots, 1);
            self.slots.push(Slot { generation: self.first_generation, ..Slot::default() });
        }
        let slot = &mut self.slots[index as usize];
        slot.state = State::Waiting;
        slot.lookup = lookup;
        slot.at = self.unindexed.len().wrapping_sub(1) as u32;
        slot.hash = hash;
        self.text_bytes += fill(&mut slot.id, id.text());
        self.id_bytes += slot.id.len();
        slot.batch = batch;
        slot.origin = origin;
        slot.cancellable = cancellable;
        Some(RequestKey { index, generation: slot.generation })
    }

    /// Whether the id is higher than all that are not in the index. If so, it is the highest from now on.
    fn is_highest(&mut self, id: &Id<'_>) -> bool {
        let Some(number) = parse_small_id(id.text()) else { return false };
        let highest = self.highest.unwrap_or_else(|| {
            debug_assert_eq!(self.unindexed.len(), 1);
            let only = self.unindexed.first().map(|&index| &self.slots[index as usize].id);
            only.map_or(0, |id| parse_small_id(id).unwrap_or(u64::MAX))
        });
        self.highest = Some(highest.max(number));
        number > highest
    }

    /// Puts everything into the index: somebody wants to look something up. Each request is put there once.
    fn index_loose(&mut self) {
        if self.unindexed.is_empty() {
            return;
        }
        #[cfg(test)]
        {
            self.steps += self.unindexed.len();
        }
        let Requests { slots, by_id, hasher, unindexed, .. } = self;
        for index in unindexed.drain(..) {
            let slot = &mut slots[index as usize];
            slot.lookup = Lookup::Indexed;
            slot.hash = hasher.hash_one(Id::trusted(&slot.id));
            by_id.insert_unique(slot.hash, index, |&index| slots[index as usize].hash);
        }
    }

    pub(super) fn get(&self, key: RequestKey) -> Option<&Slot> {
        let slot = self.slots.get(key.index as usize)?;
        (slot.generation == key.generation && slot.state != State::Free).then_some(slot)
    }

    pub(super) fn get_mut(&mut self, key: RequestKey) -> Option<&mut Slot> {
        self.get(key)?;
        self.slots.get_mut(key.index as usize)
    }

    /// A request starts, with this much text: its method, params and meta.
    #[inline(always)]
    pub(super) fn start(
        &mut self,
        key: RequestKey,
        bytes: usize,
        token: Option<(NotificationStyle, &str)>,
    ) -> Option<&Slot> {
        let bytes = bytes + token.map_or(0, |(_, text)| text.len());
        let bytes = bytes + self.get(key)?.id.len();
        self.running += 1;
        self.running_bytes += bytes;
        let slot = &mut self.slots[key.index as usize];
        slot.state = State::Running;
        slot.bytes = bytes;
        if let Some((style, text)) = token {
            slot.token_style = Some(style);
            self.text_bytes += fill(&mut slot.token, text);
        }
        Some(slot)
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, key: RequestKey) {
        if self.get(key).is_none() {
            return;
        }
        let Requests { slots, by_id, unindexed, .. } = self;
        let keep = slots.len() <= KEPT_SLOTS;
        let Slot { lookup, at, hash, .. } = slots[key.index as usize];
        match lookup {
            Lookup::Nameless => {}
            Lookup::Unindexed => {
                unindexed.swap_remove(at as usize);
                if let Some(&moved) = unindexed.get(at as usize) {
                    slots[moved as usize].at = at;
                }
            }
            Lookup::Indexed => {
                if let Ok(entry) = by_id.find_entry(hash, |&index| index == key.index) {
                    entry.remove();
                }
            }
        }
        let slot = &mut slots[key.index as usize];
        self.id_bytes -= slot.id.len();
        if slot.state == State::Running {
            self.running -= 1;
            self.running_bytes -= slot.bytes;
        }
        slot.generation = slot.generation.wrapping_add(1);
        slot.state = State::Free;
        slot.lookup = Lookup::Nameless;
        slot.cancelled = None;
        self.text_bytes -= empty(&mut slot.id, keep);
        if slot.token_style.take().is_some() {
            self.text_bytes -= empty(&mut slot.token, keep);
        }
        grow::reserve(&mut self.free, 1);
        self.free.push(key.index);
    }

    /// All of them.
    pub(super) fn keys(&self) -> Vec<RequestKey> {
        let slots = self.slots.iter().enumerate().filter(|(_, slot)| slot.state != State::Free);
        slots.map(|(index, slot)| RequestKey { index: index as u32, generation: slot.generation }).collect()
    }

    /// Those that came in this message.
    pub(super) fn of_origin(&self, origin: Origin) -> Vec<RequestKey> {
        let slots = self.slots.iter().enumerate();
        slots
            .filter(|(_, slot)| slot.state != State::Free && slot.origin == origin)
            .map(|(index, slot)| RequestKey { index: index as u32, generation: slot.generation })
            .collect()
    }

    pub(super) fn clear(&mut self) {
        for key in self.keys() {
            self.remove(key);
        }
    }

    /// Gives back what a flood left behind: all free slots at the end of the table.
    pub(super) fn release(&mut self) {
        if self.slots.len() <= LEAST_SLOTS {
            return;
        }
        let used = self.slots.iter().rposition(|slot| slot.state != State::Free).map_or(0, |last| last + 1);
        let kept = used.max(if self.len() == 0 { 0 } else { LEAST_SLOTS });
        if kept > self.slots.len() / 2 {
            return;
        }
        // Keys of the old slots must stay stale.
        let highest = self.slots[kept..].iter().map(|slot| slot.generation).max().unwrap_or(0);
        self.first_generation = self.first_generation.max(highest.wrapping_add(1));
        self.slots.truncate(kept);
        self.slots.shrink_to_fit();
        self.text_bytes = self.slots.iter().map(|slot| slot.id.capacity() + slot.token.capacity()).sum();
        self.free.retain(|&index| (index as usize) < kept);
        self.free.shrink_to_fit();
        self.unindexed.shrink_to_fit();
        let slots = &self.slots;
        self.by_id.shrink_to_fit(|&index| slots[index as usize].hash);
    }
}

/// The number that an id spells, if it is a whole one of the plainest kind.
pub(super) fn parse_small_id(text: &str) -> Option<u64> {
    let digits = text.as_bytes();
    if digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0, |n, c| c.is_ascii_digit().then(|| n * 10 + u64::from(c - b'0')))
}

/// Puts `text` into an empty string. How much memory that took.
#[inline]
fn fill(into: &mut String, text: &str) -> usize {
    let before = into.capacity();
    into.push_str(text);
    into.capacity() - before
}

/// Empties a text, and keeps its memory if that is worth it. How much memory was given back.
#[inline]
fn empty(text: &mut String, keep: bool) -> usize {
    let before = text.capacity();
    text.clear();
    if !keep || before > KEPT_TEXT {
        *text = String::new();
    }
    before - text.capacity()
}
