//! What is inside params and results: member names that occur twice, numbers and strings that not every parser
//! keeps. One pass over valid JSON, without recursion, and without allocation once its stacks have grown.

use std::borrow::Cow;
use std::ops::Range;

use sabir_proto::{Id, RawJson};

use crate::rules::engine::json_scan;

/// Up to so many names are compared each with each; more are sorted.
const FEW: usize = 8;

/// Decimal digits that a double always keeps.
const SAFE_DIGITS: usize = 15;

/// Something found, and where in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Oddity {
    /// A member name that the same object has before.
    Twice(Range<usize>),
    /// A number that a double does not hold.
    Rounded(Range<usize>),
    /// Half a surrogate pair.
    LoneSurrogate(Range<usize>),
}

/// Its stacks are kept between texts.
#[derive(Debug, Default)]
pub(crate) struct Walker {
    /// Names of all open objects, each with its quotes.
    names: Vec<Range<u32>>,
    /// For each open container where its names begin; [`ARRAY`] for an array.
    open: Vec<u32>,
    /// An open object has names with escapes.
    escapes: bool,
}

const ARRAY: u32 = u32::MAX;

impl Walker {
    /// Looks through `text`, which is valid JSON.
    pub(crate) fn walk(&mut self, text: &str, found: &mut Vec<Oddity>) {
        self.names.clear();
        self.open.clear();
        self.escapes = false;
        let bytes = text.as_bytes();
        let mut at = json_scan::space(bytes, 0);
        // Each turn begins where a value does.
        loop {
            match bytes.get(at) {
                Some(b'"') => {
                    let (end, escaped) = json_scan::string(bytes, at + 1);
                    note_string(&bytes[at..end], at, escaped, found);
                    at = end;
                }
                Some(b'-' | b'0'..=b'9') => {
                    let (end, exponent) = number(bytes, at);
                    let suspect = exponent || end - at > SAFE_DIGITS;
                    if suspect && is_rounded(&text[at..end]) {
                        found.push(Oddity::Rounded(at..end));
                    }
                    at = end;
                }
                Some(b'{') => {
                    self.open.push(self.names.len() as u32);
                    at = json_scan::space(bytes, at + 1);
                    if bytes.get(at) == Some(&b'"') {
                        at = self.name(bytes, at, found);
                        continue;
                    }
                }
                Some(b'[') => {
                    self.open.push(ARRAY);
                    at = json_scan::space(bytes, at + 1);
                    if bytes.get(at) != Some(&b']') {
                        continue;
                    }
                }
                Some(b'f') => at += 5,
                Some(_) => at += 4,
                None => return,
            }
            match self.after_value(text, at, found) {
                Some(next) => at = next,
                None => return,
            }
        }
    }

    /// Passes what follows a value, up to the next one, if there is one.
    #[inline]
    fn after_value(&mut self, text: &str, mut at: usize, found: &mut Vec<Oddity>) -> Option<usize> {
        let bytes = text.as_bytes();
        loop {
            at = json_scan::space(bytes, at);
            match bytes.get(at)? {
                b',' => {
                    at = json_scan::space(bytes, at + 1);
                    let in_object = self.open.last().is_some_and(|&start| start != ARRAY);
                    return Some(if in_object { self.name(bytes, at, found) } else { at });
                }
                b'}' => {
                    let start = self.open.pop()?;
                    self.close(text, start as usize, found);
                }
                _ => drop(self.open.pop()?),
            }
            at += 1;
        }
    }

    /// Keeps the name that begins here, and passes it and its colon.
    #[inline]
    fn name(&mut self, bytes: &[u8], at: usize, found: &mut Vec<Oddity>) -> usize {
        let (end, escaped) = json_scan::string(bytes, at + 1);
        note_string(&bytes[at..end], at, escaped, found);
        self.names.push(at as u32..end as u32);
        self.escapes |= escaped;
        json_scan::space(bytes, json_scan::space(bytes, end) + 1)
    }

    /// An object ends: are its names all different?
    fn close(&mut self, text: &str, start: usize, found: &mut Vec<Oddity>) {
        let names = &mut self.names[start..];
        if names.len() > 1 {
            if self.escapes || names.len() > FEW {
                twice_among_many(text, names, found);
            } else {
                twice_among_few(text.as_bytes(), names, found);
            }
        }
        self.names.truncate(start);
        self.escapes &= start > 0;
    }
}

fn note_string(quoted: &[u8], at: usize, escaped: bool, found: &mut Vec<Oddity>) {
    if escaped && has_lone_surrogate(quoted) {
        found.push(Oddity::LoneSurrogate(at..at + quoted.len()));
    }
}

fn slice<'a>(bytes: &'a [u8], name: &Range<u32>) -> &'a [u8] {
    &bytes[name.start as usize..name.end as usize]
}

fn wide(name: &Range<u32>) -> Range<usize> {
    name.start as usize..name.end as usize
}

