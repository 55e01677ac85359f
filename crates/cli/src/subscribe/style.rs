//! How families of servers spell a subscription: which method ends it, and which messages belong to it.

use sabir::{ErrorCode, RawJson};

/// How the messages of a subscription are told from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// By the id that the answer to the call gives, in `params.subscription`.
    Id,
    /// `{"notification": EVENT, "params": …}`, which is not JSON-RPC.
    Event,
    /// Notifications of MCP that name the resource.
    Resource,
    /// The call itself stays open.
    Listen,
    /// Whatever comes.
    All,
}

/// How a subscription is spelt.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FollowStyle {
    pub(super) route: Route,
    /// The method that ends it.
    pub(super) unsubscribe: Option<String>,
}

impl FollowStyle {
    /// What is known of a method by its name. `unsubscribe` is what the user says.
    pub(super) fn of(method: Option<&str>, unsubscribe: Option<&str>) -> FollowStyle {
        let by_id = |end: String| FollowStyle { route: Route::Id, unsubscribe: Some(end) };
        let Some(method) = method else { return FollowStyle { route: Route::All, unsubscribe: None } };
        let mut style = match method {
            "rpc.on" => FollowStyle { route: Route::Event, unsubscribe: Some("rpc.off".to_owned()) },
            "resources/subscribe" => {
                FollowStyle { route: Route::Resource, unsubscribe: Some("resources/unsubscribe".to_owned()) }
            }
            "subscriptions/listen" => FollowStyle { route: Route::Listen, unsubscribe: None },
            _ => match (method.rsplit_once("_submitAndWatch"), method.rsplit_once("_follow")) {
                (Some((space, "")), _) => by_id(format!("{space}_unwatch")),
                (_, Some((space, ""))) => by_id(format!("{space}_unfollow")),
                _ => match (method.rsplit_once("subscribe"), method.strip_suffix("Subscribe")) {
                    (_, Some(what)) => by_id(format!("{what}Unsubscribe")),
                    (Some((before, after)), None) => by_id(format!("{before}unsubscribe{after}")),
                    (None, None) => FollowStyle { route: Route::All, unsubscribe: None },
                },
            },
        };
        if let Some(end) = unsubscribe {
            style = FollowStyle { route: Route::Id, unsubscribe: Some(end.to_owned()) };
        }
        style
    }

    /// What the message carries, if it belongs to the subscription. `id` is the answer to the call, `about` the event or
    /// the resource.
    pub(super) fn item(&self, message: &RawJson<'_>, id: &RawJson<'_>, about: Option<&str>) -> Option<Item> {
        let text = |value: Option<RawJson<'_>>| value.and_then(|value| value.parse::<String>().ok());
        let params = message.get("params");
        match self.route {
            Route::Id => {
                let params = params?;
                (params.get("subscription")? == *id).then(|| {
                    match (params.get("result"), params.get("error")) {
                        (None, Some(error)) if is_end(&error) => Item::End,
                        (None, Some(error)) => Item::Error(error.into_owned()),
                        (result, _) => Item::Value(result.unwrap_or(RawJson::NULL).into_owned()),
                    }
                })
            }
            Route::Event => {
                let event = text(message.get("notification"))?;
                about
                    .is_none_or(|about| about == event)
                    .then(|| Item::Value(params.unwrap_or(RawJson::NULL).into_owned()))
            }
            Route::Resource => {
                let is_update = text(message.get("method"))? == "notifications/resources/updated";
                let uri = params.as_ref().and_then(|params| text(params.get("uri")));
                (is_update && about.is_none_or(|about| uri.as_deref() == Some(about)))
                    .then(|| Item::Value(params.unwrap_or(RawJson::NULL).into_owned()))
            }
            Route::Listen | Route::All => {
                let method = text(message.get("method")).filter(|_| message.get("id").is_none())?;
                // That it begins is the answer to the call, and not an item.
                (method != "notifications/subscriptions/acknowledged").then_some(Item::Message)
            }
        }
    }
}

/// Whether an error says that there are no more items.
fn is_end(error: &RawJson<'_>) -> bool {
    let code = error.get("code").and_then(|code| code.parse::<i64>().ok());
    code == Some(ErrorCode::SUBSCRIPTION_FINISHED.0)
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    Value(RawJson<'static>),
    /// There are no more.
    End,
    /// The server ends the subscription for another reason.
    Error(RawJson<'static>),
    /// The notification itself.
    Message,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_is_known() {
        for (method, route, end) in [
            (Some("eth_subscribe"), Route::Id, Some("eth_unsubscribe")),
            (Some("accountSubscribe"), Route::Id, Some("accountUnsubscribe")),
            (Some("chain_subscribeNewHeads"), Route::Id, Some("chain_unsubscribeNewHeads")),
            (Some("subscribe_hello"), Route::Id, Some("unsubscribe_hello")),
            (Some("chainHead_v1_follow"), Route::Id, Some("chainHead_v1_unfollow")),
            (Some("transaction_v1_submitAndWatch"), Route::Id, Some("transaction_v1_unwatch")),
            (Some("rpc.on"), Route::Event, Some("rpc.off")),
            (Some("resources/subscribe"), Route::Resource, Some("resources/unsubscribe")),
            (Some("subscriptions/listen"), Route::Listen, None),
            (Some("aria2.addUri"), Route::All, None),
            (None, Route::All, None),
        ] {
            let want = FollowStyle { route, unsubscribe: end.map(str::to_owned) };
            assert_eq!(FollowStyle::of(method, None), want, "{method:?}");
        }
        let told = FollowStyle::of(Some("watch"), Some("unwatch"));
        assert_eq!((told.route, told.unsubscribe.as_deref()), (Route::Id, Some("unwatch")));
    }

    #[test]
    fn messages_belong_to_one_subscription() {
        let value = |text: &str| Some(Item::Value(RawJson::new(text.to_owned()).expect("JSON")));
        let id = RawJson::new("\"0x1\"").expect("JSON");
        for (method, message, want) in [
            (
                "eth_subscribe",
                r#"{"method":"eth_subscription","params":{"subscription":"0x1","result":{"n":1}}}"#,
                value(r#"{"n":1}"#),
            ),
            (
                "eth_subscribe",
                r#"{"method":"eth_subscription","params":{"subscription":"0x2","result":1}}"#,
                None,
            ),
            ("eth_subscribe", r#"{"id":1,"result":"0x1"}"#, None),
            (
                "subscribe_x",
                r#"{"method":"x","params":{"subscription":"0x1","error":"gone"}}"#,
                Some(Item::Error(RawJson::new("\"gone\"").expect("JSON"))),
            ),
            (
                "subscribe_x",
                r#"{"method":"x","params":{"subscription":"0x1","error":{"code":-32014,"message":"Subscription finished"}}}"#,
                Some(Item::End),
            ),
            ("rpc.on", r#"{"notification":"feed","params":[1]}"#, value("[1]")),
            ("rpc.on", r#"{"notification":"other","params":[1]}"#, None),
            (
                "resources/subscribe",
                r#"{"method":"notifications/resources/updated","params":{"uri":"feed"}}"#,
                value(r#"{"uri":"feed"}"#),
            ),
            ("resources/subscribe", r#"{"method":"notifications/message","params":{"uri":"feed"}}"#, None),
            ("all", r#"{"method":"x"}"#, Some(Item::Message)),
            ("all", r#"{"method":"x","id":1}"#, None),
        ] {
            let message = RawJson::new(message).expect("JSON");
            assert_eq!(
                FollowStyle::of(Some(method), None).item(&message, &id, Some("feed")),
                want,
                "{message}"
            );
        }
    }
}
