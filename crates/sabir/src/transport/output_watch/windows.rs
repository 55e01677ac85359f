//! Nobody can be watched here.

use std::io;
use std::task::{Context, Poll};

/// There is none.
pub(crate) enum OutputWatch {}

impl OutputWatch {
    pub(crate) fn watch(&mut self) {
        match *self {}
    }

    pub(crate) fn poll_gone(&mut self, _: &mut Context<'_>) -> Poll<io::Error> {
        match *self {}
    }
}
