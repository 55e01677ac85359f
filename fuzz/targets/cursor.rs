//! Any JSON: the cursor finds what serde_json finds, and types read through it are those that serde_json reads.
//! Text that is not JSON is walked to its end without harm.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use sabir_proto::{Cursor, Deserializer, JsonStr, RawJson, TokenKind, partial_value_len};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

/// Where serde_json stops: one level before the deepest JSON that passes here.
const DEPTH: usize = 127;

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    walks_to_the_end(text);
    assert!(partial_value_len(data).is_none_or(|length| length <= data.len()));
    let Ok(json) = RawJson::new(text) else { return };
    tokens_are_all_of_it(json.as_str());
    cut_off_values_have_no_end(json.as_str());
    parts_are_those_of_serde_json(json.as_str());
    if depth(json.as_str()) <= DEPTH {
        types(json.as_str());
    }
}

/// Nothing is promised of text that is not JSON, but that it ends.
fn walks_to_the_end(text: &str) {
    let mut cursor = Cursor::trusted(text);
    let mut last = 0;
    while let Some(token) = cursor.token() {
        assert!(cursor.offset() > last, "no progress at {last} in {text:?}");
        last = cursor.offset();
        if let Some(string) = token.string() {
            let _ = (string.value(), string.chars().count(), string.has_lone_surrogate(), string.is("a"));
        }
    }
    let most = text.len() + 1;
    assert!(Cursor::trusted(text).members().take(most).count() < most, "{text:?}");
    assert!(Cursor::trusted(text).elements().take(most).count() < most, "{text:?}");
    let _ = Cursor::trusted(text).value();
    let _ = Value::deserialize(&mut Deserializer::new(Cursor::trusted(text)));
    let _ = Shape::deserialize(&mut Deserializer::new(Cursor::trusted(text)));
}

/// The walk through text that may be cut off finds the same end, and none in the middle of a value.
fn cut_off_values_have_no_end(text: &str) {
    let text = text.trim_ascii();
    let followed = format!("{text},");
    assert_eq!(partial_value_len(followed.as_bytes()), Some(text.len()), "{text}");
    for end in [text.len() / 2, text.len() - 1] {
        assert_eq!(partial_value_len(&text.as_bytes()[..end]), None, "{end} bytes of {text}");
    }
}

/// Between the tokens there is white space and nothing else, and each is what serde_json takes it for.
fn tokens_are_all_of_it(text: &str) {
    let mut cursor = Cursor::trusted(text);
    let mut end = 0;
    while let Some(token) = cursor.token() {
        assert!(text[end..token.start].bytes().all(|c| b" \t\r\n".contains(&c)), "{text}");
        end = cursor.offset();
        assert_eq!(&text[token.start..end], token.text(), "{text}");
        match token.kind {
            TokenKind::String { escaped } => {
                let string = token.string().expect("a string");
                let value = serde_json::from_str::<String>(token.text()).ok();
                assert_eq!(string.value().as_deref(), value.as_deref(), "{text}");
                assert_eq!(string.chars().collect::<Result<String, _>>().ok(), value, "{text}");
                assert_eq!(string.has_lone_surrogate(), value.is_none(), "{text}");
                assert_eq!(escaped, token.text().contains('\\'), "{text}");
                assert!(value.is_none_or(|value| string.is(&value) && !string.is(&format!("{value}x"))));
            }
            TokenKind::Number | TokenKind::Boolean | TokenKind::Null => {
                assert!(serde_json::from_str::<&RawValue>(token.text()).is_ok(), "{}", token.text());
            }
            _ => assert_eq!(token.text().len(), 1, "{text}"),
        }
    }
    assert_eq!(end, text.len());
}

/// Each container, taken apart by both.
fn parts_are_those_of_serde_json(text: &str) {
    let mut todo = vec![text];
    while let Some(text) = todo.pop() {
        let mut cursor = Cursor::trusted(text);
        assert_eq!(cursor.value(), text);
        assert_eq!(cursor.offset(), text.len());
        let elements: Vec<&str> = Cursor::trusted(text).elements().collect();
        let members: Vec<(JsonStr<'_>, &str)> = Cursor::trusted(text).members().collect();
        if text.starts_with('[') {
            let theirs: Vec<&RawValue> = serde_json::from_str(text).expect("an array");
            assert_eq!(elements, theirs.iter().map(|raw| raw.get()).collect::<Vec<_>>());
        } else {
            assert!(elements.is_empty(), "{text}");
        }
        if text.starts_with('{') {
            if let Ok(theirs) = serde_json::from_str::<Members<'_>>(text) {
                let ours = members.iter().map(|(name, value)| (name.value().expect("a name"), *value));
                assert_eq!(ours.collect::<Vec<_>>(), theirs.0);
                for (name, _) in &theirs.0 {
                    let first = theirs.0.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
                    assert_eq!(Cursor::trusted(text).member(name), first, "{name}");
                }
            }
        } else {
            assert!(members.is_empty(), "{text}");
        }
        todo.extend(elements);
        todo.extend(members.into_iter().map(|(_, value)| value));
    }
}

