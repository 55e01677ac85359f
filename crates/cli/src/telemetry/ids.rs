//! Ids of traces and spans: as unlikely to meet again as random numbers, without asking the system for each.

use std::sync::atomic::{AtomicU64, Ordering};

/// Steps of the golden ratio: every state comes once before any comes again.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug)]
pub(super) struct Ids(AtomicU64);

impl Ids {
    pub(super) fn new() -> Self {
        let mut seed = [0; 8];
        // Without a seed, ids are still apart from each other in this process.
        let _ = getrandom::fill(&mut seed);
        Ids(AtomicU64::new(u64::from_le_bytes(seed)))
    }

    /// The finaliser of SplitMix64 over a counter. Never 0, which stands for no id.
    fn next(&self) -> u64 {
        let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).max(1)
    }

    pub(super) fn trace(&self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    pub(super) fn span(&self) -> u64 {
        self.next()
    }
}
