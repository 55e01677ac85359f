//! Handles have no limit but the system's memory.

use std::io;

/// `ERROR_TOO_MANY_OPEN_FILES`, `WSAEMFILE`, `WSAENOBUFS`.
const SPENT: [i32; 3] = [4, 10024, 10055];

pub(crate) fn limit() -> Option<u64> {
    None
}

/// Whether a connection could not be accepted because this process, or the system, has no room for more.
pub(crate) fn are_spent(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| SPENT.contains(&code))
}
