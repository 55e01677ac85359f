//! The house rules that a compiler does not check.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Leaf crates that compute and do nothing else.
const ALLOWED: [&str; 10] = [
    "sabir-proto",
    "foldhash",
    "hashbrown",
    "itoa",
    "memchr",
    "serde",
    "serde_core",
    "serde_json",
    "simdutf8",
    "zmij",
];

/// What an engine without I/O has no use for. Time and randomness come in as arguments.
const FORBIDDEN: [&str; 11] = [
    "std::net",
    "std::thread",
    "std::fs",
    "std::io",
    "std::process",
    "std::env",
    "thread_local!",
    "Instant::now",
    "SystemTime",
    "tokio",
    "println!",
];

const MOST_LINES: usize = 600;

/// Words that a reader who is not a native speaker stumbles over, or that mean something else elsewhere, and what to
/// write instead.
const UNCLEAR: [(&str, &str); 7] = [
    (" is no ", "is not a"),
    (" are no ", "are not"),
    ("tells of", "reports"),
    ("fare better", "succeed"),
    ("sees to", "the verb for what it does"),
    ("goes round", "forms a cycle"),
    ("go round", "form a cycle"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files under `folder` with one of these extensions, and their text. What is built or downloaded is
/// left out.
fn files(folder: &Path, extensions: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a folder entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !matches!(name, "target" | "node_modules" | "artifacts" | "corpus" | "generated")
                && !name.starts_with('.')
            {
                found.extend(files(&path, extensions));
            }
        } else if path.extension().is_some_and(|e| extensions.iter().any(|wanted| e == *wanted)) {
            let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            found.push((path, text));
        }
    }
    found
}

/// The lines that are not comments, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(i, line)| (i + 1, line)).filter(|(_, line)| !line.trim().starts_with("//"))
}

fn report(rule: &str, breaches: &[String]) {
    assert!(breaches.is_empty(), "{rule}:\n{}", breaches.join("\n"));
}

#[test]
fn proto_depends_on_leaf_crates_alone() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--package", "sabir-proto", "--edges", "normal,no-proc-macro", "--target", "all"])
        .args(["--prefix", "none", "--format", "{p}", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(tree.status.success(), "cargo tree: {}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8_lossy(&tree.stdout);
    let crates: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(crates.contains(&"serde_json"), "an odd tree:\n{tree}");
    let strangers: Vec<String> = crates
        .into_iter()
        .filter(|name| !name.is_empty() && !ALLOWED.contains(name))
        .map(str::to_owned)
        .collect();
    report("dependencies that sabir-proto may not have", &strangers);
}

#[test]
fn proto_has_no_clock_thread_socket_or_runtime() {
    let mut breaches = Vec::new();
    for (path, text) in files(&root().join("crates/proto/src"), &["rs"]) {
        for (number, line) in code(&text) {
            for word in FORBIDDEN.iter().filter(|word| line.contains(*word)) {
                breaches.push(format!("{}:{number}: {word}", path.display()));
            }
        }
    }
    report("sabir-proto does no I/O and reads no clock", &breaches);
}

/// A server is made of these, not the other way round.
#[test]
fn connections_know_nothing_of_servers() {
    let mut breaches = Vec::new();
    for folder in ["handler", "peer", "router", "runtime"] {
        for (path, text) in files(&root().join("crates/sabir/src").join(folder), &["rs"]) {
            for (number, _) in code(&text).filter(|(_, line)| line.contains("crate::server")) {
                breaches.push(format!("{}:{number}", path.display()));
            }
        }
    }
    report("crate::server is used below it", &breaches);
}

#[test]
fn unsafe_is_in_one_file() {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let sources = files(&root().join("crates/proto/src"), &["rs"]);
    assert!(sources.iter().any(|(path, _)| path.ends_with("x86.rs")), "x86.rs has moved");
    let mut breaches = Vec::new();
    for (path, text) in sources.iter().filter(|(path, _)| !path.ends_with("x86.rs")) {
        for (number, line) in code(text) {
            if line.split(|c| !is_word(c)).any(|word| word == "unsafe") {
                breaches.push(format!("{}:{number}", path.display()));
            }
        }
    }
    report("unsafe code outside x86.rs", &breaches);
}

#[test]
fn no_source_file_is_long_or_holds_notes_to_self() {
    let notes = [concat!("TO", "DO"), concat!("FIX", "ME")];
    let sources = files(&root(), &["rs", "toml", "py", "js", "ts", "html", "css", "sh"]);
    assert!(sources.len() > 10, "only {} source files found", sources.len());
    let mut breaches = Vec::new();
    for (path, text) in &sources {
        let lines = text.lines().count();
        // What `sabir generate` prints is as long as the document that it is given.
        let is_generated = path.components().any(|part| part.as_os_str() == "generated");
        if lines > MOST_LINES && !is_generated {
            breaches.push(format!("{}: {lines} lines", path.display()));
        }
        for (i, line) in text.lines().enumerate() {
            if notes.iter().any(|note| line.contains(note)) {
                breaches.push(format!("{}:{}: {}", path.display(), i + 1, line.trim()));
            }
        }
    }
    report("files over the limit of lines, and notes to self", &breaches);
}

/// Folders of source code that the map must name, and paths in the map that must exist.
/// Comments, messages and documents. "There is no such file" is clear, and so is "it is no longer there".
#[test]
fn words_are_plain() {
    let mut breaches = Vec::new();
    let mut check = |path: &Path, text: &str| {
        for (number, line) in text.lines().enumerate().map(|(i, line)| (i + 1, line.to_lowercase())) {
            for (words, instead) in UNCLEAR {
                let unclear = line.match_indices(words).any(|(at, words)| {
                    let (before, after) = (&line[..at], &line[at + words.len()..]);
                    !before.ends_with("there") && !after.starts_with("longer") && !after.starts_with("more ")
                });
                if unclear {
                    breaches.push(format!(
                        "{}:{number}: not `{}` but {instead}",
                        path.display(),
                        words.trim()
                    ));
                }
            }
        }
    };
    for folder in ["crates", "docs", "examples", "bench", "fuzz", "interop", "platforms", "release"] {
        for (path, text) in files(&root().join(folder), &["rs", "md", "txt", "rpc", "console", "py", "mjs"]) {
            if !path.ends_with("tests/tidy.rs") {
                check(&path, &text);
            }
        }
    }
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"] {
        let path = root().join(name);
        check(&path, &fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}")));
    }
    report("plain words (CONTRIBUTING.md, English)", &breaches);
}

#[test]
fn the_map_is_true() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let (map, _) = map.split_once("## Invariants").expect("the map comes before the invariants");
    let mut breaches = Vec::new();
    let mut base = String::new();
    let mut named = Vec::new();
    for line in map.lines() {
        if let Some(heading) = line.strip_prefix("### `") {
            base = heading.trim_end_matches('`').to_owned() + "/";
        } else if line.starts_with("## ") {
            base.clear();
        }
        let Some(row) = line.strip_prefix("| ") else { continue };
        let cells: Vec<&str> = row.split(" | ").collect();
        // Paths are in the first column, and in the answers of the last table.
        let cell = if row.starts_with('…') { cells.get(1) } else { cells.first() };
        for path in cell.copied().unwrap_or_default().split('`').skip(1).step_by(2) {
            let path = format!("{base}{path}");
            if !root().join(&path).exists() {
                breaches.push(format!("`{path}` does not exist"));
            }
            named.push(path);
        }
    }
    for krate in ["proto", "load", "sabir", "lsp", "mcp", "model", "cli"] {
        let source = format!("crates/{krate}/src");
        for (path, _) in files(&root().join(&source), &["rs"]) {
            let folder =
                path.parent().expect("a file is in a folder").strip_prefix(root()).expect("below the root");
            let folder = folder.to_string_lossy().replace('\\', "/");
            if folder != source && !named.contains(&folder) && !breaches.iter().any(|b| b.contains(&folder)) {
                breaches.push(format!("`{folder}` is not on the map"));
            }
        }
    }
    report("ARCHITECTURE.md", &breaches);
}

