//! Each spelling, between our own client and server, and as it is on the wire.

use futures_util::{StreamExt, stream};
use sabir::{Observed, Router, SinkEnd, Subscription, SubscriptionEnd, SubscriptionStyle, transport};
use serde_json::{Value, json};

use crate::support::{all, client};

/// The same items in every style.
fn serving(style: SubscriptionStyle) -> Router {
    Router::new().subscription(style, |_, more: Option<Value>| async move {
        Ok(stream::iter([json!(1), json!({"a": [2]})]).chain(stream::iter(more)).chain(stream::pending()))
    })
}

async fn first_two(subscription: &mut Subscription<Value>) -> Vec<Value> {
    subscription.take(2).map(Result::unwrap).collect().await
}

#[tokio::test]
async fn ids_have_the_form_of_their_style() {
    for (style, form) in [
        (
            SubscriptionStyle::new("chain_subscribeNewHead", "chain_newHead", "chain_unsubscribeNewHead"),
            "text",
        ),
        (SubscriptionStyle::ethereum("newHeads"), "hex"),
        (SubscriptionStyle::namespace("debug", "calls"), "hex"),
        (SubscriptionStyle::solana("slot"), "number"),
    ] {
        let peer = client(serving(style.clone())).await;
        let mut items = peer.subscribe::<Value>(style.clone(), ()).await.unwrap();
        let id = items.id().text().to_owned();
        let fits = match form {
            "text" => id.len() == 18,
            "hex" => id.starts_with("\"0x") && !id.starts_with("\"0x0"),
            _ => id.parse::<u64>().is_ok_and(|id| id <= 1 << 53),
        };
        assert!(fits, "{style:?}: {id}");
        assert_eq!(first_two(&mut items).await, [json!(1), json!({"a": [2]})]);
        let other = peer.subscribe::<Value>(style, ()).await.unwrap();
        assert_ne!(other.id().text(), id);
        assert!(items.unsubscribe().await);
    }
}

#[tokio::test]
async fn one_method_subscribes_to_several_things() {
    let router = Router::new()
        .subscription(SubscriptionStyle::ethereum("newHeads"), |_, ()| async { Ok(stream::iter([1])) })
        .subscription(SubscriptionStyle::ethereum("logs"), |_, (filter,): (Value,)| async move {
            Ok(stream::iter([filter]))
        });
    let peer = client(router).await;
    let mut heads = peer.subscribe::<Value>(SubscriptionStyle::ethereum("newHeads"), ()).await.unwrap();
    let filter = json!({"address": "0x1"});
    let mut logs = peer.subscribe::<Value>(SubscriptionStyle::ethereum("logs"), &filter).await.unwrap();
    assert_eq!(heads.next().await, Some(Ok(json!(1))));
    assert_eq!(logs.next().await, Some(Ok(filter)));
    let unknown = peer.subscribe::<Value>(SubscriptionStyle::ethereum("weather"), ()).await.unwrap_err();
    assert!(unknown.to_string().contains("there is no subscription `weather`"), "{unknown}");
}

#[tokio::test]
async fn notifications_of_a_method_need_no_subscribing() {
    let (a, b) = transport::memory();
    let server = sabir::connect(a, Router::new()).await.unwrap();
    let peer = sabir::connect(b, Router::new()).await.unwrap();
    let style = SubscriptionStyle::method("aria2.onDownloadStart");
    let mut one = peer.subscribe::<Value>(style.clone(), ()).await.unwrap();
    let mut two = peer.subscribe::<Value>(style, ()).await.unwrap();
    server.notify("aria2.onDownloadStart", json!([{"gid": "1"}])).await.unwrap();
    for items in [&mut one, &mut two] {
        assert_eq!(items.next().await, Some(Ok(json!([{"gid": "1"}]))));
    }
    assert!(one.unsubscribe().await);
    server.notify("aria2.onDownloadStart", json!([{"gid": "2"}])).await.unwrap();
    assert_eq!(two.next().await, Some(Ok(json!([{"gid": "2"}]))));
    assert_eq!(one.next().await, None);
    server.close();
    assert_eq!(two.next().await, None);
}

