//! `sabir new`: each kind of project compiles against the crates here, and passes its own tests.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn new(folder: &Path, kind: &str, name: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sabir")).args(["new", kind, name]).current_dir(folder).output().unwrap()
}

#[test]
fn each_project_passes_its_own_tests() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for (kind, name) in [("mcp-server", "my-notes"), ("lsp-server", "my-linter"), ("service", "my_service")] {
        let written = new(&folder, kind, name);
        assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
        let project = folder.join(name);
        // As it was written, with the versions that are downloaded already.
        fs::copy(root().join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
        let tested = Command::new(env!("CARGO"))
            .args(["test", "--offline", "--quiet", "--target-dir"])
            // Where the dependencies are compiled already.
            .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join(".."))
            .current_dir(&project)
            .output()
            .unwrap();
        assert!(
            tested.status.success(),
            "{kind}:\n{}{}",
            String::from_utf8_lossy(&tested.stdout),
            String::from_utf8_lossy(&tested.stderr)
        );
        assert!(fs::read_to_string(project.join("README.md")).unwrap().contains(name), "{kind}");
        let again = new(&folder, kind, name);
        assert_eq!(again.status.code(), Some(1), "nothing is overwritten");
    }
}

#[test]
fn names_and_checkouts_that_would_not_build_are_refused() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-refused");
    fs::create_dir_all(&folder).unwrap();
    for name in ["tokio", "serde", "schemars", "serde-json", "sabir", "sabir-mcp", "std", "1st"] {
        let refused = new(&folder, "mcp-server", name);
        assert_eq!(refused.status.code(), Some(2), "{name}");
        assert!(!folder.join(name).exists(), "{name}");
    }
    let refused = Command::new(env!("CARGO_BIN_EXE_sabir"))
        .args(["new", "service", "x", "--path", "."])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not a checkout of Sabir"));
}
