//! Parts of a valid JSON text, as slices of it: their place is then known. It is valid already, so nothing is checked.

use std::borrow::Cow;

use sabir_proto::JsonKind;

use crate::rules::engine::json_scan;

/// The members of an object, as (name, value); nothing for any other kind. Names that spell half a character are as
/// they are written.
pub(crate) fn members(text: &str) -> Vec<(Cow<'_, str>, &str)> {
    Members::of(text).map(|(name, value)| (string(name).unwrap_or(Cow::Borrowed(name)), value)).collect()
}

/// The value at the end of a path of member names. Of two members with the same name, the first counts.
pub(crate) fn member<'t>(text: &'t str, path: &[&str]) -> Option<&'t str> {
    path.iter().try_fold(text, |text, name| {
        if is_absent(text, name) {
            return None;
        }
        let same = |quoted: &str| match quoted.as_bytes().contains(&b'\\') {
            false => &quoted[1..quoted.len() - 1] == *name,
            true => string(quoted).is_some_and(|text| text == *name),
        };
        Members::of(text).find(|(quoted, _)| same(quoted)).map(|(_, value)| value)
    })
}

/// Texts below this length are not worth the preparations of a clever search.
const SHORT: usize = 256;

/// Whether a text cannot have a member of this name, as far as a glance shows. Letters can be spelt with `\u` only.
fn is_absent(text: &str, name: &str) -> bool {
    let text = text.as_bytes();
    if text.len() >= SHORT {
        let lacks = |part: &str| memchr::memmem::find(text, part.as_bytes()).is_none();
        return lacks(name) && lacks("\\u") && (!name.contains('/') || lacks("\\/"));
    }
    let Some(&first) = name.as_bytes().first() else { return false };
    memchr::memchr_iter(first, text).all(|at| !text[at..].starts_with(name.as_bytes()))
        && memchr::memchr(b'\\', text).is_none()
}

/// The elements of an array; nothing for any other kind.
pub(crate) fn elements(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut elements = Vec::new();
    let mut at = match bytes.first() {
        Some(b'[') => json_scan::space(bytes, 1),
        _ => return elements,
    };
    while !matches!(bytes.get(at), None | Some(b']')) {
        let end = json_scan::value(bytes, at);
        elements.push(&text[at..end]);
        at = json_scan::space(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = json_scan::space(bytes, at + 1);
        }
    }
    elements
}

/// Goes through the members of an object: each name with its quotes, and its value.
struct Members<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Members<'t> {
    fn of(text: &'t str) -> Self {
        let at = if text.starts_with('{') { 1 } else { text.len() };
        Members { text, at }
    }
}

impl<'t> Iterator for Members<'t> {
    type Item = (&'t str, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let mut at = json_scan::space(bytes, self.at);
        if bytes.get(at) == Some(&b',') {
            at = json_scan::space(bytes, at + 1);
        }
        if bytes.get(at) != Some(&b'"') {
            return None;
        }
        let (name_end, _) = json_scan::string(bytes, at + 1);
        let start = json_scan::space(bytes, json_scan::space(bytes, name_end) + 1);
        let end = json_scan::value(bytes, start);
        self.at = end;
        Some((self.text.get(at..name_end)?, self.text.get(start..end)?))
    }
}

/// The value that a JSON Pointer leads to.
#[cfg(feature = "schemas")]
pub(crate) fn pointer<'t>(text: &'t str, pointer: &str) -> Option<&'t str> {
    pointer.split('/').skip(1).try_fold(text, |text, step| match kind(text) {
        JsonKind::Array => elements(text).get(step.parse::<usize>().ok()?).copied(),
        _ => member(text, &[&step.replace("~1", "/").replace("~0", "~")]),
    })
}

/// The string at the end of a path of member names.
pub(crate) fn text_at<'t>(text: &'t str, path: &[&str]) -> Option<Cow<'t, str>> {
    string(member(text, path)?)
}

/// The kind of a value, which its first byte shows.
pub(crate) fn kind(text: &str) -> JsonKind {
    match text.as_bytes().first() {
        Some(b'n') | None => JsonKind::Null,
        Some(b't' | b'f') => JsonKind::Boolean,
        Some(b'"') => JsonKind::String,
        Some(b'[') => JsonKind::Array,
        Some(b'{') => JsonKind::Object,
        Some(_) => JsonKind::Number,
    }
}

/// The string that a JSON text spells, unless it is something else or holds half a character.
pub(crate) fn string(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    match inner.contains('\\') {
        false => Some(Cow::Borrowed(inner)),
        true => serde_json::from_str(text).ok().map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found() {
        let text = r#"{ "a" : {"b":[1, {"c":"d"} ,[] ]} , "\u0065":2,"a":3,"":4,"f":"\"g\":5","h\/i":6}"#;
        for (path, want) in [
            (&["a"][..], Some(r#"{"b":[1, {"c":"d"} ,[] ]}"#)),
            (&["a", "b"], Some(r#"[1, {"c":"d"} ,[] ]"#)),
            (&["e"], Some("2")),
            (&[""], Some("4")),
            (&["g"], None),
            (&["c"], None),
            (&["a", "b", "c"], None),
            (&["h/i"], Some("6")),
            (&[], Some(text)),
        ] {
            assert_eq!(member(text, path), want, "{path:?}");
        }
        assert_eq!(elements(member(text, &["a", "b"]).unwrap_or_default()), ["1", r#"{"c":"d"}"#, "[]"]);
        let names: Vec<_> = members(text).into_iter().map(|(name, _)| name.into_owned()).collect();
        assert_eq!(names, ["a", "e", "a", "", "f", "h/i"]);
        for nothing in ["{}", "{ }", "[]", "[ ]", "1", "\"a\"", "null"] {
            assert!(members(nothing).is_empty() && elements(nothing).is_empty(), "{nothing}");
        }
    }
}
