//! Systems without a limit of their own for what is unsent, or without a safe function for it.

use std::io;

use socket2::SockRef;

pub(super) fn limit_unsent(_: &SockRef<'_>) -> io::Result<()> {
    Ok(())
}
