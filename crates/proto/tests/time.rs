//! Every command brings its own time: clocks start there, not where the session was last looked at.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use sabir_proto::{CallError, CallOptions, Cause, Config, Event, Framing, Limits, Output, Session, Time};

fn at(millis: u64) -> Time {
    Time::since(Duration::from_millis(millis))
}

fn timeout(millis: u64) -> CallOptions<'static> {
    CallOptions { timeout: Some(Duration::from_millis(millis)), ..CallOptions::default() }
}

fn session(limits: Limits) -> Session {
    Session::new(Config { framing: Some(Framing::Lines), limits, ..Config::default() })
}

/// Everything that happens at this moment, and everything written.
fn events(session: &mut Session, now: Time) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    loop {
        match session.poll_output(now) {
            Output::Event(event) => events.push(event.into_owned()),
            Output::Wait(wait) if wait.write.is_empty() => return events,
            Output::Wait(wait) => {
                let count = wait.write.len();
                session.handle_written(now, count);
            }
            Output::Done(_) => return events,
        }
    }
}

/// Takes one request, whose handler then runs.
fn request(session: &mut Session, now: Time) -> sabir_proto::RequestKey {
    session.handle_bytes(now, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n");
    match events(session, now)[..] {
        [Event::Request { key, .. }] => key,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_timeout_counts_from_the_call() {
    let mut session = session(Limits::default());
    assert_eq!(events(&mut session, at(0)), []);
    let call = session.call(at(300), "m", &(), &timeout(200)).unwrap();
    assert_eq!(events(&mut session, at(499)), []);
    assert_eq!(session.wait().deadline, Some(at(500)));
    let timed_out = Event::Reply { call, outcome: Err(CallError::TimedOut) };
    assert_eq!(events(&mut session, at(500)), [timed_out]);
}

#[test]
fn timeouts_in_a_batch_count_from_the_batch() {
    let mut session = session(Limits::default());
    assert_eq!(events(&mut session, at(0)), []);
    let mut batch = session.batch(at(300)).unwrap();
    let call = batch.call("m", &(), &timeout(200)).unwrap();
    batch.send().unwrap();
    assert_eq!(events(&mut session, at(499)), []);
    let timed_out = Event::Reply { call, outcome: Err(CallError::TimedOut) };
    assert_eq!(events(&mut session, at(500)), [timed_out]);
}

fn idle() -> Session {
    session(Limits { idle: Some(Duration::from_millis(100)), ..Limits::default() })
}

#[track_caller]
fn closes_at(session: &mut Session, millis: u64, cause: &Cause) {
    for now in [at(millis - 1), at(millis)] {
        events(session, now);
        let done = matches!(session.poll_output(now), Output::Done(why) if why == *cause);
        assert_eq!(done, now == at(millis), "at {now}");
    }
}

#[test]
fn idle_time_begins_with_the_end_of_a_request() {
    type End = fn(&mut Session, Time, sabir_proto::RequestKey) -> bool;
    let ends: [End; 2] = [|session, now, key| session.reply(now, key, &1), Session::abandon];
    for end in ends {
        let mut session = idle();
        let key = request(&mut session, at(10));
        assert!(end(&mut session, at(5000), key));
        events(&mut session, at(5000));
        closes_at(&mut session, 5100, &Cause::Idle);
    }
}

/// No answer is owed after this kind of cancel, so nothing is written when the handler ends.
#[test]
fn idle_time_begins_with_the_end_of_a_cancelled_request() {
    let mut session = idle();
    let key = request(&mut session, at(10));
    let cancel =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n";
    session.handle_bytes(at(20), cancel.as_bytes());
    assert!(matches!(events(&mut session, at(20))[..], [Event::Cancel { .. }]));
    assert!(session.reply(at(5000), key, &1));
    closes_at(&mut session, 5100, &Cause::Idle);
}

#[test]
fn a_notification_at_work_is_not_idle() {
    let mut session = idle();
    session.handle_bytes(at(10), b"{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n");
    assert!(matches!(events(&mut session, at(10))[..], [Event::Notification { .. }]));
    session.finish_notification(at(5000));
    closes_at(&mut session, 5100, &Cause::Idle);
}

#[test]
fn idle_time_begins_with_the_end_of_a_call() {
    let mut session = idle();
    events(&mut session, at(0));
    let call = session.call(at(50), "m", &(), &CallOptions::default()).unwrap();
    events(&mut session, at(50));
    assert!(session.cancel(at(5000), call));
    events(&mut session, at(5000));
    closes_at(&mut session, 5100, &Cause::Idle);
}

/// The peer stops reading: its time begins when there is something to read.
#[test]
fn a_stall_begins_with_what_is_not_read() {
    let mut session = session(Limits { stall: Some(Duration::from_millis(100)), ..Limits::default() });
    events(&mut session, at(0));
    session.notify(at(5000), "n", &()).unwrap();
    assert_eq!(session.wait().deadline, Some(at(5100)));
    assert!(matches!(session.poll_output(at(5099)), Output::Wait(_)));
    assert!(matches!(session.poll_output(at(5100)), Output::Done(Cause::Stalled)));
}

/// One message may take longer than that, as long as the peer reads some of it.
#[test]
fn a_message_that_is_sent_by_parts_does_not_stall() {
    let limits = Limits { stall: Some(Duration::from_millis(100)), ..Limits::default() };
    let mut session = Session::new(Config { framing: Some(Framing::Whole), limits, ..Config::default() });
    session.notify(at(0), "n", &()).unwrap();
    assert_eq!(session.wait().deadline, Some(at(100)));
    for now in [50, 140, 230] {
        assert!(matches!(session.poll_output(at(now)), Output::Wait(_)), "{now}");
        session.handle_sent_part(at(now));
        assert!(session.outgoing().is_some());
        assert_eq!(session.wait().deadline, Some(at(now + 100)));
    }
    assert!(matches!(session.poll_output(at(330)), Output::Done(Cause::Stalled)));
}
