//! On a transport that delimits messages, everything that answers a message carries its origin, and the
//! last of it says so.

#![expect(clippy::unwrap_used, reason = "a test may")]

use sabir_proto::{
    Config, ErrorCode, ErrorObject, Event, Framing, Limits, MCP_2025_11_25, Origin, Output, PLAIN,
    RequestKey, Session, Time,
};

const NOW: Time = Time::START;

struct Player {
    session: Session,
    requests: Vec<RequestKey>,
}

impl Player {
    fn new(config: Config) -> Self {
        let config = Config { framing: Some(Framing::Whole), ..config };
        Player { session: Session::new(config), requests: Vec::new() }
    }

    fn on_activity(&mut self, origin: u64, message: &str) {
        self.session.handle_message_from(NOW, message.as_bytes(), Origin(origin));
        self.poll();
    }

    fn poll(&mut self) {
        loop {
            match self.session.poll_output(NOW) {
                Output::Event(Event::Request { key, .. }) => self.requests.push(key),
                Output::Event(Event::Cancel { key, .. }) => drop(self.session.abandon(Time::START, key)),
                Output::Event(Event::Notification { .. }) => self.session.finish_notification(Time::START),
                Output::Event(_) => {}
                Output::Wait(_) | Output::Done(_) => return,
            }
        }
    }

    /// What goes out, as `origin: message`, with a `.` behind the last one for its origin.
    fn sent(&mut self) -> Vec<String> {
        let mut sent = Vec::new();
        while let Some(outgoing) = self.session.outgoing() {
            let text = String::from_utf8_lossy(outgoing.message);
            let text = text.replace("{\"jsonrpc\":\"2.0\",", "{");
            sent.push(format!("{}: {text}{}", outgoing.origin.0, if outgoing.last { "." } else { "" }));
            self.session.handle_sent(NOW);
        }
        sent
    }
}

fn plain() -> Player {
    Player::new(Config { dialect: PLAIN, ..Config::default() })
}

