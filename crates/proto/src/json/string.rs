//! String literals of valid JSON: what they stand for.

use std::borrow::Cow;

/// A string literal of valid JSON, such as a member name: its text with the quotes and the escapes.
///
/// ```
/// use sabir_proto::{Cursor, RawJson};
///
/// let json = RawJson::new(r#"{"\u0061b": 1}"#)?;
/// let (name, _) = Cursor::new(&json).members().next().unwrap();
/// assert_eq!(name.text(), r#""\u0061b""#);
/// assert_eq!(name.value().unwrap(), "ab");
/// # Ok::<(), sabir_proto::ParseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonStr<'t> {
    text: &'t str,
    escaped: bool,
}

impl<'t> JsonStr<'t> {
    /// The literal that `text` is, with its quotes, or `None` if it does not start with a quote. Its escapes
    /// are known to be valid.
    #[inline]
    pub fn trusted(text: &'t str) -> Option<Self> {
        text.starts_with('"').then(|| {
            let escaped = memchr::memchr(b'\\', text.as_bytes()).is_some();
            JsonStr { text, escaped }
        })
    }

    #[inline]
    pub(crate) fn new(text: &'t str, escaped: bool) -> Self {
        JsonStr { text, escaped }
    }

    /// The text as it is written, with its quotes.
    #[inline]
    pub fn text(self) -> &'t str {
        self.text
    }

    /// Whether it holds escapes.
    #[inline]
    pub fn is_escaped(self) -> bool {
        self.escaped
    }

    /// The text between the quotes, as it is written.
    #[inline]
    pub fn inner(self) -> &'t str {
        self.text.get(1..self.text.len() - 1).unwrap_or_default()
    }

    /// The string, or `None` if it holds a lone surrogate. Only escapes make it allocate.
    #[inline]
    pub fn value(self) -> Option<Cow<'t, str>> {
        if self.escaped { unescape(self.inner()).map(Cow::Owned) } else { Some(Cow::Borrowed(self.inner())) }
    }

    /// Whether it is this string, however it is written.
    #[inline]
    pub fn is(self, string: &str) -> bool {
        if self.escaped { self.chars().eq(string.chars().map(Ok)) } else { self.inner() == string }
    }

    /// Whether its escapes spell a lone surrogate, so that it is not text.
    pub fn has_lone_surrogate(self) -> bool {
        self.escaped && pieces(self.inner()).any(|(_, escape)| matches!(escape, Some(Err(_))))
    }

    /// The characters, with `Err` for each lone surrogate.
    pub fn chars(self) -> impl Iterator<Item = Result<char, u16>> + 't {
        pieces(self.inner()).flat_map(|(plain, escape)| plain.chars().map(Ok).chain(escape))
    }
}

#[cold]
pub(crate) fn unescape(inner: &str) -> Option<String> {
    let mut out = String::with_capacity(inner.len());
    for (plain, escape) in pieces(inner) {
        out.push_str(plain);
        if let Some(escape) = escape {
            out.push(escape.ok()?);
        }
    }
    Some(out)
}

/// Plain text, each with the escape behind it, as a character or a lone surrogate. Only the last has none.
fn pieces(inner: &str) -> impl Iterator<Item = (&str, Option<Result<char, u16>>)> {
    let mut rest = Some(inner);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(at) = memchr::memchr(b'\\', text.as_bytes()) else {
            rest = None;
            return Some((text, None));
        };
        let (escape, length) = escape(&text.as_bytes()[at..]);
        rest = text.get(at + length..);
        Some((&text[..at], Some(escape)))
    })
}

/// The escape with which `text` begins, as a character or a lone surrogate, and its length. Two escapes that
/// spell a surrogate pair are one.
fn escape(text: &[u8]) -> (Result<char, u16>, usize) {
    let plain = match text.get(1) {
        Some(b'u') => return long_escape(text),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(&quoted) => char::from(quoted),
        None => '\\',
    };
    (Ok(plain), 2)
}

fn long_escape(text: &[u8]) -> (Result<char, u16>, usize) {
    let unit = unit(text).unwrap_or_default();
    let code = match unit {
        0xD800..=0xDBFF => match text.get(6..).and_then(self::unit) {
            Some(low @ 0xDC00..=0xDFFF) => {
                let code = 0x10000 + (u32::from(unit - 0xD800) << 10) + u32::from(low - 0xDC00);
                return (char::from_u32(code).ok_or(unit), 12);
            }
            _ => return (Err(unit), 6),
        },
        _ => u32::from(unit),
    };
    (char::from_u32(code).ok_or(unit), 6)
}

/// The number in an escape such as `\u00e9`.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.get(..6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)? as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(literal: &str, want: Option<&str>) {
        let string = JsonStr::trusted(literal).expect("a literal");
        assert_eq!(string.value().as_deref(), want, "{literal}");
        let chars: Result<String, u16> = string.chars().collect();
        assert_eq!(chars.ok().as_deref(), want, "{literal}");
        assert_eq!(want.is_some_and(|want| string.is(want)), want.is_some(), "{literal}");
        assert!(!string.is("something else"));
        assert_eq!(string.has_lone_surrogate(), want.is_none(), "{literal}");
        assert_eq!(serde_json::from_str::<String>(literal).ok().as_deref(), want, "{literal}");
    }

    #[test]
    fn literals_and_what_they_stand_for() {
        check(r#""""#, Some(""));
        check(r#""plain é😀""#, Some("plain é😀"));
        check(r#""\"\\\/\b\f\n\r\t\u0041\u00E9\u00e9\u0000""#, Some("\"\\/\u{8}\u{c}\n\r\tAéé\0"));
        check(r#""a\ud83d\ude00b""#, Some("a😀b"));
        check(r#""\uD83D\uDE00\uFFFF""#, Some("😀\u{ffff}"));
        for lone in [r#""\ud800""#, r#""\udc00x""#, r#""\ud800\u0041""#, r#""\ud83d\ud83d\ude00""#] {
            check(lone, None);
        }
    }

    #[test]
    fn lone_surrogates_are_kept_apart() {
        let string = JsonStr::trusted(r#""\ud83d\ud83d\ude00\udc00x""#).expect("a literal");
        let chars: Vec<_> = string.chars().collect();
        assert_eq!(chars, [Err(0xd83d), Ok('😀'), Err(0xdc00), Ok('x')]);
        assert!(JsonStr::trusted("1").is_none());
    }

    #[test]
    fn broken_literals_do_no_harm() {
        for text in
            ["\"", "\"\\", "\"\\\"", "\"\\u\"", "\"\\u12\"", "\"\\ud800\\u\"", "\"\\é\"", "\"\\u00é9\""]
        {
            let string = JsonStr::trusted(text).expect("a literal");
            let _ = (string.inner(), string.value(), string.is("x"), string.chars().count());
            let _ = string.has_lone_surrogate();
        }
    }
}
