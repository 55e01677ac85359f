//! How every TCP socket is set up, whoever has opened it.

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "other.rs")]
mod platform;

use std::io;

use socket2::SockRef;

/// Sends small messages at once, and leaves to the kernel no more than it needs to keep the connection busy: an answer
/// cannot overtake the items of a subscription that the kernel has.
pub(crate) fn prepare<'s>(socket: impl Into<SockRef<'s>>) -> io::Result<()> {
    let socket = socket.into();
    socket.set_tcp_nodelay(true)?;
    platform::limit_unsent(&socket)
}
