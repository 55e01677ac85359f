//! URI templates: whether a URI follows a pattern, and its variables.

use std::collections::BTreeMap;

/// A pattern such as `notes://{id}/text`. `{name}` takes one segment of a path, `{+name}` may take several.
///
/// The value of a variable often becomes a part of a file's path or of another URI. So what has a slash only once it is
/// unescaped does not fit into `{name}`, and what steps out of a folder fits nowhere: see [`is_safe`].
#[derive(Debug, Clone)]
pub(crate) struct Pattern(Vec<Part>);

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Variable { name: String, any: bool },
}

impl Pattern {
    /// # Panics
    /// If the pattern is not valid.
    pub(crate) fn new(pattern: &str) -> Self {
        Pattern::parse(pattern).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// Reads a pattern. An unclosed brace is an error, and so is an operator other than `+`.
    pub(crate) fn parse(pattern: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = pattern;
        while let Some((text, after)) = rest.split_once('{') {
            let unclosed = || format!("`{pattern}` has a brace that is not closed");
            let (name, after) = after.split_once('}').ok_or_else(unclosed)?;
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
            let (name, any) = name.strip_prefix('+').map_or((name, false), |name| (name, true));
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            if name.is_empty() || !name.chars().all(plain) {
                return Err(format!("`{pattern}` has a variable that is not {{name}} or {{+name}}"));
            }
            parts.push(Part::Variable { name: name.to_owned(), any });
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Pattern(parts))
    }

    /// The values of the variables, with percent-escapes resolved; `None` if the URI does not follow the pattern.
    pub(crate) fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut found = BTreeMap::new();
        let mut rest = uri;
        let mut parts = self.0.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Variable { name, any } => {
                    // A variable ends where the text behind it is found, the last time if it may hold anything.
                    let end = match parts.peek() {
                        Some(Part::Text(text)) if *any => rest.rfind(text.as_str())?,
                        Some(Part::Text(text)) => rest.find(text.as_str())?,
                        _ => rest.len(),
                    };
                    let (value, after) = rest.split_at(end);
                    let value = unescape(value)?;
                    if value.is_empty() || !is_safe(&value, *any) {
                        return None;
                    }
                    found.insert(name.clone(), value);
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(found)
    }
}

/// Whether an unescaped value may be the value of a variable. Segments `.` and `..` never do: a URI that was normalized, as RFC 3986
/// has it, has none. Nor do control characters; some systems end a path at the first NUL. Backslashes are slashes to
/// some systems, too.
fn is_safe(value: &str, any: bool) -> bool {
    let is_slash = |c: char| c == '/' || c == '\\';
    (any || !value.contains(is_slash))
        && !value.contains(char::is_control)
        && !value.split(is_slash).any(|segment| matches!(segment, "." | ".."))
}

fn unescape(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        match after {
            [high, low, after @ ..]
                if *first == b'%' && high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                bytes.push(digit(*high) << 4 | digit(*low));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

fn digit(hex: u8) -> u8 {
    char::from(hex).to_digit(16).unwrap_or_default() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, uri: &str, want: Option<&[(&str, &str)]>) {
        let found = Pattern::new(pattern).matches(uri);
        let want = want.map(|pairs| pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect());
        assert_eq!(found, want, "{uri} in {pattern}");
    }

    #[test]
    fn patterns_find_what_stands_in_their_gaps() {
        check("test://template/{id}/data", "test://template/123/data", Some(&[("id", "123")]));
        check("test://template/{id}/data", "test://template/1/2/data", None);
        check("test://template/{id}/data", "test://template//data", None);
        check("test://template/{id}/data", "test://template/1/data/", None);
        check("{a}-{b}", "x-y", Some(&[("a", "x"), ("b", "y")]));
        check("file:///{+path}", "file:///a/b%20c", Some(&[("path", "a/b c")]));
        check("file:///{+path}.md", "file:///a.md/b.md", Some(&[("path", "a.md/b")]));
        check("x:{a}", "x:%ff", None);
        check("x:{a}", "x:100%", Some(&[("a", "100%")]));
        check("x:{a}", "x:%+f", Some(&[("a", "%+f")]));
        check("x:{a}", "x:a%20b%C3%BC", Some(&[("a", "a bü")]));
        check("plain", "plain", Some(&[]));
    }

    #[test]
    fn nothing_steps_out_of_its_gap() {
        for uri in [
            "x:a/b",
            "x:a%2fb",
            "x:a%2Fb",
            "x:..%2f..%2fetc%2fpasswd",
            "x:%2fetc",
            "x:..",
            "x:.",
            "x:%2e%2e",
            "x:%2E.",
            "x:a%5cb",
            "x:..%5c..",
            "x:a\\b",
            "x:a%00b",
            "x:%0a",
            "x:%7f",
            "x:",
        ] {
            check("x:{a}", uri, None);
        }
        for uri in [
            "f:..",
            "f:../a",
            "f:a/..",
            "f:a/../../b",
            "f:a/%2e%2e/b",
            "f:a%2f..%2fb",
            "f:a/.",
            "f:./a",
            "f:a%5c..%5cb",
            "f:a/%00",
            "f:",
        ] {
            check("f:{+a}", uri, None);
        }
        // Dots that are not a segment of their own, and an escaped percent sign, are harmless.
        check("x:{a}", "x:a..b", Some(&[("a", "a..b")]));
        check("x:{a}", "x:...", Some(&[("a", "...")]));
        check("x:{a}", "x:%252f", Some(&[("a", "%2f")]));
        check("f:{+a}", "f:a/b%2Fc/.d/e..", Some(&[("a", "a/b/c/.d/e..")]));
        check("f:{+a}", "f:/etc", Some(&[("a", "/etc")]));
        // The text around a variable cannot complete a step either.
        check("f:{a}./{b}", "f:./.", None);
    }
}
