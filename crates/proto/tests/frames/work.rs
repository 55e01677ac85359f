//! What large and endless messages cost: never a clock, always what is moved or held.

use sabir_proto::{Config, Event, FrameFault, Framing, Limits, Output, Report, Session, Time};

use crate::counting;

const MIB: usize = 1 << 20;

/// Reads as a pipe gives them.
const READ: usize = 4 * 1024;

fn read(session: &mut Session, bytes: &[u8]) {
    for piece in bytes.chunks(READ) {
        session.space()[..piece.len()].copy_from_slice(piece);
        session.handle_read(Time::START, piece.len());
    }
}

/// Buffers that grow by doubling ask for less than four times the message in all, in a few dozen steps; one
/// that grew by each read would ask for thousands of times as much. That nothing is looked at twice cannot
/// be seen from outside and rests on the framings' own bookkeeping.
#[test]
fn a_large_message_is_linear() {
    let length = 64 * MIB;
    for framing in [Framing::Lines, Framing::Headers] {
        let limits = Limits { message_bytes: 2 * length, ..Limits::default() };
        let mut session = Session::new(Config { framing: Some(framing), limits, ..Config::default() });
        let filling = [b'x'; READ];
        let polls = |session: &mut Session, piece: &[u8]| {
            read(session, piece);
            match session.poll_output(Time::START) {
                Output::Event(event) => Some(event.into_owned()),
                Output::Wait(_) => None,
                Output::Done(cause) => panic!("{cause}"),
            }
        };
        let start = r#"{"jsonrpc":"2.0","method":"n","params":[""#;
        let end = r#""]}"#;
        let body = start.len() + length + end.len();
        let (count, bytes) = counting::during(|| {
            if framing == Framing::Headers {
                assert_eq!(polls(&mut session, format!("Content-Length: {body}\r\n\r\n").as_bytes()), None);
            }
            assert_eq!(polls(&mut session, start.as_bytes()), None);
            for _ in 0..length / READ {
                assert_eq!(polls(&mut session, &filling), None);
            }
            read(&mut session, end.as_bytes());
            if framing == Framing::Lines {
                read(&mut session, b"\n");
            }
            let Output::Event(Event::Notification { params: Some(params), .. }) =
                session.poll_output(Time::START)
            else {
                panic!("the message is whole");
            };
            assert_eq!(params.as_str().len(), length + 4);
        });
        assert!(count < 64, "{framing:?}: {count} allocations");
        assert!(bytes < 4 * body as u64, "{framing:?}: {bytes} bytes asked for");
    }
}

/// An endless message is refused once. What is held stays under twice the limit for a message, to which a
/// buffer may have grown by doubling, and a little for the reads.
#[test]
fn an_endless_message_is_bounded_and_answered_once() {
    let most = 2 * Limits::default().message_bytes + MIB;
    for framing in [None, Some(Framing::Lines), Some(Framing::Headers)] {
        let mut session = Session::new(Config { framing, ..Config::default() });
        let filling = vec![b'x'; MIB];
        let (mut refused, mut highest) = (0, 0);
        let mut poll = |session: &mut Session| loop {
            match session.poll_output(Time::START) {
                Output::Event(Event::Report(Report::Frame(FrameFault::TooLarge { .. }))) => refused += 1,
                Output::Event(other) => panic!("{other:?}"),
                Output::Wait(_) => {
                    highest = highest.max(session.usage().bytes);
                    break;
                }
                Output::Done(cause) => panic!("{cause}"),
            }
        };
        if framing == Some(Framing::Headers) {
            session.handle_bytes(Time::START, format!("Content-Length: {}\r\n\r\n", 256 * MIB).as_bytes());
        }
        for _ in 0..256 {
            session.handle_bytes(Time::START, &filling);
            poll(&mut session);
        }
        assert_eq!(refused, 1, "{framing:?}");
        assert!(highest <= most, "{framing:?}: {highest} bytes");
        let Output::Wait(wait) = session.poll_output(Time::START) else { panic!("it goes on") };
        let answers = String::from_utf8(wait.write.to_vec()).unwrap();
        assert_eq!(answers.matches("-32007").count(), 1, "{answers}");
        let sent = wait.write.len();
        session.handle_written(Time::START, sent);

        let next = r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#;
        let next = match framing {
            Some(Framing::Headers) => format!("Content-Length: {}\r\n\r\n{next}", next.len()),
            _ => format!("tail\n{next}\n"),
        };
        session.handle_bytes(Time::START, next.as_bytes());
        let output = session.poll_output(Time::START);
        assert!(matches!(output, Output::Event(Event::Request { .. })), "{output:?}");
    }
}
