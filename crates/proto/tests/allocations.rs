//! What a message costs in allocations once a session has warmed up: nothing.

#![allow(clippy::unwrap_used)]

#[path = "allocations/counting.rs"]
mod counting;

use sabir_proto::{
    CallOptions, Config, Event, Framing, Incoming, Limits, Output, PLAIN, Session, Time, decode,
};

/// Enough for every table and buffer to have its final size.
const WARM_UP: usize = 200;
const MEASURED: usize = 1000;

const FRAMINGS: [Framing; 3] = [Framing::Lines, Framing::Headers, Framing::Whole];

/// A session, and a peer that has its messages ready.
struct Pair {
    session: Session,
    framing: Framing,
}

impl Pair {
    fn new(framing: Framing) -> Self {
        Pair { session: Session::new(Config { framing: Some(framing), ..Config::default() }), framing }
    }

    fn frame(&self, message: &str) -> Vec<u8> {
        match self.framing {
            Framing::Lines => format!("{message}\n").into_bytes(),
            Framing::Headers => format!("Content-Length: {}\r\n\r\n{message}", message.len()).into_bytes(),
            _ => message.as_bytes().to_vec(),
        }
    }

    fn feed(&mut self, frame: &[u8]) {
        match self.framing {
            Framing::Whole => self.session.handle_message(Time::START, frame),
            _ => {
                self.session.space()[..frame.len()].copy_from_slice(frame);
                self.session.handle_read(Time::START, frame.len());
            }
        }
    }

    /// Answers and writes everything. How many events there were, and how many bytes.
    fn serve(&mut self) -> (usize, usize) {
        let (mut events, mut bytes) = (0, 0);
        loop {
            match self.session.poll_output(Time::START) {
                Output::Event(event) => {
                    events += 1;
                    match event {
                        Event::Request { key, .. } => assert!(self.session.reply(Time::START, key, &[1, 2])),
                        Event::Notification { .. } => self.session.finish_notification(Time::START),
                        Event::Reply { outcome, .. } => assert!(outcome.is_ok()),
                        other => panic!("{other:?}"),
                    }
                }
                Output::Wait(wait) if wait.write.is_empty() => return (events, bytes),
                Output::Wait(wait) => {
                    let count = wait.write.len();
                    bytes += count;
                    self.session.handle_written(Time::START, count);
                }
                Output::Done(cause) => panic!("{cause}"),
            }
        }
    }
}

/// Each frame in turn, again and again, gives `events` events and costs no allocation.
#[track_caller]
fn check(what: &str, messages: &[String], events: usize) {
    for framing in FRAMINGS {
        let mut pair = Pair::new(framing);
        let frames: Vec<Vec<u8>> = messages.iter().map(|message| pair.frame(message)).collect();
        let mut round = |times: usize| {
            for frame in frames.iter().cycle().take(times) {
                pair.feed(frame);
                assert_eq!(pair.serve().0, events, "{what}");
            }
        };
        round(WARM_UP);
        let (cost, _) = counting::during(|| round(MEASURED));
        assert_eq!(cost, 0, "allocations for {MEASURED} times {what}, {framing:?}");
    }
}

fn ids(spelling: impl Fn(usize) -> String, message: impl Fn(&str) -> String) -> Vec<String> {
    (0..100).map(|number| message(&spelling(number))).collect()
}

fn uuid(number: usize) -> String {
    format!("\"67e55044-10b1-426f-9247-{number:012x}\"")
}

fn request(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"textDocument/hover","params":{{"line":3}}}}"#)
}

#[test]
fn requests() {
    check("a request with an integer id", &ids(|n| n.to_string(), request), 1);
    check("a request with a UUID for an id", &ids(uuid, request), 1);
}

