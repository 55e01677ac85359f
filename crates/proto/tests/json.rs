//! JSON as RFC 8259 has it: what is accepted, and for the rest the byte and the reason.

use std::time::{Duration, Instant};

use sabir_proto::{JsonKind, Limits, PLAIN, ParseError, RawJson, Syntax, decode};

#[track_caller]
fn check(text: &[u8], offset: usize, reason: Syntax) {
    let shown = String::from_utf8_lossy(&text[..text.len().min(80)]);
    let wanted = ParseError { offset, reason };
    assert_eq!(RawJson::from_bytes(text).map(drop), Err(wanted), "of {shown}");
    assert_eq!(decode(text, &PLAIN, &Limits::default()).map(drop), Err(wanted), "decoding {shown}");
}

#[test]
fn valid_text_is_kept_to_the_letter() {
    use JsonKind::{Array, Boolean, Null, Number, Object, String};
    for (text, kind) in [
        ("null", Null),
        ("true", Boolean),
        ("false", Boolean),
        ("0", Number),
        ("-0", Number),
        ("-0.0e-0", Number),
        ("10", Number),
        ("1E+5", Number),
        ("0e1", Number),
        ("1e99999", Number),
        ("-123456789012345678901234567890.123456789012345678901234567890", Number),
        ("\"\"", String),
        ("\"a\u{7f}b\"", String),
        ("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uABcd\"", String),
        ("\"\\ud83d\\ude00 😀 \u{10ffff} \u{2028}\"", String),
        ("\"\\ud800\"", String),
        ("\"\\udc00\\ud800\"", String),
        ("[]", Array),
        ("[ ]", Array),
        ("[[[]],[],{}]", Array),
        ("[1,\"a\",null,true , -2.5]", Array),
        ("{}", Object),
        ("{ }", Object),
        ("{\"\":0}", Object),
        ("{\"a\":1,\"a\":2}", Object),
        ("{\"a\" : { \"b\"\t:\r\n[ ] } }", Object),
        ("{\"\\ud800\":\"\\\\\"}", Object),
    ] {
        for padded in [text.to_owned(), format!(" \t\r\n{text}\n\r\t ")] {
            let raw = RawJson::from_bytes(padded.as_bytes());
            assert_eq!(raw.as_ref().map(RawJson::as_str), Ok(text), "of {padded}");
            assert_eq!(raw.map(|raw| raw.kind()), Ok(kind), "of {padded}");
        }
    }
}

#[test]
fn every_plain_length_of_string_ends_where_its_quote_is() {
    for len in 0..200 {
        for end in ["", "\\n", "é", "\\u00e9x"] {
            let text = format!("\"{}{end}\"", "x".repeat(len));
            assert_eq!(RawJson::new(text.as_str()).map(|raw| raw.as_str().len()), Ok(text.len()));
            check(format!("{text}\"").as_bytes(), text.len(), Syntax::TrailingText);
            check(&text.as_bytes()[..text.len() - 1], text.len() - 1, Syntax::UnexpectedEnd);
        }
    }
}

#[test]
fn every_prefix_is_refused() {
    for text in
        ["true", "null", "\"\\u00e9 \\\\ é\"", "[1.5e3, [true], {}]", "{\"a\": {\"b\": [-0, \"\\n\"]}}"]
    {
        for end in 0..text.len() {
            let error = RawJson::from_bytes(&text.as_bytes()[..end]).map(drop);
            assert!(matches!(error, Err(error) if error.offset <= end), "{end} of {text}: {error:?}");
        }
    }
}

