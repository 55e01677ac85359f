//! Expectations of a transcript: what a message must have, and names for values that nobody can know before.
//!
//! A message fits if it has everything that is expected, at any depth of objects; arrays must be of one length. `$name` in
//! the place of a value, with quotes or without, is any value the first time, and the same one from then on.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use sabir::{JsonKind, RawJson};
use sabir_proto::{Id, ParseError, partial_value_len};

/// What is expected of a message.
pub(crate) fn read(text: &str) -> Result<RawJson<'static>, ParseError> {
    RawJson::new(replaced(text, |name| Some(format!("\"${name}\"")))).map(RawJson::into_owned)
}

/// The values that names stand for.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<String, RawJson<'static>>);

/// Where a message is not as expected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// As jq would write it.
    path: String,
    expected: String,
    /// `None` if there is nothing.
    came: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "." } else { &self.path };
        match &self.came {
            Some(came) => write!(f, "{path} is {came}, not {}", self.expected),
            None => write!(f, "{path} is missing: {} is expected", self.expected),
        }
    }
}

impl Names {
    /// The text with values in the place of their names.
    pub(crate) fn fill<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match text.contains('$') {
            true => Cow::Owned(replaced(text, |name| self.0.get(name).map(RawJson::to_string))),
            false => Cow::Borrowed(text),
        }
    }

    /// The value that something expected stands for, as far as that is known.
    pub(crate) fn known<'v>(&'v self, expected: &'v RawJson<'_>) -> Option<RawJson<'v>> {
        match name(expected) {
            Some(name) => self.0.get(&*name).map(RawJson::as_borrowed),
            None => Some(expected.as_borrowed()),
        }
    }

    /// Compares a message with what is expected, and learns what new names stand for.
    pub(crate) fn compare(&mut self, expected: &RawJson<'_>, came: &RawJson<'_>) -> Result<(), Difference> {
        self.at(&mut String::new(), expected, came)
    }

    fn at(
        &mut self,
        path: &mut String,
        expected: &RawJson<'_>,
        came: &RawJson<'_>,
    ) -> Result<(), Difference> {
        let different = |path: &str, expected: &RawJson<'_>, came: Option<&RawJson<'_>>| Difference {
            path: path.to_owned(),
            expected: expected.to_string(),
            came: came.map(RawJson::to_string),
        };
        if let Some(name) = name(expected) {
            return match self.0.get(&*name) {
                Some(known) if is_equal(known, came) => Ok(()),
                Some(known) => Err(different(path, known, Some(came))),
                None => {
                    self.0.insert(name.into_owned(), came.clone().into_owned());
                    Ok(())
                }
            };
        }
        // Also if members are there twice.
        if expected.as_str() == came.as_str() {
            return Ok(());
        }
        let length = path.len();
        match (expected.kind(), came.kind()) {
            (JsonKind::Object, JsonKind::Object) => {
                for (name, value) in expected.members() {
                    path.push('.');
                    path.push_str(&name);
                    match came.get(&name) {
                        Some(came) => self.at(path, &value, &came)?,
                        None => return Err(different(path, &value, None)),
                    }
                    path.truncate(length);
                }
                Ok(())
            }
            (JsonKind::Array, JsonKind::Array) => {
                if expected.elements().count() != came.elements().count() {
                    return Err(different(path, expected, Some(came)));
                }
                for (i, (value, came)) in expected.elements().zip(came.elements()).enumerate() {
                    path.push_str(&format!("[{i}]"));
                    self.at(path, &value, &came)?;
                    path.truncate(length);
                }
                Ok(())
            }
            _ if is_equal(expected, came) => Ok(()),
            _ => Err(different(path, expected, Some(came))),
        }
    }
}

/// Whether two values are the same: numbers by their value, strings by their characters, others in their order.
pub(crate) fn is_equal(one: &RawJson<'_>, other: &RawJson<'_>) -> bool {
    match (one.kind(), other.kind()) {
        (JsonKind::Object, JsonKind::Object) => {
            one.members().count() == other.members().count()
                && one
                    .members()
                    .all(|(name, value)| other.get(&name).is_some_and(|other| is_equal(&value, &other)))
        }
        (JsonKind::Array, JsonKind::Array) => {
            one.elements().count() == other.elements().count()
                && one.elements().zip(other.elements()).all(|(one, other)| is_equal(&one, &other))
        }
        (JsonKind::Number, JsonKind::Number) | (JsonKind::String, JsonKind::String) => {
            let id = |value: &RawJson<'_>| Id::from_json(value.clone().into_owned());
            id(one) == id(other)
        }
        _ => one.as_str() == other.as_str(),
    }
}

