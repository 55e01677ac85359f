//! The bytes that have come and are not yet done with.

/// What the first read is offered, and what it grows to while reads come back full.
const SMALLEST_READ: usize = 8 * 1024;
const LARGEST_READ: usize = 64 * 1024;

/// A growing buffer whose bytes are always initialised, so that a driver can read straight into it. Memory is
/// asked for well ahead, but only touched as far as reads come.
///
/// Bytes are only moved or freed while space is asked for: whatever a decoded message borrows stays in
/// place until then.
#[derive(Debug)]
pub(super) struct Input {
    data: Vec<u8>,
    start: usize,
    end: usize,
    read_size: usize,
}

impl Input {
    pub(super) fn new() -> Self {
        Input { data: Vec::new(), start: 0, end: 0, read_size: SMALLEST_READ }
    }

    pub(super) fn unread(&self) -> &[u8] {
        &self.data[self.start..self.end]
    }

    pub(super) fn capacity(&self) -> usize {
        self.data.capacity()
    }

    /// Room for the next read. A message has `limit` bytes at the most.
    pub(super) fn space(&mut self, limit: usize) -> &mut [u8] {
        self.make_room(self.read_size, limit);
        &mut self.data[self.end..]
    }

    fn make_room(&mut self, want: usize, limit: usize) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.data.len() - self.end >= want {
            return;
        }
        // The move is amortised: at least as many bytes were consumed before.
        let cheap = self.start >= self.end - self.start;
        if self.start > 0 && (cheap || self.data.capacity() - self.end < want) {
            self.data.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let size = self.end + want;
        if self.data.capacity() < size {
            // Doubling keeps a message of any size linear in its length; past the limit nothing is kept.
            let ahead = size.max((self.end * 2).min(limit.saturating_add(LARGEST_READ)));
            self.data.reserve_exact(ahead - self.data.len());
        }
        // Large messages are read in large pieces.
        let offered = (size + self.end / 4).min(self.data.capacity());
        if self.data.len() < offered {
            self.data.resize(offered, 0);
        }
    }

    pub(super) fn filled(&mut self, count: usize) {
        let offered = self.data.len() - self.end;
        assert!(count <= offered, "{count} bytes read into a space of {offered}");
        if count == offered {
            self.read_size = (self.read_size * 2).min(LARGEST_READ);
        }
        self.end += count;
    }

    pub(super) fn push(&mut self, bytes: &[u8], limit: usize) {
        self.make_room(bytes.len(), limit);
        self.data[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end);
    }

    /// Gives back what a large message left behind.
    pub(super) fn release(&mut self) {
        if self.start == self.end && self.data.capacity() > 2 * LARGEST_READ {
            *self = Input { read_size: self.read_size, ..Input::new() };
        }
    }
}
