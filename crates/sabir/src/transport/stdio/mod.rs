//! The process's own standard input and output.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
pub(crate) mod platform;

use super::Transport;
use super::network::Network;

/// Standard input and output, with the output guarded: from this call on, what anything else in the process prints
/// goes to standard error, for the rest of the process's life, and the protocol stays clean. See
/// [`Stdio::unguarded`].
///
/// The connection ends when the input does, after everything is answered. Signals end the process, as they do
/// without it; with [`with_signals`](Transport::with_signals), SIGTERM and SIGINT, on Windows Ctrl-C, Ctrl-Break and the
/// closing of the console, let it finish what is open.
///
/// On Windows standard input is guarded, too: others find it at its end. There the standard streams are read and
/// written by threads, which do not hold up the end of the process. A console is left as it is.
pub fn stdio() -> Transport {
    Stdio { guarded: true }.transport()
}

/// Standard input and output, for those who want them otherwise than [`stdio`] has them.
#[derive(Debug)]
pub struct Stdio {
    guarded: bool,
}

impl Stdio {
    /// Leaves standard output as it is: whoever prints to it breaks the protocol.
    pub fn unguarded() -> Transport {
        Stdio { guarded: false }.transport()
    }

    fn transport(self) -> Transport {
        // At once, not when it is opened: a program may print in between.
        let streams = platform::streams(self.guarded);
        Transport::new(move || platform::open(streams?)).over(Network::pipe())
    }
}
