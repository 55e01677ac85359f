//! Whose items may wait when there is no room for all, and who hears when there is room again.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use sabir_proto::{
    Accept, CallOptions, Config, Event, Framing, ItemError, Limits, Output, Overflow, RawJson, Session,
    SinkKey, SubscriptionStyle, Time,
};
use serde_json::json;

const STYLE: SubscriptionStyle = SubscriptionStyle::new("subscribe", "item", "unsubscribe");
const NOW: Time = Time::START;

fn session(limits: Limits) -> Session {
    Session::new(Config { framing: Some(Framing::Lines), limits, ..Config::default() })
}

/// Polls until there is nothing to do. What the driver was told of subscriptions; the rest is answered.
fn told(session: &mut Session, sinks: &mut Vec<SinkKey>, overflow: Overflow) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        match session.poll_output(NOW) {
            Output::Event(Event::Request { key, method, params, .. }) => {
                let (method, params) = (method.into_owned(), params.map(RawJson::into_owned));
                if method == "unsubscribe" {
                    session.reply_unsubscribe(NOW, key, params.as_ref());
                } else {
                    let random = sinks.len() as u64 + 1;
                    let accept = Accept { style: &STYLE, overflow, items: None, token: None, random };
                    sinks.push(session.accept(NOW, key, &accept).unwrap());
                }
            }
            Output::Event(Event::SinkReady { sink }) => {
                told.push(format!("ready {}", sinks.iter().position(|known| *known == sink).unwrap()));
            }
            Output::Event(other) => told.push(format!("{other:?}")),
            Output::Wait(_) => return told,
            Output::Done(cause) => panic!("{cause}"),
        }
    }
}

fn write_all(session: &mut Session) {
    let count = session.unsent().len();
    session.handle_written(NOW, count);
}

fn subscribe(session: &mut Session, sinks: &mut Vec<SinkKey>, count: usize, overflow: Overflow) {
    for id in 0..count {
        let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"subscribe\"}}\n");
        session.handle_bytes(NOW, request.as_bytes());
        assert_eq!(told(session, sinks, overflow), [""; 0]);
        write_all(session);
    }
}

/// Sends until there is no room, and says how many were taken.
fn fill(session: &mut Session, sink: SinkKey, item: &str) -> usize {
    let fill = (0..10_000).take_while(|n| match session.send_item(NOW, sink, *n, item) {
        Ok(()) => true,
        Err(ItemError::Full) => false,
        other => panic!("{other:?}"),
    });
    fill.count()
}

/// Nothing else of this connection is unsent, so all that is taken beyond the water mark waits.
fn limits() -> Limits {
    Limits { high_water: 2048, subscription_bytes: 10_000, ..Limits::default() }
}

#[test]
fn those_without_anything_waiting_may_go_further() {
    let mut session = session(limits());
    let mut sinks = Vec::new();
    subscribe(&mut session, &mut sinks, 40, Overflow::Wait);
    let item = "x".repeat(1000);
    // One takes all that it may have. The others may have one each, up to twice as much.
    let before = session.usage().bytes;
    assert!(fill(&mut session, sinks[0], &item) >= 5);
    let firsts =
        sinks[1..].iter().filter(|sink| session.send_item(NOW, **sink, 0, item.as_str()).is_ok()).count();
    assert!((4..=6).contains(&firsts), "{firsts}");
    // All together, with the one that is on its way and the one that reached the limit.
    let held = session.usage().bytes - before;
    assert!(held < 10_000 + 2048 + 2 * 1100, "{held}");
    // Those that may not hear when they may, in their order, and without anything of their own being sent.
    let blocked: Vec<_> = (1..40).filter(|index| !session.has_room(sinks[*index])).skip(firsts).collect();
    assert_eq!(told(&mut session, &mut sinks, Overflow::Wait), [""; 0]);
    let mut heard = Vec::new();
    for _ in 0..100 {
        write_all(&mut session);
        heard.extend(told(&mut session, &mut sinks, Overflow::Wait));
    }
    for index in blocked {
        assert_eq!(
            heard.iter().filter(|told| **told == format!("ready {index}")).count(),
            1,
            "{index}: {heard:?}"
        );
    }
}

#[test]
fn room_that_an_unsubscribe_makes_is_told_of() {
    let mut session = session(limits());
    let mut sinks = Vec::new();
    subscribe(&mut session, &mut sinks, 3, Overflow::Wait);
    fill(&mut session, sinks[0], &"x".repeat(1000));
    assert_eq!(session.send_item(NOW, sinks[1], 0, "x".repeat(15_000).as_str()), Ok(()));
    assert_eq!(session.send_item(NOW, sinks[2], 0, "x"), Err(ItemError::Full));
    for id in ["0000000000000001", "0000000000000002"] {
        let request =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"unsubscribe\",\"params\":[\"{id}\"]}}\n");
        session.handle_bytes(NOW, request.as_bytes());
    }
    // Its answer waits for what is unsent already, and so does the request itself.
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.extend(told(&mut session, &mut sinks, Overflow::Wait));
        write_all(&mut session);
    }
    assert_eq!(heard.iter().filter(|told| *told == "ready 2").count(), 1, "{heard:?}");
    assert_eq!(session.send_item(NOW, sinks[2], 0, "x"), Ok(()));
}

