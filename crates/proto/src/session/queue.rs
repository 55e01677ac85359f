//! Requests and notifications that wait for their turn, in order, bounded in bytes.

use std::collections::VecDeque;

use crate::session::{RequestKey, grow};

/// What an entry costs beside its text.
const OVERHEAD: usize = size_of::<Entry>();

/// The texts lie behind each other in one string, so that waiting costs no allocation of its own.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    text: String,
    /// Where the text of the first entry starts.
    head: usize,
    entries: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    what: Waiting,
    method_len: usize,
    /// Length of the params; `None` if there are none.
    params_len: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    Request(RequestKey),
    Notification,
}

impl Entry {
    fn len(&self) -> usize {
        self.method_len + self.params_len.unwrap_or(0)
    }
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes in use, the bookkeeping included.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() - self.head + self.entries.len() * OVERHEAD
    }

    pub(crate) fn capacity(&self) -> usize {
        self.text.capacity() + self.entries.capacity() * OVERHEAD
    }

    pub(crate) fn has_room(&self, method: &str, params: Option<&str>, limit: usize) -> bool {
        self.bytes() + OVERHEAD + method.len() + params.map_or(0, str::len) <= limit
    }

    pub(crate) fn push(&mut self, what: Waiting, method: &str, params: Option<&str>) {
        // The texts in front of the head are done with; moving the rest is paid for by their length. Before
        // the text grows they go in any case, and then there must be room for more than one entry.
        let more = method.len() + params.map_or(0, str::len);
        let grows = self.text.len() + more > self.text.capacity();
        if self.head > self.text.len() / 2 || grows {
            self.text.drain(..self.head);
            self.head = 0;
        }
        if grows {
            let room = more.max(self.text.len() / 8);
            grow::reserve_text(&mut self.text, room);
        }
        grow::reserve_one(&mut self.entries);
        self.text.push_str(method);
        self.text.push_str(params.unwrap_or_default());
        self.entries.push_back(Entry { what, method_len: method.len(), params_len: params.map(str::len) });
    }

    /// The first entry, and how long its method and params are.
    pub(crate) fn front(&self) -> Option<(Waiting, usize)> {
        self.entries.front().map(|entry| (entry.what, entry.len()))
    }

    /// Takes the first entry off. Its text stays in place until the next push.
    pub(crate) fn pop(&mut self) -> Option<(Waiting, &str, Option<&str>)> {
        let entry = self.entries.pop_front()?;
        let (start, len) = (self.head, entry.len());
        self.head += len;
        let (method, params) = self.text[start..start + len].split_at(entry.method_len);
        Some((entry.what, method, entry.params_len.map(|_| params)))
    }

    pub(crate) fn clear(&mut self) {
        *self = Queue::default();
    }

    /// Gives back what a flood left behind.
    pub(crate) fn release(&mut self) {
        if self.entries.is_empty() && self.capacity() > 64 * 1024 {
            self.clear();
        }
    }
}
