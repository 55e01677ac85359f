//! Any bytes at all: the decoder says what the oracle says, in every dialect, and what it accepts goes
//! out and comes back unchanged.

use sabir_proto::{Dialect, Incoming, Limits, Message, decode};

#[path = "../../crates/proto/tests/grammar/number.rs"]
pub(crate) mod number;
#[path = "../../crates/proto/tests/grammar/oracle.rs"]
pub(crate) mod oracle;
#[path = "../../crates/proto/tests/grammar/verdict.rs"]
pub(crate) mod verdict;

use verdict::Verdict;

/// Two revisions of MCP are left out: their grammar is that of a neighbour.
const DIALECTS: [Dialect; 6] = [
    sabir_proto::PLAIN,
    sabir_proto::LSP,
    sabir_proto::MCP_2024_11_05,
    sabir_proto::MCP_2025_06_18,
    sabir_proto::MCP_2025_11_25,
    sabir_proto::LENIENT,
];

pub(crate) fn run(data: &[u8]) {
    for dialect in &DIALECTS {
        check(data, dialect, &Limits::default());
    }
    check(data, &sabir_proto::PLAIN, &Limits { depth: 3, batch_len: 2, ..Limits::default() });
}

fn check(text: &[u8], dialect: &Dialect, limits: &Limits) {
    let decoded = decode(text, dialect, limits);
    let (seen, wanted) = (Verdict::of(&decoded), oracle::judge(text, dialect, limits));
    assert!(
        seen.fits(&wanted),
        "{}, depth {}: {}\n    seen: {seen:?}\n  wanted: {wanted:?}",
        dialect.name,
        limits.depth,
        String::from_utf8_lossy(text),
    );
    match decoded {
        Ok(Incoming::One(Ok(message))) => comes_back(&message, dialect, limits),
        Ok(Incoming::Batch(entries)) => {
            entries.iter().flatten().for_each(|message| comes_back(message, dialect, limits));
        }
        Ok(Incoming::One(Err(_))) => {}
        Err(error) => assert!(error.offset <= text.len(), "{error} of {}", text.len()),
    }
}

/// Encoding and decoding again gives the same message, with the id to the letter.
pub(crate) fn comes_back(message: &Message<'_>, dialect: &Dialect, limits: &Limits) {
    let mut text = Vec::new();
    message.encode(&mut text);
    let again = decode(&text, dialect, limits);
    let Ok(Incoming::One(Ok(again))) = &again else {
        panic!("{}: {message} came back as {again:?}", dialect.name);
    };
    assert_eq!(again, message, "{}", dialect.name);
    assert_eq!(id_text(again), id_text(message), "{}", dialect.name);
}

fn id_text<'a>(message: &'a Message<'_>) -> Option<&'a str> {
    match message {
        Message::Request(request) => Some(request.id.text()),
        Message::Response(response) => Some(response.id.text()),
        Message::Notification(_) => None,
    }
}
