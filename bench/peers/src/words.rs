//! What the language servers of the benchmark know of texts, for those whose library has no documents: positions in UTF-16,
//! words, and lines that are too long. None of it is JSON-RPC.

use std::collections::BTreeSet;
use std::ops::Range;

const LONGEST_LINE: usize = 100;

/// The byte at a position.
pub fn offset(text: &str, line: u32, column: u32) -> usize {
    let mut start = 0;
    for (number, text) in text.split_inclusive('\n').enumerate() {
        if number as u32 == line {
            let mut units = 0;
            let within = text.char_indices().find(|(_, c)| {
                let found = units >= column || *c == '\n';
                units += c.len_utf16() as u32;
                found
            });
            return start + within.map_or(text.len(), |(at, _)| at);
        }
        start += text.len();
    }
    text.len()
}

/// The line and the column of a byte.
pub fn position(text: &str, offset: usize) -> (u32, u32) {
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() as u32, before[start..].encode_utf16().count() as u32)
}

/// Lines that are too long: the line, and the columns of what is too much.
pub fn long_lines(text: &str) -> Vec<(u32, u32, u32)> {
    let too_long = |(line, text): (usize, &str)| {
        let (at, _) = text.char_indices().nth(LONGEST_LINE)?;
        let columns = |text: &str| text.encode_utf16().count() as u32;
        Some((line as u32, columns(&text[..at]), columns(text)))
    };
    text.lines().enumerate().filter_map(too_long).collect()
}

pub fn hover(text: &str, line: u32, column: u32) -> Option<(String, Range<usize>)> {
    let word = word_at(text, offset(text, line, column))?;
    let count = occurrences(text, &text[word.clone()]).count();
    Some((format!("`{}`, {count} times", &text[word.clone()]), word))
}

pub fn completions(text: &str, line: u32, column: u32) -> Vec<String> {
    let end = offset(text, line, column);
    let prefix = word_at(text, end).map_or("", |word| &text[word.start..end]);
    let all: BTreeSet<&str> = words(text).map(|word| &text[word]).collect();
    all.into_iter().filter(|word| word.starts_with(prefix) && *word != prefix).map(str::to_owned).collect()
}

/// What is to be replaced to rename the word at a position.
pub fn places(text: &str, line: u32, column: u32) -> Option<Vec<Range<usize>>> {
    let word = word_at(text, offset(text, line, column))?;
    Some(occurrences(text, &text[word]).collect())
}

fn occurrences<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    words(text).filter(move |place| &text[place.clone()] == word)
}

fn word_at(text: &str, offset: usize) -> Option<Range<usize>> {
    words(text).take_while(|word| word.start <= offset).find(|word| offset <= word.end)
}

fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text[from..].find(is_part)?;
        from = text[start..].find(|c| !is_part(c)).map_or(text.len(), |length| start + length);
        Some(start..from)
    })
}
