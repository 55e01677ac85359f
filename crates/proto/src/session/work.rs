//! How much work requests and cancels are, counted in slots of the table that are looked at.

#![allow(clippy::unwrap_used)]

use super::{Config, Event, Output, Session};
use crate::frame::Framing;
use crate::limits::Limits;
use crate::time::Time;

/// More than ever fit into the queue.
const FLOOD: usize = 100_000;

fn session(in_flight: usize) -> Session {
    let limits = Limits { in_flight, ..Limits::default() };
    Session::new(Config { framing: Some(Framing::Lines), limits, ..Config::default() })
}

/// Feeds a message, starts what can be started, and lets the peer read.
fn feed(session: &mut Session, message: &str) {
    session.handle_bytes(Time::START, format!("{message}\n").as_bytes());
    loop {
        match session.poll_output(Time::START) {
            Output::Event(Event::Cancel { key, .. }) => assert!(session.abandon(Time::START, key)),
            Output::Event(_) => {}
            Output::Wait(wait) if wait.write.is_empty() => return,
            Output::Wait(wait) => {
                let count = wait.write.len();
                session.handle_written(Time::START, count);
            }
            Output::Done(cause) => panic!("{cause}"),
        }
    }
}

fn request(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)
}

fn cancel(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#)
}

/// Each request is looked at once more than it is asked for, at the most: when it is put into the index.
#[track_caller]
fn check(session: &Session, messages: usize) {
    let steps = session.core.requests.steps;
    assert!(steps <= messages, "{steps} slots were looked at for {messages} messages");
}

#[test]
fn a_request_and_its_cancel_do_not_scan_what_a_flood_left_behind() {
    for in_flight in [1, FLOOD] {
        let mut session = session(in_flight);
        for id in 0..FLOOD {
            feed(&mut session, &request(id));
        }
        for id in (0..FLOOD).rev() {
            feed(&mut session, &cancel(id));
        }
        check(&session, 2 * FLOOD);
        assert_eq!(session.usage().requests, 0);
        session.core.requests.steps = 0;
        for id in FLOOD..FLOOD + 1000 {
            feed(&mut session, &request(id));
            feed(&mut session, &request(id + 1_000_000));
            feed(&mut session, &cancel(id));
            feed(&mut session, &cancel(id + 1_000_000));
        }
        check(&session, 4000);
    }
}

/// Ids that count up and those that do not, by turns, between cancels of what is not there.
#[test]
fn looking_up_what_is_not_there_is_no_more_work() {
    let mut session = session(FLOOD);
    for id in 0..2000 {
        feed(&mut session, &request(id));
        feed(&mut session, &request(1_000_000 - id));
        feed(&mut session, &cancel(500_000));
    }
    check(&session, 6000);
}

/// Our own calls, one to a batch, each answered by a batch of one.
#[test]
fn an_answer_to_a_batch_looks_at_that_batch_alone() {
    let mut session = session(1);
    let mut calls = Vec::new();
    for _ in 0..1000 {
        let mut batch = session.batch(Time::START).unwrap();
        calls.push(batch.call("m", &(), &super::CallOptions::default()).unwrap());
        batch.send().unwrap();
    }
    for call in &calls {
        assert_eq!(session.core.calls.find(call.id()).unwrap().1.batch, Some((call.id(), call.id())));
        feed(&mut session, &format!(r#"[{{"jsonrpc":"2.0","id":{},"result":1}}]"#, call.id()));
    }
    assert_eq!(session.usage().calls, 0);
}
