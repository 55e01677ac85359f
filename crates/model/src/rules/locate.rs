//! Parts of a valid JSON text, as slices of it: their place is then known.

use std::borrow::Cow;

use sabir_proto::{JsonKind, RawJson};

/// The members of an object, as (name, value); nothing for any other kind.
pub(super) fn members(text: &str) -> Vec<(Cow<'_, str>, &str)> {
    let Ok(object) = RawJson::new(text) else { return Vec::new() };
    object
        .members()
        .map(|(name, value)| (Cow::Owned(name.into_owned()), slice(text, value.as_str())))
        .collect()
}

/// The value at the end of a path of member names.
pub(super) fn member<'t>(text: &'t str, path: &[&str]) -> Option<&'t str> {
    path.iter().try_fold(text, |text, name| {
        let object = RawJson::new(text).ok()?;
        Some(slice(text, object.get(name)?.as_str()))
    })
}

/// The elements of an array; nothing for any other kind.
pub(super) fn elements(text: &str) -> Vec<&str> {
    let Ok(array) = RawJson::new(text) else { return Vec::new() };
    array.elements().map(|element| slice(text, element.as_str())).collect()
}

/// The value that a JSON Pointer leads to.
#[cfg(feature = "schemas")]
pub(super) fn pointer<'t>(text: &'t str, pointer: &str) -> Option<&'t str> {
    pointer.split('/').skip(1).try_fold(text, |text, step| match kind(text) {
        JsonKind::Array => elements(text).get(step.parse::<usize>().ok()?).copied(),
        _ => member(text, &[&step.replace("~1", "/").replace("~0", "~")]),
    })
}

/// The string at the end of a path of member names.
pub(super) fn text_at<'t>(text: &'t str, path: &[&str]) -> Option<Cow<'t, str>> {
    string(member(text, path)?)
}

/// `part`, which borrows from `text`, for as long as `text` lives.
fn slice<'t>(text: &'t str, part: &str) -> &'t str {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    &text[start..start + part.len()]
}

/// The kind of a value, which its first byte shows.
pub(super) fn kind(text: &str) -> JsonKind {
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
pub(super) fn string(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    match inner.contains('\\') {
        false => Some(Cow::Borrowed(inner)),
        true => serde_json::from_str(text).ok().map(Cow::Owned),
    }
}
