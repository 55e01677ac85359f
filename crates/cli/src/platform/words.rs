//! The words of a command on Windows, where a backslash stands between folders.
//!
//! Spaces separate words; what stands in double or single quotes is one word. A backslash is a backslash, except
//! before a double quote, which then belongs to the word.

/// The words of a command. `None` if a quote is never closed.
pub(crate) fn split(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.next_if_eq(&'"').is_some() => word.get_or_insert_default().push('"'),
            '"' | '\'' if quote.is_none() => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            c if quote == Some(c) => quote = None,
            c if c.is_whitespace() && quote.is_none() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// A command from its words.
pub(crate) fn join(words: &[String]) -> String {
    let quoted = |word: &String| match word.is_empty() || word.contains([' ', '\t', '"', '\'']) {
        true => format!("\"{}\"", word.replace('"', "\\\"")),
        false => word.clone(),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// One word for both cmd.exe and PowerShell. What one of them would expand even between double quotes, or take for a
/// quote, cannot be written for both, and is left out.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:\\+=".contains(c);
    let is_quotable = |c: char| is_plain(c) || c.is_alphanumeric() || " #&'()*,;<>?@[]^{|}~".contains(c);
    match text {
        _ if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        // A backslash at the end would escape the quote.
        _ if text.chars().all(is_quotable) && !text.ends_with('\\') => format!("\"{text}\""),
        _ => "…".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one() {
        for (text, want) in [
            ("demo:", "demo:"),
            (r"pipe:\\.\pipe\x", r"pipe:\\.\pipe\x"),
            ("a b", r#""a b""#),
            ("a & calc", r#""a & calc""#),
            ("it's", r#""it's""#),
            ("é", r#""é""#),
            ("", r#""""#),
            ("a\"b", "…"),
            ("a”b", "…"),
            ("$(calc)", "…"),
            ("a`nb", "…"),
            ("%PATH%", "…"),
            ("!x!", "…"),
            ("a\nb", "…"),
            (r"a b\", "…"),
        ] {
            assert_eq!(word(text), want, "{text}");
        }
    }

    #[test]
    fn words_come_apart_and_together_again() {
        for (command, words, joined) in [
            (r"C:\bin\server.exe -x", &[r"C:\bin\server.exe", "-x"][..], r"C:\bin\server.exe -x"),
            (
                r#""C:\Program Files\s.exe" 'a b'"#,
                &[r"C:\Program Files\s.exe", "a b"],
                r#""C:\Program Files\s.exe" "a b""#,
            ),
            (r#"s a\"b "it's" """#, &["s", "a\"b", "it's", ""], r#"s "a\"b" "it's" """#),
            ("  s  ", &["s"], "s"),
            ("", &[], ""),
        ] {
            let came = split(command).unwrap_or_default();
            assert_eq!(came, words, "{command}");
            assert_eq!(join(&came), joined, "{command}");
            assert_eq!(split(joined).unwrap_or_default(), words, "{joined}");
        }
        assert_eq!(split("s 'a"), None);
    }
}
