//! JSON in the one spelling that `rdf:JSON` literals have (RFC 8785): members sorted, numbers as JavaScript
//! prints them, no white space.

use std::fmt::Write;

use sabir_proto::{Cursor, JsonStr, RawJson, TokenKind};

/// Appends the canonical spelling of `value`. Of members with the same name the last counts. A number that no
/// double can hold, and a surrogate that stands alone, stay as they came.
pub(crate) fn canonical(value: &RawJson<'_>, out: &mut String) {
    let mut open: Vec<Object> = Vec::new();
    let mut cursor = Cursor::new(value);
    while let Some(token) = cursor.token() {
        match token.kind {
            TokenKind::String { .. } => {
                let Some(string) = token.string() else { continue };
                let start = out.len();
                write_string(string, out);
                // Only names have a colon behind them.
                if cursor.pass(b':') {
                    out.push(':');
                    if let Some(object) = open.last_mut() {
                        object.members.push(Member { name: units(string), start });
                    }
                }
            }
            TokenKind::Number => write_number(token.text(), out),
            TokenKind::ObjectStart => {
                out.push('{');
                open.push(Object { start: out.len(), members: Vec::new() });
            }
            TokenKind::ObjectEnd => {
                if let Some(object) = open.pop() {
                    object.sort(out);
                }
                out.push('}');
            }
            _ => out.push_str(token.text()),
        }
    }
}

/// Whether there is a number in it that no double can hold, such as `1e999`.
pub(crate) fn is_beyond_doubles(value: &RawJson<'_>) -> bool {
    let mut cursor = Cursor::new(value);
    let mut numbers = std::iter::from_fn(|| cursor.token()).filter(|token| token.kind == TokenKind::Number);
    // Without an exponent it takes more than 300 digits.
    numbers.any(|number| {
        let text = number.text();
        (text.len() > 300 || text.contains(['e', 'E'])) && !text.parse::<f64>().is_ok_and(f64::is_finite)
    })
}

/// The canonical spelling of a text that is JSON; one that is not stays as it is.
#[cfg(feature = "schemas")]
pub(crate) fn canonical_json(text: &str) -> String {
    let mut out = String::new();
    match RawJson::new(text) {
        Ok(value) => canonical(&value, &mut out),
        Err(_) => out.push_str(text),
    }
    out
}

/// An object whose members are being written in the order in which they came.
struct Object {
    /// Where its members begin in the output.
    start: usize,
    members: Vec<Member>,
}

struct Member {
    /// By these units of UTF-16 names are sorted.
    name: Vec<u16>,
    start: usize,
}

impl Object {
    /// Puts the members in order. Of equal names only the last stays.
    fn sort(mut self, out: &mut String) {
        if self.members.is_sorted_by(|a, b| a.name < b.name) {
            return;
        }
        // Each ends before the comma of the next.
        let ends = self.members.iter().skip(1).map(|next| next.start - 1).chain([out.len()]);
        let texts: Vec<String> =
            self.members.iter().zip(ends).map(|(member, end)| out[member.start..end].to_owned()).collect();
        let mut sorted: Vec<(Member, String)> = self.members.drain(..).zip(texts).collect();
        // Stable: of equal names, the last in the text is the last here.
        sorted.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        out.truncate(self.start);
        for (i, (member, text)) in sorted.iter().enumerate() {
            if sorted.get(i + 1).is_some_and(|(next, _)| next.name == member.name) {
                continue;
            }
            if out.len() > self.start {
                out.push(',');
            }
            out.push_str(text);
        }
    }
}

/// The UTF-16 units that a string of JSON stands for.
fn units(string: JsonStr<'_>) -> Vec<u16> {
    let mut units = Vec::with_capacity(string.inner().len());
    for c in string.chars() {
        match c {
            Ok(c) => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            Err(lone) => units.push(lone),
        }
    }
    units
}

fn write_string(string: JsonStr<'_>, out: &mut String) {
    if !string.is_escaped() {
        return out.push_str(string.text());
    }
    out.push('"');
    for c in string.chars() {
        match c {
            Ok('"') => out.push_str("\\\""),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\u{8}') => out.push_str("\\b"),
            Ok('\u{c}') => out.push_str("\\f"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\r') => out.push_str("\\r"),
            Ok('\t') => out.push_str("\\t"),
            Ok(c) if c < ' ' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            Ok(c) => out.push(c),
            Err(lone) => drop(write!(out, "\\u{lone:04x}")),
        }
    }
    out.push('"');
}

/// As `Number::toString` of ECMAScript.
fn write_number(text: &str, out: &mut String) {
    let value = match text.parse::<f64>() {
        Ok(value) if value.is_finite() => value,
        _ => return out.push_str(text),
    };
    if value == 0.0 {
        return out.push('0');
    }
    // The shortest digits that give the same double back, and where the point is.
    let shortest = format!("{:e}", value.abs());
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits: String = digits.chars().filter(|c| *c != '.').collect();
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    let count = digits.len() as i32;
    if value < 0.0 {
        out.push('-');
    }
    let zeros = |out: &mut String, n: i32| (0..n).for_each(|_| out.push('0'));
    if (1..=21).contains(&point) {
        let whole = point.min(count) as usize;
        out.push_str(&digits[..whole]);
        zeros(out, point - count);
        if point < count {
            out.push('.');
            out.push_str(&digits[whole..]);
        }
    } else if (-5..=0).contains(&point) {
        out.push_str("0.");
        zeros(out, -point);
        out.push_str(&digits);
    } else {
        out.push_str(&digits[..1]);
        if count > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        let _ = write!(out, "e{:+}", point - 1);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_for_one_value() {
        for (text, want) in [
            (" [ ] ", "[]"),
            ("{ }", "{}"),
            ("[1 , {\"a\":[]},[[ ]]]", "[1,{\"a\":[]},[[]]]"),
            ("{\"b\":1,\"a\":{\"d\":null,\"c\":true}}", "{\"a\":{\"c\":true,\"d\":null},\"b\":1}"),
            // The last of equal names, however they are escaped.
            ("{\"a\":1,\"\\u0061\":2}", "{\"a\":2}"),
            // By UTF-16 units, U+1F600 comes before U+FB33.
            ("{\"\u{fb33}\":1,\"\u{1f600}\":2}", "{\"\u{1f600}\":2,\"\u{fb33}\":1}"),
            ("\"\\u00e9\\/\\u0008\\u001F\\\"\\ud83d\\ude00\"", "\"é/\\b\\u001f\\\"\u{1f600}\""),
            ("\"\\ud800\"", "\"\\ud800\""),
            ("\"\u{7f}\u{2028}\"", "\"\u{7f}\u{2028}\""),
            ("1.0", "1"),
            ("-0.0", "0"),
            ("-1.50", "-1.5"),
            ("9007199254740993", "9007199254740992"),
            ("123456789012345680000", "123456789012345680000"),
            ("1e21", "1e+21"),
            ("1E-7", "1e-7"),
            ("0.000001", "0.000001"),
            ("1.25e-9", "1.25e-9"),
            ("333333333.33333329", "333333333.3333333"),
            ("5e-324", "5e-324"),
            ("1e999", "1e999"),
        ] {
            let mut came = String::new();
            canonical(&RawJson::new(text).unwrap(), &mut came);
            assert_eq!(came, want, "{text}");
        }
    }
}
