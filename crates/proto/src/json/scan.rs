//! Validates JSON text (RFC 8259) in one forward pass: no recursion, no allocation, a bit for each open
//! container.
//!
//! This module knows JSON and nothing of JSON-RPC. Lone surrogate escapes (`"\ud800"`) are grammatical
//! and pass; whoever needs such a string as text finds out then.

use std::fmt;

use crate::json::find::{Stops, chunk, leading_digits, string_stop};

/// Deepest nesting that can be asked for: one bit of a `u128` for each open container. It is also where
/// `serde_json` stops following typed values.
pub(crate) const MAX_DEPTH: u8 = 128;

/// Text that is not JSON: where, and why.
///
/// ```
/// let error = sabir_proto::RawJson::new(r#"{"a":01}"#).unwrap_err();
/// assert_eq!(error.to_string(), "a number has a leading zero, at byte 6");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseError {
    /// Offset of the first byte that cannot be right, counted from the start of the message.
    pub offset: usize,
    /// What is wrong there.
    pub reason: Syntax,
}

/// What is wrong with text that is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Syntax {
    /// Nothing but white space.
    Empty,
    /// The text stops in the middle of a value.
    UnexpectedEnd,
    /// A value should start here.
    ExpectedValue,
    /// A member name in double quotes should start here.
    ExpectedName,
    /// `:` should follow the member name.
    ExpectedColon,
    /// `,` or the closing bracket should follow the value.
    ExpectedCommaOrEnd,
    /// A second value, or junk, follows the complete one.
    TrailingText,
    /// A number such as `01`.
    LeadingZero,
    /// A number without digits where there must be some, such as `1.` or `-`.
    ExpectedDigit,
    /// A backslash followed by something that JSON does not define.
    BadEscape,
    /// A control character (a raw line break, a tab, NUL) inside a string.
    ControlCharacter,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// More open brackets than the limit allows.
    TooDeep,
}

impl Syntax {
    fn text(self) -> &'static str {
        match self {
            Syntax::Empty => "the message is empty",
            Syntax::UnexpectedEnd => "the text ends too early",
            Syntax::ExpectedValue => "expected a value",
            Syntax::ExpectedName => "expected a member name in double quotes",
            Syntax::ExpectedColon => "expected `:` after the member name",
            Syntax::ExpectedCommaOrEnd => "expected `,` or a closing bracket",
            Syntax::TrailingText => "more text follows the complete value",
            Syntax::LeadingZero => "a number has a leading zero",
            Syntax::ExpectedDigit => "expected a digit",
            Syntax::BadEscape => "unknown escape in a string",
            Syntax::ControlCharacter => "raw control character in a string",
            Syntax::NotUtf8 => "not UTF-8",
            Syntax::TooDeep => "nested too deeply",
        }
    }
}

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at byte {}", self.reason, self.offset)
    }
}

impl std::error::Error for ParseError {}

/// A [`ParseError`] in one register, so that `Result<usize, Fail>` is returned in two.
#[derive(Clone, Copy)]
pub(crate) struct Fail(u64);

pub(crate) type Scan<T> = Result<T, Fail>;

impl Fail {
    #[cold]
    #[inline(never)]
    pub(crate) fn at(offset: usize, reason: Syntax) -> Fail {
        Fail((offset as u64) << 8 | reason as u64)
    }

