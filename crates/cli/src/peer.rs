//! A peer to talk to, as the options of a command describe it.

use std::time::Duration;

use sabir::Framing;

use crate::target::Target;
use crate::web::Web;

#[derive(Debug, Clone)]
pub(crate) struct PeerOptions {
    pub(crate) target: Target,
    pub(crate) framing: Framing,
    pub(crate) web: Web,
    pub(crate) timeout: Duration,
    /// The largest message that is accepted.
    pub(crate) max_size: usize,
    /// Whether `--trace` was given. `None` if the command does not have it.
    pub(crate) trace: Option<bool>,
}

impl PeerOptions {
    pub(crate) fn traces(&self) -> bool {
        self.trace == Some(true)
    }

    /// The framing on the wire: none where the transport delimits messages.
    pub(crate) fn wire_framing(&self) -> Framing {
        if self.target.delimits_messages() { Framing::Whole } else { self.framing }
    }
}
