//! Descriptors: how many connections there may be before a process has none left, and whether it has none.
//!
//! No descriptor is kept in reserve to accept and close with: whoever comes waits in the system's queue until another
//! connection has made room.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::are_spent;
#[cfg(unix)]
use unix::limit;
#[cfg(windows)]
pub(crate) use windows::are_spent;
#[cfg(windows)]
use windows::limit;

/// What a process needs beside its connections, at the least: standard streams, the runtime's own, listeners.
const OTHERS: u64 = 16;

/// How many of so many connections there may be without taking all descriptors that the process may have: an eighth
/// of those is left to whatever else it opens.
pub(crate) fn fitting(total: usize) -> usize {
    match limit() {
        Some(limit) => total.min(share(limit)),
        None => total,
    }
}

fn share(limit: u64) -> usize {
    let share = limit.saturating_sub(limit / 8 + OTHERS).max(1);
    usize::try_from(share).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_else_a_process_opens_has_its_share() {
        for (limit, want) in [(0, 1), (20, 2), (256, 208), (1024, 880), (1 << 20, 917_488)] {
            assert_eq!(share(limit), want, "{limit}");
        }
    }
}
