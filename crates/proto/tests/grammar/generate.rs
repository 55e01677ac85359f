//! JSON and messages of every spelling, right and wrong, as text.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Any JSON value, with white space and escapes where they may stand.
pub(crate) fn json() -> BoxedStrategy<String> {
    scalar()
        .prop_recursive(4, 24, 5, |inner| {
            let member = (string(), inner.clone()).prop_map(|(name, value)| format!("{name}:{value}"));
            prop_oneof![bracketed("[", inner, "]"), bracketed("{", member, "}")]
        })
        .boxed()
}

/// JSON that fits types more often than not: few names, and they are short.
pub(crate) fn typed() -> BoxedStrategy<String> {
    let name = || select(&["a", "b", "c", "d", "\\u0061", "Circle", "1", "-3", "true"][..]);
    let word = name().prop_map(|name| format!("\"{name}\""));
    prop_oneof![2 => scalar(), 1 => word]
        .prop_recursive(4, 24, 5, move |inner| {
            let member = (name(), inner.clone()).prop_map(|(name, value)| format!("\"{name}\":{value}"));
            prop_oneof![1 => bracketed("[", inner, "]"), 2 => bracketed("{", member, "}")]
        })
        .boxed()
}

pub(crate) fn number() -> BoxedStrategy<String> {
    prop_oneof![
        4 => (0..20u32).prop_map(|n| n.to_string()),
        1 => any::<i64>().prop_map(|n| n.to_string()),
        2 => "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?",
        1 => "-?[1-9][0-9]{15,40}(\\.[0-9]{1,30})?",
        1 => select(&["-0", "1e999", "0e-999", "1E+400", "9007199254740993"][..]).prop_map(str::to_owned),
    ]
    .boxed()
}

pub(crate) fn string() -> BoxedStrategy<String> {
    let piece = prop_oneof![
        6 => "[a-z ]{0,6}",
        1 => "[ -~]{0,40}".prop_map(|text| text.replace(['"', '\\'], "")),
        1 => "\\PC{0,20}".prop_map(|text| text.replace(['"', '\\'], "")),
        1 => select(&["\\n", "\\\"", "\\\\", "\\/", "\\b", "\\u0041", "\\u00e9", "\\u0000"][..])
            .prop_map(str::to_owned),
        1 => select(&["\\ud83d\\ude00", "\\ud800", "\\udc00", "\\ud800\\u0041"][..]).prop_map(str::to_owned),
    ];
    vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat())).boxed()
}

fn scalar() -> BoxedStrategy<String> {
    prop_oneof![select(&["null", "true", "false"][..]).prop_map(str::to_owned), number(), string()].boxed()
}

fn space() -> BoxedStrategy<String> {
    prop_oneof![4 => Just(String::new()), 1 => "[ \t\r\n]{1,3}"].boxed()
}

fn bracketed(
    open: &'static str,
    item: impl Strategy<Value = String> + 'static,
    close: &'static str,
) -> BoxedStrategy<String> {
    let item = (space(), item, space()).prop_map(|(before, item, after)| format!("{before}{item}{after}"));
    vec(item, 0..5).prop_map(move |items| format!("{open}{}{close}", items.join(","))).boxed()
}

pub(crate) fn params() -> BoxedStrategy<String> {
    json().prop_map(|json| if json.starts_with(['[', '{']) { json } else { format!("[{json}]") }).boxed()
}

pub(crate) fn id() -> BoxedStrategy<String> {
    prop_oneof![3 => number(), 3 => string(), 1 => Just("null".to_owned())].boxed()
}

/// An envelope that is right more often than not.
pub(crate) fn envelope() -> BoxedStrategy<String> {
    let call = (
        member("jsonrpc", version()),
        member("id", odd(id())),
        member("method", odd(string())),
        member("params", odd(params())),
        strays(),
    )
        .prop_map(|(version, id, method, params, strays)| [version, id, method, params, strays].concat());
    let answer = (
        member("jsonrpc", version()),
        member("id", odd(id())),
        member("result", json()),
        member("error", odd(error())),
        strays(),
    )
        .prop_map(|(version, id, result, error, strays)| [version, id, result, error, strays].concat());
    (prop_oneof![call, answer], any::<[Index; 2]>(), any::<bool>(), space())
        .prop_map(|(mut members, [a, b], shuffle, around)| {
            if shuffle && !members.is_empty() {
                let len = members.len();
                members.swap(a.index(len), b.index(len));
            }
            format!("{around}{{{}}}{around}", members.join(","))
        })
        .boxed()
}

pub(crate) fn batch() -> BoxedStrategy<String> {
    bracketed("[", prop_oneof![5 => envelope(), 1 => json()], "]")
}

fn version() -> BoxedStrategy<String> {
    let wrong = select(&["\"1.0\"", "2.0", "null", "\"2\\u002e0\"", "\"\\ud800\""][..]);
    prop_oneof![12 => Just("\"2.0\"".to_owned()), 1 => wrong.prop_map(str::to_owned)].boxed()
}

fn error() -> BoxedStrategy<String> {
    let code = prop_oneof![4 => any::<i64>().prop_map(|code| code.to_string()), 1 => odd(number())];
    (member("code", code), member("message", odd(string())), member("data", json()), strays())
        .prop_map(|(code, message, data, strays)| {
            format!("{{{}}}", [code, message, data, strays].concat().join(","))
        })
        .boxed()
}

/// The member once, most of the time; also not at all, twice, or with its name spelt with an escape.
fn member(name: &'static str, value: impl Strategy<Value = String> + 'static) -> BoxedStrategy<Vec<String>> {
    let escaped = format!("\\u{:04x}{}", name.as_bytes()[0], &name[1..]);
    let times = prop_oneof![1 => Just(0usize), 12 => Just(1), 1 => Just(2)];
    let spelt = prop_oneof![8 => Just(name.to_owned()), 1 => Just(escaped)];
    (times, spelt, space(), vec(value, 2))
        .prop_map(|(times, name, space, values)| {
            values.into_iter().take(times).map(|value| format!("\"{name}\"{space}:{space}{value}")).collect()
        })
        .boxed()
}

fn strays() -> BoxedStrategy<Vec<String>> {
    let name = prop_oneof![string(), select(&["\"ids\"", "\"i\"", "\"error \""][..]).prop_map(str::to_owned)];
    vec((name, json()).prop_map(|(name, value)| format!("{name}:{value}")), 0..2).boxed()
}

/// Now and then any value in place of the one that belongs there.
fn odd(usual: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    prop_oneof![12 => usual, 1 => json()].boxed()
}

/// The text after some damage: bytes flipped, deleted, inserted or doubled, or the end cut off.
pub(crate) fn damaged(text: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![select(&b"\"\\{}[],: \n\t\0\x1f-+.0eEu1nt\x7f\x80\xc0\xe2\xff"[..]), any::<u8>()];
    let damage = (0..5u8, any::<Index>(), any::<Index>(), byte);
    (text, vec(damage, 1..4)).prop_map(|(text, damages)| {
        damages.into_iter().fold(text.into_bytes(), |mut text, (how, at, to, byte)| {
            let at = at.index(text.len() + 1);
            let to = to.index(text.len() + 1).max(at).min(at + 8);
            match how {
                0 if at < text.len() => text[at] = byte,
                1 => drop(text.drain(at..to)),
                2 => text.insert(at, byte),
                3 => text.extend_from_within(at..to),
                _ => text.truncate(at),
            }
            text
        })
    })
}
