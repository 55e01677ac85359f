//! Schemas that messages have to match: those that a session shows in its own answers, to `rpc.discover` and to
//! `tools/list`, and those that somebody gives. Which rule a mismatch breaks is decided by those who ask.
//!
//! The validator is heavy, and there only with the feature `schemas`. Without it nothing is learned or checked.

mod openrpc;
#[cfg_attr(not(feature = "schemas"), path = "unchecked.rs")]
mod schema;
mod tool;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use openrpc::{NotOpenRpc, OpenRpc};
use schema::Schema;
pub(crate) use tool::Tool;

/// Bytes of schemas that all sessions may show together. What is beyond it is not learned.
const SEEN_BYTES: usize = 4 << 20;

/// Something does not match.
pub(crate) struct Mismatch<'t> {
    /// The value, unless it is one that is missing.
    pub(crate) part: Option<&'t str>,
    pub(crate) what: String,
}

/// How much has been learned from sessions that are still there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Room(Arc<AtomicUsize>);

impl Room {
    /// Takes room for so many bytes, if there is any left.
    fn take(&self, bytes: usize) -> Option<Taken> {
        let taken = self.0.load(Ordering::Relaxed);
        if !cfg!(feature = "schemas") || taken + bytes > SEEN_BYTES {
            return None;
        }
        self.0.store(taken + bytes, Ordering::Relaxed);
        Some(Taken { room: self.clone(), bytes })
    }
}

/// Room that is given back with what it was taken for.
#[derive(Debug)]
struct Taken {
    room: Room,
    bytes: usize,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.room.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