#[test]
fn text_that_is_wrong_or_ends_too_early() {
    for (text, offset, reason) in [
        ("", 0, Syntax::Empty),
        (" \t\r\n", 4, Syntax::Empty),
        ("[", 1, Syntax::UnexpectedEnd),
        ("{", 1, Syntax::UnexpectedEnd),
        ("[1", 2, Syntax::UnexpectedEnd),
        ("[1,", 3, Syntax::UnexpectedEnd),
        ("{\"a\"", 4, Syntax::UnexpectedEnd),
        ("{\"a\":", 5, Syntax::UnexpectedEnd),
        ("{\"a\":1", 6, Syntax::UnexpectedEnd),
        ("{\"a\":1,", 7, Syntax::UnexpectedEnd),
        ("{\"a\":1, ", 8, Syntax::UnexpectedEnd),
        ("\"a", 2, Syntax::UnexpectedEnd),
        ("\"a\\", 3, Syntax::UnexpectedEnd),
        ("\"\\\\\\\"", 5, Syntax::UnexpectedEnd),
        ("-", 1, Syntax::UnexpectedEnd),
        ("1.", 2, Syntax::UnexpectedEnd),
        ("1e", 2, Syntax::UnexpectedEnd),
        ("1e+", 3, Syntax::UnexpectedEnd),
        // Commas and colons.
        ("[1,]", 3, Syntax::ExpectedValue),
        ("[,1]", 1, Syntax::ExpectedValue),
        ("[1,,2]", 3, Syntax::ExpectedValue),
        ("[1 2]", 3, Syntax::ExpectedCommaOrEnd),
        ("[1;2]", 2, Syntax::ExpectedCommaOrEnd),
        ("{\"a\":1,}", 7, Syntax::ExpectedName),
        ("{,}", 1, Syntax::ExpectedName),
        ("{\"a\":1 \"b\":2}", 7, Syntax::ExpectedCommaOrEnd),
        ("{\"a\" 1}", 5, Syntax::ExpectedColon),
        ("{\"a\"}", 4, Syntax::ExpectedColon),
        ("{\"a\",1}", 4, Syntax::ExpectedColon),
        ("{\"a\"::1}", 5, Syntax::ExpectedValue),
        ("{\"a\":}", 5, Syntax::ExpectedValue),
        ("[\"a\":1]", 4, Syntax::ExpectedCommaOrEnd),
        // Brackets of the wrong kind, too many, or where none may be.
        ("[}", 1, Syntax::ExpectedValue),
        ("{]", 1, Syntax::ExpectedName),
        ("[1}", 2, Syntax::ExpectedCommaOrEnd),
        ("{\"a\":1]", 6, Syntax::ExpectedCommaOrEnd),
        ("]", 0, Syntax::ExpectedValue),
        ("}", 0, Syntax::ExpectedValue),
        ("[]]", 2, Syntax::TrailingText),
        ("{\"a\":[1}", 7, Syntax::ExpectedCommaOrEnd),
        // Names and strings.
        ("{a:1}", 1, Syntax::ExpectedName),
        ("{1:1}", 1, Syntax::ExpectedName),
        ("{null:1}", 1, Syntax::ExpectedName),
        ("{'a':1}", 1, Syntax::ExpectedName),
        ("{[]:1}", 1, Syntax::ExpectedName),
        ("'a'", 0, Syntax::ExpectedValue),
        ("['a']", 1, Syntax::ExpectedValue),
        ("`a`", 0, Syntax::ExpectedValue),
        // Literals.
        ("nil", 0, Syntax::ExpectedValue),
        ("True", 0, Syntax::ExpectedValue),
        ("NULL", 0, Syntax::ExpectedValue),
        ("undefined", 0, Syntax::ExpectedValue),
        ("NaN", 0, Syntax::ExpectedValue),
        ("Infinity", 0, Syntax::ExpectedValue),
        ("[tru]", 1, Syntax::ExpectedValue),
        ("nulll", 4, Syntax::TrailingText),
        ("[truefalse]", 5, Syntax::ExpectedCommaOrEnd),
        // What follows.
        ("{} {}", 3, Syntax::TrailingText),
        ("1 2", 2, Syntax::TrailingText),
        ("[]x", 2, Syntax::TrailingText),
        ("{}\u{b}", 2, Syntax::TrailingText),
        ("null,", 4, Syntax::TrailingText),
        // Comments and spaces of other worlds.
        ("/**/1", 0, Syntax::ExpectedValue),
        ("1 // x", 2, Syntax::TrailingText),
        ("[1 /**/]", 3, Syntax::ExpectedCommaOrEnd),
        ("#1", 0, Syntax::ExpectedValue),
        ("\u{a0}1", 0, Syntax::ExpectedValue),
        ("[\u{2060}]", 1, Syntax::ExpectedValue),
        ("[\u{c}]", 1, Syntax::ExpectedValue),
        // The layer below strips a byte order mark; here it is text like any other.
        ("\u{feff}{}", 0, Syntax::ExpectedValue),
        ("{}\u{feff}", 2, Syntax::TrailingText),
    ] {
        check(text.as_bytes(), offset, reason);
    }
}

