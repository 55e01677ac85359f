//! Replays the fuzzers' corpora for the code of this crate.

#[path = "../../../fuzz/targets/detect.rs"]
mod detect;
#[path = "../../../fuzz/targets/event_ids.rs"]
mod event_ids;
#[path = "../../../fuzz/targets/fast_path.rs"]
mod fast_path;
#[path = "../../../fuzz/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/sse.rs"]
mod sse;
#[path = "../../../fuzz/targets/url.rs"]
mod url;

type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] = &[
    ("detect", detect::run),
    ("event_ids", event_ids::run),
    ("fast_path", fast_path::run),
    ("sse", sse::run),
    ("url", url::run),
];
