//! Properties of the framings. `PROPTEST_CASES` sets how many cases each one is tried on.

#![allow(clippy::unwrap_used)]

#[path = "allocations/counting.rs"]
mod counting;
#[path = "../../../fuzz/targets/frames.rs"]
mod cutting;
#[path = "frames/encoded.rs"]
mod encoded;
#[path = "frames/garbage.rs"]
mod garbage;
#[path = "frames/pieces.rs"]
mod pieces;
#[path = "frames/work.rs"]
mod work;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use sabir_proto::Framing;

/// `cases`, unless the environment asks for another number.
fn config(cases: u32) -> ProptestConfig {
    let usual = ProptestConfig::default();
    let regressions = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/frames/regressions.txt");
    ProptestConfig {
        cases: if std::env::var_os("PROPTEST_CASES").is_some() { usual.cases } else { cases },
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        ..usual
    }
}

/// What comes out of a stream without its faults.
fn messages(framing: Option<Framing>, limit: usize, stream: &[u8]) -> Vec<Vec<u8>> {
    let items = cutting::Outcome::of(framing, limit, [stream]).items;
    items.into_iter().filter_map(Result::ok).collect()
}

/// The bodies of messages: JSON, mostly small, with and without line breaks inside.
fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => "\\{[ -~]{0,40}\\}",
        2 => "\\[[ -~é→\\r\\n\\t]{0,60}\\]",
        1 => "\\{x{200,400}\\}",
    ]
    .prop_map(String::into_bytes)
}
