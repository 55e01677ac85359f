//! Replays the fuzzers' corpora for the code of this crate.

#[path = "../../../fuzz/targets/cursor.rs"]
mod cursor;
#[path = "../../../fuzz/targets/decode.rs"]
mod decode;
#[path = "../../../fuzz/targets/frames.rs"]
mod frames;
#[path = "../../../fuzz/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/session.rs"]
mod session;

type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] =
    &[("cursor", cursor::run), ("decode", decode::run), ("frames", frames::run), ("session", session::run)];

/// Each target is in the corpus test of some crate, and has a program and a corpus.
#[test]
fn every_target_is_replayed() {
    use std::collections::BTreeSet;
    let fuzz = replay::fuzz();
    let mut listed = BTreeSet::new();
    for folder in replay::entries(&fuzz.join("../crates")) {
        let Ok(text) = std::fs::read_to_string(folder.join("tests/corpus.rs")) else { continue };
        let Some((_, table)) = text.split_once("const TARGETS") else { continue };
        let (table, _) = table.split_once("];").expect("the table of targets has an end");
        let names = table.split("(\"").skip(1).filter_map(|entry| entry.split('"').next());
        listed.extend(names.map(str::to_owned));
    }
    for folder in ["targets", "src/bin", "corpus"] {
        let there: BTreeSet<String> = replay::entries(&fuzz.join(folder))
            .iter()
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        assert_eq!(there, listed, "fuzz/{folder} and the corpus tests of the crates differ");
    }
}