#[test]
fn numbers_that_are_none() {
    for (text, offset, reason) in [
        ("01", 1, Syntax::LeadingZero),
        ("-01", 2, Syntax::LeadingZero),
        ("00", 1, Syntax::LeadingZero),
        ("[1,007]", 4, Syntax::LeadingZero),
        ("+1", 0, Syntax::ExpectedValue),
        (".5", 0, Syntax::ExpectedValue),
        ("-.5", 1, Syntax::ExpectedDigit),
        ("-a", 1, Syntax::ExpectedDigit),
        ("--1", 1, Syntax::ExpectedDigit),
        ("- 1", 1, Syntax::ExpectedDigit),
        ("[1.]", 3, Syntax::ExpectedDigit),
        ("1.e5", 2, Syntax::ExpectedDigit),
        ("[1e]", 3, Syntax::ExpectedDigit),
        ("[1e-]", 4, Syntax::ExpectedDigit),
        ("1e+-1", 3, Syntax::ExpectedDigit),
        ("-Infinity", 1, Syntax::ExpectedDigit),
        ("1.2.3", 3, Syntax::TrailingText),
        ("1e5.5", 3, Syntax::TrailingText),
        ("0x10", 1, Syntax::TrailingText),
        ("1_000", 1, Syntax::TrailingText),
        ("0.1f", 3, Syntax::TrailingText),
        ("[1a]", 2, Syntax::ExpectedCommaOrEnd),
        ("\u{ff11}", 0, Syntax::ExpectedValue),
    ] {
        check(text.as_bytes(), offset, reason);
    }
}

#[test]
fn escapes_that_are_none() {
    for (text, offset) in [
        ("\"\\x41\"", 2),
        ("\"\\a\"", 2),
        ("\"\\'\"", 2),
        ("\"\\0\"", 2),
        ("\"\\U0041\"", 2),
        ("\"\\\n\"", 2),
        ("\"\\é\"", 2),
        ("[\"ok\\n\",\"\\q\"]", 10),
        ("\"\\u\"", 2),
        ("\"\\u12\"", 2),
        ("\"\\u12g4\"", 2),
        ("\"\\u+123\"", 2),
        ("\"\\u 041\"", 2),
        ("\"\\ud800\\u\"", 8),
    ] {
        check(text.as_bytes(), offset, Syntax::BadEscape);
    }
}

#[test]
fn control_characters() {
    for byte in 0..0x20u8 {
        check(&[b'"', byte, b'"'], 1, Syntax::ControlCharacter);
        check(&[b"\"\\n", &[byte][..], b"\""].concat(), 3, Syntax::ControlCharacter);
        let far = [b"\"", &[b'x'; 70][..], &[byte], b"\""].concat();
        check(&far, 71, Syntax::ControlCharacter);
        if !b" \t\r\n".contains(&byte) {
            check(&[byte], 0, Syntax::ExpectedValue);
            check(&[b'[', byte, b']'], 1, Syntax::ExpectedValue);
            check(&[b'1', byte], 1, Syntax::TrailingText);
        }
    }
    check(b"{\"a\0\":1}", 3, Syntax::ControlCharacter);
    check(b"{}\0", 2, Syntax::TrailingText);
}

#[test]
fn bytes_that_are_not_utf_8() {
    for (bad, what) in [
        (&b"\x80"[..], "a continuation without a start"),
        (b"\xc0\xaf", "an overlong slash"),
        (b"\xc1\xbf", "overlong in two bytes"),
        (b"\xe0\x80\xaf", "overlong in three bytes"),
        (b"\xf0\x80\x80\xaf", "overlong in four bytes"),
        (b"\xed\xa0\x80", "a high surrogate"),
        (b"\xed\xbf\xbf", "a low surrogate"),
        (b"\xf4\x90\x80\x80", "beyond the last code point"),
        (b"\xf5\x80\x80\x80", "a start that never is"),
        (b"\xfe", "half a byte order mark"),
        (b"\xff", "a byte that never is"),
        (b"\xc3", "two bytes, cut"),
        (b"\xe2\x82", "three bytes, cut"),
        (b"\xf0\x9f\x98", "four bytes, cut"),
    ] {
        for before in [&b""[..], b"\"", b"{\"", b"\"0123456789abcdef0123456789abcdef", b"[1,"] {
            for after in [&b""[..], b"\"", b" ]"] {
                let text = [before, bad, after].concat();
                let error = RawJson::from_bytes(&text).map(drop);
                let wanted = ParseError { offset: before.len(), reason: Syntax::NotUtf8 };
                assert_eq!(error, Err(wanted), "{what} in {text:?}");
                check(&text, before.len(), Syntax::NotUtf8);
            }
        }
    }
}