/// Enums that users must match in full, or that nothing can add to.
const CLOSED: [&str; 19] = [
    // The grammars of JSON, JSON-RPC and transcripts.
    "TokenKind",
    "JsonKind",
    "Incoming",
    "Message",
    "Member",
    "Line",
    // What a driver must deal with: one more is a change for every driver.
    "Output",
    "Purpose",
    "Cut",
    // One of a few that nobody adds to.
    "Role",
    "Side",
    "Direction",
    "Severity",
    "Answer",
    "Cell",
    "ParamStructure",
    "Followed",
    "Started",
    // For fuzzers.
    "FastHead",
];

/// Protocols grow: a variant more must not break those who match on an enum.
#[test]
fn public_enums_can_grow() {
    let mut breaches = Vec::new();
    let mut open = 0;
    for krate in ["proto", "sabir", "mcp", "model"] {
        for (path, text) in files(&root().join(format!("crates/{krate}/src")), &["rs"]) {
            let lines: Vec<&str> = text.lines().collect();
            for (i, line) in lines.iter().enumerate() {
                let Some(rest) = line.strip_prefix("pub enum ") else { continue };
                let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                let mut attributes = lines[..i].iter().rev().take_while(|line| line.starts_with(['#', '/']));
                let grows = attributes.any(|line| line.contains("non_exhaustive"));
                open += usize::from(grows);
                if !grows && !CLOSED.contains(&name) {
                    breaches.push(format!("{}:{}: `{name}`", path.display(), i + 1));
                }
            }
        }
    }
    assert!(open > 20, "only {open} enums found");
    report("enums that are neither `#[non_exhaustive]` nor on the list of closed ones", &breaches);
}

#[test]
fn every_feature_is_documented_in_its_crate() {
    let mut breaches = Vec::new();
    for krate in ["proto", "sabir", "mcp", "model"] {
        let read = |file: &str| fs::read_to_string(root().join("crates").join(krate).join(file)).expect(file);
        let (manifest, docs) = (read("Cargo.toml"), read("src/lib.rs"));
        let (_, features) = manifest.split_once("\n[features]\n").expect("features");
        let features: Vec<&str> = features
            .lines()
            .take_while(|line| !line.starts_with('['))
            .filter_map(|line| line.split_once(" = ").map(|(name, _)| name))
            .collect();
        let (_, table) = docs.split_once("//! # Features\n").expect("a section on features");
        let told: Vec<&str> = table
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .filter_map(|line| line.strip_prefix("//! | `")?.split('`').next())
            .collect();
        let missing = features.iter().filter(|name| !told.contains(name));
        breaches.extend(missing.map(|name| format!("{krate}: `{name}` is not in the table")));
        let unknown = told.iter().filter(|name| !features.contains(name));
        breaches.extend(unknown.map(|name| format!("{krate}: there is no feature `{name}`")));
    }
    report("features", &breaches);
}
