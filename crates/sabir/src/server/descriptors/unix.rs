//! `RLIMIT_NOFILE`.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Descriptors that the process may have.
pub(crate) fn limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Whether a connection could not be accepted because this process, or the system, has no descriptor left.
pub(crate) fn are_spent(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}
