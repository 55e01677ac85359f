//! Answers to the entries of a batch, gathered until the last one is there.

use crate::session::{Origin, grow};

/// Memory that a batch may leave behind for the next, and how many batches may.
const KEPT: usize = 64 * 1024;
const KEPT_BATCHES: usize = 4;

/// Errors of one batch that say what is wrong. The others have their code and message alone, so that answers to a batch
/// of junk take little room and time.
const EXPLAINED: u32 = 100;

/// Names a batch of the peer. Stale keys are harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchKey {
    index: u32,
    serial: u32,
}

/// The batches of the peer that are being worked on.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    last_serial: u32,
    batches: Vec<Batch>,
    free: Vec<u32>,
    bytes: usize,
    /// Memory of all answers.
    capacity: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Batch {
    serial: u32,
    /// The message that it came in.
    origin: Origin,
    /// Entries that are not settled yet.
    open: usize,
    /// An answer found no room among those that wait: nothing more of it is started.
    full: bool,
    /// Entries that were refused as they were taken in.
    refused: u32,
    /// `[` and the answers so far with commas between them; empty as long as there is none.
    answers: Vec<u8>,
}

impl Gathering {
    /// Bytes of answers that wait for the rest of their batch.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// All memory.
    pub(crate) fn held(&self) -> usize {
        self.capacity + self.batches.capacity() * size_of::<Batch>() + self.free.capacity() * size_of::<u32>()
    }

    /// A batch with one entry: itself, as long as it is being read.
    pub(crate) fn begin(&mut self, origin: Origin) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            grow::reserve(&mut self.batches, 1);
            self.batches.push(Batch::default());
            (self.batches.len() - 1) as u32
        });
        self.last_serial = self.last_serial.wrapping_add(1);
        let batch = &mut self.batches[index as usize];
        batch.serial = self.last_serial;
        batch.open = 1;
        batch.full = false;
        batch.refused = 0;
        batch.origin = origin;
        index
    }

    pub(crate) fn key(&self, index: u32) -> BatchKey {
        BatchKey { index, serial: self.batches[index as usize].serial }
    }

    /// Whether not all of its entries are settled.
    pub(crate) fn is_open(&self, key: BatchKey) -> bool {
        let batch = self.batches.get(key.index as usize);
        batch.is_some_and(|batch| batch.serial == key.serial && batch.open > 0)
    }

    /// One more entry will be settled.
    pub(crate) fn expect(&mut self, batch: u32) {
        self.batches[batch as usize].open += 1;
    }

    /// Appends an answer that `write` produces.
    pub(crate) fn add<R>(&mut self, batch: u32, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let answers = &mut self.batches[batch as usize].answers;
        let (before, capacity) = (answers.len(), answers.capacity());
        grow::reserve(answers, 1 + before / 8);
        answers.push(if before == 0 { b'[' } else { b',' });
        let done = write(answers);
        self.bytes += answers.len() - before;
        self.capacity = self.capacity + answers.capacity() - capacity;
        done
    }

    /// One more entry is refused. Whether the error is to say why.
    pub(crate) fn explains_next(&mut self, batch: u32) -> bool {
        let refused = &mut self.batches[batch as usize].refused;
        *refused += 1;
        *refused <= EXPLAINED
    }

    /// An answer found no room.
    pub(crate) fn overflow(&mut self, batch: u32) {
        self.batches[batch as usize].full = true;
    }

    pub(crate) fn is_full(&self, batch: u32) -> bool {
        self.batches[batch as usize].full
    }

    /// Gives back what a flood left behind.
    pub(crate) fn release(&mut self) {
        if self.free.len() == self.batches.len() && self.batches.len() > 2 * KEPT_BATCHES {
            self.clear();
        }
    }

    /// An entry is settled. Once it was the last one, `send` gets the answers, which are empty if there are
    /// none.
    pub(crate) fn settle(&mut self, index: u32, send: impl FnOnce(Origin, &mut Vec<u8>)) {
        let batch = &mut self.batches[index as usize];
        batch.open -= 1;
        if batch.open > 0 {
            return;
        }
        grow::reserve(&mut self.free, 1);
        self.free.push(index);
        self.bytes -= batch.answers.len();
        self.capacity -= batch.answers.capacity();
        if !batch.answers.is_empty() {
            batch.answers.push(b']');
        }
        send(batch.origin, &mut batch.answers);
        batch.answers.clear();
        if batch.answers.capacity() > KEPT || self.free.len() > KEPT_BATCHES {
            batch.answers = Vec::new();
        }
        self.capacity += batch.answers.capacity();
    }

    pub(crate) fn clear(&mut self) {
        *self = Gathering { last_serial: self.last_serial, ..Gathering::default() };
    }
}