#[test]
fn notifications() {
    check("a notification", &[r#"{"jsonrpc":"2.0","method":"n","params":["a"]}"#.to_owned()], 1);
}

#[test]
fn batches() {
    let batch = |spelling: fn(usize) -> String| {
        let entries: Vec<String> = (0..10).map(|n| request(&spelling(n))).collect();
        [format!("[{}]", entries.join(","))]
    };
    check("a batch of ten with integer ids", &batch(|n| n.to_string()), 10);
    check("a batch of ten with UUIDs for ids", &batch(uuid), 10);
}

#[test]
fn progress_tokens_and_traces() {
    let message = |id: &str| {
        let meta = r#"{"progressToken":"p","traceparent":"00-x","tracestate":"a=b"}"#;
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"_meta":{meta}}}}}"#)
    };
    check("a request with a token and a trace", &ids(|n| n.to_string(), message), 1);
}

/// The queue's text lies in one string, and so costs nothing either.
#[test]
fn requests_that_wait() {
    for framing in FRAMINGS {
        let limits = Limits { in_flight: 1, ..Limits::default() };
        let mut pair = Pair::new(framing);
        pair.session = Session::new(Config { framing: Some(framing), limits, ..Config::default() });
        let frames: Vec<_> = ids(uuid, request).iter().map(|request| pair.frame(request)).collect();
        let mut round = |times: usize| {
            for _ in 0..times {
                for frame in &frames[..10] {
                    pair.feed(frame);
                }
                assert_eq!(pair.serve().0, 10);
            }
        };
        round(WARM_UP);
        let (cost, _) = counting::during(|| round(MEASURED / 10));
        assert_eq!(cost, 0, "allocations for requests that wait, {framing:?}");
    }
}

#[test]
fn calls() {
    for framing in FRAMINGS {
        let mut pair = Pair::new(framing);
        let answer = |pair: &mut Pair, options: &CallOptions<'_>, buffer: &mut Vec<u8>| {
            let call = pair.session.call(Time::START, "tools/list", &[1], options).unwrap();
            assert!(pair.serve().1 > 0);
            write_answer(buffer, framing, call.id());
            pair.feed(buffer);
            assert_eq!(pair.serve().0, 1);
        };
        let timed = CallOptions { timeout: Some(std::time::Duration::from_secs(1)), ..Default::default() };
        for options in [CallOptions::default(), timed] {
            let mut buffer = Vec::with_capacity(256);
            (0..WARM_UP).for_each(|_| answer(&mut pair, &options, &mut buffer));
            let (cost, _) = counting::during(|| {
                (0..MEASURED).for_each(|_| answer(&mut pair, &options, &mut buffer));
            });
            assert_eq!(cost, 0, "allocations for {MEASURED} calls, {framing:?}, {options:?}");
        }
    }
}

fn write_answer(buffer: &mut Vec<u8>, framing: Framing, id: u64) {
    use std::io::Write;
    // As many digits for every id, so that the length is the same for all.
    let length = r#"{"jsonrpc":"2.0","id":,"result":[]}"#.len() + 9;
    buffer.clear();
    if framing == Framing::Headers {
        write!(buffer, "Content-Length: {length}\r\n\r\n").unwrap();
    }
    write!(buffer, r#"{{"jsonrpc":"2.0","id":{id},"result":[]}}"#).unwrap();
    let frame_start = buffer.iter().position(|c| *c == b'{').unwrap();
    while buffer.len() - frame_start < length {
        buffer.push(b' ');
    }
    if framing == Framing::Lines {
        buffer.push(b'\n');
    }
}

/// Whoever keeps a call's answer or a notification in a batch pays for it; a single message costs nothing.
#[test]
fn decoding() {
    let messages = [
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":"67e55044-10b1-426f-9247-bb680e5fe0c8","method":"m"}"#,
        r#"{"jsonrpc":"2.0","method":"n","params":{"a":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":[1,2,3]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found","data":[1]}}"#,
    ];
    for message in messages {
        let (cost, _) = counting::during(|| {
            let decoded = decode(message.as_bytes(), &PLAIN, &Limits::default());
            assert!(matches!(decoded, Ok(Incoming::One(Ok(_)))), "{message}");
        });
        assert_eq!(cost, 0, "{message}");
    }
}