#[tokio::test]
async fn the_response_is_the_end_of_a_request_that_is_a_subscription() {
    let listen = SubscriptionStyle::mcp_listen();
    let change = json!({"method": "notifications/tools/list_changed", "params": {"a": 1}});
    let router = Router::new()
        .subscription(listen.clone(), {
            let change = change.clone();
            move |_, _: Value| {
                let change = change.clone();
                async move { Ok(stream::iter([change])) }
            }
        })
        .subscription(SubscriptionStyle::lsp_partial("textDocument/references"), |_, _: Value| async {
            Ok(stream::iter([json!([1]), json!([2, 3])]))
        });
    let peer = client(router).await;
    let mut changes = peer.subscribe::<Value>(listen, json!({"notifications": {}})).await.unwrap();
    let items = all(&mut changes).await;
    let id: Value = serde_json::from_str(changes.id().text()).unwrap();
    let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
    assert_eq!(items, [Ok(json!({"method": change["method"], "params": {"_meta": meta, "a": 1}}))]);
    let Some(SubscriptionEnd::Finished(Some(result))) = changes.end() else { panic!("{:?}", changes.end()) };
    assert_eq!(result.parse::<Value>().unwrap(), json!({"resultType": "complete", "_meta": meta}));

    let references = SubscriptionStyle::lsp_partial("textDocument/references");
    let mut parts = peer.subscribe::<Vec<u8>>(references, json!({"x": 1})).await.unwrap();
    assert_eq!(all(&mut parts).await, [Ok(vec![1]), Ok(vec![2, 3])]);
    let Some(SubscriptionEnd::Finished(Some(rest))) = parts.end() else { panic!("{:?}", parts.end()) };
    assert_eq!(rest.as_str(), "[]");
}

/// Each part repeats the token.
#[tokio::test]
async fn a_token_that_is_too_long_is_refused() {
    let references = SubscriptionStyle::lsp_partial("textDocument/references");
    let router = Router::new()
        .subscription(references, |_, _: Value| async { Ok(stream::iter([json!([1]), json!([2, 3])])) });
    let peer = client(router).await;
    for (length, fits) in [(1022, true), (1023, false)] {
        let params = json!({"partialResultToken": "x".repeat(length)});
        let answer = peer.call::<Value>("textDocument/references", params).await;
        match answer {
            Ok(rest) => assert!(fits && rest == json!([]), "{length}: {rest}"),
            Err(error) => assert!(!fits && error.to_string().starts_with("-32602"), "{length}: {error}"),
        }
    }
}

/// Solana's nodes forget a subscription to a signature with the outcome, and so do both of our sides.
#[tokio::test]
async fn the_outcome_of_a_signature_is_the_end() {
    let style = SubscriptionStyle::solana("signature");
    let (received, outcome) = (json!({"value": "receivedSignature"}), json!({"value": {"err": null}}));
    let told = [received.clone(), outcome.clone(), outcome.clone()];
    let (tell, mut ended) = tokio::sync::mpsc::unbounded_channel();
    let router = Router::new()
        .subscription(style.clone(), move |_, (_,): (String,)| {
            let told = told.clone();
            async move { Ok(stream::iter(told).chain(stream::pending())) }
        })
        .observe(move |event| {
            if let Observed::SubscriptionEnded { end, sent, .. } = event {
                let _ = tell.send((*end, *sent));
            }
        });
    let peer = client(router).await;
    let mut items = peer.subscribe::<Value>(style, ("signature",)).await.unwrap();
    assert_eq!(all(&mut items).await, [Ok(received), Ok(outcome)]);
    assert_eq!(items.end(), Some(SubscriptionEnd::Finished(None)));
    assert_eq!(ended.recv().await, Some((Some(SinkEnd::Finished), 2)));
}
