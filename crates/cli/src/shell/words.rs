//! A line of the shell, cut into words.
//!
//! JSON is typed as it is: a word that begins with `{`, `[` or `"`, or has them behind its `=` or `:=`, ends where the value
//! ends, over several lines if need be. `'…'` keeps any text together.

use std::collections::VecDeque;

use sabir_proto::partial_value_len;

/// Bytes of a name that is completed.
const LONGEST_NAME: usize = 200;

/// The line ends inside of a value or a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unfinished;

pub(super) fn words(line: &str) -> Result<Vec<String>, Unfinished> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, length) = word(rest)?;
        words.push(word);
        rest = rest[length..].trim_start();
    }
    Ok(words)
}

/// Adds a line to a statement. Returns the statement once it does not end inside of a value or a text.
pub(super) fn add_line(statement: &mut String, line: &str) -> Option<String> {
    statement.push_str(line);
    if words(statement).is_ok() {
        return Some(std::mem::take(statement));
    }
    statement.push('\n');
    None
}

/// What was pasted, as lines that are each a statement. Empty ones are left out.
pub(super) fn statements(text: &str) -> VecDeque<String> {
    let mut rest = String::new();
    let mut all: VecDeque<String> = text.lines().filter_map(|line| add_line(&mut rest, line)).collect();
    all.push_back(rest);
    all.retain(|statement| !statement.trim().is_empty());
    all
}

/// Whether a name of a peer's can be typed as one word and means only itself. Others are not completed and not shown beside
/// the line: an editor would send their control characters to the terminal, and their spaces would begin other words.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "_./:-@$~?&=%+,#!*".contains(c);
    name.len() <= LONGEST_NAME
        && name.starts_with(|c: char| c.is_alphanumeric() || "_$/@".contains(c))
        && name.chars().all(plain)
}

/// The first word, and how many bytes of the text it takes.
fn word(text: &str) -> Result<(String, usize), Unfinished> {
    let mut out = String::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let begins = out.is_empty() || (out.ends_with('=') && !out[..out.len() - 1].contains('='));
        let is_text = out.ends_with('=') && !out.ends_with(":=");
        match c {
            _ if c.is_whitespace() => break,
            '\'' if begins => {
                let length = text[at + 1..].find('\'').ok_or(Unfinished)?;
                out.push_str(&text[at + 1..at + 1 + length]);
                at += length + 2;
            }
            '"' if begins => {
                let length = partial_value_len(&text.as_bytes()[at..]).ok_or(Unfinished)?;
                let literal = &text[at..at + length];
                match serde_json::from_str::<String>(literal) {
                    Ok(string) if is_text => out.push_str(&string),
                    // What is wrong with it is said where it is read.
                    _ => out.push_str(literal),
                }
                at += length;
            }
            '{' | '[' if begins => {
                let length = partial_value_len(&text.as_bytes()[at..]).ok_or(Unfinished)?;
                out.push_str(&text[at..at + length]);
                at += length;
            }
            c => {
                out.push(c);
                at += c.len_utf8();
            }
        }
    }
    Ok((out, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_typed_as_it_is() {
        for (line, want) in [
            ("", Ok(vec![])),
            ("  add  2 3 ", Ok(vec!["add", "2", "3"])),
            (r#"echo {"a": [1, "}"]} x"#, Ok(vec!["echo", r#"{"a": [1, "}"]}"#, "x"])),
            ("echo {\n \"a\": 1\n}", Ok(vec!["echo", "{\n \"a\": 1\n}"])),
            (r#"echo list:=[1, 2] "a b""#, Ok(vec!["echo", "list:=[1, 2]", r#""a b""#])),
            (r#"echo text="a \"b\"" n:="x y""#, Ok(vec!["echo", r#"text=a "b""#, r#"n:="x y""#])),
            ("echo 'a b' text='c d' it's", Ok(vec!["echo", "a b", "text=c d", "it's"])),
            ("echo a=b={x", Ok(vec!["echo", "a=b={x"])),
            ("echo {", Err(Unfinished)),
            ("echo [1, \"]", Err(Unfinished)),
            ("echo 'a", Err(Unfinished)),
            ("echo text=\"a", Err(Unfinished)),
        ] {
            let want = want.map(|words| words.into_iter().map(str::to_owned).collect());
            assert_eq!(words(line), want, "{line}");
        }
    }

    #[test]
    fn a_paste_is_several_statements() {
        for (text, want) in [
            ("", vec![]),
            ("add 2 3", vec!["add 2 3"]),
            ("add 2 3\nadd 4 5\n", vec!["add 2 3", "add 4 5"]),
            ("\n\nadd 2 3\r\n\n", vec!["add 2 3"]),
            ("echo {\n\"a\": 1\n}\nnotes", vec!["echo {\n\"a\": 1\n}", "notes"]),
            ("echo 'a\nb'\necho [", vec!["echo 'a\nb'", "echo [\n"]),
        ] {
            assert_eq!(statements(text), want, "{text:?}");
        }
    }
}