fn twice_among_few(bytes: &[u8], names: &[Range<u32>], found: &mut Vec<Oddity>) {
    for (index, name) in names.iter().enumerate().skip(1) {
        let own = slice(bytes, name);
        if names[..index].iter().any(|other| other.len() == name.len() && slice(bytes, other) == own) {
            found.push(Oddity::Twice(wide(name)));
        }
    }
}

fn twice_among_many(text: &str, names: &mut [Range<u32>], found: &mut Vec<Oddity>) {
    let value = |name: &Range<u32>| -> Cow<'_, str> {
        let quoted = &text[wide(name)];
        let inner = &quoted[1..quoted.len() - 1];
        match inner.contains('\\') {
            true => serde_json::from_str::<String>(quoted).map_or(Cow::Borrowed(inner), Cow::Owned),
            false => Cow::Borrowed(inner),
        }
    };
    names.sort_by(|a, b| value(a).cmp(&value(b)).then(a.start.cmp(&b.start)));
    for pair in names.windows(2) {
        if value(&pair[0]) == value(&pair[1]) {
            found.push(Oddity::Twice(wide(&pair[1])));
        }
    }
}

/// Where a number ends, and whether it has an exponent.
#[inline]
fn number(bytes: &[u8], mut at: usize) -> (usize, bool) {
    let mut exponent = false;
    loop {
        match bytes.get(at) {
            Some(b'0'..=b'9' | b'-' | b'+' | b'.') => {}
            Some(b'e' | b'E') => exponent = true,
            _ => return (at, exponent),
        }
        at += 1;
    }
}

/// Whether a number is another one after it went through a double and was printed again.
fn is_rounded(number: &str) -> bool {
    let Ok(double) = number.parse::<f64>() else { return false };
    if !double.is_finite() {
        return true;
    }
    let printed = format!("{double:e}");
    let id = |text| RawJson::new(text).ok().and_then(Id::from_json);
    id(number.to_owned()) != id(printed)
}

/// Whether the escapes of a string spell half a surrogate pair.
fn has_lone_surrogate(quoted: &[u8]) -> bool {
    let unit = |at: usize| -> Option<u16> {
        let hex = quoted.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
    };
    let mut at = 0;
    while let Some(found) = quoted.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += found;
        match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => return true,
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &[&str]) {
        let mut found = Vec::new();
        Walker::default().walk(text, &mut found);
        let shown: Vec<String> = found
            .iter()
            .map(|oddity| match oddity {
                Oddity::Twice(at) => format!("twice {}@{}", &text[at.clone()], at.start),
                Oddity::Rounded(at) => format!("rounded {}", &text[at.clone()]),
                Oddity::LoneSurrogate(at) => format!("surrogate {}", &text[at.clone()]),
            })
            .collect();
        assert_eq!(shown, want, "{text}");
    }

    #[test]
    fn names_that_occur_twice() {
        check(r#"{"a":1,"b":{"a":2},"a":3}"#, &["twice \"a\"@19"]);
        check(r#"[{"a":1},{"a":1},["a","a"],"a"]"#, &[]);
        check(r#"{"a":"b","b":"a"}"#, &[]);
        check(r#"{"a":1,"\u0061":2}"#, &["twice \"\\u0061\"@7"]);
        check(r#"{"x":{"\u0061":2},"a":1,"a" : 2}"#, &["twice \"a\"@24"]);
        let many: String = (0..20).map(|i| format!("\"k{i}\":{i},")).collect();
        check(&format!("{{{many}\"k3\":0}}"), &["twice \"k3\"@161"]);
        check(&format!("{{{many}\"k\":0}}"), &[]);
        check(r#" { "a" : [ ] , "b" : { } , "a" : [ { } , true , false , null ] } "#, &["twice \"a\"@27"]);
        check(r#"[[],{},[{}],"x",{"a":[{"a":1,"a":{}}],"b":false}]"#, &["twice \"a\"@29"]);
        for plain in ["1", "\"x\"", "null", "true", "false", "[]", "{}", " [ ] "] {
            check(plain, &[]);
        }
    }

    #[test]
    fn numbers_that_a_double_does_not_keep() {
        check("[1,1.5,-0.1,1e3,123456789012345,9007199254740992,1.7976931348623157e308,0.1e1]", &[]);
        check("[9007199254740993,1e999]", &["rounded 9007199254740993", "rounded 1e999"]);
        check("[0.12345678901234567890]", &["rounded 0.12345678901234567890"]);
        check("[1000000000000000000000000,5e-324,1e-400]", &["rounded 1e-400"]);
    }

    #[test]
    fn halves_of_characters() {
        check(r#"["\ud83d\ude00","\\ud83d","é"]"#, &[]);
        check(r#"["\ud83d","\ude00\ud83d"]"#, &[r#"surrogate "\ud83d""#, r#"surrogate "\ude00\ud83d""#]);
    }
}
