//! The peer's subscriptions: what waits to be sent for each, and whose turn it is.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::event::{Origin, RequestKey, SinkKey};
use super::publish::Overflow;
use crate::message::encode;
use crate::message::error::ErrorObject;
use crate::subscription::{EndSignal, Routing, SubscriptionStyle};

/// What an item costs beside its text: its place in a queue that is up to half empty, and what an allocator keeps for
/// the text.
const ITEM_OVERHEAD: usize = 2 * size_of::<Item>() + 16;

/// A table of sinks, with an index by id. Sinks with something to send take turns.
#[derive(Debug)]
pub(super) struct Sinks {
    slots: Vec<Option<Box<Sink>>>,
    free: Vec<u32>,
    by_id: HashTable<u32>,
    /// Seeded, so that a peer cannot choose ids that collide.
    hasher: FixedState,
    turn: VecDeque<u32>,
    /// Sinks of which nothing waits, and whose driver was told that there is no room: the others hold too much.
    starved: VecDeque<SinkKey>,
    /// Bytes of all items that wait, the bookkeeping included.
    bytes: usize,
    /// Bytes of ids and names.
    texts: usize,
    last_serial: u32,
}

#[derive(Debug)]
pub(super) struct Sink {
    serial: u32,
    /// JSON text of the id, the token, or the request's id.
    id: String,
    pub(super) routing: Routing,
    pub(super) end: EndSignal,
    /// The method of its items; their own have those of [`Routing::Meta`].
    notification: String,
    /// The request that is open as long as it is, where the response is its end.
    pub(super) request: Option<RequestKey>,
    pub(super) origin: Origin,
    /// The batch that its response waits in. No item may go out before.
    batch: Option<u32>,
    pub(super) overflow: Overflow,
    /// How many items may wait.
    most: usize,
    queue: VecDeque<Item>,
    is_queued: bool,
    /// The driver found no room and waits for `SinkReady`.
    wants_room: bool,
    /// How it ends once all items are sent.
    pub(super) ending: Option<Ending>,
    pub(super) sent: u64,
    pub(super) lost: u64,
}

#[derive(Debug)]
struct Item {
    key: u64,
    text: Box<[u8]>,
}

/// How a sink ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    /// Nothing more is said.
    Silent,
    /// It just finished. For a response, this is the result.
    Finished(Option<String>),
    Failed(ErrorObject<'static>),
}

