//! How many connections there are, in total and from each address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::peer::commands::lock;

/// The connections of a server, counted.
#[derive(Debug)]
pub(crate) struct ConnectionLimiter {
    free: Arc<Semaphore>,
    total: u32,
    per_address: usize,
    is_full: AtomicBool,
    by_address: Mutex<HashMap<IpAddr, usize>>,
}

/// A connection's place, given back when it is dropped.
pub(crate) struct ConnectionPermit {
    limiter: Arc<ConnectionLimiter>,
    address: Option<IpAddr>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionLimiter {
    pub(crate) fn new(total: usize, per_address: usize) -> Arc<Self> {
        let total = u32::try_from(total.max(1)).unwrap_or(u32::MAX).min(Semaphore::MAX_PERMITS as u32);
        Arc::new(ConnectionLimiter {
            free: Arc::new(Semaphore::new(total as usize)),
            total,
            per_address: per_address.max(1),
            is_full: AtomicBool::new(false),
            by_address: Mutex::default(),
        })
    }

    /// Waits until there is room for one more.
    pub(crate) async fn reserve(&self) -> Option<OwnedSemaphorePermit> {
        let free = Arc::clone(&self.free);
        if let Ok(permit) = Arc::clone(&free).try_acquire_owned() {
            return Some(permit);
        }
        self.is_full.store(true, Ordering::Relaxed);
        let permit = free.acquire_owned().await.ok();
        self.is_full.store(false, Ordering::Relaxed);
        permit
    }

    /// Lets a connection in, unless its address has too many already.
    pub(crate) fn admit(
        self: &Arc<Self>,
        permit: OwnedSemaphorePermit,
        address: Option<IpAddr>,
    ) -> Option<ConnectionPermit> {
        let address = address.map(network);
        if let Some(address) = address {
            let mut by_address = lock(&self.by_address);
            let count = by_address.entry(address).or_default();
            if *count >= self.per_address {
                return None;
            }
            *count += 1;
        }
        Some(ConnectionPermit { limiter: Arc::clone(self), address, _permit: permit })
    }

    /// Waits until all have left.
    pub(crate) async fn wait_until_empty(&self) {
        let _ = self.free.acquire_many(self.total).await;
    }
}

/// Whose address it is: one machine has one of IPv4, and a network of 2^64 of IPv6.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

impl ConnectionPermit {
    /// Whether all places are taken, so that others may be waiting for one.
    pub(crate) fn is_wanted(&self) -> bool {
        self.limiter.is_full.load(Ordering::Relaxed)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some(address) = self.address else { return };
        let mut by_address = lock(&self.limiter.by_address);
        if let Some(count) = by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                by_address.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_has_its_share_and_gets_it_back() {
        let limiter = ConnectionLimiter::new(3, 2);
        let (one, other) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let admit = async |address| limiter.admit(limiter.reserve().await?, Some(address));
        let first = admit(one).await;
        let second = admit(one).await;
        assert!(first.is_some() && second.is_some() && admit(one).await.is_none());
        assert!(admit(other).await.is_some());
        drop(first);
        assert!(admit(one).await.is_some());
        drop(second);
        limiter.wait_until_empty().await;
        assert!(lock(&limiter.by_address).is_empty());
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
