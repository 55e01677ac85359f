//! Checks records one after the other: messages, sessions, calls, findings.

pub(crate) mod calls;
pub(crate) mod checker;
pub(crate) mod finding;
pub(crate) mod message;
pub(crate) mod message_check;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod values;
