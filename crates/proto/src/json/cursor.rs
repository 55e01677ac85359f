//! Walks JSON text that is known to be valid: the one place that does.
//!
//! [`scan`](crate::json::scan) has checked the text, so this module only looks for where its parts begin and
//! end. Nothing here recurses or allocates.

use crate::json::find::string_stop;
use crate::json::raw::RawJson;
use crate::json::string::JsonStr;

/// A position in JSON text that is known to be valid.
///
/// It goes forward through the text, by [tokens](Cursor::token) or by [values](Cursor::value), and gives each
/// as the slice of the text that it is. Nesting costs no stack, and nothing is allocated.
///
/// ```
/// use sabir_proto::{Cursor, RawJson};
///
/// let json = RawJson::new(r#"{"a": [1, 2], "b": null}"#)?;
/// assert_eq!(Cursor::new(&json).member("a"), Some("[1, 2]"));
/// let (mut depth, mut deepest) = (0, 0);
/// let mut cursor = Cursor::new(&json);
/// while let Some(token) = cursor.token() {
///     match token.text() {
///         "{" | "[" => depth += 1,
///         "}" | "]" => depth -= 1,
///         _ => deepest = depth.max(deepest),
///     }
/// }
/// assert_eq!(deepest, 2);
/// # Ok::<(), sabir_proto::ParseError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

/// A token of JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'t> {
    /// What it is.
    pub kind: TokenKind,
    /// Offset of its first byte in the text.
    pub start: usize,
    /// Offset of the byte after it.
    pub end: usize,
    source: &'t str,
}

/// The kinds of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// `{`
    ObjectStart,
    /// `}`
    ObjectEnd,
    /// `[`
    ArrayStart,
    /// `]`
    ArrayEnd,
    /// `:`
    Colon,
    /// `,`
    Comma,
    /// A string, or the name of a member: that is the one before a colon.
    String {
        /// It holds escapes.
        escaped: bool,
    },
    /// A number.
    Number,
    /// `true` or `false`
    Boolean,
    /// `null`
    Null,
}

impl<'t> Token<'t> {
    /// The token as it is written.
    #[inline]
    pub fn text(self) -> &'t str {
        self.source.get(self.start..self.end).unwrap_or_default()
    }

    /// The string literal, if it is one.
    #[inline]
    pub fn string(self) -> Option<JsonStr<'t>> {
        match self.kind {
            TokenKind::String { escaped } => Some(JsonStr::new(self.text(), escaped)),
            _ => None,
        }
    }
}

impl<'t> Cursor<'t> {
    /// At the start of a value.
    #[inline]
    pub fn new(json: &'t RawJson<'_>) -> Self {
        Cursor::trusted(json.as_str())
    }

    /// At the start of text that is known to be valid JSON: it was checked before, or is a slice that a cursor
    /// gave. Of other text the parts are undefined, but walking it still ends and never panics.
    #[inline]
    pub const fn trusted(text: &'t str) -> Self {
        Cursor { text, at: 0 }
    }

