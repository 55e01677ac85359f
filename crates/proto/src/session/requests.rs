//! The peer's requests that are waiting or running.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::{HashTable, hash_table};

use super::RequestKey;
use crate::dialect::Spelling;
use crate::id::Id;

/// Ids longer than this are not worth keeping memory for.
const KEPT_TEXT: usize = 128;

/// A slab that keeps the memory of finished requests for the next ones, with an index by id.
#[derive(Debug)]
pub(super) struct Requests {
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_id: HashTable<u32>,
    /// The newest request, as long as it is not in the index. Most requests are answered before the next
    /// one comes: they never need to be.
    newest: Option<u32>,
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
    /// Hash of the id, once it is in the index.
    hash: u64,
    /// Length of id and params while it runs.
    bytes: usize,
    pub(super) batch: Option<u32>,
    pub(super) cancelled: Option<Spelling>,
    pub(super) cancellable: bool,
    /// JSON text of the progress token, if `token_spelling` is set.
    token: String,
    token_spelling: Option<Spelling>,
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
            newest: None,
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

    pub(super) fn find(&self, id: &Id<'_>) -> Option<RequestKey> {
        let has_id = |index: u32| self.slots[index as usize].has_id(id);
        let index = match self.newest {
            Some(newest) if has_id(newest) => newest,
            _ => *self.by_id.find(self.hasher.hash_one(id), |&index| has_id(index))?,
        };
        Some(RequestKey { index, generation: self.slots[index as usize].generation })
    }

    /// Takes in a waiting request; `None` if its id is in use. Null ids may be there any number of times,
    /// since no one can refer to them.
    pub(super) fn insert(
        &mut self,
        id: &Id<'_>,
        batch: Option<u32>,
        cancellable: bool,
    ) -> Option<RequestKey> {
        let index = self.free.last().map_or(self.slots.len() as u32, |&index| index);
        let mut hash = 0;
        if !id.is_null() {
            if self.newest.is_none() && self.by_id.is_empty() {
                self.newest = Some(index);
            } else {
                self.index_newest();
                let Requests { slots, by_id, hasher, .. } = self;
                hash = hasher.hash_one(id);
                let same = |&index: &u32| slots[index as usize].has_id(id);
                match by_id.entry(hash, same, |&index| slots[index as usize].hash) {
                    hash_table::Entry::Occupied(_) => return None,
                    hash_table::Entry::Vacant(vacant) => vacant.insert(index),
                };
            }
        }
        if self.free.pop().is_none() {
            self.slots.push(Slot { generation: self.first_generation, ..Slot::default() });
        }
        let slot = &mut self.slots[index as usize];
        slot.state = State::Waiting;
        slot.hash = hash;
        slot.id.push_str(id.text());
        self.id_bytes += slot.id.len();
        slot.batch = batch;
        slot.cancellable = cancellable;
        Some(RequestKey { index, generation: slot.generation })
    }

    fn index_newest(&mut self) {
        let Some(index) = self.newest.take() else { return };
        let Requests { slots, by_id, hasher, .. } = self;
        let slot = &mut slots[index as usize];
        slot.hash = hasher.hash_one(Id::trusted(&slot.id));
        by_id.insert_unique(slot.hash, index, |&index| slots[index as usize].hash);
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
    pub(super) fn start(&mut self, key: RequestKey, bytes: usize) -> Option<&mut Slot> {
        let bytes = bytes + self.get(key)?.id.len();
        self.running += 1;
        self.running_bytes += bytes;
        let slot = &mut self.slots[key.index as usize];
        slot.state = State::Running;
        slot.bytes = bytes;
        Some(slot)
    }

    pub(super) fn remove(&mut self, key: RequestKey) {
        if self.get(key).is_none() {
            return;
        }
        let Requests { slots, by_id, newest, .. } = self;
        let slot = &mut slots[key.index as usize];
        if *newest == Some(key.index) {
            *newest = None;
        } else if let Ok(entry) = by_id.find_entry(slot.hash, |&index| index == key.index) {
            // Null ids are not in the index, so nothing is found for them.
            entry.remove();
        }
        self.id_bytes -= slot.id.len();
        if slot.state == State::Running {
            self.running -= 1;
            self.running_bytes -= slot.bytes;
        }
        slot.generation = slot.generation.wrapping_add(1);
        slot.state = State::Free;
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

/// Empties a text, and keeps its memory if that is worth it.
fn reuse(text: &mut String) {
    text.clear();
    if text.capacity() > KEPT_TEXT {
        *text = String::new();
    }
}
