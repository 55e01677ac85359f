//! The peer's requests that are waiting or running.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::{HashTable, hash_table};

use super::{Origin, RequestKey};
use crate::dialect::Spelling;
use crate::message::id::Id;

/// Ids longer than this are not worth keeping memory for.
const KEPT_TEXT: usize = 128;

/// A slab that keeps the memory of finished requests for the next ones, with an index by id.
#[derive(Debug)]
pub(super) struct Requests {
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_id: HashTable<u32>,
    /// How many requests are not in the index. Most peers count their ids up, and then there is nothing to
    /// look up: a higher id than all others cannot be in use.
    loose: usize,
    /// The highest id of those, unless nobody has asked for it yet.
    highest: Option<u64>,
    /// Seeded, so that a peer cannot choose ids that collide.
    hasher: FixedState,
    /// Where the generations of new slots start.
    first_generation: u32,
    running: usize,
    running_bytes: usize,
    id_bytes: usize,
}

#[derive(Debug, Default)]
pub(super) struct Slot {
    generation: u32,
    state: State,
    id: String,
    place: Place,
    /// Hash of the id, once it is in the index.
    hash: u64,
    /// Length of id and params while it runs.
    bytes: usize,
    pub(super) batch: Option<u32>,
    /// The message that it came in.
    pub(super) origin: Origin,
    pub(super) cancelled: Option<Spelling>,
    pub(super) cancellable: bool,
    /// JSON text of the progress token, if `token_spelling` is set.
    token: String,
    token_spelling: Option<Spelling>,
}

/// Where a request can be found by its id.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nowhere: its id is null.
    #[default]
    Nameless,
    /// Only by looking at all of them.
    Loose,
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

    pub(super) fn token(&self) -> Option<(Spelling, &str)> {
        self.token_spelling.map(|spelling| (spelling, self.token.as_str()))
    }

    pub(super) fn set_token(&mut self, spelling: Spelling, text: &str) {
        self.token.push_str(text);
        self.token_spelling = Some(spelling);
    }
}

impl Requests {
    pub(super) fn new(seed: u64) -> Self {
        Requests {
            slots: Vec::new(),
            free: Vec::new(),
            by_id: HashTable::new(),
            loose: 0,
            highest: None,
            hasher: FixedState::with_seed(seed),
            first_generation: 0,
            running: 0,
            running_bytes: 0,
            id_bytes: 0,
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
        let (place, hash) = if id.is_null() {
            (Place::Nameless, 0)
        } else if self.by_id.is_empty() && (self.loose == 0 || self.is_highest(id)) {
            if self.loose == 0 {
                self.highest = None;
            }
            self.loose += 1;
            (Place::Loose, 0)
        } else {
            self.index_loose();
            let Requests { slots, by_id, hasher, .. } = self;
            let hash = hasher.hash_one(id);
            let same = |&index: &u32| slots[index as usize].has_id(id);
            match by_id.entry(hash, same, |&index| slots[index as usize].hash) {
                hash_table::Entry::Occupied(_) => return None,
                hash_table::Entry::Vacant(vacant) => vacant.insert(index),
            };
            (Place::Indexed, hash)
        };
        if self.free.pop().is_none() {
            self.slots.push(Slot { generation: self.first_generation, ..Slot::default() });
        }
        let slot = &mut self.slots[index as usize];
        slot.state = State::Waiting;
        slot.place = place;
        slot.hash = hash;
        slot.id.push_str(id.text());
        self.id_bytes += slot.id.len();
        slot.batch = batch;
        slot.origin = origin;
        slot.cancellable = cancellable;
        Some(RequestKey { index, generation: slot.generation })
    }

    /// Whether the id is higher than all that are not in the index. If so, it is the highest from now on.
    fn is_highest(&mut self, id: &Id<'_>) -> bool {
        let Some(number) = counted(id.text()) else { return false };
        let highest = self.highest.unwrap_or_else(|| {
            let loose = self.slots.iter().filter(|slot| slot.place == Place::Loose);
            loose.map(|slot| counted(&slot.id).unwrap_or(u64::MAX)).max().unwrap_or(0)
        });
        self.highest = Some(highest.max(number));
        number > highest
    }

    /// Puts everything into the index: somebody wants to look something up.
    fn index_loose(&mut self) {
        if self.loose == 0 {
            return;
        }
        self.loose = 0;
        let Requests { slots, by_id, hasher, .. } = self;
        for index in 0..slots.len() {
            let slot = &mut slots[index];
            if slot.place == Place::Loose {
                slot.place = Place::Indexed;
                slot.hash = hasher.hash_one(Id::trusted(&slot.id));
                by_id.insert_unique(slot.hash, index as u32, |&index| slots[index as usize].hash);
            }
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

    /// A request starts, with this much params.
    #[inline(always)]
    pub(super) fn start(&mut self, key: RequestKey, bytes: usize) -> Option<&mut Slot> {
        let bytes = bytes + self.get(key)?.id.len();
        self.running += 1;
        self.running_bytes += bytes;
        let slot = &mut self.slots[key.index as usize];
        slot.state = State::Running;
        slot.bytes = bytes;
        Some(slot)
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, key: RequestKey) {
        if self.get(key).is_none() {
            return;
        }
        let Requests { slots, by_id, loose, .. } = self;
        let slot = &mut slots[key.index as usize];
        match slot.place {
            Place::Nameless => {}
            Place::Loose => *loose -= 1,
            Place::Indexed => {
                if let Ok(entry) = by_id.find_entry(slot.hash, |&index| index == key.index) {
                    entry.remove();
                }
            }
        }
        self.id_bytes -= slot.id.len();
        if slot.state == State::Running {
            self.running -= 1;
            self.running_bytes -= slot.bytes;
        }
        slot.generation = slot.generation.wrapping_add(1);
        slot.state = State::Free;
        slot.place = Place::Nameless;
        slot.cancelled = None;
        reuse(&mut slot.id);
        if slot.token_spelling.take().is_some() {
            reuse(&mut slot.token);
        }
        self.free.push(key.index);
    }

    /// All of them.
    pub(super) fn keys(&self) -> Vec<RequestKey> {
        let slots = self.slots.iter().enumerate().filter(|(_, slot)| slot.state != State::Free);
        slots.map(|(index, slot)| RequestKey { index: index as u32, generation: slot.generation }).collect()
    }

    pub(super) fn clear(&mut self) {
        for key in self.keys() {
            self.remove(key);
        }
    }

    /// Gives back what a flood left behind.
    pub(super) fn release(&mut self) {
        if self.len() == 0 && self.slots.len() > 256 {
            // Keys of the old slots must stay stale.
            let highest = self.slots.iter().map(|slot| slot.generation).max().unwrap_or(0);
            self.first_generation = highest.wrapping_add(1);
            self.slots = Vec::new();
            self.free = Vec::new();
            self.by_id = HashTable::new();
        }
    }
}

/// The number that an id spells, if it is a whole one of the plainest kind.
pub(super) fn counted(text: &str) -> Option<u64> {
    let digits = text.as_bytes();
    if digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0, |n, c| c.is_ascii_digit().then(|| n * 10 + u64::from(c - b'0')))
}

/// Empties a text, and keeps its memory if that is worth it.
fn reuse(text: &mut String) {
    text.clear();
    if text.capacity() > KEPT_TEXT {
        *text = String::new();
    }
}
