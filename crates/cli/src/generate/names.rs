//! Converts names of a document to identifiers of each language.

use std::collections::{HashMap, HashSet};

/// Longer names are cut to this many ASCII letters.
const LONGEST: usize = 100;

/// The words of a name, however it is spelt: `getBlock_by-hash` has four.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut after_small = false;
    for c in name.chars() {
        let large = c.is_ascii_uppercase();
        if !c.is_ascii_alphanumeric() || (large && after_small) {
            words.push(std::mem::take(&mut word));
        }
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        }
        after_small = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

pub(super) fn snake(name: &str) -> String {
    beginning(words(name).join("_"), "unnamed", "_")
}

pub(super) fn pascal(name: &str) -> String {
    beginning(words(name).iter().map(|word| capital(word)).collect(), "Unnamed", "T")
}

pub(super) fn camel(name: &str) -> String {
    let words = words(name);
    let rest = words.iter().skip(1).map(|word| capital(word));
    beginning(words.first().cloned().into_iter().chain(rest).collect(), "unnamed", "_")
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Makes sure that a name is not empty or too long, and does not begin with a digit.
fn beginning(mut name: String, unnamed: &str, with: &str) -> String {
    name.truncate(LONGEST);
    match name.chars().next() {
        None => unnamed.to_owned(),
        Some(first) if first.is_ascii_digit() => format!("{with}{name}"),
        Some(_) => name,
    }
}

/// Whether it can be the name of a type in all languages.
pub(super) fn is_type_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Assigns each name once, and never a keyword of the language.
#[derive(Debug, Default)]
pub(super) struct Taken {
    keywords: Vec<&'static [&'static str]>,
    given: HashSet<String>,
    /// The last number behind each name that came more than once.
    counts: HashMap<String, usize>,
}

impl Taken {
    pub(super) fn with(keywords: &'static [&'static str]) -> Self {
        Taken { keywords: vec![keywords], ..Taken::default() }
    }

    /// More words that cannot be assigned.
    pub(super) fn and(mut self, keywords: &'static [&'static str]) -> Self {
        self.keywords.push(keywords);
        self
    }

    /// The name, or one like it that is free.
    pub(super) fn free(&mut self, name: &str) -> String {
        let name = match self.keywords.iter().any(|words| words.contains(&name)) {
            true => format!("{name}_"),
            false => name.to_owned(),
        };
        if self.given.insert(name.clone()) {
            return name;
        }
        let name = name.trim_end_matches('_');
        let count = self.counts.entry(name.to_owned()).or_insert(1);
        loop {
            *count += 1;
            let free = format!("{name}_{count}");
            if self.given.insert(free.clone()) {
                return free;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelt_anew() {
        for (name, want) in [
            ("add", ["add", "Add", "add"]),
            ("eth_getBlockByHash", ["eth_get_block_by_hash", "EthGetBlockByHash", "ethGetBlockByHash"]),
            (
                "textDocument/didOpen",
                ["text_document_did_open", "TextDocumentDidOpen", "textDocumentDidOpen"],
            ),
            ("$/progress", ["progress", "Progress", "progress"]),
            ("2fa", ["_2fa", "T2fa", "_2fa"]),
            ("čaj", ["aj", "Aj", "aj"]),
            ("", ["unnamed", "Unnamed", "unnamed"]),
            ("*/", ["unnamed", "Unnamed", "unnamed"]),
        ] {
            assert_eq!([snake(name), pascal(name), camel(name)], want, "{name}");
        }
        let mut taken = Taken::with(&["class"]);
        assert_eq!(taken.free("class"), "class_");
        assert_eq!(taken.free("add"), "add");
        assert_eq!(taken.free("add"), "add_2");
    }
}
