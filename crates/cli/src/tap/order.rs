//! Puts what went by into the order in which it was read.
//!
//! Both directions of a connection are carried at the same time, and bytes are passed on before their copy is pushed. So an
//! answer can overtake its request on the way to the recorder, by microseconds. Numbers that are missing are awaited, but not
//! for ever: a write that hangs holds back what was read before it, and must not hold back the other direction.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use super::queue::{Item, Taken};

/// How long a number that is missing is awaited.
const PATIENCE: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(super) struct Order {
    /// The number whose turn it is.
    next: u64,
    /// What has come before its turn. It still counts as waiting in the queue, and so is bounded.
    early: BTreeMap<u64, Item>,
    void: Vec<Range<u64>>,
    /// A void was passed over since the last that could be recorded.
    is_behind_void: bool,
    /// When the number was first missed.
    since: Duration,
}

impl Order {
    /// Whether something has come before its turn.
    pub(super) fn is_waiting(&self) -> bool {
        !self.early.is_empty()
    }

    /// What can be recorded now.
    pub(super) fn sort(&mut self, taken: Taken, now: Duration) -> VecDeque<Item> {
        self.void.extend(taken.void);
        let mut ready = VecDeque::with_capacity(taken.items.len());
        let before = self.next;
        for mut item in taken.items {
            let number = item.ticket.number;
            if number > self.next {
                if self.early.is_empty() {
                    self.since = now;
                }
                self.early.insert(number, item);
            } else {
                // Its turn, or too late for it.
                self.next = self.next.max(number + 1);
                item.is_behind_void = std::mem::take(&mut self.is_behind_void);
                ready.push_back(item);
            }
            self.follow(&mut ready);
        }
        if self.next != before {
            self.since = now;
        }
        if self.early.is_empty() {
            // Nothing will ask for what lies behind.
            self.void.retain(|range| range.end > self.next);
        }
        ready.extend(self.overdue(now, false));
        ready
    }

    /// What has waited long enough for what was before it, or for all that there will be.
    pub(super) fn overdue(&mut self, now: Duration, is_last: bool) -> VecDeque<Item> {
        let mut ready = VecDeque::new();
        while let Some((&first, _)) = self.early.first_key_value()
            && (is_last || now.saturating_sub(self.since) > PATIENCE)
        {
            self.next = first;
            self.follow(&mut ready);
            self.since = now;
        }
        ready
    }

    /// What follows without a number missing.
    fn follow(&mut self, ready: &mut VecDeque<Item>) {
        while let Some(first) = self.early.first_entry() {
            if *first.key() == self.next {
                let mut item = first.remove();
                item.is_behind_void = std::mem::take(&mut self.is_behind_void);
                ready.push_back(item);
            } else if let Some(at) = self.void.iter().position(|range| range.contains(&self.next)) {
                self.next = self.void.swap_remove(at).end;
                self.is_behind_void = true;
                continue;
            } else {
                return;
            }
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tap::queue::{Ticket, What};
    use sabir_model::capture::Event;

    fn taken(numbers: &[u64], void: &[Range<u64>]) -> Taken {
        let item = |number: &u64| Item {
            ticket: Ticket { number: *number, at: Duration::ZERO },
            lost: Vec::new(),
            is_behind_void: false,
            what: What::Event(1, Event::Mark, String::new()),
        };
        Taken { items: numbers.iter().map(item).collect(), void: void.to_vec(), ended: Vec::new() }
    }

    fn numbers(items: VecDeque<Item>) -> Vec<u64> {
        items.into_iter().map(|item| item.ticket.number).collect()
    }

    #[test]
    fn numbers_come_out_in_order() {
        let ms = Duration::from_millis;
        let mut order = Order::default();
        assert_eq!(numbers(order.sort(taken(&[0, 2, 1, 4], &[]), ms(0))), [0, 1, 2]);
        assert!(order.is_waiting());
        assert_eq!(numbers(order.sort(taken(&[5], &[]), ms(1))), [0; 0]);
        assert_eq!(numbers(order.sort(taken(&[3], &[]), ms(2))), [3, 4, 5]);
        // There was no room for some.
        let behind = order.sort(taken(&[10, 8, 11], &[6..8, 9..10]), ms(3));
        let flags: Vec<bool> = behind.iter().map(|item| item.is_behind_void).collect();
        assert_eq!((numbers(behind), flags), (vec![8, 10, 11], vec![true, true, false]));
        assert!(!order.is_waiting());
        // One that hangs is not awaited for ever, and comes when it comes.
        assert_eq!(numbers(order.sort(taken(&[13, 15], &[]), ms(4))), [0; 0]);
        assert_eq!(numbers(order.overdue(ms(10), false)), [0; 0]);
        assert_eq!(numbers(order.overdue(ms(30), false)), [13]);
        assert_eq!(numbers(order.overdue(ms(30), true)), [15]);
        assert_eq!(numbers(order.sort(taken(&[12, 16, 14], &[]), ms(31))), [12, 16, 14]);
    }
}
