//! Replays the fuzzers' corpora for the code of this crate.

#[path = "../../../fuzz/targets/mcp_headers.rs"]
mod mcp_headers;
#[path = "../../../fuzz/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/template.rs"]
mod template;

type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] = &[("mcp_headers", mcp_headers::run), ("template", template::run)];
