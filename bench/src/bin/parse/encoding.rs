//! Writing a response around a result that is ready.

use std::hint::black_box;

use sabir_proto::{Id, Message, RawJson, Response};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::timing::{Cost, interleaved};

pub struct Row {
    pub name: String,
    pub serde: Cost,
    pub ours: Cost,
}

#[derive(Serialize)]
struct Envelope<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: &'a RawValue,
}

pub fn measure() -> Vec<Row> {
    [5, 300, 10 * 1024].into_iter().map(row).collect()
}

fn row(len: usize) -> Row {
    let text = format!("\"{}\"", "x".repeat(len - 2));
    let envelope = Envelope {
        jsonrpc: "2.0",
        id: serde_json::from_str("12345").expect("valid"),
        result: serde_json::from_str(&text).expect("valid"),
    };
    let message = Message::Response(Response {
        id: Id::from(12345),
        outcome: Ok(RawJson::new(text.as_str()).expect("valid")),
    });
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    let mut write_theirs = || {
        theirs.clear();
        serde_json::to_writer(&mut theirs, black_box(&envelope)).expect("memory takes all");
        black_box(&theirs);
    };
    let mut write_ours = || {
        ours.clear();
        black_box(&message).encode(&mut ours);
        black_box(&ours);
    };
    let costs = interleaved(&mut [&mut write_theirs, &mut write_ours]);
    assert_eq!(theirs, ours);
    Row { name: format!("result of {len} B"), serde: costs[0], ours: costs[1] }
}
