//! Subscriptions in a session over HTTP: the stream for their items is opened for them, and what comes if there is none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sabir::{CallError, Peer, Router, SubscriptionEnd, SubscriptionStyle};

use crate::script::{Act, Script, Seen, events, full, json, status, three, within};

const STYLE: SubscriptionStyle = SubscriptionStyle::new("subscribe", "item", "unsubscribe");

/// Has a session and a subscription, and this in place of its own stream.
async fn serving(stream: impl Fn() -> Act + Send + Sync + 'static) -> (Script, Peer) {
    let script = Script::answer(move |seen: &Seen| match seen.method() {
        "GET" => stream(),
        "DELETE" => status("200 OK", ""),
        _ if seen.body.contains("\"initialize\"") => {
            let headers = "content-type: application/json\r\nMcp-Session-Id: s-1\r\n";
            Act::Send(full("200 OK", headers, &three(seen)))
        }
        _ if seen.body.contains("\"id\"") => json(&three(seen)),
        _ => status("202 Accepted", ""),
    })
    .await;
    let peer = sabir::connect(script.url(), Router::new()).await.unwrap();
    assert_eq!(within(peer.call("initialize", ())).await, Ok(3));
    (script, peer)
}

/// Items of subscription 3, from this number on.
fn items(from: u64) -> String {
    let item = |n| {
        let params = format!("{{\"subscription\":3,\"result\":{n}}}");
        format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"item\",\"params\":{params}}}\n\n")
    };
    format!("retry: 1\n{}{}", item(from), item(from + 1))
}

fn kinds(seen: &[Seen]) -> Vec<&str> {
    let kind = |seen: &'_ Seen| match seen.method() {
        "POST" if seen.body.contains("unsubscribe") => "unsubscribe",
        "POST" if seen.body.contains("subscribe") => "subscribe",
        _ => "",
    };
    seen.iter().map(|seen| if kind(seen).is_empty() { seen.method() } else { kind(seen) }).collect()
}

#[tokio::test]
async fn the_stream_is_open_before_the_request_to_subscribe_is_sent() {
    let (script, peer) = serving(|| Act::Hold(events("", &items(0)))).await;
    let mut numbers = within(async { peer.subscribe::<u64>(STYLE, ()).await }).await.unwrap();
    assert_eq!(
        within(async { (numbers.next().await, numbers.next().await) }).await,
        (Some(Ok(0)), Some(Ok(1)))
    );
    let second = within(async { peer.subscribe::<u64>(STYLE, ()).await }).await;
    assert!(matches!(second, Err(CallError::Decode(_))), "the server gives the same id twice: {second:?}");
    assert_eq!(kinds(&script.seen(4).await), ["POST", "GET", "subscribe", "subscribe"]);
}

/// What comes unasked has no request: its stream is opened all the same.
#[tokio::test]
async fn the_stream_is_opened_for_notifications_of_a_method() {
    let (script, peer) = serving(|| Act::Hold(events("", &items(7)))).await;
    let unasked = SubscriptionStyle::method("item");
    let mut items = within(async { peer.subscribe::<serde_json::Value>(unasked, ()).await }).await.unwrap();
    assert_eq!(within(items.next()).await.unwrap().unwrap()["result"], 7);
    assert_eq!(kinds(&script.seen(2).await), ["POST", "GET"]);
}

#[tokio::test]
async fn a_server_without_a_stream_is_not_subscribed_to() {
    for (answer, told) in [
        (status("405 Method Not Allowed", "allow: POST\r\n"), "HTTP 405 Method Not Allowed instead of"),
        (status("403 Forbidden", ""), "HTTP 403 Forbidden instead of"),
        (status("501 Not Implemented", ""), "HTTP 501 Not Implemented instead of"),
        (json("{}"), "HTTP 200 OK instead of"),
        (
            Act::Send(full("400 Bad Request", "content-type: text/plain\r\n", "no streams here")),
            ": no streams here",
        ),
    ] {
        for notifies in [false, true] {
            let stream = answer.clone();
            let (script, peer) = serving(move || stream.clone()).await;
            if notifies {
                // The stream is asked for, and refused, before anybody needs it.
                peer.notify("initialized", ()).await.unwrap();
                script.seen(3).await;
            }
            for _ in 0..2 {
                let refused = within(async { peer.subscribe::<u64>(STYLE, ()).await }).await.map(|_| ());
                let Err(CallError::Undelivered(reason)) = &refused else { panic!("{refused:?}") };
                assert!(reason.to_string().contains(told), "{told}: {reason}");
                assert!(reason.to_string().contains("the stream of events on which items come"), "{reason}");
                assert!(reason.status.is_some());
            }
            // The session goes on.
            assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
            let seen = script.seen(4).await;
            assert!(!kinds(&seen).contains(&"subscribe"), "{:?}", kinds(&seen));
        }
    }
}

/// The stream breaks again and again, and at some time it is refused.
#[tokio::test]
async fn a_stream_that_is_refused_later_ends_what_is_open() {
    let refuses = Arc::new(AtomicBool::new(false));
    let refused = Arc::clone(&refuses);
    let (script, peer) = serving(move || match refused.load(Ordering::Relaxed) {
        false => Act::Last(events("", "retry: 1\n\n")),
        true => status("405 Method Not Allowed", ""),
    })
    .await;
    let unasked = SubscriptionStyle::method("news");
    let mut news = within(async { peer.subscribe::<u64>(unasked, ()).await }).await.unwrap();
    let mut numbers = within(async { peer.subscribe::<u64>(STYLE, ()).await }).await.unwrap();
    refuses.store(true, Ordering::Relaxed);
    for ended in [&mut news, &mut numbers] {
        assert_eq!(within(ended.next()).await, None);
        let Some(SubscriptionEnd::Undelivered(reason)) = ended.end() else { panic!("{:?}", ended.end()) };
        assert!(reason.to_string().contains("HTTP 405"), "{reason}");
    }
    // The server is told, and the session goes on.
    assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
    let mut count = 6;
    while !kinds(&script.seen(count).await).contains(&"unsubscribe") {
        count += 1;
    }
}

/// Some servers answer the request for the stream only once they have something to say.
#[tokio::test]
async fn a_silent_stream_is_not_waited_for_for_long() {
    let (_script, peer) = serving(|| Act::Hold(Vec::new())).await;
    let call = peer.call::<u64>("add", (1, 2));
    let subscribe = async { peer.subscribe::<u64>(STYLE, ()).await };
    let (subscribed, called) = within(async { tokio::join!(subscribe, call) }).await;
    assert!(subscribed.is_ok(), "{subscribed:?}");
    assert_eq!(called, Ok(3));
}
