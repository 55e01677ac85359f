//! The index says the same as the records, in every format, and finds their contents again.

#![allow(clippy::unwrap_used)]

use std::io::Cursor;
use std::time::Duration;

use sabir_model::calls::{Kind, Status, Tracker};
use sabir_model::capture::Direction::{ToClient, ToServer};
use sabir_model::capture::{Event, Header, Reader, What, Writer};
use sabir_model::index::{Contents, Index, Search};

fn index(text: &[u8]) -> (Index, Contents<Cursor<Vec<u8>>>) {
    let mut reader = Reader::new(text).unwrap();
    let mut index = Index::default();
    while let Some(record) = reader.next().unwrap() {
        index.push(&record).unwrap();
    }
    (index, Contents::new(Cursor::new(text.to_vec()), reader.format()))
}

fn capture() -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &Header::default()).unwrap();
    let ms = Duration::from_millis;
    writer.event(ms(0), 3, Event::Open, "").unwrap();
    writer.message(ms(1), ToServer, 3, br#"{"jsonrpc":"2.0","id":1,"method":"a"}"#).unwrap();
    writer.message(ms(2), ToServer, 3, br#"{"jsonrpc":"2.0","id":2,"method":"b"}"#).unwrap();
    writer
        .message(ms(4), ToClient, 3, br#"{"jsonrpc":"2.0","id":2,"error":{"code":-5,"message":""}}"#)
        .unwrap();
    writer.message(ms(9), ToClient, 3, b"{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":\"\xC3\xA9\"}").unwrap();
    writer.stray(ms(9), ToClient, 3, true, b"say \"x\"\n").unwrap();
    writer.message(ms(10), ToServer, 3, br#"{"jsonrpc":"2.0","id":3,"method":"c"}"#).unwrap();
    writer.event(ms(11), 3, Event::Exit, "killed by signal 9").unwrap();
    file
}

#[test]
fn rows_are_as_their_records() {
    let dump = b"Content-Length: 37\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}Content-Length: 2\r\n\r\n{}";
    let transcript =
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n# why\n~ 5ms\n<< a\\x00\\\\b\n! closed: x\n";
    let messages = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\r\n\nnoise\n";
    for text in [&capture()[..], dump, transcript.as_bytes(), messages.as_bytes()] {
        let (index, mut contents) = index(text);
        let mut tracker = Tracker::default();
        let mut reader = Reader::new(text).unwrap();
        let mut row = 0;
        while let Some(record) = reader.next().unwrap() {
            let (want, got) = (tracker.follow(&record), index.entry(row).unwrap());
            // Times are kept in microseconds, and requests learn of their answers.
            assert_eq!(
                (got.number, got.kind, got.name, got.bytes, got.connection, got.direction, got.time),
                (want.number, want.kind, want.name, want.bytes, want.connection, want.direction, want.time)
            );
            if got.kind != Kind::Request {
                assert_eq!((got.status, got.took, got.code), (want.status, want.took, want.code));
            }
            let content = contents.read(&index, row).unwrap();
            match &record.what {
                What::Message(text) | What::Noise(text) | What::Stderr(text) => assert_eq!(content, *text),
                What::Event(_, text) if record.verbatim || !text.starts_with("closed") => {
                    assert_eq!(content, text.as_bytes());
                }
                _ => {}
            }
            row += 1;
        }
        assert_eq!(index.len(), row);
    }
}

#[test]
fn requests_learn_of_their_answers() {
    let (index, _) = index(&capture());
    let told = |row| {
        let entry = index.entry(row).unwrap();
        (entry.status, entry.other, entry.took.map(|took| took.as_millis()), entry.code)
    };
    assert_eq!(told(2), (Some(Status::Ok), Some(6), Some(8), None));
    assert_eq!(told(3), (Some(Status::Error), Some(5), Some(2), Some(-5)));
    assert_eq!(told(4), (Some(Status::Error), Some(4), Some(2), Some(-5)));
    assert_eq!(told(7), (Some(Status::Pending), None, None, None));
    assert_eq!(index.entry(1).unwrap().connection, 3);
    assert!(index.entry(9).is_none());
}

#[test]
fn long_calls_have_their_times() {
    for seconds in [4_294, 4_295, 7_200, 86_400 * 100] {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, &Header::default()).unwrap();
        let (start, took) = (Duration::from_millis(1), Duration::from_secs(seconds));
        for (id, answer) in [(1, r#""result":1"#), (2, r#""error":{"code":-5,"message":""}"#)] {
            let call = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a"}}"#);
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#);
            writer.message(start, ToServer, 1, call.as_bytes()).unwrap();
            writer.message(start + took, ToClient, 1, answer.as_bytes()).unwrap();
        }
        let (index, mut contents) = index(&file);
        for row in 1..5 {
            assert_eq!(index.entry(row).unwrap().took, Some(took), "{row}");
        }
        let mut search = Search::new(format!("ms>={}", seconds * 1000).parse().unwrap());
        search.advance(&index, &mut contents, u32::MAX).unwrap();
        assert_eq!(search.found(), [1, 2, 3, 4]);
    }
}

#[test]
fn many_connections_keep_their_numbers() {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &Header::default()).unwrap();
    for connection in 1..=70_000 {
        writer.event(Duration::ZERO, connection, Event::Open, "").unwrap();
    }
    let (index, _) = index(&file);
    for row in [1, 65_535, 65_536, 65_537, 70_000] {
        assert_eq!(index.entry(row).unwrap().connection, u64::from(row));
    }
}

#[test]
fn a_search_goes_on_when_rows_come() {
    let text = capture();
    let mut reader = Reader::new(&text[..]).unwrap();
    let mut index = Index::default();
    let mut contents = Contents::new(Cursor::new(text.clone()), reader.format());
    let mut search = Search::new("kind:req,stderr,exit -\"killed\"".parse().unwrap());
    while let Some(record) = reader.next().unwrap() {
        index.push(&record);
        search.advance(&index, &mut contents, u32::MAX).unwrap();
        assert_eq!(search.looked(), index.len());
    }
    assert_eq!(search.found(), [2, 3, 6, 7]);
}

#[test]
fn a_file_that_was_cut_is_an_error_and_nothing_worse() {
    let text = capture();
    let (index, _) = index(&text);
    let mut contents =
        Contents::new(Cursor::new(text[..200].to_vec()), sabir_model::capture::Format::Capture);
    assert!(contents.read(&index, 7).is_err());
    assert!(contents.read(&index, 1).is_ok());
    assert!(contents.read(&index, 99).unwrap().is_empty());
}

#[test]
fn long_calls_keep_their_time() {
    for took in
        [Duration::ZERO, Duration::from_secs(2146), Duration::from_secs(7200), Duration::from_secs(86_400)]
    {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, &Header::default()).unwrap();
        writer.message(Duration::ZERO, ToServer, 1, br#"{"jsonrpc":"2.0","id":1,"method":"a"}"#).unwrap();
        writer.message(took, ToClient, 1, br#"{"jsonrpc":"2.0","id":1,"result":1}"#).unwrap();
        let (index, _) = index(&file);
        let last = index.entry(index.len() - 1).unwrap();
        assert_eq!(last.took, Some(took));
    }
}

/// The exchange of HTTP that a row is of is in its line, before the content.
#[test]
fn exchanges_are_found_by_position() {
    let long = "a".repeat(300_000);
    let head = r#""h":"POST /mcp\nx-own: 1","#;
    let text = [
        "{\"jrl\":1,\"transport\":\"http\"}\n".to_owned(),
        format!("{{\"n\":1,\"d\":\">\",\"x\":7,\"k\":\"req\",{head}\"msg\":{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{long}\"}}}}\n"),
        "{\"n\":2,\"d\":\"<\",\"x\":7,\"k\":\"http\",\"raw\":\"202 Accepted\"}\n".to_owned(),
        format!("{{\"n\":3,\"d\":\">\",\"x\":8,\"k\":\"noise\",{head}\"raw\":\"a\\nb\"}}\n"),
        "{\"n\":4,\"d\":\">\",\"msg\":{\"jsonrpc\":\"2.0\",\"method\":\"y\"}}\n".to_owned(),
        "{\"n\":5,\"k\":\"close\"}\n".to_owned(),
    ]
    .concat();
    let (index, mut contents) = index(text.as_bytes());
    let told: Vec<Option<(u64, Option<String>)>> = (0..index.len())
        .map(|row| {
            let exchange = contents.exchange(index.place(row).unwrap()).unwrap()?;
            Some((exchange.number, exchange.head.map(|head| head.into_owned())))
        })
        .collect();
    let head = || Some("POST /mcp\nx-own: 1".to_owned());
    assert_eq!(told, [None, Some((7, head())), Some((7, None)), Some((8, head())), None, None]);
    // The reader says the same.
    let mut reader = Reader::new(text.as_bytes()).unwrap();
    for want in told {
        let exchange = reader.next().unwrap().unwrap().exchange.map(|exchange| exchange.into_owned());
        let exchange =
            exchange.map(|exchange| (exchange.number, exchange.head.map(|head| head.into_owned())));
        assert_eq!(exchange, want);
    }
}
