//! How many bytes a connection, and all connections of a server together, may hold.
//!
//! One type for every protocol: bodies, queued requests and unsent answers are reserved before, or as, they are kept. A
//! reservation that is refused means that new work is refused; what has its bytes already is not touched.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Reservations are made in steps of this size. What is smaller costs nothing: no atomic operation, and no bytes.
pub(crate) const STEP: usize = 64 * 1024;

/// Bytes that may be held, and how many are.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    limit: usize,
    used: AtomicUsize,
    /// What is held here is held there too.
    parent: Option<Arc<MemoryBudget>>,
}

impl MemoryBudget {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(MemoryBudget { limit, used: AtomicUsize::new(0), parent: None })
    }

    /// A part of this one, with a limit of its own.
    #[cfg(any(feature = "http", test))]
    pub(crate) fn child(self: &Arc<Self>, limit: usize) -> Arc<Self> {
        Arc::new(MemoryBudget { limit, used: AtomicUsize::new(0), parent: Some(Arc::clone(self)) })
    }

    /// Whether so much is held here that what comes next would most likely be refused once it is done. What the
    /// others hold makes no difference.
    pub(crate) fn is_nearly_spent(&self) -> bool {
        self.used.load(Relaxed) > self.limit - self.limit / 8
    }

    #[cfg(test)]
    fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    fn take(&self, bytes: usize) -> bool {
        let before = self.used.fetch_add(bytes, Relaxed);
        let fits = before.checked_add(bytes).is_some_and(|sum| sum <= self.limit)
            && self.parent.as_ref().is_none_or(|parent| parent.take(bytes));
        if !fits {
            self.used.fetch_sub(bytes, Relaxed);
        }
        fits
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Relaxed);
        if let Some(parent) = &self.parent {
            parent.give_back(bytes);
        }
    }
}

/// Bytes of a budget, given back when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Reservation {
    /// Whose bytes these are, and how many: whole steps.
    held: Option<(Arc<MemoryBudget>, usize)>,
}

impl Reservation {
    /// Bytes that are held all at once; `None` if there is no room for them.
    #[cfg(feature = "http")]
    pub(crate) fn of(budget: &Arc<MemoryBudget>, bytes: usize) -> Option<Self> {
        let mut reservation = Reservation::default();
        reservation.resize(budget, bytes).then_some(reservation)
    }

    /// Holds so many bytes from now on. `false` if there is no room for them: then it holds what it did before.
    #[inline]
    pub(crate) fn resize(&mut self, budget: &Arc<MemoryBudget>, bytes: usize) -> bool {
        let wanted = bytes - bytes % STEP;
        let held = self.held.as_ref().map_or(0, |(_, held)| *held);
        // One step more than is needed is kept: what goes up and down by little stays as it is.
        if wanted <= held && held - wanted <= STEP && (wanted > 0 || held == 0) {
            return true;
        }
        self.change(budget, wanted, held)
    }

    #[cold]
    fn change(&mut self, budget: &Arc<MemoryBudget>, wanted: usize, held: usize) -> bool {
        if wanted > held {
            let owner = self.held.as_ref().map_or(budget, |(owner, _)| owner);
            if !owner.take(wanted - held) {
                return false;
            }
        }
        let owner = match self.held.take() {
            Some((owner, _)) => owner,
            None => Arc::clone(budget),
        };
        if wanted < held {
            owner.give_back(held - wanted);
        }
        self.held = (wanted > 0).then_some((owner, wanted));
        true
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some((budget, bytes)) = self.held.take() {
            budget.give_back(bytes);
        }
    }
}

#[cfg(feature = "http")]
struct Counted(bytes::Bytes, #[expect(dead_code, reason = "dropped with the bytes")] Reservation);

#[cfg(feature = "http")]
impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Keeps a reservation for as long as anybody holds the bytes that it is for.
#[cfg(feature = "http")]
pub(crate) fn attach(bytes: bytes::Bytes, reservation: Reservation) -> bytes::Bytes {
    match reservation.held {
        Some(_) => bytes::Bytes::from_owner(Counted(bytes, reservation)),
        None => bytes,
    }
}

/// Bytes that are part of a budget for as long as anybody holds them; `None` if there is no room for them.
#[cfg(feature = "http")]
pub(crate) fn reserve_bytes(budget: &Arc<MemoryBudget>, bytes: bytes::Bytes) -> Option<bytes::Bytes> {
    let reservation = Reservation::of(budget, bytes.len())?;
    Some(attach(bytes, reservation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_is_given_back() {
        let server = MemoryBudget::new(10 * STEP);
        let (one, other) = (server.child(8 * STEP), server.child(8 * STEP));
        let mut first = Reservation::default();
        assert!(first.resize(&one, STEP - 1));
        assert_eq!((one.used(), server.used()), (0, 0), "what is small costs nothing");
        assert!(first.resize(&one, 6 * STEP + 1));
        assert_eq!((one.used(), server.used()), (6 * STEP, 6 * STEP));
        assert!(!one.is_nearly_spent() && !server.is_nearly_spent());
        // Over the limit of the connection, and over that of the server.
        assert!(!first.resize(&one, 9 * STEP));
        let mut second = Reservation::default();
        assert!(!second.resize(&other, 5 * STEP));
        assert_eq!((one.used(), other.used(), server.used()), (6 * STEP, 0, 6 * STEP));
        assert!(second.resize(&other, 4 * STEP));
        assert!(!one.is_nearly_spent() && server.is_nearly_spent());
        // For one step less nothing is given back; for none at all, everything is.
        assert!(first.resize(&one, 5 * STEP));
        assert_eq!(one.used(), 6 * STEP);
        assert!(first.resize(&one, 0));
        assert_eq!((one.used(), server.used()), (0, 4 * STEP));
        drop(second);
        assert_eq!((other.used(), server.used()), (0, 0));
    }

    #[cfg(feature = "http")]
    #[test]
    fn bytes_are_counted_until_the_last_of_them_is_dropped() {
        let budget = MemoryBudget::new(4 * STEP);
        let all = reserve_bytes(&budget, bytes::Bytes::from(vec![0; 3 * STEP])).unwrap_or_default();
        let part = all.slice(..10);
        drop(all);
        assert_eq!(budget.used(), 3 * STEP);
        assert!(reserve_bytes(&budget, bytes::Bytes::from(vec![0; 2 * STEP])).is_none());
        drop(part);
        assert_eq!(budget.used(), 0);
    }
}
