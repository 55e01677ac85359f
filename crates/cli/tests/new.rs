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
        let patch = |krate: &str, path: &str| format!("{krate} = {{ path = {:?} }}\n", root().join(path));
        let manifest = fs::read_to_string(project.join("Cargo.toml")).unwrap();
        let patches =
            [("sabir", "sabir"), ("sabir-macros", "macros"), ("sabir-mcp", "mcp"), ("sabir-lsp", "lsp")];
        let patches = patches.into_iter().chain([("sabir-proto", "proto")]);
        let patches: String = patches.map(|(krate, path)| patch(krate, &format!("crates/{path}"))).collect();
        // A workspace of its own, with the versions that are downloaded already.
        let manifest = format!("{manifest}\n[workspace]\n\n[patch.crates-io]\n{patches}");
        fs::write(project.join("Cargo.toml"), manifest).unwrap();
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
