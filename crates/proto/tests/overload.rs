//! A driver without memory for more: nothing is read, requests that have come are refused, what runs goes on.

#![allow(clippy::unwrap_used)]

use sabir_proto::{Config, Event, Limits, Output, Session, Time};

fn events(session: &mut Session) -> Vec<String> {
    let mut events = Vec::new();
    loop {
        match session.poll_output(Time::START) {
            Output::Event(Event::Request { key, method, .. }) => {
                events.push(format!("request {method}"));
                if method != "slow" {
                    session.reply(Time::START, key, &1);
                }
            }
            Output::Event(event) => events.push(format!("{event:?}").split('(').next().unwrap().to_owned()),
            Output::Wait(_) | Output::Done(_) => return events,
        }
    }
}

fn written(session: &mut Session) -> String {
    let text = String::from_utf8(session.wait().write.to_vec()).unwrap();
    session.handle_written(Time::START, text.len());
    text
}

#[test]
fn requests_are_refused_until_there_is_memory() {
    let mut session = Session::new(Config::default());
    let call =
        |id: u32, method: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}\n");
    session.handle_bytes(Time::START, call(1, "slow").as_bytes());
    assert_eq!(events(&mut session), ["request slow"]);
    session.set_overloaded(true);
    assert!(!session.wait().read);
    session.handle_bytes(Time::START, format!("{}[{}]\n", call(2, "add"), call(3, "add").trim()).as_bytes());
    assert_eq!(events(&mut session), ["Report", "Report"]);
    let refused = written(&mut session);
    assert_eq!(refused.matches("-32009").count(), 2, "{refused}");
    session.set_overloaded(false);
    assert!(session.wait().read);
    session.handle_bytes(Time::START, call(4, "add").as_bytes());
    assert_eq!(events(&mut session), ["request add"]);
    assert_eq!(written(&mut session), "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":1}\n");
    assert_eq!(session.usage().running, 1);
}

/// It must not turn into another error, of which a caller cannot tell whether anything was done.
#[test]
fn a_refusal_for_whose_reason_there_is_no_room_stays_a_refusal() {
    let limits = Limits { in_flight: 1, outbound_bytes: 100, ..Limits::default() };
    let mut session = Session::new(Config { limits, ..Config::default() });
    let call = |id: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"x\"}}");
    session.handle_bytes(Time::START, format!("[{},{},{}]\n", call(1), call(3), call(2)).as_bytes());
    let mut started = 0;
    while let Output::Event(event) = session.poll_output(Time::START) {
        if let Event::Request { key, .. } = event {
            started += 1;
            session.reply(Time::START, key, &"a".repeat(40));
        }
    }
    let answers = written(&mut session);
    assert_eq!(started, 1, "there is no room for more than one answer: {answers}");
    for id in [2, 3] {
        let refusal =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32009,"message":"Overloaded"}}}}"#);
        assert!(answers.contains(&refusal), "{answers}");
    }
}

/// A batch of so many entries of two bytes.
const JUNK: usize = 9999;

fn junk() -> String {
    format!("[{}1]\n", "1,".repeat(JUNK - 1))
}

#[test]
fn each_entry_of_a_batch_of_junk_has_its_error_and_the_first_say_why() {
    let mut session = Session::new(Config::default());
    session.handle_bytes(Time::START, junk().as_bytes());
    let reports = events(&mut session);
    assert!(reports.len() <= 100 && reports.iter().all(|report| report == "Report"), "{reports:?}");
    let answer = written(&mut session);
    assert_eq!(answer.matches("-32600").count(), JUNK);
    assert_eq!(answer.matches("\"data\"").count(), 100);
    assert!(answer.len() < 1 << 20, "{} bytes", answer.len());
    // Memory for the entries of such a batch is not kept either.
    assert!(session.usage().bytes < 3 << 20, "{:?}", session.usage());
}

/// What an attacker sends in 400 KB is not kept as 30 MB of errors.
#[test]
fn junk_behind_answers_that_nobody_reads_is_refused_as_a_whole() {
    for has_id in [false, true] {
        let mut session = Session::new(Config::default());
        let entry = r#"{"jsonrpc":"2.0","id":1,"method":1}"#;
        let batch =
            if has_id { format!("[{entry}{}]\n", format!(",{entry}").repeat(JUNK - 1)) } else { junk() };
        for _ in 0..20 {
            session.handle_bytes(Time::START, batch.as_bytes());
            events(&mut session);
        }
        assert!(session.usage().unsent < 2 << 20, "{:?}", session.usage());
        assert!(session.usage().bytes < 6 << 20, "{:?}", session.usage());
        let answers = written(&mut session);
        assert_eq!(answers.lines().count(), 20);
        assert_eq!(answers.matches("-32009").count(), 19);
        // Once that is read, it is answered by the letter again.
        session.handle_bytes(Time::START, junk().as_bytes());
        events(&mut session);
        assert_eq!(written(&mut session).matches("-32600").count(), JUNK);
    }
}

#[test]
fn what_may_need_more_than_there_is_room_for_is_refused() {
    const ROOM: usize = 64 * 1024;
    let calls: Vec<String> =
        (0..JUNK).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"add\"}}")).collect();
    let calls = format!("[{}]\n", calls.join(","));
    for batch in [&junk(), &calls] {
        let mut session = Session::new(Config::default());
        session.set_room(ROOM);
        session.handle_bytes(Time::START, batch.as_bytes());
        assert_eq!(events(&mut session), ["Report"]);
        assert_eq!(written(&mut session).matches("-32009").count(), 1);
        // Small calls go on, and so does junk, until there is no more room for it.
        session.handle_bytes(Time::START, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\"}\n1\n");
        assert_eq!(events(&mut session), ["request add", "Report"]);
        session.handle_bytes(Time::START, "1\n".repeat(10_000).as_bytes());
        assert_eq!(events(&mut session).len(), 10_000);
        assert!(session.usage().unsent < ROOM + 512, "{:?}", session.usage());
        written(&mut session);
        session.set_room(usize::MAX);
        session.handle_bytes(Time::START, batch.as_bytes());
        events(&mut session);
        assert!(written(&mut session).len() > ROOM);
    }
}