#[test]
fn answers_go_back_the_way_they_came() {
    let mut player = plain();
    player
        .on_activity(7, r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":"t"}}}"#);
    player.on_activity(8, r#"{"jsonrpc":"2.0","id":2,"method":"b"}"#);
    let [a, b] = player.requests[..] else { panic!("two requests") };
    assert!(player.session.reply(Time::START, b, &2));
    assert!(player.session.progress(Time::START, a, &1));
    assert!(player.session.reply(Time::START, a, &1));
    assert_eq!(
        player.sent(),
        [
            r#"8: {"id":2,"result":2}."#,
            r#"7: {"method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#,
            r#"7: {"id":1,"result":1}."#,
        ]
    );
}

#[test]
fn what_needs_no_answer_is_settled_at_once() {
    for message in [
        r#"{"jsonrpc":"2.0","method":"log"}"#,
        r#"[{"jsonrpc":"2.0","method":"log"}]"#,
        r#"{"jsonrpc":"2.0","id":9,"result":1}"#,
    ] {
        let mut player = plain();
        player.on_activity(3, message);
        assert_eq!(player.sent(), ["3: ."], "{message}");
    }
}

#[test]
fn what_cannot_be_read_is_answered_where_it_came_from() {
    for message in ["{", "[]", r#"{"jsonrpc":"2.0","id":1}"#] {
        let mut player = plain();
        player.on_activity(3, message);
        let sent = player.sent();
        assert!(matches!(&sent[..], [one] if one.starts_with("3: {") && one.ends_with('.')), "{sent:?}");
    }
}

#[test]
fn a_batch_is_settled_with_its_last_answer() {
    let mut player = plain();
    player.on_activity(5, r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]"#);
    let [a, b] = player.requests[..] else { panic!("two requests") };
    player.session.reply(Time::START, b, &2);
    assert_eq!(player.sent(), [""; 0]);
    player.session.reply(Time::START, a, &1);
    assert_eq!(player.sent(), [r#"5: [{"id":2,"result":2},{"id":1,"result":1}]."#]);
}

#[test]
fn a_cancelled_request_that_is_owed_nothing_is_settled_without_an_answer() {
    let mut player = Player::new(Config { dialect: MCP_2025_11_25, ..Config::default() });
    player.on_activity(1, r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#);
    player.on_activity(2, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    let mut sent = player.sent();
    sent.sort();
    assert_eq!(sent, ["1: .", "2: ."]);
}

#[test]
fn what_a_handler_sends_belongs_to_its_request() {
    let mut player = plain();
    player.on_activity(4, r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
    let key = player.requests[0];
    player.session.relate(Some(key));
    player.session.notify(Time::START, "about", &()).unwrap();
    let call = player.session.call(Time::START, "ask", &(), &Default::default()).unwrap();
    player.session.relate(None);
    player.session.notify(Time::START, "general", &()).unwrap();
    assert!(player.session.cancel(Time::START, call));
    assert!(player.session.reply(Time::START, key, &1));
    player.session.relate(Some(key));
    player.session.notify(Time::START, "too late", &()).unwrap();
    assert_eq!(
        player.sent(),
        [
            r#"4: {"method":"about"}"#,
            r#"4: {"id":1,"method":"ask"}"#,
            r#"0: {"method":"general"}"#,
            r#"4: {"method":"$/cancelRequest","params":{"id":1}}"#,
            r#"4: {"id":1,"result":1}."#,
            r#"0: {"method":"too late"}"#,
        ]
    );
}

#[test]
fn a_call_that_got_lost_ends_alone() {
    let mut player = plain();
    let call = player.session.call(Time::START, "ask", &(), &Default::default()).unwrap();
    assert!(player.session.handle_undelivered(NOW, call.id(), "HTTP 503"));
    assert!(!player.session.handle_undelivered(NOW, call.id(), "HTTP 503"));
    let Output::Event(Event::Reply { call: ended, outcome: Err(error) }) = player.session.poll_output(NOW)
    else {
        panic!("the call ends")
    };
    assert_eq!((ended, error.to_string()), (call, "HTTP 503".to_owned()));
}

#[test]
fn where_there_is_no_way_back_calls_are_refused() {
    let mut player = Player::new(Config { one_way: true, ..Config::default() });
    assert!(player.session.call(Time::START, "ask", &(), &Default::default()).is_err());
    assert!(player.session.notify(Time::START, "tell", &()).is_ok());
}

/// A transport that shows errors in its own way, as HTTP does by a status, need not look for them in the text.
#[test]
fn errors_go_out_with_their_code() {
    let limits = Limits { outbound_bytes: 4096, ..Limits::default() };
    let mut player = Player::new(Config { dialect: PLAIN, limits, ..Config::default() });
    let unwritable = std::collections::HashMap::from([(vec![1], 1)]);
    let long = "x".repeat(8192);
    type Answer<'a> = &'a dyn Fn(&mut Session, RequestKey) -> bool;
    let steps: [(&str, Answer<'_>, Option<ErrorCode>); 6] = [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
            &|session, key| session.reply(Time::START, key, &1),
            None,
        ),
        (
            r#"{"jsonrpc":"2.0","id":",\"error\":{\"code\":1","method":"a"}"#,
            &|session, key| session.reply(Time::START, key, &"\"error\":{\"code\":1}"),
            None,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
            &|session, key| session.reply_error(Time::START, key, &ErrorObject::new(7, "no")),
            Some(ErrorCode(7)),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
            &|session, key| session.reply(Time::START, key, &unwritable),
            Some(ErrorCode::INTERNAL_ERROR),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
            &|session, key| session.reply(Time::START, key, &long),
            Some(ErrorCode::ANSWER_TOO_LARGE),
        ),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"a"}]"#,
            &|session, key| session.reply_error(Time::START, key, &ErrorObject::new(7, "no")),
            None,
        ),
    ];
    let outgoing = |player: &mut Player| {
        let error = player.session.outgoing().expect("there is an answer").error();
        player.sent();
        error
    };
    for (origin, (message, answer, code)) in (1..).zip(steps) {
        player.on_activity(origin, message);
        let key = player.requests.pop().unwrap();
        assert!(answer(&mut player.session, key));
        assert_eq!(outgoing(&mut player), code, "{message}");
    }
    for (message, code) in [("{", ErrorCode::PARSE_ERROR), ("[]", ErrorCode::INVALID_REQUEST)] {
        player.on_activity(99, message);
        assert_eq!(outgoing(&mut player), Some(code), "{message}");
    }
}
