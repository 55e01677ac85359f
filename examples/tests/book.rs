//! The documents are whole: every page is in the index and tested, every link leads somewhere, and code that a page
//! takes from a file is what is in the file.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The pages of the book, and the documents around it.
fn documents() -> Vec<String> {
    let mut found: Vec<String> = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| format!("docs/{}", entry.unwrap().file_name().to_string_lossy()))
        .filter(|name| name.ends_with(".md"))
        .collect();
    found.sort();
    assert!(found.len() > 10, "only {} pages found", found.len());
    let others = [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "examples/README.md",
    ];
    found.extend(others.map(str::to_owned));
    found
}

#[test]
fn every_page_is_in_the_index_and_tested() {
    let (index, tested) = (read("docs/README.md"), read("examples/src/lib.rs"));
    for page in documents().iter().filter(|page| page.starts_with("docs/") && *page != "docs/README.md") {
        assert!(
            index.contains(&format!("({})", &page["docs/".len()..])),
            "docs/README.md does not link {page}"
        );
        if read(page).contains("```rust") {
            assert!(tested.contains(&format!("\"{page}\"")), "examples/src/lib.rs does not test {page}");
        }
    }
}

/// The anchor that a heading has.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.trim().to_lowercase().chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The text outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").step_by(2)
}

#[test]
fn every_link_leads_somewhere() {
    let mut broken = Vec::new();
    for page in documents() {
        let text = read(&page);
        let links =
            prose(&text).flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => root().join(&page),
                _ => root().join(&page).parent().unwrap().join(path),
            };
            if !target.exists() {
                broken.push(format!("{page}: {link}"));
            } else if !fragment.is_empty() {
                let there = fs::read_to_string(&target).unwrap();
                let mut headings = prose(&there).flat_map(str::lines).filter(|line| line.starts_with('#'));
                if !headings.any(|line| anchor(line.trim_start_matches('#')) == fragment) {
                    broken.push(format!("{page}: {link}: no such heading"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// A comment with a path before a block of code says where the code is from: all of the file but its first comment.
/// `UPDATE=1` copies it.
#[test]
fn code_from_files_is_current() {
    let mut checked = 0;
    for page in documents() {
        let text = read(&page);
        let mut updated = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("\n<!-- examples/") {
            let (path, after) = after.split_once(" -->\n").unwrap();
            let (fence, after) = after.split_once('\n').unwrap();
            let (shown, after) = after.split_once("```").unwrap();
            let file = read(&format!("examples/{path}"));
            let code = file.lines().skip_while(|line| line.starts_with("//!") || line.is_empty());
            let code: String = code.flat_map(|line| [line, "\n"]).collect();
            assert!(
                shown == code || std::env::var_os("UPDATE").is_some(),
                "{page} shows another examples/{path}; UPDATE=1 copies it"
            );
            updated += &format!("{before}\n<!-- examples/{path} -->\n{fence}\n{code}```");
            rest = after;
            checked += 1;
        }
        updated += rest;
        if updated != text {
            fs::write(root().join(&page), updated).unwrap();
        }
    }
    assert!(checked > 1, "only {checked} blocks found");
}

/// Every program is in the index of the examples, and so are those of the crates.
#[test]
fn every_example_is_in_the_index() {
    let index = read("examples/README.md");
    for entry in fs::read_dir(root().join("examples/src/bin")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(index.contains(&format!("(src/bin/{name})")), "{name} is not in examples/README.md");
    }
}
