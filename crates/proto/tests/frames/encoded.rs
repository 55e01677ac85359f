//! What is framed comes out again as it was.

use proptest::prelude::*;
use sabir_proto::{Config, Framing, Output, RawJson, Session, Time};

use crate::{body, config, messages};

const LIMIT: usize = 1 << 20;

/// Bodies that fit on a line.
fn line() -> impl Strategy<Value = Vec<u8>> {
    body().prop_map(|body| body.into_iter().filter(|c| !matches!(c, b'\r' | b'\n')).collect())
}

/// A header block for a body of any length, with `{}` for that length.
fn head() -> impl Strategy<Value = String> {
    let name =
        prop::sample::select(vec!["Content-Length", "content-length", "CONTENT-LENGTH", "cOnTeNt-lEnGtH"]);
    let space = prop::sample::select(vec!["", " ", "  ", "\t"]);
    let other = "([A-Za-z-]{1,8}|Content-Type|Content-Length-Not):[ -~]{0,12}";
    let others = prop::collection::vec(other, 0..3);
    let line_break = prop::sample::select(vec!["\r\n", "\n"]);
    // The same length twice does not contradict itself.
    (name, space, others, any::<prop::sample::Index>(), line_break, any::<bool>()).prop_map(
        |(name, space, mut others, at, line_break, twice)| {
            others.retain(|other| !other.to_ascii_lowercase().starts_with("content-length:"));
            let length = format!("{name}:{space}{{}}{space}");
            if twice {
                others.push(length.clone());
            }
            others.insert(at.index(others.len() + 1), length);
            others.join(line_break) + line_break + line_break
        },
    )
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn lines(
        bodies in prop::collection::vec((line(), "(\n|\r\n)([ \t]{0,3}\r?\n){0,3}"), 0..8),
        detect: bool,
        last_line_ends: bool,
    ) {
        let mut stream = Vec::new();
        for (body, ending) in &bodies {
            stream.extend_from_slice(body);
            stream.extend_from_slice(ending.as_bytes());
        }
        if !last_line_ends {
            stream.truncate(stream.trim_ascii_end().len());
        }
        let framing = (!detect).then_some(Framing::Lines);
        let expected: Vec<_> = bodies.into_iter().map(|(body, _)| body).collect();
        prop_assert_eq!(messages(framing, LIMIT, &stream), expected);
    }

    #[test]
    fn headers(
        frames in prop::collection::vec((head(), body(), "(\r?\n){0,2}"), 0..8),
        detect: bool,
    ) {
        // Detection knows a stream by the header that comes first.
        let detect = detect && frames.first().is_none_or(|(head, ..)| {
            head.to_ascii_lowercase().starts_with("content-")
        });
        let mut stream = Vec::new();
        for (head, body, after) in &frames {
            stream.extend_from_slice(head.replace("{}", &body.len().to_string()).as_bytes());
            stream.extend_from_slice(body);
            stream.extend_from_slice(after.as_bytes());
        }
        let framing = (!detect).then_some(Framing::Headers);
        let expected: Vec<_> = frames.into_iter().map(|(_, body, _)| body).collect();
        prop_assert_eq!(messages(framing, LIMIT, &stream), expected);
    }

    /// Bodies of every number of digits, through a session's own writing.
    #[test]
    fn sessions_write_what_a_deframer_reads(
        sizes in prop::collection::vec(prop_oneof![4 => 0..120usize, 1 => 900..1100usize, 1 => 9900..10100usize], 1..5),
        headers: bool,
    ) {
        let framing = if headers { Framing::Headers } else { Framing::Lines };
        let mut session = Session::new(Config { framing: Some(framing), ..Config::default() });
        let mut expected = Vec::new();
        for size in sizes {
            let text = "x".repeat(size);
            let params = RawJson::new(format!("[\n\"{text}\"\r\n]")).unwrap();
            session.notify_raw(Time::START, "n", Some(&params)).unwrap();
            let kept = if headers { params.to_string() } else { format!("[\"{text}\"]") };
            expected.push(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{kept}}}").into_bytes());
        }
        let Output::Wait(wait) = session.poll_output(Time::START) else { panic!("there is nothing to do") };
        prop_assert_eq!(messages(Some(framing), LIMIT, wait.write), expected);
    }
}