/// The name that a string is.
fn name<'v>(value: &'v RawJson<'_>) -> Option<Cow<'v, str>> {
    let text = value.as_str().strip_prefix("\"$")?.strip_suffix('"')?;
    (!text.is_empty() && text.bytes().all(is_of_name)).then_some(Cow::Borrowed(text))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The text with names, bare or as whole strings, replaced by what a function makes of them.
fn replaced(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut copied) = (0, 0);
    while at < bytes.len() {
        // Where the name would begin, and what must follow it.
        let (start, quoted) = match &bytes[at..] {
            [b'$', ..] => (at + 1, false),
            [b'"', b'$', ..] => (at + 2, true),
            _ => (at, false),
        };
        let length = bytes[start..].iter().take_while(|byte| is_of_name(**byte)).count();
        let end = start + length + usize::from(quoted);
        let is_name = start > at && length > 0 && (!quoted || bytes.get(end - 1) == Some(&b'"'));
        if is_name && let Some(value) = value(&text[start..start + length]) {
            out.push_str(&text[copied..at]);
            out.push_str(&value);
            (at, copied) = (end, end);
        } else if bytes[at] == b'"' {
            at += partial_value_len(&bytes[at..]).unwrap_or(bytes.len() - at);
        } else {
            at += 1;
        }
    }
    out.push_str(&text[copied..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: &str, came: &str, want: Result<(), &str>) {
        let expected = read(expected).expect(expected);
        let got = Names::default().compare(&expected, &RawJson::new(came).expect(came));
        assert_eq!(got.map_err(|difference| difference.to_string()), want.map_err(str::to_owned));
    }

    #[test]
    fn a_message_has_what_is_expected() {
        check(r#"{"a":1}"#, r#"{"b":2,"a":1.0}"#, Ok(()));
        check(r#"{"a":{"b":"\u0041"}}"#, r#"{"a":{"b":"A","c":1}}"#, Ok(()));
        check(r#"{"a":{"b":1}}"#, r#"{"a":{"b":2}}"#, Err(".a.b is 2, not 1"));
        check(r#"{"a":{"b":1}}"#, r#"{"a":{}}"#, Err(".a.b is missing: 1 is expected"));
        check("[1,2]", "[1]", Err(". is [1], not [1,2]"));
        check(r#"{"a":[1,{"b":true}]}"#, r#"{"a":[1,{"b":false}]}"#, Err(".a[1].b is false, not true"));
        check("9007199254740993", "9007199254740992", Err(". is 9007199254740992, not 9007199254740993"));
        check("null", "false", Err(". is false, not null"));
    }

    #[test]
    fn names_are_any_value_and_then_the_same() {
        check(r#"{"id":$a,"b":$a}"#, r#"{"id":1,"b":1.0}"#, Ok(()));
        check(r#"{"id":$a,"b":"$a"}"#, r#"{"id":1,"b":2}"#, Err(".b is 2, not 1"));
        let mut names = Names::default();
        let expected = read(r#"{"id":$id,"x":"$x"}"#).expect("JSON");
        let came = RawJson::new(r#"{"id":7,"x":"a\"b"}"#).expect("JSON");
        assert_eq!(names.compare(&expected, &came), Ok(()));
        for (text, want) in [
            (r#"{"id":$id,"result":["$x",$x]}"#, r#"{"id":7,"result":["a\"b","a\"b"]}"#),
            (
                r#"{"m":"$/x","n":"a $id","o":"\"$id","p":$y}"#,
                r#"{"m":"$/x","n":"a $id","o":"\"$id","p":$y}"#,
            ),
            (r#"{"id":$id"#, r#"{"id":7"#),
            ("$", "$"),
            ("\"$id", "\"$id"),
        ] {
            assert_eq!(names.fill(text), want);
        }
    }
}
