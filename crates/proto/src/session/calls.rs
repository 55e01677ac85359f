//! Our calls that wait for an answer, and when they give up.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::{CallKey, Origin};
use crate::time::Time;

#[derive(Debug)]
pub(super) struct Calls {
    slots: Vec<Option<Call>>,
    free: Vec<u32>,
    by_id: HashMap<u64, u32, FixedState>,
    /// Moments to look at a call again. An entry may be too early, if progress came, or stale.
    timers: BinaryHeap<Reverse<(Time, u64, u32)>>,
    timed: usize,
    /// The first id of each batch, and how many of its calls are open, by its last id.
    batches: BTreeMap<u64, (u64, usize)>,
    last_id: u64,
    /// No call has this id, or one below.
    ids_above: u64,
}

#[derive(Debug)]
pub(super) struct Call {
    id: u64,
    deadline: Option<Time>,
    /// How far progress moves the deadline, and the latest deadline.
    extension: Option<Duration>,
    latest: Option<Time>,
    pub(super) progress: bool,
    pub(super) cancellable: bool,
    /// The first and the last id of the batch that it was sent in.
    pub(super) batch: Option<(u64, u64)>,
    /// On whose behalf it was made.
    pub(super) origin: Origin,
}

impl Call {
    pub(super) fn new(progress: bool, cancellable: bool, origin: Origin) -> Self {
        Call {
            id: 0,
            deadline: None,
            extension: None,
            latest: None,
            progress,
            cancellable,
            batch: None,
            origin,
        }
    }

    /// Ends the call at `deadline`; progress moves that by `extension`, to `latest` at most.
    pub(super) fn expires(
        mut self,
        deadline: Time,
        extension: Option<Duration>,
        latest: Option<Time>,
    ) -> Self {
        self.deadline = Some(latest.map_or(deadline, |latest| deadline.min(latest)));
        self.extension = extension;
        self.latest = latest;
        self
    }
}

