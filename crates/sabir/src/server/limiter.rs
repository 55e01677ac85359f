//! How many connections there are, in total and from each address; and which one is closed when no slot is left.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use crate::server::activity::{Activity, Doing};
use crate::sync::lock;

/// How long a connection that was asked to end may take, before another one is asked too. One that is not there any more,
/// or does not want to leave, takes far longer: a place for each of those that wait must not take as long.
const LEAVING: Duration = Duration::from_millis(10);

/// How long to wait before looking again, where none may be closed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long silence lasts before a connection may be closed for others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evictable {
    /// One that does nothing.
    pub(crate) idle: Duration,
    /// One that waits for calls.
    pub(crate) waiting: Duration,
}

/// The connections of a server, counted.
#[derive(Debug)]
pub(crate) struct ConnectionLimiter {
    start: Instant,
    free: Arc<Semaphore>,
    total: u32,
    per_address: usize,
    evictable: Evictable,
    slots: Mutex<Slots>,
    /// A connection has left.
    left: Notify,
}

/// The places that are taken.
#[derive(Debug, Default)]
struct Slots {
    next: u64,
    connections: HashMap<u64, (Option<IpAddr>, Arc<Activity>)>,
    by_address: HashMap<Option<IpAddr>, usize>,
}

/// A connection's place, given back when it is dropped.
pub(crate) struct ConnectionPermit {
    limiter: Arc<ConnectionLimiter>,
    number: u64,
    pub(crate) activity: Arc<Activity>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionLimiter {
    pub(crate) fn new(total: usize, per_address: usize, evictable: Evictable) -> Arc<Self> {
        let total = u32::try_from(total.max(1)).unwrap_or(u32::MAX).min(Semaphore::MAX_PERMITS as u32);
        Arc::new(ConnectionLimiter {
            start: Instant::now(),
            free: Arc::new(Semaphore::new(total as usize)),
            total,
            per_address: per_address.max(1),
            evictable,
            slots: Mutex::default(),
            left: Notify::new(),
        })
    }

    /// A place, if there is one.
    pub(crate) fn try_reserve(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// A place for a connection that waits for one. Those that may be closed are, one after the other, until there is.
    pub(crate) async fn make_room(&self) -> Option<OwnedSemaphorePermit> {
        let mut free = std::pin::pin!(Arc::clone(&self.free).acquire_owned());
        loop {
            let wait = self.evict();
            tokio::select! {
                permit = &mut free => return permit.ok(),
                () = sleep(wait) => {}
            }
        }
    }

    /// Waits until there may be a descriptor again: one connection is asked to end, if there is one that may be closed.
    pub(crate) async fn wait_for_descriptor(&self) {
        let left = self.left.notified();
        let wait = self.evict();
        tokio::select! {
            () = left => {}
            () = sleep(wait) => {}
        }
    }

    /// Asks one connection to end, if there is one that may be closed. Returns how long to wait before the next try.
    ///
    /// Those that do nothing come first, then those that wait for calls; among them those of the address that has the
    /// most connections, and among these the one that has been silent for longest.
    fn evict(&self) -> Duration {
        let now = self.start.elapsed();
        let slots = lock(&self.slots);
        let mut soonest = LOOK_AGAIN;
        let mut chosen: Option<(_, &Activity)> = None;
        for (address, activity) in slots.connections.values() {
            let doing = activity.doing();
            let needed = match doing {
                Doing::Nothing => self.evictable.idle,
                Doing::Waiting => self.evictable.waiting,
                Doing::Ending => continue,
            };
            let last = activity.last();
            let silent = now.saturating_sub(Duration::from_millis(last));
            if let Some(left) = needed.checked_sub(silent).filter(|left| !left.is_zero()) {
                soonest = soonest.min(left);
                continue;
            }
            let share = slots.by_address.get(address).copied().unwrap_or_default();
            let rank = (doing, std::cmp::Reverse(share), last);
            if chosen.is_none_or(|(best, _)| rank < best) {
                chosen = Some((rank, activity));
            }
        }
        match chosen {
            Some((_, activity)) => {
                activity.evict();
                LEAVING
            }
            None => soonest,
        }
    }

    /// Whether an address has all the connections that it may have.
    pub(crate) fn is_at_limit(&self, address: Option<IpAddr>) -> bool {
        let address = address.map(network);
        let count = lock(&self.slots).by_address.get(&address).copied();
        address.is_some() && count.is_some_and(|count| count >= self.per_address)
    }

    /// Lets a connection in, unless its address has too many already.
    pub(crate) fn admit(
        self: &Arc<Self>,
        permit: OwnedSemaphorePermit,
        address: Option<IpAddr>,
    ) -> Option<ConnectionPermit> {
        let address = address.map(network);
        let activity = Arc::new(Activity::new(self.start, Instant::now()));
        let mut slots = lock(&self.slots);
        let Slots { next, connections, by_address } = &mut *slots;
        let count = by_address.entry(address).or_default();
        if address.is_some() && *count >= self.per_address {
            return None;
        }
        *count += 1;
        let number = *next;
        *next += 1;
        connections.insert(number, (address, Arc::clone(&activity)));
        drop(slots);
        Some(ConnectionPermit { limiter: Arc::clone(self), number, activity, _permit: permit })
    }

    /// Waits until all have left.
    pub(crate) async fn wait_until_empty(&self) {
        let _ = self.free.acquire_many(self.total).await;
    }
}

/// Whose address it is: one machine has one of IPv4, and a network of 2^64 of IPv6.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut slots = lock(&self.limiter.slots);
        let Some((address, _)) = slots.connections.remove(&self.number) else { return };
        if let Some(count) = slots.by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                slots.by_address.remove(&address);
            }
        }
        drop(slots);
        self.limiter.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVICTABLE: Evictable =
        Evictable { idle: Duration::from_secs(10), waiting: Duration::from_secs(120) };

    #[tokio::test]
    async fn an_address_has_its_share_and_gets_it_back() {
        let limiter = ConnectionLimiter::new(3, 2, EVICTABLE);
        let (one, other) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let admit = async |address| limiter.admit(limiter.try_reserve()?, Some(address));
        let first = admit(one).await;
        let second = admit(one).await;
        assert!(first.is_some() && second.is_some() && admit(one).await.is_none());
        assert!(admit(other).await.is_some());
        drop(first);
        assert!(admit(one).await.is_some());
        drop(second);
        limiter.wait_until_empty().await;
        let slots = lock(&limiter.slots);
        assert!(slots.by_address.is_empty() && slots.connections.is_empty());
    }

    /// Who is closed, and in which order.
    #[tokio::test(start_paused = true)]
    async fn the_least_used_makes_room() {
        let limiter = ConnectionLimiter::new(6, 6, EVICTABLE);
        let admit = |last| {
            let permit = limiter.try_reserve()?;
            limiter.admit(permit, Some(IpAddr::from([127, 0, 0, last])))
        };
        let second = Duration::from_secs(1);
        // One address has three connections, another one two, and the last one waits for a call.
        let mut permits = Vec::new();
        for address in [2, 1, 1, 2, 1, 3] {
            permits.extend(admit(address));
            tokio::time::advance(second).await;
        }
        permits[5].activity.set(Doing::Waiting);
        permits[1].activity.touch(Instant::now());
        let evicted = |permits: &[ConnectionPermit]| {
            (0..permits.len()).filter(|index| permits[*index].activity.is_evicted()).collect::<Vec<_>>()
        };
        // None of them has been silent for long enough.
        assert!(limiter.evict() <= LOOK_AGAIN);
        assert!(evicted(&permits).is_empty());
        tokio::time::advance(EVICTABLE.idle).await;
        // First those of the address that has the most, the one that is silent for longest before the others.
        let mut order = Vec::new();
        for _ in 0..5 {
            limiter.evict();
            let now = evicted(&permits);
            order.extend(now.iter().copied().filter(|index| !order.contains(index)).collect::<Vec<_>>());
        }
        assert_eq!(order, [2, 4, 1, 0, 3]);
        limiter.evict();
        assert!(!permits[5].activity.is_evicted(), "its call may still be answered");
        tokio::time::advance(EVICTABLE.waiting).await;
        limiter.evict();
        assert!(permits[5].activity.is_evicted());
        // One that leaves makes room for whoever waits.
        let (room, ()) = tokio::join!(limiter.make_room(), async { drop(permits.pop()) });
        assert!(room.is_some());
    }

    /// Those that take their time to leave keep nobody waiting but the first.
    #[cfg(feature = "http")]
    #[tokio::test(start_paused = true)]
    async fn places_do_not_wait_for_one_another() {
        const MANY: usize = 50;
        let second = Duration::from_secs(1);
        let limiter = ConnectionLimiter::new(MANY, MANY, EVICTABLE);
        for _ in 0..MANY {
            let Some(permit) = limiter.try_reserve() else { panic!("there is room") };
            let Some(held) = limiter.admit(permit, None) else { panic!("it is let in") };
            tokio::spawn(async move {
                held.activity.evicted().await;
                sleep(second).await;
                drop(held);
            });
        }
        tokio::time::advance(EVICTABLE.idle).await;
        let start = Instant::now();
        let mut taken = Vec::new();
        for _ in 0..MANY {
            taken.extend(limiter.make_room().await);
        }
        assert_eq!(taken.len(), MANY);
        assert!(start.elapsed() < 2 * second, "{:?}", start.elapsed());
    }

    #[test]
    fn an_address_is_a_machine() {
        for (address, want) in [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2:ffff::", "2001:db8:1:2::"),
            ("2001:db8:1:3::", "2001:db8:1:3::"),
            ("::1", "::"),
        ] {
            let parse = |text: &str| text.parse::<IpAddr>().unwrap_or_else(|_| panic!("{text}"));
            assert_eq!(network(parse(address)), parse(want), "{address}");
        }
    }
}