/// Members in their order, as serde_json finds them.
struct Members<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<Cow<'_, str>, &RawValue>()? {
                    members.push((name, value.get()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Record<'a> {
    a: Option<i8>,
    #[serde(borrow, default)]
    b: Option<&'a str>,
    #[serde(default)]
    c: Option<Box<Shape>>,
    #[serde(borrow, default)]
    d: Cow<'a, str>,
    #[serde(default)]
    e: f32,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Flattened {
    a: u64,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Newtype(i128);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unit;

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
enum Shape {
    #[serde(alias = "a")]
    Point,
    #[serde(alias = "b")]
    Circle(f64),
    #[serde(alias = "c")]
    Line(i64, Option<u8>),
    #[serde(alias = "d")]
    Box { a: u128, b: Option<char> },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "a", content = "b")]
#[allow(dead_code)]
enum Tagged {
    #[serde(alias = "a")]
    One(u16),
    #[serde(alias = "b")]
    Two { a: String },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "a")]
#[allow(dead_code)]
enum Internal {
    #[serde(alias = "a")]
    One { b: i64 },
    #[serde(alias = "b")]
    Two,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[allow(dead_code)]
enum Untagged {
    Small(u8),
    Large(i64),
    Float(f64),
    Flag(bool),
    Text(String),
    Pair(Box<Untagged>, Box<Untagged>),
    Record { a: Box<Untagged> },
    Unit(()),
}

/// Keys are not only text.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
enum Letter {
    #[serde(rename = "a")]
    A,
    #[serde(rename = "b")]
    B,
}

/// What serde calls bytes: a string or an array.
#[derive(Debug)]
#[allow(dead_code)]
struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Bytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Bytes, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element()? {
                    bytes.push(byte);
                }
                Ok(Bytes(bytes))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

fn types(text: &str) {
    same::<Value>(text);
    same::<Box<RawValue>>(text);
    same::<&RawValue>(text);
    same::<IgnoredAny>(text);
    same::<bool>(text);
    same::<i8>(text);
    same::<u16>(text);
    same::<i64>(text);
    same::<u64>(text);
    same::<i128>(text);
    same::<u128>(text);
    same::<f32>(text);
    same::<f64>(text);
    same::<char>(text);
    same::<&str>(text);
    same::<String>(text);
    same::<Cow<'_, str>>(text);
    same::<Bytes>(text);
    same::<()>(text);
    same::<Unit>(text);
    same::<Newtype>(text);
    same::<Option<Option<u32>>>(text);
    same::<(i64, String)>(text);
    same::<[u8; 2]>(text);
    same::<Vec<f64>>(text);
    same::<Vec<Untagged>>(text);
    same::<Record<'_>>(text);
    same::<Vec<Record<'_>>>(text);
    same::<Flattened>(text);
    same::<Shape>(text);
    same::<Vec<Shape>>(text);
    same::<Tagged>(text);
    same::<Internal>(text);
    same::<Untagged>(text);
    same::<BTreeMap<String, Value>>(text);
    same::<BTreeMap<&str, IgnoredAny>>(text);
    same::<BTreeMap<i8, IgnoredAny>>(text);
    same::<BTreeMap<u128, IgnoredAny>>(text);
    same::<BTreeMap<bool, IgnoredAny>>(text);
    same::<BTreeMap<char, IgnoredAny>>(text);
    same::<BTreeMap<Option<String>, IgnoredAny>>(text);
    same::<BTreeMap<Letter, Option<Letter>>>(text);
    // Whatever comes first in a hash map is by chance, so that only one member is compared.
    if Cursor::trusted(text).members().count() < 2 {
        same::<HashMap<String, Untagged>>(text);
    }
}

/// Both read it with the same outcome, or neither does. What is refused first and read by serde_json then counts
/// as refused: only keys with escapes that are to be more than text are.
fn same<'t, T: Deserialize<'t> + Debug>(text: &'t str) {
    let mut json = Deserializer::new(Cursor::trusted(text));
    let ours = T::deserialize(&mut json).ok();
    let theirs = serde_json::from_str::<T>(text).ok();
    if ours.is_none() && theirs.is_some() {
        let left_out = Cursor::trusted(text).members().any(|(name, _)| name.is_escaped());
        assert!(left_out, "{} is refused: {text}", std::any::type_name::<T>());
        return;
    }
    let name = std::any::type_name::<T>();
    assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{name}: {text}");
}

fn depth(text: &str) -> usize {
    let mut cursor = Cursor::trusted(text);
    let (mut depth, mut most) = (0usize, 0);
    while let Some(token) = cursor.token() {
        match token.kind {
            TokenKind::ObjectStart | TokenKind::ArrayStart => depth += 1,
            TokenKind::ObjectEnd | TokenKind::ArrayEnd => depth -= 1,
            _ => {}
        }
        most = most.max(depth);
    }
    most
}
