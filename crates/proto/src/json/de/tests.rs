//! What is read here is what serde_json reads.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer as _};
use serde_json::Value;
use serde_json::value::RawValue;

use super::*;
use crate::RawJson;

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Record {
    a: i8,
    #[serde(default)]
    b: Option<Box<Record>>,
    #[serde(default)]
    text: String,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
enum Shape {
    Point,
    Circle(f32),
    Box { w: u128 },
}

const TEXTS: &[&str] = &[
    "0",
    "-0",
    "7",
    "-7",
    "127",
    "128",
    "9223372036854775807",
    "-9223372036854775808",
    "-9223372036854775809",
    "9999999999999999999",
    "18446744073709551615",
    "18446744073709551616",
    "123456789012345678901234567890",
    "1.5",
    "1e2",
    "-1E+2",
    "0.1",
    "true",
    "false",
    "null",
    r#""""#,
    r#""plain""#,
    r#""é\"\\\u0041""#,
    r#""\ud800""#,
    r#""Point""#,
    r#"{"Circle":1.25}"#,
    r#"{"Box":{"w":340282366920938463463374607431768211455}}"#,
    "[]",
    "[ ]",
    "[1,2]",
    "[1, 2, 3]",
    "[1,[2],{\"x\":\"]\"}]",
    "{}",
    r#"{ "a" : 1 , "b" : { "a" : -2 , "text" : "x\n" } }"#,
    r#"{"a":1,"b":null,"more":[{"]":"\\"},"}"],"text":"y"}"#,
    r#"{"a":1,"a":2}"#,
    r#"{"\u0061":1}"#,
    r#"{"1":2,"-3":4}"#,
    r#"{"01":2}"#,
    r#"{"":2}"#,
    r#"{"2x":2}"#,
    r#"[1,null,"t"]"#,
    "[[[[[]]]]]",
];

/// How many of the texts fit. They are the same that serde_json reads, with the same outcome.
fn check<T: DeserializeOwned + Debug>() -> usize {
    let mut read = 0;
    for text in TEXTS {
        let raw = RawJson::new(*text).expect("the case is JSON");
        let mut json = Deserializer::new(Cursor::new(&raw));
        let here = T::deserialize(&mut json).ok();
        let there = serde_json::from_str::<T>(text).ok();
        assert_eq!(format!("{here:?}"), format!("{there:?}"), "{text}");
        if here.is_some() {
            assert_eq!(json.cursor.offset(), text.len(), "{text}");
            read += 1;
        }
    }
    read
}

#[test]
fn reads_what_serde_json_reads() {
    let read = [
        check::<Value>(),
        check::<Box<RawValue>>(),
        check::<IgnoredAny>(),
        check::<i8>(),
        check::<u64>(),
        check::<i64>(),
        check::<i128>(),
        check::<f32>(),
        check::<f64>(),
        check::<bool>(),
        check::<()>(),
        check::<String>(),
        check::<Option<u8>>(),
        check::<(i64, i64)>(),
        check::<Vec<Value>>(),
        check::<Record>(),
        check::<Shape>(),
        check::<BTreeMap<String, Value>>(),
        check::<BTreeMap<i8, i8>>(),
    ];
    // So many of the texts fit.
    assert_eq!(read, [42, 43, 43, 4, 7, 7, 13, 17, 17, 2, 1, 4, 5, 1, 7, 4, 3, 11, 2]);
}

#[test]
fn nothing_is_read_behind_what_does_not_fit() {
    #[derive(Debug)]
    struct Stubborn;
    impl<'de> Visitor<'de> for Stubborn {
        type Value = usize;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<usize, A::Error> {
            Ok((0..4).filter(|_| matches!(items.next_element::<u8>(), Ok(Some(_)))).count())
        }
    }
    let raw = RawJson::new(r#"[1,"2,3,4"]"#).expect("the case is JSON");
    let mut json = Deserializer::new(Cursor::new(&raw));
    assert!(json.deserialize_seq(Stubborn).is_err());
    assert_eq!(json.cursor.offset(), raw.as_str().len());
}

#[test]
fn nesting_is_bounded() {
    for depth in [128, 129, 100_000] {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let read = Value::deserialize(&mut Deserializer::new(Cursor::trusted(&text)));
        assert_eq!(read.is_ok(), depth <= 128, "{depth}");
    }
}
