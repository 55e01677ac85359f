//! Parts of a valid JSON text, as slices of it: their place is then known. It is valid already, so nothing is checked.

use std::borrow::Cow;

use sabir_proto::{Cursor, Elements, JsonKind, JsonStr};

/// The members of an object, as (name, value); nothing for any other kind. Names with a lone surrogate are as
/// they are written.
pub(crate) fn members(text: &str) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
    Cursor::trusted(text)
        .members()
        .map(|(name, value)| (name.value().unwrap_or(Cow::Borrowed(name.text())), value))
}

/// The value at the end of a path of member names. Of two members with the same name, the first counts.
pub(crate) fn member<'t>(text: &'t str, path: &[&str]) -> Option<&'t str> {
    path.iter().try_fold(
        text,
        |text, name| {
            if is_absent(text, name) { None } else { Cursor::trusted(text).member(name) }
        },
    )
}

/// Texts below this length are not worth the preparations of a clever search.
const SHORT: usize = 256;

/// Whether a text cannot have a member of this name, as far as a glance shows. Letters can be escaped with `\u` only.
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

/// Members that an [`Object`] has room for.
const ROOM: usize = 12;

/// The members of an object whose values are looked up one after the other: the text is gone through once.
#[derive(Clone, Copy)]
pub(crate) struct Object<'t> {
    text: &'t str,
    members: [(&'t str, &'t str); ROOM],
    count: usize,
    /// There are more members than there is room for, or names that are spelt with escapes.
    is_partial: bool,
}

impl<'t> Object<'t> {
    /// No members for any other kind of value.
    pub(crate) fn of(text: &'t str) -> Self {
        let mut object = Object { text, members: [("", ""); ROOM], count: 0, is_partial: false };
        for (name, value) in Cursor::trusted(text).members() {
            if name.is_escaped() || object.count == ROOM {
                object.is_partial = true;
                break;
            }
            object.members[object.count] = (name.inner(), value);
            object.count += 1;
        }
        object
    }

    /// Of two members with the same name, the first counts.
    pub(crate) fn get(&self, name: &str) -> Option<&'t str> {
        let found = self.members[..self.count].iter().find(|(known, _)| *known == name);
        match found {
            Some((_, value)) => Some(value),
            None if self.is_partial => member(self.text, &[name]),
            None => None,
        }
    }
}

/// The elements of an array; nothing for any other kind.
pub(crate) fn elements(text: &str) -> Elements<'_> {
    Cursor::trusted(text).elements()
}

/// The value that a JSON Pointer leads to.
#[cfg(feature = "schemas")]
pub(crate) fn pointer<'t>(text: &'t str, pointer: &str) -> Option<&'t str> {
    pointer.split('/').skip(1).try_fold(text, |text, step| match kind(text) {
        JsonKind::Array => elements(text).nth(step.parse().ok()?),
        _ => member(text, &[&step.replace("~1", "/").replace("~0", "~")]),
    })
}

/// The string at the end of a path of member names.
pub(crate) fn text_at<'t>(text: &'t str, path: &[&str]) -> Option<Cow<'t, str>> {
    string(member(text, path)?)
}

/// The kind of a value, which its first byte shows.
pub(crate) fn kind(text: &str) -> JsonKind {
    JsonKind::of(text)
}

/// The string that a JSON text spells, unless it is something else or holds a lone surrogate.
pub(crate) fn string(text: &str) -> Option<Cow<'_, str>> {
    JsonStr::trusted(text)?.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_what_a_search_finds() {
        let many: Vec<_> = (0..2 * ROOM).map(|i| format!("\"n{i}\":{i}")).collect();
        for text in [
            r#"{"a":1,"a":2,"b":[{"c":1}],"":3}"#,
            r#"{"a":1,"\u0062":2,"b":3}"#,
            r#"{"\u0061":1,"a":2}"#,
            &format!("{{{}}}", many.join(",")),
            "[]",
            "",
        ] {
            let object = Object::of(text);
            for name in ["a", "b", "c", "", "n0", "n11", "n12", "n23", "n24"] {
                assert_eq!(object.get(name), member(text, &[name]), "{name} in {text}");
            }
        }
    }

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
        let elements_of = |text| elements(text).collect::<Vec<_>>();
        assert_eq!(elements_of(member(text, &["a", "b"]).unwrap_or_default()), ["1", r#"{"c":"d"}"#, "[]"]);
        let names: Vec<_> = members(text).map(|(name, _)| name.into_owned()).collect();
        assert_eq!(names, ["a", "e", "a", "", "f", "h/i"]);
        for nothing in ["{}", "{ }", "[]", "[ ]", "1", "\"a\"", "null"] {
            assert_eq!((members(nothing).count(), elements(nothing).count()), (0, 0), "{nothing}");
        }
    }
}
