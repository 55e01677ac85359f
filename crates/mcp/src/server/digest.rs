//! A digest of JSON by what it means: two texts have the same one if they differ only in white space, in the order of
//! members, or in how strings and numbers are spelt. A client may write its arguments anew when it calls again.

use std::borrow::Cow;

use sabir::RawJson;
use sabir_proto::{Cursor, JsonStr, TokenKind};
use sha2::{Digest, Sha256};

/// Levels of nesting that are looked into. A transport refuses more long before.
const DEEPEST: usize = 512;
/// Integers up to here are the same number in every reader of JSON.
const EXACT: f64 = 9_007_199_254_740_992.0;

pub(super) type JsonDigest = [u8; 32];

/// The digest, or `None` if the nesting is too deep. Takes time in proportion to the text.
pub(super) fn digest(json: &RawJson<'_>) -> Option<JsonDigest> {
    value(&mut Cursor::new(json), DEEPEST)
}

/// The digest of the value that is next. It walks token by token, so that no part of the text is read twice.
fn value(cursor: &mut Cursor<'_>, depth: usize) -> Option<JsonDigest> {
    let depth = depth.checked_sub(1)?;
    let token = cursor.token()?;
    match token.kind {
        TokenKind::ObjectStart => object(cursor, depth),
        TokenKind::ArrayStart => array(cursor, depth),
        TokenKind::String { .. } => Some(text(token.string()?)),
        _ => Some(leaf(b'n', plain(token.text()).as_bytes())),
    }
}

fn object(cursor: &mut Cursor<'_>, depth: usize) -> Option<JsonDigest> {
    let mut members = Vec::new();
    while !cursor.pass(b'}') {
        let name = text(cursor.token()?.string()?);
        cursor.pass(b':');
        members.push((name, value(cursor, depth)?));
        cursor.pass(b',');
    }
    // A name that comes twice stays there twice: readers differ in which of the two they take.
    members.sort_unstable();
    let mut hash = Sha256::new_with_prefix(b"o");
    for (name, value) in members {
        hash.update(name);
        hash.update(value);
    }
    Some(hash.finalize().into())
}

fn array(cursor: &mut Cursor<'_>, depth: usize) -> Option<JsonDigest> {
    let mut hash = Sha256::new_with_prefix(b"a");
    while !cursor.pass(b']') {
        hash.update(value(cursor, depth)?);
        cursor.pass(b',');
    }
    Some(hash.finalize().into())
}

fn text(string: JsonStr<'_>) -> JsonDigest {
    // A string with a lone surrogate is not text. It stays as it is spelt.
    match string.value() {
        Some(text) => leaf(b's', text.as_bytes()),
        None => leaf(b's', string.text().as_bytes()),
    }
}

fn leaf(kind: u8, text: &[u8]) -> JsonDigest {
    Sha256::new_with_prefix([kind]).chain_update(text).finalize().into()
}

/// One spelling for each number: `5.0`, `5e0` and `5` are the same.
fn plain(word: &str) -> Cow<'_, str> {
    let is_number = word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let is_integer = word.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
    match word.parse::<f64>() {
        _ if word == "-0" => Cow::Borrowed("0"),
        _ if !is_number || is_integer => Cow::Borrowed(word),
        Ok(number) if number.fract() == 0.0 && number.abs() < EXACT => {
            Cow::Owned((number as i64).to_string())
        }
        Ok(number) if number.is_finite() => Cow::Owned(format!("{number:e}")),
        _ => Cow::Borrowed(word),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    fn of(json: &str) -> JsonDigest {
        digest(&RawJson::new(json.to_owned()).unwrap()).unwrap()
    }

    #[test]
    fn what_means_the_same_has_the_same_digest() {
        for (one, other) in [
            (r#"{"a":1,"b":[true,null]}"#, "{ \"b\" : [ true , null ] ,\n\"a\":1.0 }"),
            (r#"{"a":"\u00fc\/"}"#, r#"{"a":"ü/"}"#),
            (r#"{"\u0061":0}"#, r#"{"a":-0}"#),
            ("[1e2,0.1]", "[100,1e-1]"),
            ("{}", " { } "),
        ] {
            assert_eq!(of(one), of(other), "{one} and {other}");
        }
    }

    #[test]
    fn what_means_something_else_has_another() {
        let texts = [
            "{}",
            "[]",
            "null",
            "\"\"",
            "0",
            "\"0\"",
            "[0]",
            "[[0]]",
            "[0,0]",
            "[[],0]",
            "[0,[]]",
            "{\"\":0}",
            r#"{"a":1}"#,
            r#"{"a":"1"}"#,
            r#"{"b":1}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"a":2}"#,
            r#"{"a":{"b":1}}"#,
            "18446744073709551616",
            "18446744073709551617",
            "1.5",
            "\"\\ud800\"",
            "\"a\\\"b\"",
            "[\"a\",\"b\"]",
            "[\"a,b\"]",
            "\"o\"",
            "true",
        ];
        for (index, one) in texts.iter().enumerate() {
            for other in &texts[index + 1..] {
                assert_ne!(of(one), of(other), "{one} and {other}");
            }
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = |depth: usize| RawJson::from_value(&nested(depth)).unwrap();
        assert!(digest(&deep(100)).is_some());
        assert_eq!(value(&mut Cursor::trusted(&"[".repeat(DEEPEST + 1)), DEEPEST), None);
    }

    fn nested(depth: usize) -> serde_json::Value {
        (0..depth).fold(serde_json::Value::Null, |inner, _| serde_json::json!([inner]))
    }
}