#[test]
fn depth_at_the_limit_and_one_past_it() {
    for (open, inner, close) in [("[", "", "]"), ("{\"a\":", "0", "}"), ("[\"x\", ", "[]", " ]")] {
        let nested = |depth: usize| {
            let depth = depth - usize::from(inner == "[]");
            format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
        };
        let deepest = nested(128);
        assert_eq!(RawJson::new(deepest.as_str()).map(|raw| raw.as_str().len()), Ok(deepest.len()));
        let too_deep = nested(129);
        check(too_deep.as_bytes(), too_deep.rfind(['[', '{']).unwrap_or(0), Syntax::TooDeep);
    }
}

#[test]
fn depth_is_what_the_limits_say() {
    for depth in [1, 2, 5, 128, 255] {
        let limits = Limits { depth, ..Limits::default() };
        let taken = usize::from(depth.min(128));
        for (open, inner, close) in [("[", "", "]"), ("{\"a\":", "0", "}")] {
            for (levels, fine) in [(taken, true), (taken + 1, false)] {
                let text = format!("{}{inner}{}", open.repeat(levels), close.repeat(levels));
                let decoded = decode(text.as_bytes(), &PLAIN, &limits);
                let wanted = ParseError { offset: open.len() * taken, reason: Syntax::TooDeep };
                assert_eq!(decoded.map(drop), if fine { Ok(()) } else { Err(wanted) }, "{depth}: {text}");
            }
        }
    }
}

#[test]
fn a_limit_of_no_depth_takes_no_brackets() {
    let limits = Limits { depth: 0, ..Limits::default() };
    assert!(decode(b"1", &PLAIN, &limits).is_ok());
    for text in [&b"{}"[..], b"[]", b"[1]"] {
        let wanted = ParseError { offset: 0, reason: Syntax::TooDeep };
        let decoded = decode(text, &PLAIN, &limits).map(drop);
        assert_eq!(decoded, Err(wanted), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn a_million_open_brackets_are_refused_at_once() {
    let start = Instant::now();
    for (open, at) in [("[", 128), ("{\"a\":", 128 * 5), ("[{\"a\":", 64 * 6)] {
        check(open.repeat(1_000_000).as_bytes(), at, Syntax::TooDeep);
    }
    assert!(start.elapsed() < Duration::from_secs(5), "took {:?}", start.elapsed());
}

/// Runs a folder of `y_*.json` (valid), `n_*.json` (not) and `i_*.json` (either) files if the variable
/// names one, and a few of the same kind that are written here in any case.
#[test]
fn a_corpus_of_files_is_judged_by_its_names() {
    let own = [("y_own", &b"[\"\\u0061\"]"[..]), ("n_own", b"[\"\\u006\"]"), ("i_own", b"[\"\\ud800\"]")];
    let mut cases: Vec<(String, Vec<u8>)> =
        own.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    match std::env::var_os("SABIR_JSON_CORPUS") {
        None => eprintln!("SABIR_JSON_CORPUS is not set: only {} cases of our own", cases.len()),
        Some(folder) => {
            for file in std::fs::read_dir(folder).expect("SABIR_JSON_CORPUS names a folder") {
                let path = file.expect("a folder entry").path();
                if path.extension().is_some_and(|extension| extension == "json") {
                    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    cases.push((name, std::fs::read(&path).expect("a readable file")));
                }
            }
            assert!(cases.len() > own.len(), "SABIR_JSON_CORPUS holds no `.json` files");
        }
    }
    let mut counts = [0; 2];
    for (name, text) in &cases {
        let accepted = RawJson::from_bytes(text).map(drop);
        match name.as_bytes().first() {
            Some(b'y') => assert_eq!(accepted, Ok(()), "{name}"),
            Some(b'n') => assert!(accepted.is_err(), "{name} is accepted"),
            Some(b'i') => {}
            _ => panic!("{name} is neither y_, n_ nor i_"),
        }
        counts[usize::from(accepted.is_err())] += 1;
    }
    eprintln!("{} files: {} accepted, {} refused", cases.len(), counts[0], counts[1]);
}
