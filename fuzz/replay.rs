//! Replays corpora in the plain test run, so that what a fuzzer once found stays fixed. Each crate has a `tests/corpus.rs`
//! that includes this file and names the targets for its own code.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_target_passes_its_corpus() {
    for (name, run) in super::TARGETS {
        let files = entries(&fuzz().join("corpus").join(name));
        assert!(!files.is_empty(), "the corpus of `{name}` is empty");
        for file in files {
            let data = fs::read(&file).expect("a readable corpus file");
            let outcome = std::panic::catch_unwind(|| run(&data));
            assert!(outcome.is_ok(), "`{name}` fails on {}", file.display());
        }
    }
}

pub(crate) fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.expect("a folder entry").path()).collect();
    paths.sort();
    paths
}
