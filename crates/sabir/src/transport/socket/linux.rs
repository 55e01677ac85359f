//! Linux takes megabytes for a slow peer unless it is told otherwise.

use std::io;

use socket2::SockRef;

/// Bytes that the kernel takes beyond what is on its way already.
const MOST_UNSENT: u32 = 128 * 1024;

pub(super) fn limit_unsent(socket: &SockRef<'_>) -> io::Result<()> {
    socket.set_tcp_notsent_lowat(MOST_UNSENT)
}
