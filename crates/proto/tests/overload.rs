//! A driver without memory for more: nothing is read, requests that have come are refused, what runs goes on.

#![allow(clippy::unwrap_used)]

use sabir_proto::{Config, Event, Output, Session, Time};

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
