//! However a stream is cut into reads, the same messages and faults come out of it.

use proptest::prelude::*;
use proptest::sample::Index;
use sabir_proto::Framing;

use crate::cutting::{self, Outcome};
use crate::{body, config};

/// What streams are made of, whole and broken. Bodies may be longer than the length says, and shorter.
fn part() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![4 => 0..90usize, 1 => Just(usize::MAX)];
    prop_oneof![
        4 => body(),
        4 => body().prop_map(|body| [format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes(), body].concat()),
        2 => length.prop_map(|length| format!("content-length:{length}\n\n").into_bytes()),
        2 => prop::sample::select(vec![
            "\n", "\r\n", "\r", "\n\n", " \t\r\n", "Content-Length: ", "Content-Length", ":", "Content-", "c",
            "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "Content-Length: +1\r\n\r\n", "X: y\r\n\r\n",
            "X: y\r\n", "\u{feff}", "Content-Type: a\r\n", "-1\r\n\r\n", "99999999999999999999\r\n",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ]
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let damage = prop::collection::vec((any::<Index>(), any::<u8>()), 0..3);
    (prop::collection::vec(part(), 0..8), damage).prop_map(|(parts, damage)| {
        let mut stream = parts.concat();
        for (at, byte) in damage {
            if !stream.is_empty() {
                let at = at.index(stream.len());
                stream[at] = byte;
            }
        }
        stream
    })
}

fn framing() -> impl Strategy<Value = Option<Framing>> {
    prop::sample::select(vec![None, Some(Framing::Lines), Some(Framing::Headers)])
}

proptest! {
    #![proptest_config(config(3000))]

    #[test]
    fn any_stream_in_any_pieces(
        framing in framing(),
        limit in prop_oneof![0..50usize, Just(300), Just(usize::MAX - 1)],
        stream in stream(),
        sizes in prop::collection::vec(0..40u8, 0..12),
    ) {
        cutting::check(framing, limit, &stream, &sizes);
        cutting::check(framing, limit, &stream, &[]);
    }

    #[test]
    fn any_bytes_at_all(data in prop::collection::vec(any::<u8>(), 0..60)) {
        cutting::run(&data);
    }
}

/// Every way to cut a stream in two, and the framing known or not.
#[test]
fn every_place_to_cut() {
    let streams = [
        "{\"a\":1}\r\n\n{\"b\":2}\n{\"c\":3}",
        "\u{feff}{\"a\":1}\n",
        "Content-Length: 7\r\n\r\n{\"a\":1}Content-Length: 2\r\nX: y\r\n\r\n{}",
        "\u{feff}content-length: 2\n\n{}junk\r\nContent-LENGTH: 2\r\n\r\n[]",
        "Content-Length: 100\r\n\r\nContent-Length: 2\r\n\r\n",
    ];
    for stream in streams.map(str::as_bytes) {
        for framing in [None, Some(Framing::Lines), Some(Framing::Headers)] {
            for limit in [0, 6, 7, 8, 1000] {
                let whole = Outcome::of(framing, limit, [stream]);
                for at in 0..=stream.len() {
                    let (first, second) = stream.split_at(at);
                    let pieces = Outcome::of(framing, limit, [first, second]);
                    assert_eq!(pieces, whole, "{} | {}", first.escape_ascii(), second.escape_ascii());
                }
            }
        }
    }
}

/// Streams for which pieces once mattered, or the end, or which were kept without end.
#[test]
fn long_lines_and_white_space() {
    let streams = [
        format!("X: {}\r\nContent-Length: 2\r\n\r\n{{}}", "y".repeat(9000)),
        format!("Content-Length: 2\r\nX: {}Content-Length: 2\r\n\r\n{{}}", "y".repeat(9000)),
        format!("{}{{}}\n", " \n".repeat(10_000)),
        format!("{}Content-Length: 2\r\n\r\n{{}}", "\n ".repeat(10_000)),
        "Content-Length: 2\r\n\r\n{}\r".to_owned(),
        "Content-Length: 2\r\n\r\n{} ".to_owned(),
    ];
    for stream in streams {
        for framing in [None, Some(Framing::Lines), Some(Framing::Headers)] {
            for size in [1, 7, 100, 255] {
                cutting::check(framing, 100, stream.as_bytes(), &[size]);
            }
        }
    }
}
