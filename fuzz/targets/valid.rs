//! Types from valid JSON: what the quick reader gives is what serde_json gives, for many types.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;

use sabir::RawJson;
use sabir::fuzzing::read;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict<'a> {
    a: i64,
    #[serde(borrow, default)]
    b: Option<Cow<'a, str>>,
    #[serde(default)]
    c: Vec<Kind>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Loose {
    #[serde(default)]
    a: Option<Box<Loose>>,
    b: Option<f64>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq, Deserialize)]
enum Kind {
    A,
    B(u8),
    C(i8, String),
    D { x: u64 },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(i32),
    Text(String),
    List(Vec<Untagged>),
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type")]
enum Tagged {
    A { x: Option<u32> },
    B,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Wrapped(Vec<Option<bool>>);

#[derive(Debug, PartialEq, Deserialize)]
struct Unit;

pub(crate) fn run(data: &[u8]) {
    let Ok(json) = RawJson::from_bytes(data) else { return };
    same::<Value>(&json);
    same::<Strict<'_>>(&json);
    same::<Loose>(&json);
    same::<Kind>(&json);
    same::<Untagged>(&json);
    same::<Tagged>(&json);
    same::<Wrapped>(&json);
    same::<Unit>(&json);
    same::<()>(&json);
    same::<bool>(&json);
    same::<char>(&json);
    same::<i8>(&json);
    same::<u64>(&json);
    same::<i64>(&json);
    same::<i128>(&json);
    same::<f32>(&json);
    same::<f64>(&json);
    same::<String>(&json);
    same::<&str>(&json);
    same::<(i64, String)>(&json);
    same::<[u8; 2]>(&json);
    same::<Vec<i64>>(&json);
    same::<Vec<(String, f64)>>(&json);
    same::<Option<Vec<Kind>>>(&json);
    same::<BTreeMap<String, i64>>(&json);
    same::<BTreeMap<i32, Value>>(&json);
    same::<BTreeMap<bool, String>>(&json);
    same::<BTreeMap<Kind2, u8>>(&json);
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
enum Kind2 {
    A,
    B,
}

fn same<'de, T: Deserialize<'de> + PartialEq + Debug>(json: &'de RawJson<'_>) {
    let quick = read::<T>(json);
    let slow = serde_json::from_str::<T>(json.as_str());
    let both = sabir::parse::<T>(json);
    let name = std::any::type_name::<T>();
    match (&quick, &slow, &both) {
        (Ok(quick), Ok(slow), Ok(both)) => {
            assert!(quick == slow && both == slow, "{name}: {quick:?} and {slow:?} from {json}");
        }
        // What the quick reader does not know is read again by the other.
        (Err(_), Ok(slow), Ok(both)) => assert!(both == slow, "{name}: {both:?} and {slow:?} from {json}"),
        (Err(_), Err(_), Err(_)) => {}
        _ => panic!("{name}: {quick:?} and {slow:?} from {json}"),
    }
}
