//! Captures in all their formats, whole and broken.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::io::{self, Read};
use std::time::Duration;

use sabir_model::capture::{Direction, Event, Header, ReadError, Reader, What, Writer};

/// Gives a few bytes at a time.
struct Drip<'a>(&'a [u8], usize);

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(self.0.len()).min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

/// The format, then a line for each record.
fn dump(input: impl Read) -> String {
    let mut reader = match Reader::new(input) {
        Ok(reader) => reader,
        Err(ReadError::Foreign(what)) => return what.to_owned(),
        Err(error) => panic!("{error}"),
    };
    let mut out = format!("{}\n", reader.format());
    while let Some(record) = reader.next().unwrap() {
        let sign = record.direction.map_or('?', Direction::sign);
        let time = record.time.map_or(String::new(), |time| format!(" {time:?}"));
        let what = match &record.what {
            What::Start(header) => format!("start {header:?}"),
            What::Message(text) => shown(text),
            What::Noise(text) => format!("noise {}", shown(text)),
            What::Stderr(text) => format!("stderr {}", shown(text)),
            What::Event(event, text) => format!("{event:?} {text}"),
            What::Damage(damage) => format!("damage: {damage}"),
            other => format!("{other:?}"),
        };
        let what: String = what.chars().take(120).collect();
        writeln!(out, "{}:{}+{} {sign}{time} {what}", record.line, record.column, record.offset).unwrap();
    }
    if reader.torn() {
        out.push_str("torn\n");
    }
    out
}

fn shown(text: &[u8]) -> String {
    text.escape_ascii().to_string().replace("\\\"", "\"")
}

fn check(text: &[u8], want: &str) {
    for step in [1, 7, usize::MAX] {
        let got = dump(Drip(text, step));
        assert_eq!(got, want, "in steps of {step}");
    }
}

#[test]
fn messages_one_per_line() {
    check(
        b"\xEF\xBB\xBF{\"a\":1}\r\n\n  {\"b\":2}\nStarting\n[1",
        "messages\n1:4+3 ? {\"a\":1}\n3:1+13 ?   {\"b\":2}\n4:1+23 ? Starting\n5:1+32 ? [1\n",
    );
    check(b"", "messages\n");
    check(b"\n\r\n  \n", "messages\n");
}

#[test]
fn transcripts() {
    check(
        b"# why\n> {\"a\":1}\n\n~ 1.5s\n< {}\r\n>> {\\xff\\r\\n\n! closed: idle\nwhat\n> \xff\n",
        "transcript\n2:3+8 > 0ns {\"a\":1}\n5:3+26 < 1.5s {}\n6:4+33 > 1.5s {\\xff\n7:3+45 ? 1.5s Close closed: idle\n\
         8:1+58 ? damage: expected `>`, `<`, `~`, `!` or `#` and a space, found `what`\n9:3+65 > 1.5s \\xff\n",
    );
}

#[test]
fn messages_behind_headers() {
    check(
        b"Content-Length: 7\r\n\r\n{\"a\":1}Content-Length: 9\r\nX: y\r\n\r\n{\n\"b\":2\n}Content-Length: x\r\n\r\n",
        "headers\n3:1+21 ? {\"a\":1}\n6:1+55 ? {\\n\"b\":2\\n}\n8:2+64 ? damage: `Content-Length` is not one decimal number\n",
    );
    check(
        b"Content-Length: 70\r\n\r\n{\"a\":1}",
        "headers\n3:1+22 ? damage: the stream ended in the middle of a message\n",
    );
}

#[test]
fn captures() {
    check(
        b"{\"jrl\":1,\"tool\":\"x\"}\n{\"n\":1,\"t\":5,\"d\":\">\",\"msg\":{\"a\":1}}\nnonsense\n{\"n\":2,\"k\":\"noise\",\"d\":\"<\",\"raw\":\"x\"}\n{\"n\":3,\"t\":1",
        "capture\n1:1+0 ? start Header { version: 1, at: None, tool: Some(\"x\"), transport: None, frame: None, profile: None, cmd: [], target: None\n\
         2:28+48 > 5ns {\"a\":1}\n3:1+57 ? damage: the line is not JSON: expected a value, at byte 0\n\
         4:35+100 < noise x\ntorn\n",
    );
    // A last line that is whole counts, with or without its line break.
    check(b"{\"n\":1,\"msg\":1}", "capture\n1:14+13 ? 1\n");
}

