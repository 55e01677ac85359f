//! URI templates: whether a URI follows a pattern, and what stands in its gaps.

use std::collections::BTreeMap;

/// A pattern such as `notes://{id}/text`. `{name}` takes text without a slash, `{+name}` any text.
#[derive(Debug, Clone)]
pub(crate) struct Pattern(Vec<Part>);

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Gap { name: String, any: bool },
}

impl Pattern {
    /// # Panics
    /// If the pattern is none: an unclosed brace, or an operator other than `+`.
    pub(crate) fn new(pattern: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = pattern;
        while let Some((text, after)) = rest.split_once('{') {
            let (name, after) =
                after.split_once('}').unwrap_or_else(|| panic!("`{pattern}` has a brace that is not closed"));
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
            let (name, any) = name.strip_prefix('+').map_or((name, false), |name| (name, true));
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            assert!(
                !name.is_empty() && name.chars().all(plain),
                "`{pattern}` has a gap that is not {{name}} or {{+name}}"
            );
            parts.push(Part::Gap { name: name.to_owned(), any });
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Pattern(parts)
    }

    /// What stands in the gaps, with percent-escapes resolved; `None` if the URI does not follow the pattern.
    pub(crate) fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut found = BTreeMap::new();
        let mut rest = uri;
        let mut parts = self.0.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Gap { name, any } => {
                    // A gap ends where the text behind it is found, the last time if it may hold anything.
                    let end = match parts.peek() {
                        Some(Part::Text(text)) if *any => rest.rfind(text.as_str())?,
                        Some(Part::Text(text)) => rest.find(text.as_str())?,
                        _ => rest.len(),
                    };
                    let (value, after) = rest.split_at(end);
                    if value.is_empty() || (!any && value.contains('/')) {
                        return None;
                    }
                    found.insert(name.clone(), unescape(value)?);
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(found)
    }
}

fn unescape(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
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
        check("plain", "plain", Some(&[]));
    }
}
