//! What subscriptions may make a connection keep: of a peer that subscribes and never reads, and of one that sends items
//! before it answers. Real allocations are counted.

#![allow(clippy::unwrap_used)]

#[path = "memory/counting.rs"]
mod counting;

use std::time::Duration;

use sabir_proto::{
    Accept, CallOptions, Config, Event, Framing, ItemError, Limits, Output, Overflow, Session, SinkKey,
    SubscriptionStyle, Time,
};

const STYLE: SubscriptionStyle = SubscriptionStyle::new("subscribe", "item", "unsubscribe");

/// What the limits allow, with what is kept beside the items: a table of 1,024 subscriptions, ids, spare room.
const ALLOWED: isize = (4 << 20) + (1 << 20);
const AT_REST: isize = 1 << 20;

fn session() -> Session {
    counting::inside(|| Session::new(Config { framing: Some(Framing::Lines), ..Config::default() }))
}

/// Lets everything happen. Only what `reads` is sent.
fn settle(session: &mut Session, now: Time, reads: bool, accepted: &mut Vec<SinkKey>, overflow: Overflow) {
    loop {
        match session.poll_output(now) {
            Output::Event(Event::Request { key, method, params, .. }) => {
                if method == "unsubscribe" {
                    let params = params.map(sabir_proto::RawJson::into_owned);
                    session.reply_unsubscribe(now, key, params.as_ref());
                    continue;
                }
                let random = (accepted.len() as u64 + 1) << 20;
                let accept = Accept { style: &STYLE, overflow, items: None, token: None, random };
                match session.accept(now, key, &accept) {
                    Ok(sink) => accepted.push(sink),
                    Err(error) => drop(session.reply_error(now, key, &error)),
                }
            }
            Output::Event(_) => {}
            Output::Wait(wait) => {
                let count = wait.write.len();
                if !reads || count == 0 {
                    return;
                }
                session.handle_written(now, count);
            }
            Output::Done(cause) => panic!("{cause}"),
        }
    }
}

#[test]
fn a_peer_that_subscribes_and_never_reads() {
    let policies = [Overflow::Wait, Overflow::DropOldest, Overflow::KeepLatest];
    // Small items, of which the bookkeeping is most, and some of which one for each subscription is too much.
    for (overflow, size) in policies.into_iter().flat_map(|policy| [1, 1000, 8000].map(|size| (policy, size)))
    {
        let mut session = session();
        let mut sinks = Vec::new();
        let now = Time::START;
        counting::inside(|| {
            for id in 0..2000 {
                let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"subscribe\"}}\n");
                session.handle_bytes(now, request.as_bytes());
                settle(&mut session, now, id < 1, &mut sinks, overflow);
            }
        });
        assert_eq!(sinks.len(), Limits::default().subscriptions);
        let text = "x".repeat(size);
        let (mut full, mut flat) = (0, 0);
        let rounds = if size < 8000 { 90 } else { 12 };
        for round in 0..rounds {
            counting::inside(|| {
                for sink in &sinks {
                    let sent = session.send_item(now, *sink, round, text.as_str());
                    full += usize::from(sent == Err(ItemError::Full));
                }
                settle(&mut session, now, false, &mut sinks, overflow);
            });
            if round == rounds - 10 {
                flat = counting::live();
            }
        }
        let (live, peak) = (counting::live(), counting::peak());
        assert!(peak < ALLOWED, "{overflow:?} {size}: {peak} bytes at the most");
        assert!(live <= flat + 4096, "{overflow:?} {size}: it grows, from {flat} to {live}");
        assert_eq!(full > 0, overflow == Overflow::Wait, "{overflow:?}");
        let told = session.usage().bytes.cast_signed();
        assert!(live <= told + (1 << 20), "{overflow:?} {size}: {live} bytes in use, {told} reported");
        // Its calls are answered behind what was sent, and it leaves.
        counting::inside(|| {
            for id in 0..sinks.len() as u64 {
                let name = format!("{:016x}", (id + 1) << 20);
                let request = format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"unsubscribe\",\"params\":[\"{name}\"]}}\n"
                );
                session.handle_bytes(now, request.as_bytes());
                settle(&mut session, now, true, &mut sinks, overflow);
            }
        });
        assert_eq!(session.usage().sinks, 0);
        let later = now + Duration::from_secs(20);
        counting::inside(|| {
            session.handle_bytes(later, b"\n");
            settle(&mut session, later, true, &mut sinks, overflow);
            settle(&mut session, later + Duration::from_secs(20), true, &mut sinks, overflow);
        });
        let live = counting::live();
        assert!(live < AT_REST, "{overflow:?}: {live} bytes are left");
        counting::inside(|| drop(session));
    }
}

#[test]
fn a_peer_that_sends_items_and_never_answers() {
    let mut session = session();
    let now = Time::START;
    counting::inside(|| {
        for _ in 0..100 {
            session.subscribe_raw(now, &STYLE, None, &CallOptions::default()).unwrap();
        }
        let text = "x".repeat(1000);
        for n in 0..20_000 {
            for id in ["\"same\"".to_owned(), format!("\"id {n}\""), format!("\"{n}{text}\"")] {
                let params = format!("{{\"subscription\":{id},\"result\":\"{text}\"}}");
                let item = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"item\",\"params\":{params}}}\n");
                session.handle_bytes(now, item.as_bytes());
                settle(&mut session, now, true, &mut Vec::new(), Overflow::Wait);
            }
        }
    });
    let peak = counting::peak();
    assert!(peak < ALLOWED, "{peak} bytes at the most");
    counting::inside(|| {
        session.handle_bytes(now, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"same\"}\n");
        let mut items = 0;
        loop {
            match session.poll_output(now) {
                Output::Event(Event::Item { .. }) => items += 1,
                Output::Event(Event::ItemsLost { count, .. }) => items += count,
                Output::Event(_) => {}
                Output::Wait(wait) if wait.write.is_empty() => break,
                Output::Wait(wait) => {
                    let count = wait.write.len();
                    session.handle_written(now, count);
                }
                Output::Done(cause) => panic!("{cause}"),
            }
        }
        assert_eq!(items, 20_000, "all were kept or counted");
        drop(session);
    });
}
