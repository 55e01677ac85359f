//! How subscriptions are written that pass through a proxy: by the names of their methods, or as they were declared.

use sabir_proto::{JsonKind, SubscriptionStyle};

use crate::RawJson;
use crate::router::Routes;

/// How a subscription is written, as far as it is known.
pub(super) struct Spelling {
    pub(super) unsubscribe: String,
    pub(super) notification: Option<String>,
    pub(super) is_declared: bool,
    pub(super) is_silent: bool,
}

impl Spelling {
    /// Of a method that subscribes, or is called as if it did.
    pub(super) fn of(routes: &Routes, method: &str) -> Option<Self> {
        let declared = |style: &&SubscriptionStyle| style.subscribe == method;
        if let Some(style) = routes.forward_subscriptions.iter().find(declared) {
            return Some(Spelling {
                unsubscribe: style.unsubscribe.clone().into_owned(),
                notification: Some(style.notification.clone().into_owned()).filter(|name| !name.is_empty()),
                is_declared: true,
                is_silent: style.end.is_silent(),
            });
        }
        let (before, after) = split_at_subscribe(method)?;
        let un = if method[before.len()..].starts_with('S') { "Un" } else { "un" };
        (!before.ends_with("un") && !before.ends_with("Un")).then(|| Spelling {
            unsubscribe: format!("{before}{un}subscribe{after}"),
            notification: None,
            is_declared: false,
            is_silent: false,
        })
    }

    /// Whether a method unsubscribes, or is called as if it did.
    pub(super) fn is_unsubscribe(routes: &Routes, method: &str) -> bool {
        routes.forward_subscriptions.iter().any(|style| style.unsubscribe == method)
            || split_at_subscribe(method)
                .is_some_and(|(before, _)| before.ends_with("un") || before.ends_with("Un"))
    }
}

/// Whether a method subscribes or unsubscribes, or is called as if it did.
pub(super) fn may_subscribe(routes: &Routes, method: &str) -> bool {
    split_at_subscribe(method).is_some()
        || routes
            .forward_subscriptions
            .iter()
            .any(|style| style.subscribe == method || style.unsubscribe == method)
}

/// What is before and behind `subscribe` in a name.
fn split_at_subscribe(method: &str) -> Option<(&str, &str)> {
    // Names are short: a search that prepares itself would cost more than the rest of the way.
    let at = method.as_bytes().windows(8).position(|part| part == b"ubscribe")?.checked_sub(1)?;
    let starts = matches!(method.as_bytes().get(at), Some(b's' | b'S'));
    starts.then(|| (&method[..at], &method[at + "subscribe".len()..]))
}

/// Ethereum's nodes and Solana's have no message for the end, and their items are called so.
pub(super) fn is_silent(notification: &str) -> bool {
    notification.ends_with("_subscription") || notification.ends_with("Notification")
}

/// Whether no item follows this one: it reports the end, or what has become of a transaction of Solana, whose
/// subscriptions to a signature are over with that. A text in its place says only that the transaction was received.
pub(super) fn is_last(notification: &str, params: &RawJson<'_>) -> bool {
    let is_text =
        |result: RawJson<'_>| result.get("value").is_some_and(|value| value.kind() == JsonKind::String);
    params.get("error").is_some()
        || (notification == "signatureNotification" && !params.get("result").is_some_and(is_text))
}

/// What the params of a call to unsubscribe name: by position, or by name, as our own servers take it, too.
pub(super) fn unsubscribed_id<'p>(params: &'p RawJson<'_>) -> Option<RawJson<'p>> {
    let by_name = || params.get("subscription").or_else(|| params.get("id"));
    params.elements().next().or_else(by_name)
}
