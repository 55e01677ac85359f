//! How much is lost to garbage between messages with headers.
//!
//! Garbage cannot be told from a header block where it looks like one, so three things are asked of it here:
//! that it holds no `Content-Length:`, which would announce a body; that the messages are JSON objects or
//! arrays, which no header starts like; and that it ends with a line break. Then every message comes out.
//! Without the line break, its last line and the next header are one line. That may read as some unknown
//! header, in which case the message right behind it is lost, and no other one.

use proptest::prelude::*;
use sabir_proto::Framing;

use crate::{body, config, messages};

fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => "[ -~]{0,60}".prop_map(String::into_bytes),
        2 => prop::collection::vec(any::<u8>(), 0..60),
        2 => body(),
        2 => prop::sample::select(vec![
            "X: y\r\n", "X: y\r\n\r\n", "\r\n\r\n", "\n", "Content-Length\r\n", "Content-Length 5\r\n", "Content-Type: a\r\n",
            "content-lengt", "log: line", "C", "12", "{\"a\":1}",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        1 => (1..3000usize).prop_map(|n| "spam ".repeat(n).into_bytes()),
    ];
    prop::collection::vec(piece, 0..4)
        .prop_map(|pieces| pieces.concat())
        .prop_filter("it announces no body", |garbage| {
            !garbage.to_ascii_lowercase().windows(15).any(|window| window == b"content-length:")
        })
}

fn frame(body: &[u8]) -> Vec<u8> {
    [format!("Content-Type: x\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

fn innocent() -> impl Strategy<Value = Vec<u8>> {
    body().prop_filter("it announces no body", |body| {
        !body.to_ascii_lowercase().windows(15).any(|window| window == b"content-length:")
    })
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn whole_lines_of_it_lose_nothing(
        parts in prop::collection::vec((garbage(), innocent()), 0..6),
        last in garbage(),
    ) {
        let mut stream = Vec::new();
        for (garbage, body) in &parts {
            stream.extend_from_slice(garbage);
            if !garbage.is_empty() {
                stream.push(b'\n');
            }
            stream.extend_from_slice(&frame(body));
        }
        stream.extend_from_slice(&last);
        let expected: Vec<_> = parts.into_iter().map(|(_, body)| body).collect();
        prop_assert_eq!(messages(Some(Framing::Headers), 1 << 20, &stream), expected);
    }

    #[test]
    fn half_a_line_loses_one_at_most(
        before in innocent(),
        garbage in garbage(),
        next in innocent(),
        after in prop::collection::vec(innocent(), 1..4),
    ) {
        let mut stream = frame(&before);
        stream.extend_from_slice(&garbage);
        for body in std::iter::once(&next).chain(&after) {
            stream.extend_from_slice(&frame(body));
        }
        let seen = messages(Some(Framing::Headers), 1 << 20, &stream);
        let rest = std::iter::once(before).chain(after);
        let without: Vec<_> = rest.collect();
        let mut with = without.clone();
        with.insert(1, next);
        prop_assert!(seen == with || seen == without, "{seen:?}\n of {with:?}");
    }
}
