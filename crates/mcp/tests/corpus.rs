//! Replays the fuzzers' corpora for the code of this crate.

#[cfg(feature = "auth")]
#[path = "../../../fuzz/targets/authorization.rs"]
mod authorization;
#[path = "../../../fuzz/targets/mcp_headers.rs"]
mod mcp_headers;
#[path = "../../../fuzz/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/template.rs"]
mod template;

type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] = &[
    #[cfg(feature = "auth")]
    ("authorization", authorization::run),
    ("mcp_headers", mcp_headers::run),
    ("template", template::run),
];