    /// The error proper. `text` is consulted to tell a wrong byte from an early end.
    #[cold]
    pub(crate) fn explain(self, text: &[u8]) -> ParseError {
        const REASONS: [Syntax; 13] = [
            Syntax::Empty,
            Syntax::UnexpectedEnd,
            Syntax::ExpectedValue,
            Syntax::ExpectedName,
            Syntax::ExpectedColon,
            Syntax::ExpectedCommaOrEnd,
            Syntax::TrailingText,
            Syntax::LeadingZero,
            Syntax::ExpectedDigit,
            Syntax::BadEscape,
            Syntax::ControlCharacter,
            Syntax::NotUtf8,
            Syntax::TooDeep,
        ];
        let offset = ((self.0 >> 8) as usize).min(text.len());
        let mut reason = REASONS[(self.0 & 0xff) as usize];
        if offset == text.len() && reason != Syntax::TooDeep {
            let empty = text.iter().all(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'));
            reason = if empty { Syntax::Empty } else { Syntax::UnexpectedEnd };
        }
        ParseError { offset, reason }
    }
}

/// The whole of `text` as one JSON value; the bytes it spans, without the white space around it.
pub(crate) fn whole(text: &[u8], max_depth: u8) -> Scan<(usize, usize)> {
    let (c, start) = peek(text, 0);
    let end = value(text, c, start, 0, max_depth)?;
    end_of_text(text, end)?;
    Ok((start, end))
}

/// Nothing but white space may follow.
#[inline(always)]
pub(crate) fn end_of_text(text: &[u8], from: usize) -> Scan<()> {
    let at = if from < text.len() { peek(text, from).1 } else { from };
    if at == text.len() { Ok(()) } else { Err(Fail::at(at, Syntax::TrailingText)) }
}

/// Validates the value whose first byte `c` stands at `i`, inside `depth` open containers. Returns the
/// index past it.
#[inline(always)]
pub(crate) fn value(b: &[u8], c: u8, i: usize, depth: u8, max_depth: u8) -> Scan<usize> {
    match c {
        b'"' => Ok(string(b, i + 1)?.end),
        b'{' | b'[' => container(b, c, i, depth, max_depth),
        _ => scalar(b, c, i),
    }
}

/// Validates a container and everything in it.
#[inline(never)]
pub(crate) fn container(b: &[u8], mut c: u8, mut i: usize, outer: u8, max_depth: u8) -> Scan<usize> {
    let mut kinds: u128 = 0; // Lowest bit: the innermost open container, 1 for an object.
    let mut depth = outer;
    let mut stops = Stops::new(i);
    loop {
        // A value starts at `i` with `c`.
        match c {
            b'"' => i = next_string(b, &mut stops, i)?,
            b'{' | b'[' => {
                if depth >= max_depth {
                    return Err(Fail::at(i, Syntax::TooDeep));
                }
                depth += 1;
                let open = c;
                kinds = kinds << 1 | (open == b'{') as u128;
                (c, i) = next_token(b, &mut stops, i + 1);
                // `{` + 2 is `}` and `[` + 2 is `]`.
                if c != open + 2 {
                    if open == b'{' {
                        (c, i) = next_name(b, &mut stops, c, i)?;
                    }
                    continue;
                }
                i += 1;
                kinds >>= 1;
                depth -= 1;
                if depth == outer {
                    return Ok(i);
                }
            }
            _ => i = scalar(b, c, i)?,
        }
        // A value has ended at `i`: close containers until a comma starts the next value.
        loop {
            (c, i) = next_token(b, &mut stops, i);
            let object = kinds as u8 & 1;
            if c == b',' {
                (c, i) = next_token(b, &mut stops, i + 1);
                if object != 0 {
                    (c, i) = next_name(b, &mut stops, c, i)?;
                }
                break;
            }
            // `]` + 32 is `}`.
            if c != b']' + (object << 5) {
                return Err(Fail::at(i, Syntax::ExpectedCommaOrEnd));
            }
            i += 1;
            kinds >>= 1;
            depth -= 1;
            if depth == outer {
                return Ok(i);
            }
        }
    }
}

/// A member name whose first byte `c` stands at `i`, and its colon. Returns the index past the colon.
#[inline(always)]
pub(crate) fn name(b: &[u8], c: u8, i: usize) -> Scan<usize> {
    if c != b'"' {
        return Err(Fail::at(i, Syntax::ExpectedName));
    }
    colon(b, string(b, i + 1)?.end)
}

/// The same inside a container, and up to the value: its first byte and its index.
#[inline(always)]
fn next_name(b: &[u8], stops: &mut Stops, c: u8, i: usize) -> Scan<(u8, usize)> {
    if c != b'"' {
        return Err(Fail::at(i, Syntax::ExpectedName));
    }
    stops.pass();
    let stop = stops.next(b, i + 1);
    // Quote, colon and value in one load, as nearly everybody writes them.
    if let Some(&next) = chunk(b, stop) {
        let next = u32::from_le_bytes(next);
        if next as u16 == u16::from_le_bytes(*b"\":") {
            let (c, after) = ((next >> 16) as u8, (next >> 24) as u8);
            if c > b' ' {
                return Ok((c, stop + 2));
            }
            if c == b' ' && after > b' ' {
                return Ok((after, stop + 3));
            }
        }
    }
    let i = unusual_name(b, *stops, stop)?;
    *stops = stops.seek(i);
    Ok((at(b, i), i))
}

/// The rest of a member name from its first byte that is not plain. Returns the index of the value.
#[inline(never)]
fn unusual_name(b: &[u8], stops: Stops, stop: usize) -> Scan<usize> {
    let end = escaped_string(b, stops, stop)?;
    Ok(peek(b, colon(b, end)?).1)
}

/// [`peek`] inside a container.
#[inline(always)]
fn next_token(b: &[u8], stops: &mut Stops, i: usize) -> (u8, usize) {
    let c = at(b, i);
    if c > b' ' {
        return (c, i);
    }
    let next = at(b, i + 1);
    if c == b' ' && next > b' ' {
        return (next, i + 1);
    }
    let (c, i) = peek_far(b, i);
    // Line breaks are white space here, but stops in a string.
    *stops = stops.seek(i);
    (c, i)
}

/// The colon after a member name. Returns the index past it.
#[inline(always)]
pub(crate) fn colon(b: &[u8], from: usize) -> Scan<usize> {
    let (c, at) = peek(b, from);
    if c == b':' { Ok(at + 1) } else { Err(Fail::at(at, Syntax::ExpectedColon)) }
}

/// Number or literal at `i`.
#[inline(always)]
fn scalar(b: &[u8], c: u8, i: usize) -> Scan<usize> {
    match c {
        b'1'..=b'9' => integer(b, i + 1),
        b'-' if matches!(at(b, i + 1), b'1'..=b'9') => integer(b, i + 2),
        b'-' | b'0' => number(b, i),
        b't' if chunk(b, i) == Some(b"true") => Ok(i + 4),
        b'f' if chunk(b, i + 1) == Some(b"alse") => Ok(i + 5),
        b'n' if chunk(b, i) == Some(b"null") => Ok(i + 4),
        _ => Err(Fail::at(i, Syntax::ExpectedValue)),
    }
}

/// A number from its second digit, the first not being zero: a small integer in most cases.
#[inline(always)]
fn integer(b: &[u8], mut i: usize) -> Scan<usize> {
    if let Some(&next) = chunk(b, i) {
        i += leading_digits(next);
    }
    let mut c = at(b, i);
    while c.is_ascii_digit() {
        i += 1;
        c = at(b, i);
    }
    if c == b'.' || c | 0x20 == b'e' { fraction(b, i) } else { Ok(i) }
}

#[inline(never)]
fn number(b: &[u8], mut i: usize) -> Scan<usize> {
    if at(b, i) == b'-' {
        i += 1;
    }
    if at(b, i) == b'0' {
        i += 1;
        if at(b, i).is_ascii_digit() {
            return Err(Fail::at(i, Syntax::LeadingZero));
        }
    } else {
        i = digits(b, i)?;
    }
    fraction(b, i)
}

/// What may follow the integral part of a number.
#[inline(never)]
fn fraction(b: &[u8], mut i: usize) -> Scan<usize> {
    if at(b, i) == b'.' {
        i = digits(b, i + 1)?;
    }
    if at(b, i) | 0x20 == b'e' {
        i += 1;
        if matches!(at(b, i), b'+' | b'-') {
            i += 1;
        }
        i = digits(b, i)?;
    }
    Ok(i)
}

#[inline(always)]
fn digits(b: &[u8], mut i: usize) -> Scan<usize> {
    if !at(b, i).is_ascii_digit() {
        return Err(Fail::at(i, Syntax::ExpectedDigit));
    }
    i += 1;
    while at(b, i).is_ascii_digit() {
        i += 1;
    }
    Ok(i)
}

/// Where a string ends, and whether its text holds escapes.
#[derive(Clone, Copy)]
pub(crate) struct Str {
    /// Index past the closing quote.
    pub(crate) end: usize,
    pub(crate) escaped: bool,
}

/// The body of a string from `i`, past the opening quote.
#[inline(always)]
pub(crate) fn string(b: &[u8], i: usize) -> Scan<Str> {
    let stop = string_stop(b, i);
    if at(b, stop) == b'"' {
        return Ok(Str { end: stop + 1, escaped: false });
    }
    Ok(Str { end: escaped_string(b, Stops::new(stop + 1), stop)?, escaped: true })
}

/// A string inside a container, whose opening quote is at `i`. Returns the index past the closing one.
#[inline(always)]
fn next_string(b: &[u8], stops: &mut Stops, i: usize) -> Scan<usize> {
    stops.pass();
    let stop = stops.next(b, i + 1);
    if at(b, stop) == b'"' {
        return Ok(stop + 1);
    }
    let end = escaped_string(b, *stops, stop)?;
    *stops = stops.seek(end);
    Ok(end)
}

/// Goes on from the first byte that is not plain: an escape, or an error.
#[inline(never)]
fn escaped_string(b: &[u8], mut stops: Stops, mut stop: usize) -> Scan<usize> {
    while let Some(&[b'\\', c]) = chunk(b, stop) {
        match ESCAPED[c as usize] & LETTERS {
            PLAIN => {}
            STOP => stops.pass(),
            LONG if chunk(b, stop + 2).is_some_and(is_hex) => {
                stop = stops.next(b, stop + 6);
                continue;
            }
            _ => return Err(Fail::at(stop + 1, Syntax::BadEscape)),
        }
        stop = stops.next(b, stop + 2);
    }
    match at(b, stop) {
        b'"' => Ok(stop + 1),
        b'\\' => Err(Fail::at(stop + 1, Syntax::BadEscape)),
        _ if stop >= b.len() => Err(Fail::at(stop, Syntax::UnexpectedEnd)),
        _ => Err(Fail::at(stop, Syntax::ControlCharacter)),
    }
}

#[inline(always)]
fn is_hex(&[a, b, c, d]: &[u8; 4]) -> bool {
    let class = |c: u8| ESCAPED[c as usize];
    class(a) & class(b) & class(c) & class(d) & HEX != 0
}

/// One of the letters that stand for a character.
const PLAIN: u8 = 1;
/// The same, where the letter would also stop the string.
const STOP: u8 = 2;
/// The `u` before four digits.
const LONG: u8 = 3;
const LETTERS: u8 = 3;
/// One of the digits.
const HEX: u8 = 4;

/// What a byte can be after a backslash.
static ESCAPED: [u8; 256] = {
    let mut table = [0; 256];
    let mut c = 0;
    while c < table.len() {
        table[c] = match c as u8 {
            b'/' | b'b' | b'f' | b'n' | b'r' | b't' => PLAIN,
            b'"' | b'\\' => STOP,
            b'u' => LONG,
            _ => 0,
        };
        if (c as u8).is_ascii_hexdigit() {
            table[c] |= HEX;
        }
        c += 1;
    }
    table
};

/// Byte at `i`, or 0 (which is valid nowhere) past the end.
#[inline(always)]
pub(crate) fn at(b: &[u8], i: usize) -> u8 {
    if i < b.len() { b[i] } else { 0 }
}

/// Skips white space; the next byte (0 at the end) and its index.
#[inline(always)]
pub(crate) fn peek(b: &[u8], i: usize) -> (u8, usize) {
    let c = at(b, i);
    if c > b' ' {
        return (c, i);
    }
    let next = at(b, i + 1);
    if c == b' ' && next > b' ' {
        return (next, i + 1); // `, ` and `: `
    }
    peek_far(b, i)
}

#[inline(never)]
fn peek_far(b: &[u8], mut i: usize) -> (u8, usize) {
    while matches!(at(b, i), b' ' | b'\t' | b'\n' | b'\r') {
        i += 1;
    }
    (at(b, i), i)
}
