//! Properties of the grammar. `PROPTEST_CASES` sets how many cases each one is tried on.

#![allow(clippy::unwrap_used)]

#[path = "../../../fuzz/targets/cursor.rs"]
mod cursor;
#[path = "../../../fuzz/targets/decode.rs"]
mod decode;
#[path = "grammar/generate.rs"]
mod generate;
#[path = "grammar/ids.rs"]
mod ids;
#[path = "grammar/round_trip.rs"]
mod round_trip;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use sabir_proto::{RawJson, Syntax};
use serde_json::value::RawValue;

/// `cases`, unless the environment asks for another number.
fn config(cases: u32) -> ProptestConfig {
    let usual = ProptestConfig::default();
    let regressions = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grammar/regressions.txt");
    ProptestConfig {
        cases: if std::env::var_os("PROPTEST_CASES").is_some() { usual.cases } else { cases },
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        ..usual
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn envelopes_are_judged_as_the_oracle_does(text in generate::envelope()) {
        decode::run(text.as_bytes());
    }

    #[test]
    fn batches_are_judged_as_the_oracle_does(text in generate::batch()) {
        decode::run(text.as_bytes());
    }

    #[test]
    fn damaged_messages_are_judged_as_the_oracle_does(
        text in generate::damaged(prop_oneof![3 => generate::envelope(), 1 => generate::batch()])
    ) {
        decode::run(&text);
    }

    #[test]
    fn any_json_is_taken_as_it_is(text in generate::json()) {
        let raw = RawJson::new(text.as_str()).unwrap();
        prop_assert_eq!(raw.as_str(), text.as_str());
    }

    #[test]
    fn valid_json_is_walked_and_read_as_by_serde_json(text in generate::typed()) {
        cursor::run(text.as_bytes());
    }

    #[test]
    fn damaged_json_is_walked_without_harm(text in generate::damaged(generate::typed())) {
        cursor::run(&text);
    }

    #[test]
    fn damaged_json_is_valid_where_serde_json_says_so(text in generate::damaged(generate::json())) {
        check_against_raw_value(&text);
    }
}

/// The two agree but for depth: `RawValue` follows any.
fn check_against_raw_value(text: &[u8]) {
    let ours = RawJson::from_bytes(text);
    let theirs = std::str::from_utf8(text).ok().and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
    match (&ours, theirs) {
        (Err(error), Some(raw)) if error.reason == Syntax::TooDeep => {
            assert!(decode::oracle::depth(raw.get()) > 128, "{raw}");
        }
        (Ok(ours), Some(theirs)) => assert_eq!(ours.as_str(), theirs.get()),
        (Err(_), None) => {}
        _ => panic!("{}\n    ours: {ours:?}\n  theirs: {theirs:?}", String::from_utf8_lossy(text)),
    }
}

#[test]
fn depth_is_the_one_difference_from_raw_value() {
    for depth in [1, 127, 128, 129, 1000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":[", "]}]")] {
            let inner = if close == "}" { "0" } else { "" };
            check_against_raw_value(
                format!("{}{inner}{}", open.repeat(depth), close.repeat(depth)).as_bytes(),
            );
        }
    }
}