impl Sinks {
    pub(super) fn new(seed: u64) -> Self {
        Sinks {
            slots: Vec::new(),
            free: Vec::new(),
            by_id: HashTable::new(),
            hasher: FixedState::with_seed(seed),
            turn: VecDeque::new(),
            starved: VecDeque::new(),
            bytes: 0,
            texts: 0,
            last_serial: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn has_queued(&self) -> bool {
        !self.turn.is_empty()
    }

    /// Memory of the tables and of everything that waits.
    pub(super) fn held(&self) -> usize {
        self.slots.capacity() * size_of::<usize>()
            + self.len() * size_of::<Sink>()
            + self.bytes
            + self.texts
            + (self.free.capacity() + self.turn.capacity()) * size_of::<u32>()
            + self.starved.capacity() * size_of::<SinkKey>()
            + self.by_id.allocation_size()
    }

    pub(super) fn insert(
        &mut self,
        style: &SubscriptionStyle,
        id: String,
        request: Option<RequestKey>,
        (origin, batch): (Origin, Option<u32>),
        (overflow, most): (Overflow, usize),
    ) -> SinkKey {
        self.last_serial = self.last_serial.wrapping_add(1);
        let serial = self.last_serial;
        let sink = Sink {
            serial,
            id,
            routing: style.routing,
            end: style.end,
            notification: style.notification.clone().into_owned(),
            request,
            origin,
            batch,
            overflow,
            most: most.max(1),
            queue: VecDeque::new(),
            is_queued: false,
            wants_room: false,
            ending: None,
            sent: 0,
            lost: 0,
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.texts += sink.texts();
        if sink.routing == Routing::Id {
            let Sinks { slots, by_id, hasher, .. } = self;
            let hash = hasher.hash_one(sink.id.as_str());
            by_id.insert_unique(hash, index, |&index| hash_of(slots, hasher, index));
        }
        self.slots[index as usize] = Some(Box::new(sink));
        SinkKey { index, serial }
    }

    /// The sink with this id, in its JSON text.
    pub(super) fn find(&self, id: &str) -> Option<SinkKey> {
        let named = |&index: &u32| self.slots[index as usize].as_ref().is_some_and(|sink| sink.id == id);
        let index = *self.by_id.find(self.hasher.hash_one(id), named)?;
        Some(SinkKey { index, serial: self.slots[index as usize].as_ref()?.serial })
    }

    /// The sink whose end answers this request.
    pub(super) fn of_request(&self, request: RequestKey) -> Option<SinkKey> {
        self.keys().find(|key| self.get(*key).is_some_and(|sink| sink.request == Some(request)))
    }

    pub(super) fn get(&self, key: SinkKey) -> Option<&Sink> {
        self.slots.get(key.index as usize)?.as_deref().filter(|sink| sink.serial == key.serial)
    }

    pub(super) fn get_mut(&mut self, key: SinkKey) -> Option<&mut Sink> {
        self.slots.get_mut(key.index as usize)?.as_deref_mut().filter(|sink| sink.serial == key.serial)
    }

    /// All of them.
    pub(super) fn keys(&self) -> impl Iterator<Item = SinkKey> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(index, sink)| Some(SinkKey { index: index as u32, serial: sink.as_ref()?.serial }))
    }

    /// Takes a sink out, with all that waits for it.
    pub(super) fn remove(&mut self, key: SinkKey) -> Option<Box<Sink>> {
        self.get(key)?;
        self.drop_queue(key);
        let sink = self.slots[key.index as usize].take()?;
        self.texts -= sink.texts();
        if sink.routing == Routing::Id {
            let hash = self.hasher.hash_one(sink.id.as_str());
            if let Ok(entry) = self.by_id.find_entry(hash, |&index| index == key.index) {
                entry.remove();
            }
        }
        if sink.is_queued {
            self.turn.retain(|&index| index != key.index);
        }
        self.free.push(key.index);
        Some(sink)
    }

    /// Forgets what waits for a sink: it is not sent. How many items that were.
    pub(super) fn drop_queue(&mut self, key: SinkKey) -> u64 {
        let Some(sink) = self.get_mut(key) else { return 0 };
        let bytes: usize = sink.queue.iter().map(Item::size).sum();
        let dropped = std::mem::take(&mut sink.queue).len() as u64;
        sink.sent -= dropped;
        self.bytes -= bytes;
        dropped
    }

    /// Whether one more item may wait; if not, the driver will be notified.
    pub(super) fn has_room(&mut self, key: SinkKey, limit: usize) -> bool {
        let bytes = self.bytes;
        let Some(sink) = self.get_mut(key) else { return false };
        let first = sink.queue.is_empty();
        let room = sink.queue.len() < sink.most && bytes < most_bytes(first, limit);
        if !room && sink.overflow == Overflow::Wait && !std::mem::replace(&mut sink.wants_room, true) && first
        {
            self.starved.push_back(key);
        }
        room
    }

    /// A sink that waits for the others to hold less, if they do.
    pub(super) fn next_starved(&mut self, limit: usize) -> Option<SinkKey> {
        while self.bytes < most_bytes(true, limit)
            && let Some(key) = self.starved.pop_front()
        {
            if let Some(sink) = self.get_mut(key)
                && sink.ending.is_none()
                && std::mem::take(&mut sink.wants_room)
            {
                return Some(key);
            }
        }
        None
    }

    /// Takes the oldest item that waits away.
    pub(super) fn drop_oldest(&mut self, key: SinkKey) -> bool {
        let Some(item) = self.get_mut(key).and_then(|sink| {
            let item = sink.queue.pop_front()?;
            sink.sent -= 1;
            sink.lost += 1;
            Some(item)
        }) else {
            return false;
        };
        self.bytes -= item.size();
        true
    }

    /// Puts an item in the place of one with the same key that waits. Gives it back if there is none. If there is no room
    /// for it, the oldest items of other keys are dropped until there is; its place among those that are left stays the
    /// same.
    pub(super) fn replace(
        &mut self,
        at: SinkKey,
        key: u64,
        text: Vec<u8>,
        limit: usize,
    ) -> Result<(), Vec<u8>> {
        let mut bytes = self.bytes;
        let Some(sink) = self.get_mut(at) else { return Err(text) };
        let Some(mut index) = sink.queue.iter().position(|item| item.key == key) else { return Err(text) };
        sink.sent -= 1;
        sink.lost += 1;
        bytes -= sink.queue[index].size();
        while bytes >= most_bytes(sink.queue.len() == 1, limit) {
            let oldest = usize::from(index == 0);
            let Some(dropped) = sink.queue.remove(oldest) else {
                // The other subscriptions hold too much.
                sink.queue.clear();
                self.bytes = bytes;
                return Err(text);
            };
            bytes -= dropped.size();
            index -= 1 - oldest;
            sink.sent -= 1;
            sink.lost += 1;
        }
        sink.queue[index].text = text.into_boxed_slice();
        self.bytes = bytes + sink.queue[index].size();
        Ok(())
    }

    pub(super) fn push(&mut self, at: SinkKey, key: u64, text: Vec<u8>) {
        let item = Item { key, text: text.into_boxed_slice() };
        let size = item.size();
        let Some(sink) = self.get_mut(at) else { return };
        sink.queue.push_back(item);
        self.bytes += size;
        self.enqueue(at);
    }

    /// The sink has something to send, be it its end.
    pub(super) fn enqueue(&mut self, key: SinkKey) {
        let Some(sink) = self.get_mut(key) else { return };
        if !sink.is_queued && sink.batch.is_none() {
            sink.is_queued = true;
            self.turn.push_back(key.index);
        }
    }

    /// The answers of a batch were sent: the sinks that began in it may send.
    pub(super) fn batch_sent(&mut self, batch: u32) {
        let waiting: Vec<_> =
            self.keys().filter(|key| self.get(*key).is_some_and(|sink| sink.batch == Some(batch))).collect();
        for key in waiting {
            if let Some(sink) = self.get_mut(key) {
                sink.batch = None;
                if !sink.queue.is_empty() || sink.ending.is_some() {
                    self.enqueue(key);
                }
            }
        }
    }

    /// The sink whose turn it is, and its next item; `None` for the item if it has none left, and ends.
    pub(super) fn next(&mut self) -> Option<(SinkKey, Option<Box<[u8]>>)> {
        loop {
            let index = self.turn.pop_front()?;
            let Some(sink) = self.slots[index as usize].as_deref_mut() else { continue };
            let key = SinkKey { index, serial: sink.serial };
            let item = sink.queue.pop_front();
            let nothing = item.is_none() && sink.ending.is_none();
            sink.is_queued = !sink.queue.is_empty() || (item.is_some() && sink.ending.is_some());
            if sink.is_queued {
                self.turn.push_back(index);
            } else if sink.queue.is_empty() {
                sink.queue = VecDeque::new();
            }
            self.bytes -= item.as_ref().map_or(0, Item::size);
            // What waited for it may have been dropped.
            if !nothing {
                return Some((key, item.map(|item| item.text)));
            }
        }
    }

    /// Whether the driver waits for room that there is again.
    pub(super) fn take_room(&mut self, key: SinkKey) -> bool {
        self.get_mut(key).is_some_and(|sink| {
            let room = sink.wants_room && sink.ending.is_none() && sink.queue.len() <= sink.most / 2;
            sink.wants_room &= !room;
            room
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Drops all. Keys of the old ones stay stale.
    pub(super) fn clear(&mut self) {
        self.slots = Vec::new();
        self.free = Vec::new();
        self.turn = VecDeque::new();
        self.starved = VecDeque::new();
        self.by_id = HashTable::new();
        (self.bytes, self.texts) = (0, 0);
    }

    /// Gives back what a flood left behind.
    pub(super) fn release(&mut self) {
        if self.is_empty() {
            self.clear();
        }
    }
}

/// How much may wait before one more item, of all sinks together. Half is left to the first of each sink: one
/// subscription must not starve because others queue.
fn most_bytes(first: bool, limit: usize) -> usize {
    if first { limit } else { limit / 2 }
}

fn hash_of(slots: &[Option<Box<Sink>>], hasher: &FixedState, index: u32) -> u64 {
    hasher.hash_one(slots[index as usize].as_ref().map_or("", |sink| sink.id.as_str()))
}

impl Item {
    fn size(&self) -> usize {
        self.text.len() + ITEM_OVERHEAD
    }
}

impl Sink {
    /// Whether an item may go out without waiting.
    pub(super) fn is_clear(&self) -> bool {
        self.queue.is_empty() && self.batch.is_none() && self.ending.is_none()
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    fn texts(&self) -> usize {
        self.id.len() + self.notification.len()
    }

    /// Writes the notification around an item. It cannot be written if it is not what the style wants.
    pub(super) fn write_item<E>(
        &self,
        out: &mut Vec<u8>,
        item: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), Option<E>> {
        if self.routing == Routing::Meta {
            let mut text = Vec::new();
            item(&mut text).map_err(Some)?;
            return super::item_text::write_listened(out, &self.id, &text).ok_or(None);
        }
        encode::call_head(out, None, &self.notification);
        out.extend_from_slice(b",\"params\":");
        match self.routing {
            Routing::Method => {
                let start = out.len();
                item(out).map_err(Some)?;
                if !matches!(out.get(start), Some(b'[' | b'{')) {
                    return Err(None);
                }
            }
            Routing::Token => {
                out.extend_from_slice(b"{\"token\":");
                out.extend_from_slice(self.id.as_bytes());
                out.extend_from_slice(b",\"value\":");
                item(out).map_err(Some)?;
                out.push(b'}');
            }
            Routing::Id | Routing::Meta => {
                out.extend_from_slice(b"{\"subscription\":");
                out.extend_from_slice(self.id.as_bytes());
                out.extend_from_slice(b",\"result\":");
                item(out).map_err(Some)?;
                out.push(b'}');
            }
        }
        out.push(b'}');
        Ok(())
    }

    /// Whether an item can be written in this style: [`wants`](Self::wants) says what it has to be.
    pub(super) fn takes(&self, item: &[u8]) -> bool {
        self.write_item(&mut Vec::new(), |out| {
            out.extend_from_slice(item);
            Ok::<_, ()>(())
        })
        .is_ok()
    }

    pub(super) fn wants(&self) -> &'static str {
        match self.routing {
            Routing::Meta => "expected an object with `method` and `params`",
            _ => "expected an array or an object",
        }
    }

    /// Whether not all JSON is an item.
    pub(super) fn is_choosy(&self) -> bool {
        matches!(self.routing, Routing::Meta | Routing::Method)
    }

    /// Writes the notification of an error.
    pub(super) fn write_error(&self, out: &mut Vec<u8>, error: &ErrorObject<'_>) {
        encode::call_head(out, None, &self.notification);
        out.extend_from_slice(b",\"params\":{\"subscription\":");
        out.extend_from_slice(self.id.as_bytes());
        out.extend_from_slice(b",\"error\":");
        // Writing into memory cannot fail.
        let _ = serde_json::to_writer(&mut *out, error);
        out.extend_from_slice(b"}}");
    }
}