impl Calls {
    pub(super) fn new(seed: u64, ids_above: u64) -> Self {
        Calls {
            slots: Vec::new(),
            free: Vec::new(),
            by_id: HashMap::with_hasher(FixedState::with_seed(seed)),
            timers: BinaryHeap::new(),
            timed: 0,
            batches: BTreeMap::new(),
            last_id: ids_above,
            ids_above,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Takes out all calls, if they were sent in one message: there is one, or they are of one batch.
    pub(super) fn take_one_message(&mut self) -> Vec<CallKey> {
        let batched = self.batches.first_key_value().map(|(_, (_, open))| *open);
        let one = self.len() == 1 || batched == Some(self.len());
        if one { self.take_all() } else { Vec::new() }
    }

    /// The open batch that a call with this id was sent in, whether or not the call itself is still open.
    pub(super) fn batch_of(&self, id: u64) -> Option<(u64, u64)> {
        let (&last, &(first, _)) = self.batches.range(id..).next()?;
        (first <= id).then_some((first, last))
    }

    /// How many calls the longest batch had of which one is open.
    pub(super) fn longest_batch(&self) -> usize {
        self.batches.iter().map(|(last, (first, _))| (last - first + 1) as usize).max().unwrap_or(0)
    }

    /// Takes out the calls of the only open batch.
    pub(super) fn take_one_batch(&mut self) -> Vec<CallKey> {
        match self.batches.first_key_value() {
            Some((&last, &(first, _))) if self.batches.len() == 1 => self.take_batch((first, last)),
            _ => Vec::new(),
        }
    }

    /// The id that the next call gets. Ids start at 1: some peers take 0 for no id.
    pub(super) fn next_id(&self) -> u64 {
        self.last_id + 1
    }

    /// Whether this was ever the id of a call.
    pub(super) fn was_used(&self, id: u64) -> bool {
        id > self.ids_above && id <= self.last_id
    }

    /// Takes in a call under [`next_id`](Self::next_id).
    pub(super) fn insert(&mut self, mut call: Call) -> CallKey {
        self.last_id += 1;
        call.id = self.last_id;
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        if let Some(deadline) = call.deadline {
            self.timed += 1;
            self.timers.push(Reverse((deadline, call.id, index)));
        }
        self.by_id.insert(call.id, index);
        self.slots[index as usize] = Some(call);
        CallKey { id: self.last_id, index }
    }

    /// Sets when an open call gives up. Whether it was still open.
    pub(super) fn expire(
        &mut self,
        key: CallKey,
        deadline: Time,
        extension: Option<Duration>,
        latest: Option<Time>,
    ) -> bool {
        let slot = self
            .slots
            .get_mut(key.index as usize)
            .filter(|slot| slot.as_ref().is_some_and(|call| call.id == key.id));
        let Some(call) = slot.and_then(Option::take) else { return false };
        if call.deadline.is_none() {
            self.timed += 1;
        }
        let call = call.expires(deadline, extension, latest);
        if let Some(deadline) = call.deadline {
            self.timers.push(Reverse((deadline, call.id, key.index)));
        }
        self.slots[key.index as usize] = Some(call);
        true
    }

    /// The peer is not told if nobody waits for this call any more.
    pub(super) fn set_uncancellable(&mut self, key: CallKey) {
        if let Some(call) = self.slots.get_mut(key.index as usize).and_then(Option::as_mut) {
            call.cancellable = false;
        }
    }

    pub(super) fn find(&self, id: u64) -> Option<(CallKey, &Call)> {
        let &index = self.by_id.get(&id)?;
        Some((CallKey { id, index }, self.slots[index as usize].as_ref()?))
    }

    /// When the call with this id gives up.
    pub(super) fn deadline_of(&self, id: u64) -> Option<Time> {
        self.find(id)?.1.deadline
    }

    pub(super) fn remove(&mut self, key: CallKey) -> Option<Call> {
        let slot = self.slots.get_mut(key.index as usize)?;
        let call = slot.take_if(|call| call.id == key.id)?;
        self.by_id.remove(&key.id);
        self.free.push(key.index);
        if let Some((_, last)) = call.batch {
            self.leave_batch(last);
        }
        if call.deadline.is_some() {
            self.timed -= 1;
            self.forget_stale_timers();
        }
        Some(call)
    }

    /// The calls with these ids were sent in one batch.
    pub(super) fn batched(&mut self, keys: &[CallKey]) {
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return };
        for key in keys {
            if let Some(call) = self.slots.get_mut(key.index as usize).and_then(Option::as_mut) {
                call.batch = Some((first.id, last.id));
            }
        }
        self.batches.insert(last.id, (first.id, keys.len()));
    }

    fn leave_batch(&mut self, last: u64) {
        if let Some((_, open)) = self.batches.get_mut(&last) {
            *open -= 1;
            if *open == 0 {
                self.batches.remove(&last);
            }
        }
    }

    /// Takes out all calls of a batch that are left, in the order in which they were made.
    pub(super) fn take_batch(&mut self, (first, last): (u64, u64)) -> Vec<CallKey> {
        let keys: Vec<_> = (first..=last).filter_map(|id| Some(self.find(id)?.0)).collect();
        for key in &keys {
            self.remove(*key);
        }
        keys
    }

    /// Takes out all calls, in the order in which they were made.
    pub(super) fn take_all(&mut self) -> Vec<CallKey> {
        let calls = self.slots.iter().enumerate();
        let mut keys: Vec<_> = calls
            .filter_map(|(index, call)| Some(CallKey { id: call.as_ref()?.id, index: index as u32 }))
            .collect();
        keys.sort_unstable_by_key(|key| key.id);
        for key in &keys {
            self.remove(*key);
        }
        keys
    }

    /// Progress came: the deadline may move. The timer notices when it goes off.
    pub(super) fn progressed(&mut self, key: CallKey, now: Time) {
        if let Some(call) = self.slots.get_mut(key.index as usize).and_then(Option::as_mut)
            && let (true, Some(extension)) = (call.id == key.id, call.extension)
        {
            let deadline = now + extension;
            call.deadline = Some(call.latest.map_or(deadline, |latest| deadline.min(latest)));
        }
    }

    /// When the next call may give up.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.timers.peek().map(|Reverse((at, ..))| *at)
    }

    /// A call whose time is up.
    pub(super) fn expired(&mut self, now: Time) -> Option<CallKey> {
        while let Some(&Reverse((at, id, index))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            match self.slots[index as usize].as_ref().filter(|call| call.id == id).and_then(|c| c.deadline) {
                Some(deadline) if deadline <= now => return Some(CallKey { id, index }),
                Some(later) => self.timers.push(Reverse((later, id, index))),
                None => {}
            }
        }
        None
    }

    /// Most calls end long before their deadline: their timers must not pile up.
    fn forget_stale_timers(&mut self) {
        if self.timers.len() > 64 + 4 * self.timed {
            let slots = &self.slots;
            self.timers.retain(|Reverse((_, id, index))| {
                slots[*index as usize].as_ref().is_some_and(|call| call.id == *id)
            });
        }
    }

    /// Gives back what a flood left behind.
    pub(super) fn release(&mut self) {
        if self.by_id.is_empty() && self.slots.len() > 256 {
            self.slots = Vec::new();
            self.free = Vec::new();
            self.by_id.shrink_to(0);
            self.timers = BinaryHeap::new();
        }
    }
}
