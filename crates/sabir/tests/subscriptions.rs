//! Subscriptions, as a server and as a client.

#![allow(clippy::unwrap_used)]

#[path = "subscriptions/ends.rs"]
mod ends;
#[cfg(feature = "http")]
#[path = "subscriptions/http.rs"]
mod http;
#[path = "subscriptions/observed.rs"]
mod observed;
#[path = "subscriptions/resubscribe.rs"]
mod resubscribe;
#[cfg(feature = "service")]
#[path = "subscriptions/service.rs"]
mod service;
#[path = "subscriptions/sinks.rs"]
mod sinks;
#[path = "subscriptions/slow.rs"]
mod slow;
#[path = "subscriptions/styles.rs"]
mod styles;
#[path = "subscriptions/support.rs"]
mod support;
#[path = "subscriptions/wire.rs"]
mod wire;
