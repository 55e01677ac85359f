//! How the users of JSON-RPC write subscriptions, as plain data.
//!
//! JSON-RPC has none of its own. All that are in use are of three shapes: the response names the subscription, and
//! each item names it too; the request itself is the subscription, and its response is the end; or items simply come,
//! under a method of their own.
//!
//! | style | subscribe | items | unsubscribe | end |
//! |---|---|---|---|---|
//! | [`new`](SubscriptionStyle::new): jsonrpsee, Substrate | any method; the response is a string | any method, `{subscription, result}` | any method, `[id]` → boolean | `{subscription, error}` if it failed |
//! | [`notified`](SubscriptionStyle::notified) | the same | the same | the same | `{subscription, error}` always; the code is `-32014` if it just finished |
//! | [`ethereum`](SubscriptionStyle::ethereum) | `eth_subscribe [name, …]` → `"0x…"` | `eth_subscription` | `eth_unsubscribe [id]` | none |
//! | [`namespace`](SubscriptionStyle::namespace): geth's others | `<ns>_subscribe [name, …]` | `<ns>_subscription` | `<ns>_unsubscribe [id]` | none |
//! | [`solana`](SubscriptionStyle::solana) | `<name>Subscribe` → an integer | `<name>Notification` | `<name>Unsubscribe [id]` | none; of `signature`: the item with the outcome |
//! | [`method`](SubscriptionStyle::method) | nothing is sent | the method; all params are the item | nothing is sent | none |
//! | [`mcp_listen`](SubscriptionStyle::mcp_listen) | `subscriptions/listen`; no response yet | notifications with the request's id in `_meta` | a cancel | the response |
//! | [`lsp_partial`](SubscriptionStyle::lsp_partial) | any method, with a `partialResultToken` | `$/progress {token, value}` | a cancel | the response |

use std::borrow::Cow;

use crate::json::cursor::Cursor;
use crate::json::raw::JsonKind;

/// How a subscription is written on the wire: which methods, which ids, and how its end is told.
///
/// Start from a function and change what you need:
///
/// ```
/// use sabir_proto::{SubscriptionIds, SubscriptionStyle};
///
/// let heads = SubscriptionStyle::new("chain_subscribeNewHead", "chain_newHead", "chain_unsubscribeNewHead");
/// let numbered = SubscriptionStyle { ids: SubscriptionIds::Number, ..heads };
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionStyle {
    /// The method that subscribes. Empty if nothing is asked, and items simply come.
    pub subscribe: Cow<'static, str>,
    /// The first argument, where one method subscribes to several things: `newHeads`.
    pub topic: Option<Cow<'static, str>>,
    /// The method of the notifications that carry items. Empty if they have methods of their own.
    pub notification: Cow<'static, str>,
    /// The method that unsubscribes. Empty if there is none.
    pub unsubscribe: Cow<'static, str>,
    /// How an item names its subscription.
    pub routing: Routing,
    /// What the ids look like that a server gives out. A client takes any.
    pub ids: SubscriptionIds,
    /// How a server tells the end.
    pub end: EndSignal,
}

/// How an item names its subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Routing {
    /// By the id from the response: `{"subscription": id, "result": item}`.
    Id,
    /// By the token that the request carries as `partialResultToken`: `{"token": token, "value": item}`.
    Token,
    /// By the id of the request, in `_meta["io.modelcontextprotocol/subscriptionId"]`. An item is a notification with
    /// a method of its own: `{"method": …, "params": {…}}`.
    Meta,
    /// By the method: all params are the item.
    Method,
}

/// What the ids of subscriptions look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubscriptionIds {
    /// A string of 16 characters: `"93ae4c1f02b7d815"`.
    Text,
    /// A string of hexadecimal digits without leading zeros: `"0x93ae4c1f02b7d815"`.
    Hex,
    /// An integer of up to 53 bits, which every JSON library can hold.
    Number,
}

/// How a server tells that a subscription is over, if the subscriber has not ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndSignal {
    /// By nothing. A subscriber that reads too slowly, and is not to miss items unknowingly, loses its connection.
    Silent,
    /// By an item with `error` in place of `result` if it failed, and by nothing if it just finished.
    IfFailed,
    /// By an item with `error` in place of `result`, with the code `-32014` if it just finished.
    Always,
    /// By the response to the request.
    Response,
    /// By an item: the first whose `value` is not a string. So Solana's subscriptions to a signature end with what has
    /// become of the transaction; a string says only that it was received. Nothing else is told.
    Outcome,
}

impl EndSignal {
    /// Whether no message says that a subscription has failed. Where its subscriber is not to miss items unknowingly, the
    /// connection is all that can be ended.
    pub fn is_silent(self) -> bool {
        matches!(self, EndSignal::Silent | EndSignal::Outcome)
    }

    /// Whether no item follows this one, which is valid JSON.
    pub(crate) fn is_by(self, item: &str) -> bool {
        let value = || Cursor::trusted(item).member("value");
        self == EndSignal::Outcome && !value().is_some_and(|value| JsonKind::of(value) == JsonKind::String)
    }
}