#[test]
fn what_cannot_wait_is_counted_as_lost() {
    for overflow in [Overflow::DropOldest, Overflow::KeepLatest] {
        let mut session = session(limits());
        let mut sinks = Vec::new();
        subscribe(&mut session, &mut sinks, 30, overflow);
        // The first is sent at once. Some hold all that may wait; the others have nothing to drop.
        for round in 0..3 {
            for sink in &sinks {
                session.send_item(NOW, *sink, round, "x".repeat(3000).as_str()).unwrap();
            }
        }
        assert!(session.usage().bytes < 100_000, "{overflow:?}: {:?}", session.usage());
        let lost: u64 = sinks.iter().map(|sink| session.sink_stats(*sink).unwrap().lost).sum();
        let sent: u64 = sinks.iter().map(|sink| session.sink_stats(*sink).unwrap().sent).sum();
        assert_eq!(lost + sent, 90, "{overflow:?}");
        let mut out = Vec::new();
        for _ in 0..200 {
            out.extend_from_slice(session.unsent());
            write_all(&mut session);
            assert_eq!(told(&mut session, &mut sinks, overflow), [""; 0]);
        }
        let items =
            out.split(|byte| *byte == b'\n').filter(|line| line.windows(6).any(|part| part == b"result"));
        // Among them are those that were sent while the peer read.
        assert_eq!(items.count() as u64, sent, "{overflow:?}");
        // All of them are open still.
        assert!(sinks.iter().all(|sink| session.send_item(NOW, *sink, 0, "x").is_ok()));
    }
}

/// The items that were sent, as the first letter of each.
fn letters(session: &mut Session, sinks: &mut Vec<SinkKey>) -> String {
    let mut out = String::new();
    for _ in 0..100 {
        out.push_str(std::str::from_utf8(session.unsent()).unwrap());
        write_all(session);
        assert_eq!(told(session, sinks, Overflow::KeepLatest), [""; 0]);
    }
    let items = out.lines().filter_map(|line| line.split_once("\"result\":\"")?.1.chars().next());
    items.collect()
}

/// An update keeps the place of its key, also where older items have to make room for it. One that was dropped begins
/// anew.
#[test]
fn keys_keep_their_places() {
    let a_key = |n: u64| ('a'..='z').nth(n as usize).unwrap().to_string();
    for (grown, want) in [(1, "abcdef"), (3000, "adef"), (9000, "aefd")] {
        let mut session = session(limits());
        let mut sinks = Vec::new();
        subscribe(&mut session, &mut sinks, 1, Overflow::KeepLatest);
        // What is unsent already, so that the rest waits.
        session.send_item(NOW, sinks[0], 99, "-".repeat(3000).as_str()).unwrap();
        for n in 0..6 {
            session.send_item(NOW, sinks[0], n, (a_key(n) + &"x".repeat(600)).as_str()).unwrap();
        }
        for n in [3, 0, 3] {
            let text = if n == 3 { a_key(n) + &"x".repeat(grown) } else { a_key(n) };
            session.send_item(NOW, sinks[0], n, text.as_str()).unwrap();
        }
        assert_eq!(letters(&mut session, &mut sinks)[1..], *want, "{grown}");
    }
}

#[test]
fn an_item_that_replaces_another_is_counted() {
    let mut session = session(limits());
    let mut sinks = Vec::new();
    subscribe(&mut session, &mut sinks, 2, Overflow::KeepLatest);
    for round in 0..50u64 {
        for sink in &sinks {
            let item = "x".repeat(if round < 20 { 10 } else { 5000 });
            session.send_item(NOW, *sink, round % 10, item.as_str()).unwrap();
        }
    }
    assert!(session.usage().bytes < 60_000, "{:?}", session.usage());
}

#[test]
fn an_item_that_is_no_params_is_refused_where_it_has_to_be() {
    for clear in [true, false] {
        let mut session = session(limits());
        session.handle_bytes(NOW, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscribe\"}\n");
        let Output::Event(Event::Request { key, .. }) = session.poll_output(NOW) else { panic!("a request") };
        let style = SubscriptionStyle::method("told");
        let accept = Accept { style: &style, overflow: Overflow::Wait, items: None, token: None, random: 1 };
        let sink = session.accept(NOW, key, &accept).unwrap();
        if !clear {
            session.send_item(NOW, sink, 0, &["x".repeat(3000)]).unwrap();
            session.send_item(NOW, sink, 0, &["x"]).unwrap();
        }
        for refused in [json!(1), json!("x"), json!(null)] {
            let outcome = session.send_item(NOW, sink, 0, &refused);
            assert_eq!(outcome, Err(ItemError::Unwritable("expected an array or an object".to_owned())));
        }
        assert_eq!(session.send_item(NOW, sink, 0, &[1]), Ok(()));
    }
}

/// A subscription that is its request, left in the moment in which its connection is lost.
#[test]
fn what_was_left_is_not_answered_any_more() {
    let mut session = session(Limits::default());
    let style = SubscriptionStyle::mcp_listen();
    let key = session.subscribe_raw(NOW, &style, None, &CallOptions::default()).unwrap();
    assert!(matches!(session.poll_output(NOW), Output::Event(Event::Subscribed { .. })));
    session.handle_lost(NOW + Duration::from_millis(1), "gone");
    assert!(session.unsubscribe(NOW, key));
    let mut events = Vec::new();
    while let Output::Event(event) = session.poll_output(NOW) {
        events.push(event.into_owned());
    }
    assert!(matches!(&events[..], [Event::Unsubscribed { .. }]), "{events:?}");
}

#[test]
fn long_ids_are_not_kept() {
    let mut session = session(Limits::default());
    session.subscribe_raw(NOW, &STYLE, None, &CallOptions::default()).unwrap();
    let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{}\"}}\n", "x".repeat(1 << 20));
    session.handle_bytes(NOW, answer.as_bytes());
    let Output::Event(Event::Subscribed { outcome, .. }) = session.poll_output(NOW) else {
        panic!("an answer")
    };
    assert!(outcome.unwrap_err().to_string().contains("too long"));
}
