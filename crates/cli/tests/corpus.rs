//! Replays the fuzzers' corpora for the code of this crate.

#[path = "../../../fuzz/targets/generate.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod generate;
#[path = "../../../fuzz/replay.rs"]
mod replay;

type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] = &[("generate", generate::run)];