#[test]
fn what_is_no_text_is_named() {
    check(b"\xff\xfe{\0", "the file is in UTF-16; convert it with iconv -f utf-16 -t utf-8");
    check(b"PK\x03\x04rest", "the file is a zip archive; extract it first");
}

/// What no memory could hold is skipped as it comes.
#[test]
fn a_line_without_end() {
    let long = |before: &'static [u8]| before.chain(io::repeat(b'x').take(200 << 20));
    let got = dump(long(b"{\"jsonrpc\":\"2.0\"}\n").chain(&b"\n{}\n"[..]));
    let want = "messages\n1:1+0 ? {\"jsonrpc\":\"2.0\"}\n2:1+18 ? damage: the line is longer than 64 MiB\n3:1+209715219 ? {}\n";
    assert_eq!(got, want);
    let got = dump(long(b"Content-Length: 209715200\r\n\r\n").chain(&b"Content-Length: 2\r\n\r\n{}"[..]));
    let want = "headers\n3:1+29 ? damage: the message is longer than 64 MiB\n5:1+209715250 ? {}\n";
    assert_eq!(got, want);
}

#[test]
fn what_is_written_is_read_again() {
    let header = Header { profile: Some("mcp".to_owned()), ..Header::default() };
    let messages: [(Direction, &[u8]); 6] = [
        (Direction::ToServer, br#"{"jsonrpc":"2.0","id":"\u0041","method":"a\"b","params":{"x": 1.0}}"#),
        (Direction::ToClient, br#"{"jsonrpc":"2.0","id":"A","error":{"code":1,"message":"no"}}"#),
        (Direction::ToServer, b"[{\"jsonrpc\":\"2.0\",\"method\":\"n\"}]"),
        (Direction::ToServer, b"{\"jsonrpc\":\"2.0\",\n\"method\":\"n\"}"),
        (Direction::ToServer, b"{\"no message\":true}"),
        (Direction::ToServer, b"not JSON \x1b[31m"),
    ];
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &header).unwrap();
    for (index, (direction, text)) in messages.into_iter().enumerate() {
        writer.message(Duration::from_micros(index as u64), direction, 3, text).unwrap();
    }
    writer.stray(Duration::from_secs(1), Direction::ToClient, 3, true, b"log \xff").unwrap();
    writer.event(Duration::from_secs(2), 3, Event::Exit, "code 1").unwrap();

    let mut reader = Reader::new(&file[..]).unwrap();
    assert_eq!(reader.header(), Some(&header));
    assert_eq!(reader.next().unwrap().unwrap().what, What::Start(header));
    for (index, (direction, text)) in messages.into_iter().enumerate() {
        let record = reader.next().unwrap().unwrap();
        assert_eq!(record.direction, Some(direction));
        assert_eq!(record.time, Some(Duration::from_micros(index as u64)));
        assert_eq!(record.connection, 3);
        match record.what {
            What::Message(got) | What::Noise(got) => {
                assert_eq!(got, text);
                if record.verbatim {
                    assert!(file[record.offset as usize..].starts_with(text));
                }
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(reader.next().unwrap().unwrap().what, What::Stderr("log \u{fffd}".as_bytes().into()));
    assert_eq!(reader.next().unwrap().unwrap().what, What::Event(Event::Exit, "code 1".into()));
    assert!(reader.next().unwrap().is_none());
}

/// Whoever appends after a crash loses the torn line and nothing else.
#[test]
fn appending_after_a_crash() {
    let path =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("torn-{}.jrl", std::process::id()));
    let message = br#"{"jsonrpc":"2.0","method":"n"}"#;
    let append = || {
        let mut writer = Writer::append(&path, &Header::default()).unwrap();
        writer.message(Duration::ZERO, Direction::ToServer, 1, message).unwrap();
    };
    append();
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    append();
    let got = dump(std::fs::File::open(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    let kinds: Vec<&str> =
        got.lines().map(|line| line.split_once("? ").map_or("", |(_, rest)| &rest[..6])).collect();
    assert_eq!(kinds, ["", "start ", "damage", "start ", ""], "{got}");
}
