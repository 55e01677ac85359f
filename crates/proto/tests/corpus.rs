//! Replays the fuzzers' corpora in the plain test run, so that what a fuzzer once found stays fixed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

macro_rules! targets {
    ($($name:ident: $path:literal,)*) => {
        $(#[path = $path] mod $name;)*
        const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), $name::run)),*];
    };
}

targets! {
    cursor: "../../../fuzz/targets/cursor.rs",
    decode: "../../../fuzz/targets/decode.rs",
    frames: "../../../fuzz/targets/frames.rs",
    session: "../../../fuzz/targets/session.rs",
}

#[test]
fn every_target_passes_its_corpus() {
    for (name, run) in TARGETS {
        let files = entries(&fuzz().join("corpus").join(name));
        assert!(!files.is_empty(), "the corpus of `{name}` is empty");
        for file in files {
            let data = fs::read(&file).expect("a readable corpus file");
            let outcome = std::panic::catch_unwind(|| run(&data));
            assert!(outcome.is_ok(), "`{name}` fails on {}", file.display());
        }
    }
}

#[test]
fn every_target_is_replayed() {
    let listed: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    for folder in ["targets", "src/bin", "corpus"] {
        let there: BTreeSet<String> = entries(&fuzz().join(folder))
            .iter()
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        assert_eq!(there, listed, "fuzz/{folder} and the targets of this test differ");
    }
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.expect("a folder entry").path()).collect();
    paths.sort();
    paths
}
