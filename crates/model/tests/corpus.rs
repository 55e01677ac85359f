//! Replays the fuzzers' corpora for the code of this crate.

#[path = "../../../fuzz/targets/captures.rs"]
mod captures;
#[path = "../../../fuzz/replay.rs"]
mod replay;

type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] = &[("captures", captures::run)];