impl SubscriptionStyle {
    /// Constants cannot change a member of another value: so all of them come in at once.
    const fn of(methods: [&'static str; 3], routing: Routing, ids: SubscriptionIds, end: EndSignal) -> Self {
        let [subscribe, notification, unsubscribe] = methods;
        SubscriptionStyle {
            subscribe: Cow::Borrowed(subscribe),
            topic: None,
            notification: Cow::Borrowed(notification),
            unsubscribe: Cow::Borrowed(unsubscribe),
            routing,
            ids,
            end,
        }
    }

    /// The style of jsonrpsee and Substrate: the methods that subscribe, carry items, and unsubscribe. A stream that just
    /// finishes says nothing, as theirs do; [`notified`](Self::notified) tells that too.
    pub const fn new(subscribe: &'static str, notification: &'static str, unsubscribe: &'static str) -> Self {
        let methods = [subscribe, notification, unsubscribe];
        SubscriptionStyle::of(methods, Routing::Id, SubscriptionIds::Text, EndSignal::IfFailed)
    }

    /// As [`new`](Self::new), and the subscriber learns of every end: of one without a failure by the code
    /// [`SUBSCRIPTION_FINISHED`](crate::ErrorCode::SUBSCRIPTION_FINISHED). For streams that have an end, between
    /// programs that know of it.
    pub const fn notified(
        subscribe: &'static str,
        notification: &'static str,
        unsubscribe: &'static str,
    ) -> Self {
        let methods = [subscribe, notification, unsubscribe];
        SubscriptionStyle::of(methods, Routing::Id, SubscriptionIds::Text, EndSignal::Always)
    }

    /// Ethereum: `eth_subscribe ["newHeads"]`. Its subscribers are not told of the end: [`EndSignal::Silent`].
    pub const fn ethereum(name: &'static str) -> Self {
        SubscriptionStyle {
            subscribe: Cow::Borrowed("eth_subscribe"),
            topic: Some(Cow::Borrowed(name)),
            notification: Cow::Borrowed("eth_subscription"),
            unsubscribe: Cow::Borrowed("eth_unsubscribe"),
            routing: Routing::Id,
            ids: SubscriptionIds::Hex,
            end: EndSignal::Silent,
        }
    }

    /// A namespace of geth: `<namespace>_subscribe [name]`. Its subscribers are not told of the end.
    pub fn namespace(namespace: &str, name: impl Into<Cow<'static, str>>) -> Self {
        SubscriptionStyle {
            subscribe: format!("{namespace}_subscribe").into(),
            topic: Some(name.into()),
            notification: format!("{namespace}_subscription").into(),
            unsubscribe: format!("{namespace}_unsubscribe").into(),
            ..SubscriptionStyle::ethereum("")
        }
    }

    /// Solana: `slotSubscribe` for `slot`. Its subscribers are not told of the end. Only those to a `signature` know it:
    /// they are over with the outcome of the transaction ([`EndSignal::Outcome`]).
    pub fn solana(name: &str) -> Self {
        SubscriptionStyle {
            subscribe: format!("{name}Subscribe").into(),
            notification: format!("{name}Notification").into(),
            unsubscribe: format!("{name}Unsubscribe").into(),
            ids: SubscriptionIds::Number,
            end: if name == "signature" { EndSignal::Outcome } else { EndSignal::Silent },
            ..SubscriptionStyle::new("", "", "")
        }
    }

    /// Notifications of one method, which come without being asked for. Nothing tells that there will be no more.
    pub fn method(notification: impl Into<Cow<'static, str>>) -> Self {
        SubscriptionStyle {
            notification: notification.into(),
            routing: Routing::Method,
            end: EndSignal::Silent,
            ..SubscriptionStyle::new("", "", "")
        }
    }

    /// `subscriptions/listen` of the Model Context Protocol.
    pub const fn mcp_listen() -> Self {
        let methods = ["subscriptions/listen", "", ""];
        SubscriptionStyle::of(methods, Routing::Meta, SubscriptionIds::Text, EndSignal::Response)
    }

    /// Partial results of a method of the Language Server Protocol.
    pub fn lsp_partial(method: impl Into<Cow<'static, str>>) -> Self {
        SubscriptionStyle {
            subscribe: method.into(),
            notification: Cow::Borrowed("$/progress"),
            routing: Routing::Token,
            end: EndSignal::Response,
            ..SubscriptionStyle::new("", "", "")
        }
    }
}

impl SubscriptionIds {
    /// The JSON text of an id made of these random bits.
    pub(crate) fn text(self, random: u64) -> String {
        match self {
            SubscriptionIds::Text => format!("\"{random:016x}\""),
            SubscriptionIds::Hex => format!("\"{random:#x}\""),
            SubscriptionIds::Number => (random >> 11).to_string(),
        }
    }
}
