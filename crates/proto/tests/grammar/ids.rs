//! Ids compare by value, and equality, hash and order tell the same story.

use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use proptest::prelude::*;
use proptest::sample::select;
use sabir_proto::{Id, RawJson};

use super::{config, decode::number, generate};

fn id(text: &str) -> Id<'_> {
    Id::from_json(RawJson::new(text).unwrap()).unwrap()
}

fn hash(id: &Id<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// The order that the value of an id implies; a lone surrogate has none.
fn by_value(a: &str, b: &str) -> Option<Ordering> {
    let rank = |text: &str| match text.as_bytes()[0] {
        b'n' => 0,
        b'"' => 2,
        _ => 1,
    };
    if rank(a) != rank(b) {
        return Some(rank(a).cmp(&rank(b)));
    }
    match rank(a) {
        0 => Some(Ordering::Equal),
        1 => Some(number::Value::of(a).cmp(&number::Value::of(b))),
        _ => {
            let string = |text| serde_json::from_str::<String>(text).ok();
            Some(string(a)?.cmp(&string(b)?))
        }
    }
}

/// One number in one of its spellings, from so few numbers that two are often the same.
fn spelt_number() -> impl Strategy<Value = String> {
    (any::<bool>(), 0..4u32, 0..4usize, -3..4i32, 0..3usize).prop_map(
        |(negative, digits, zeros, exponent, fraction)| {
            let sign = if negative { "-" } else { "" };
            let number = format!("{digits}{}", if digits == 0 { String::new() } else { "0".repeat(zeros) });
            let fraction = if fraction == 0 { String::new() } else { format!(".{}", "0".repeat(fraction)) };
            let exponent = if exponent == 0 { String::new() } else { format!("e{exponent}") };
            format!("{sign}{number}{fraction}{exponent}")
        },
    )
}

/// One string in one of its spellings.
fn spelt_string() -> impl Strategy<Value = String> {
    let pieces = &["a", "\\u0061", "A", "\\u0041", "1", "\\u0031", "\\\"", "\\ud800", "é", "\\u00e9"][..];
    proptest::collection::vec(select(pieces), 0..3).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn any_id() -> impl Strategy<Value = String> {
    prop_oneof![4 => spelt_number(), 3 => spelt_string(), 2 => generate::id()]
}

/// What holds of every two ids.
fn check_pair(a: &str, b: &str) {
    let (x, y) = (id(a), id(b));
    let order = x.cmp(&y);
    if let Some(wanted) = by_value(a, b) {
        assert_eq!(order, wanted, "order of {a} and {b}");
    }
    assert_eq!(y.cmp(&x), order.reverse(), "order of {a} and {b}, and back");
    assert_eq!(x.partial_cmp(&y), Some(order));
    assert_eq!(x == y, order == Ordering::Equal, "equality and order of {a} and {b}");
    assert_eq!(y == x, order == Ordering::Equal, "equality of {b} and {a}");
    if x == y {
        assert_eq!(hash(&x), hash(&y), "hashes of {a} and {b}");
        assert_eq!(x.as_u64(), y.as_u64(), "numbers of {a} and {b}");
        assert_eq!(x.is_fractional(), y.is_fractional(), "fractions of {a} and {b}");
    }
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn equality_hash_and_order_agree(a in any_id(), b in any_id()) {
        check_pair(&a, &b);
    }

    #[test]
    fn the_order_is_total(a in any_id(), b in any_id(), c in any_id()) {
        let mut three = [id(&a), id(&b), id(&c)];
        three.sort();
        prop_assert!(three[0] <= three[1] && three[1] <= three[2] && three[0] <= three[2]);
        if three[0] == three[1] && three[1] == three[2] {
            prop_assert_eq!(&three[0], &three[2]);
        }
    }

    #[test]
    fn an_integer_is_read_whatever_its_spelling(n in any::<u64>()) {
        for text in [format!("{n}"), format!("{n}.0"), format!("{n}0e-1"), format!("{n}e0")] {
            prop_assert_eq!(id(&text).as_u64(), Some(n));
        }
        let (digits, quoted) = (n.to_string(), format!("\"{n}\""));
        let string = id(&quoted);
        prop_assert_eq!(string.as_u64(), None);
        prop_assert_eq!(string.as_str(), Some(digits.into()));
    }
}

#[test]
fn spellings_of_one_id_are_equal_and_others_are_not() {
    for (a, b, equal) in [
        ("1", "1.0", true),
        ("1", "\"1\"", false),
        ("\"aA\"", "\"a\\u0041\"", true),
        ("\"a\"", "\"A\"", false),
        ("0", "-0", true),
        ("null", "0", false),
        ("null", "\"null\"", false),
        ("9007199254740993", "9007199254740992", false),
        ("0.1", "1e-1", true),
        ("1e400", "10e399", true),
        ("1e400", "1e401", false),
        ("\"\\ud83d\\ude00\"", "\"😀\"", true),
        ("\"\\ud800\"", "\"\\ud801\"", false),
    ] {
        assert_eq!(id(a) == id(b), equal, "{a} {b}");
        check_pair(a, b);
    }
}

#[test]
fn integers_of_thousands_of_digits_hash_by_value() {
    for zeros in [4094, 4095, 4096, 5000] {
        check_pair(&format!("1{}", "0".repeat(zeros)), &format!("1e{zeros}"));
        check_pair(&format!("-1{}", "0".repeat(zeros)), &format!("-0.1e{}", zeros + 1));
    }
}

#[test]
fn half_a_surrogate_pair_equals_only_itself() {
    check_pair("\"\\ud800\"", "\"\\ud800\"");
    assert_ne!(id("\"\\ud800\""), id("\"\\\"\\\\ud800\\\"\""));
    check_pair("\"\\ud800\"", "\"\\\"\\\\ud800\\\"\"");
}

#[test]
fn exponents_beyond_any_machine_word_keep_the_laws() {
    let huge = [
        "1e9223372036854775807",
        "1e9223372036854775808",
        "-1e99999999999999999999",
        "2e-9223372036854775809",
    ];
    for a in huge.into_iter().chain(["0", "1", "-1"]) {
        for b in huge {
            let (x, y) = (id(a), id(b));
            assert_eq!(x.cmp(&y), y.cmp(&x).reverse(), "{a} {b}");
            assert_eq!(x == y, x.cmp(&y) == Ordering::Equal, "{a} {b}");
            assert!(x != y || hash(&x) == hash(&y), "{a} {b}");
        }
        assert_eq!(id(a) < id("0"), a.starts_with('-'), "{a}");
    }
}
