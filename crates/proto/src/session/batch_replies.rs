//! Answers to the entries of a batch, gathered until the last one is there.

use crate::session::Origin;

/// Memory that a batch may leave behind for the next, and how many batches may.
const KEPT: usize = 64 * 1024;
const KEPT_BATCHES: usize = 4;

/// The batches of the peer that are being worked on.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    batches: Vec<Batch>,
    free: Vec<u32>,
    bytes: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The message that it came in.
    origin: Origin,
    /// Entries that are not settled yet.
    open: usize,
    /// `[` and the answers so far with commas between them; empty as long as there is none.
    answers: Vec<u8>,
}

impl Gathering {
    /// Bytes of answers that wait for the rest of their batch.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A batch with one entry: itself, as long as it is being read.
    pub(crate) fn begin(&mut self, origin: Origin) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.batches.push(Batch::default());
            (self.batches.len() - 1) as u32
        });
        let batch = &mut self.batches[index as usize];
        batch.open = 1;
        batch.origin = origin;
        index
    }

    /// One more entry will be settled.
    pub(crate) fn expect(&mut self, batch: u32) {
        self.batches[batch as usize].open += 1;
    }

    /// Appends an answer that `write` produces.
    pub(crate) fn add<R>(&mut self, batch: u32, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let answers = &mut self.batches[batch as usize].answers;
        let before = answers.len();
        answers.push(if before == 0 { b'[' } else { b',' });
        let done = write(answers);
        self.bytes += answers.len() - before;
        done
    }

    /// An entry is settled. Once it was the last one, `send` gets the answers, which are empty if there are
    /// none.
    pub(crate) fn settle(&mut self, index: u32, send: impl FnOnce(Origin, &[u8])) {
        let batch = &mut self.batches[index as usize];
        batch.open -= 1;
        if batch.open > 0 {
            return;
        }
        self.free.push(index);
        self.bytes -= batch.answers.len();
        if !batch.answers.is_empty() {
            batch.answers.push(b']');
        }
        send(batch.origin, &batch.answers);
        batch.answers.clear();
        if batch.answers.capacity() > KEPT || self.free.len() > KEPT_BATCHES {
            batch.answers = Vec::new();
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Gathering::default();
    }
}
