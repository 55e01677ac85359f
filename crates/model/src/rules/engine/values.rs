//! What is inside params and results: member names that occur twice, numbers and strings that not every parser
//! keeps. One pass over valid JSON, without recursion, and without allocation once its stacks have grown.

use std::borrow::Cow;
use std::ops::Range;

use sabir_proto::{Cursor, Id, JsonStr, RawJson, TokenKind};

/// Up to so many names are compared each with each; more are sorted.
const FEW: usize = 8;

/// Decimal digits that a double always keeps.
const SAFE_DIGITS: usize = 15;

/// Something found, and where in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueIssue {
    /// A member name that the same object has before.
    Twice(Range<usize>),
    /// A number that a double does not hold.
    Rounded(Range<usize>),
    /// A lone surrogate.
    LoneSurrogate(Range<usize>),
}

/// Its stacks are kept between texts.
#[derive(Debug, Default)]
pub(crate) struct Walker {
    /// Names of all open objects, each with its quotes.
    names: Vec<Range<u32>>,
    /// For each open object where its names begin.
    open: Vec<u32>,
    /// An open object has names with escapes.
    escapes: bool,
}

impl Walker {
    /// Looks through `text`, which is valid JSON.
    pub(crate) fn walk(&mut self, text: &str, found: &mut Vec<ValueIssue>) {
        self.names.clear();
        self.open.clear();
        self.escapes = false;
        let mut cursor = Cursor::trusted(text);
        while let Some(token) = cursor.token() {
            let at = token.start..token.end;
            match token.kind {
                TokenKind::String { escaped } => {
                    if escaped && token.string().is_some_and(JsonStr::has_lone_surrogate) {
                        found.push(ValueIssue::LoneSurrogate(at.clone()));
                    }
                    // Only names have a colon behind them.
                    if cursor.pass(b':') {
                        self.names.push(at.start as u32..at.end as u32);
                        self.escapes |= escaped;
                    }
                }
                TokenKind::Number if is_suspect(token.text()) && is_rounded(token.text()) => {
                    found.push(ValueIssue::Rounded(at));
                }
                TokenKind::ObjectStart => self.open.push(self.names.len() as u32),
                TokenKind::ObjectEnd => {
                    if let Some(start) = self.open.pop() {
                        self.close(text, start as usize, found);
                    }
                }
                _ => {}
            }
        }
    }

    /// An object ends: are its names all different?
    fn close(&mut self, text: &str, start: usize, found: &mut Vec<ValueIssue>) {
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

fn slice<'a>(bytes: &'a [u8], name: &Range<u32>) -> &'a [u8] {
    &bytes[name.start as usize..name.end as usize]
}

fn wide(name: &Range<u32>) -> Range<usize> {
    name.start as usize..name.end as usize
}

fn twice_among_few(bytes: &[u8], names: &[Range<u32>], found: &mut Vec<ValueIssue>) {
    for (index, name) in names.iter().enumerate().skip(1) {
        let own = slice(bytes, name);
        if names[..index].iter().any(|other| other.len() == name.len() && slice(bytes, other) == own) {
            found.push(ValueIssue::Twice(wide(name)));
        }
    }
}

fn twice_among_many(text: &str, names: &mut [Range<u32>], found: &mut Vec<ValueIssue>) {
    let value = |name: &Range<u32>| {
        let name = JsonStr::trusted(&text[wide(name)]);
        name.map(|name| name.value().unwrap_or(Cow::Borrowed(name.inner())))
    };
    names.sort_by(|a, b| value(a).cmp(&value(b)).then(a.start.cmp(&b.start)));
    for pair in names.windows(2) {
        if value(&pair[0]) == value(&pair[1]) {
            found.push(ValueIssue::Twice(wide(&pair[1])));
        }
    }
}

/// Whether a double may not keep a number: it has many digits, or an exponent.
#[inline]
fn is_suspect(number: &str) -> bool {
    number.len() > SAFE_DIGITS || number.bytes().any(|byte| byte | 0x20 == b'e')
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &[&str]) {
        let mut found = Vec::new();
        Walker::default().walk(text, &mut found);
        let shown: Vec<String> = found
            .iter()
            .map(|issue| match issue {
                ValueIssue::Twice(at) => format!("twice {}@{}", &text[at.clone()], at.start),
                ValueIssue::Rounded(at) => format!("rounded {}", &text[at.clone()]),
                ValueIssue::LoneSurrogate(at) => format!("surrogate {}", &text[at.clone()]),
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