    /// How many bytes of the text it has passed.
    #[inline]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The next byte that is not white space, or 0 at the end of the text. The white space is passed, the byte
    /// is not.
    #[inline]
    pub fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while let Some(&next) = bytes.get(self.at) {
            if next > b' ' {
                return next;
            }
            self.at += 1;
        }
        0
    }

    /// Passes `byte` if it is next, and says whether it was.
    #[inline]
    pub fn pass(&mut self, byte: u8) -> bool {
        // Not `at += usize::from(is_next)`: rustc 1.95 drops that addition where this is inlined.
        if self.peek() == byte {
            self.at += 1;
            return true;
        }
        false
    }

    /// Passes the next token, if there is one.
    #[inline]
    pub fn token(&mut self) -> Option<Token<'t>> {
        let first = self.peek();
        let start = self.at;
        if start >= self.text.len() {
            return None;
        }
        let kind = match first {
            b'"' => TokenKind::String { escaped: self.pass_string() },
            b'{' => self.pass_one(TokenKind::ObjectStart),
            b'}' => self.pass_one(TokenKind::ObjectEnd),
            b'[' => self.pass_one(TokenKind::ArrayStart),
            b']' => self.pass_one(TokenKind::ArrayEnd),
            b':' => self.pass_one(TokenKind::Colon),
            b',' => self.pass_one(TokenKind::Comma),
            _ => {
                self.pass_scalar();
                match first {
                    b't' | b'f' => TokenKind::Boolean,
                    b'n' => TokenKind::Null,
                    _ => TokenKind::Number,
                }
            }
        };
        Some(Token { kind, start, end: self.at, source: self.text })
    }

    /// Passes the value that is next. Its text, which is empty if no value is next.
    #[inline]
    pub fn value(&mut self) -> &'t str {
        let first = self.peek();
        self.value_of(first)
    }

    /// Passes the value that starts here with the byte `first`.
    #[inline]
    fn value_of(&mut self, first: u8) -> &'t str {
        let start = self.at;
        match first {
            b'"' => drop(self.pass_string()),
            b'[' | b'{' => self.pass_container(),
            _ => self.pass_scalar(),
        }
        self.since(start)
    }

    /// The members of the object that is next; nothing for any other kind of value.
    #[inline]
    pub fn members(mut self) -> Members<'t> {
        self.enter(b'{');
        Members { cursor: self }
    }

    /// The elements of the array that is next; nothing for any other kind of value.
    #[inline]
    pub fn elements(mut self) -> Elements<'t> {
        self.enter(b'[');
        Elements { cursor: self }
    }

    /// The value of a member of the object that is next. Of two members of the same name the first counts.
    #[inline]
    pub fn member(self, name: &str) -> Option<&'t str> {
        self.members().find(|(own, _)| own.is(name)).map(|(_, value)| value)
    }

    /// Passes `open`, or everything if something else is next.
    #[inline]
    fn enter(&mut self, open: u8) {
        if !self.pass(open) {
            self.end();
        }
    }

    /// Passes everything.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.at = self.text.len();
    }

    /// Passes so many bytes, which are known to be there.
    #[inline]
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    #[inline]
    pub(crate) fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    #[inline]
    fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    #[inline]
    fn pass_one(&mut self, kind: TokenKind) -> TokenKind {
        self.at += 1;
        kind
    }

    /// Passes the string literal that starts here.
    #[inline]
    fn string(&mut self) -> JsonStr<'t> {
        let start = self.at;
        let escaped = self.pass_string();
        JsonStr::new(self.since(start), escaped)
    }

    /// Passes the string that starts here: the text between its quotes, and whether it holds escapes.
    #[inline]
    pub(crate) fn inner_string(&mut self) -> (&'t str, bool) {
        let start = self.at;
        let escaped = self.pass_string();
        (self.text.get(start + 1..self.at - 1).unwrap_or_default(), escaped)
    }

    /// Passes the string that starts here. Whether it holds escapes.
    #[inline]
    fn pass_string(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let stop = string_stop(bytes, self.at + 1);
        let escaped = bytes.get(stop) != Some(&b'"');
        self.at = if escaped { escaped_string(bytes, stop) } else { stop + 1 };
        escaped
    }

    /// Passes the number or the literal that starts here. Most are whole numbers, and short.
    #[inline]
    fn pass_scalar(&mut self) {
        // `]` with the bit is `}`.
        let ends = |&c: &u8| c <= b' ' || c == b',' || c | 0x20 == b'}';
        let rest = self.rest();
        self.at += rest.iter().position(ends).unwrap_or(rest.len());
    }

    /// Passes the object or the array that starts here, and everything in it.
    fn pass_container(&mut self) {
        let bytes = self.text.as_bytes();
        let mut depth = 0usize;
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.pass_string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
    }
}

/// Where a string ends whose first escape is at `stop`.
#[inline(never)]
fn escaped_string(bytes: &[u8], mut stop: usize) -> usize {
    loop {
        match bytes.get(stop) {
            Some(b'"') => return stop + 1,
            Some(b'\\') => stop = string_stop(bytes, (stop + 2).min(bytes.len())),
            // In a string of valid JSON there are no other stops.
            Some(_) => stop = string_stop(bytes, stop + 1),
            None => return bytes.len(),
        }
    }
}

/// The members of an object, each with its name and the text of its value.
#[derive(Debug, Clone)]
pub struct Members<'t> {
    cursor: Cursor<'t>,
}

impl<'t> Iterator for Members<'t> {
    type Item = (JsonStr<'t>, &'t str);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let cursor = &mut self.cursor;
        let mut first = cursor.peek();
        if first == b',' {
            cursor.at += 1;
            first = cursor.peek();
        }
        if first != b'"' {
            cursor.end();
            return None;
        }
        let name = cursor.string();
        cursor.pass(b':');
        Some((name, cursor.value()))
    }
}

/// The elements of an array, each as its text.
#[derive(Debug, Clone)]
pub struct Elements<'t> {
    cursor: Cursor<'t>,
}

impl<'t> Iterator for Elements<'t> {
    type Item = &'t str;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let cursor = &mut self.cursor;
        let mut first = cursor.peek();
        if first == b',' {
            cursor.at += 1;
            first = cursor.peek();
        }
        if matches!(first, 0 | b']') {
            cursor.end();
            return None;
        }
        // Only what is not JSON has an empty value.
        Some(cursor.value_of(first)).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_at_their_quote() {
        for (content, escaped) in [
            ("", false),
            ("a", false),
            ("0123456", false),
            ("01234567", false),
            (r#"\""#, true),
            (r#"0123456\""#, true),
            (r#"01234567\\"#, true),
            ("é€😀é€😀é€😀", false),
        ] {
            for length in [0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 200] {
                for tail in ["", "x", ":1}", ",\"another string\"]"] {
                    let text = format!("\"{}{content}\"{tail}", "-".repeat(length));
                    let mut cursor = Cursor::trusted(&text);
                    let string = cursor.string();
                    assert_eq!(cursor.offset(), text.len() - tail.len(), "{text}");
                    assert_eq!(string.text(), &text[..cursor.offset()], "{text}");
                    assert_eq!(string.is_escaped(), escaped, "{text}");
                }
            }
        }
    }

    #[test]
    fn values_end_where_they_do() {
        for (text, want) in [
            ("1,2", "1"),
            ("-1.5e3}", "-1.5e3"),
            ("true ]", "true"),
            ("null", "null"),
            (r#""a}"]"#, r#""a}""#),
            (r#"{"a":[1,{"}":"]"}]},"#, r#"{"a":[1,{"}":"]"}]}"#),
            (r#" {"a":"\"}"} "#, r#"{"a":"\"}"}"#),
            ("[[],[]]]", "[[],[]]"),
        ] {
            assert_eq!(Cursor::trusted(text).value(), want);
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Cursor::trusted(&deep).value(), deep);
    }

    #[test]
    fn parts_are_found() {
        let text = r#"{ "a" : {"b":[1, {"c":"d"} ,[] ]} , "\u0065":2,"a":3,"":4,"f":"\"g\":5"}"#;
        for (name, want) in [
            ("a", Some(r#"{"b":[1, {"c":"d"} ,[] ]}"#)),
            ("e", Some("2")),
            ("", Some("4")),
            ("g", None),
            ("c", None),
        ] {
            assert_eq!(Cursor::trusted(text).member(name), want, "{name}");
        }
        let names: Vec<_> = Cursor::trusted(text).members().filter_map(|(name, _)| name.value()).collect();
        assert_eq!(names, ["a", "e", "a", "", "f"]);
        let elements: Vec<_> = Cursor::trusted(r#" [ 1, {"c":"d"} ,[] ] "#).elements().collect();
        assert_eq!(elements, ["1", r#"{"c":"d"}"#, "[]"]);
        for nothing in ["{}", "{ }", "[]", "[ ]", "1", "\"a\"", "null", ""] {
            assert_eq!(Cursor::trusted(nothing).members().count(), 0, "{nothing}");
            assert_eq!(Cursor::trusted(nothing).elements().count(), 0, "{nothing}");
        }
    }

    #[test]
    fn tokens_are_slices_with_their_offsets() {
        let text = " { \"a\\n\" : [ -1.5e3 , true,null ,\"\" ] }\n";
        let mut cursor = Cursor::trusted(text);
        let mut tokens = Vec::new();
        while let Some(token) = cursor.token() {
            assert_eq!(&text[token.start..cursor.offset()], token.text());
            assert_eq!(token.end, cursor.offset());
            assert_eq!(token.string().is_some(), token.text().starts_with('"'));
            tokens.push((token.text(), token.kind));
        }
        use TokenKind::*;
        let want = [
            ("{", ObjectStart),
            ("\"a\\n\"", String { escaped: true }),
            (":", Colon),
            ("[", ArrayStart),
            ("-1.5e3", Number),
            (",", Comma),
            ("true", Boolean),
            (",", Comma),
            ("null", Null),
            (",", Comma),
            ("\"\"", String { escaped: false }),
            ("]", ArrayEnd),
            ("}", ObjectEnd),
        ];
        assert_eq!(tokens, want);
    }
}
