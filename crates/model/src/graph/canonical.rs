//! JSON in the one spelling that `rdf:JSON` literals have (RFC 8785): members sorted, numbers as JavaScript
//! prints them, no white space.

use std::fmt::Write;

use sabir_proto::RawJson;

/// Appends the canonical spelling of `value`. Of members with the same name the last counts. A number that no
/// double can hold, and a surrogate that stands alone, stay as they came.
pub(crate) fn canonical(value: &RawJson<'_>, out: &mut String) {
    Text { rest: value.as_str() }.value(out);
}

/// The part of valid JSON that is yet to be read.
struct Text<'a> {
    rest: &'a str,
}

impl<'a> Text<'a> {
    /// Recursion is bounded: a [`RawJson`] is not nested deeply.
    fn value(&mut self, out: &mut String) {
        match self.peek() {
            b'{' => self.object(out),
            b'[' => self.array(out),
            b'"' => write_string(self.string(), out),
            first => {
                let end = self.rest.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(self.rest.len());
                let word = self.take(end);
                if first.is_ascii_alphabetic() { out.push_str(word) } else { write_number(word, out) }
            }
        }
    }

    fn object(&mut self, out: &mut String) {
        let mut members = Vec::new();
        self.take(1);
        while !self.ends(b'}') {
            let name = self.string();
            self.peek();
            self.take(1);
            let mut value = String::new();
            self.value(&mut value);
            members.push((units(name).collect::<Vec<u16>>(), name, value));
        }
        // Stable: of equal names, the last in the text is the last here.
        members.sort_by(|a, b| a.0.cmp(&b.0));
        let mut before = '{';
        for (i, (units, name, value)) in members.iter().enumerate() {
            if members.get(i + 1).is_some_and(|next| next.0 == *units) {
                continue;
            }
            out.push(std::mem::replace(&mut before, ','));
            write_string(name, out);
            out.push(':');
            out.push_str(value);
        }
        out.push_str(if members.is_empty() { "{}" } else { "}" });
    }

    fn array(&mut self, out: &mut String) {
        self.take(1);
        let mut before = '[';
        while !self.ends(b']') {
            out.push(std::mem::replace(&mut before, ','));
            self.value(out);
        }
        out.push_str(if before == '[' { "[]" } else { "]" });
    }

    /// Steps over the comma, or over the bracket that ends it all.
    fn ends(&mut self, bracket: u8) -> bool {
        let next = self.peek();
        if next == bracket || next == b',' {
            self.take(1);
            self.peek();
        }
        next == bracket
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> u8 {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.rest.as_bytes().first().copied().unwrap_or(b'}')
    }

    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        taken
    }

    /// A string without its quotes, but with its escapes.
    fn string(&mut self) -> &'a str {
        let bytes = self.rest.as_bytes();
        let mut end = 1;
        while bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        &self.take(end + 1)[1..end]
    }
}

/// The UTF-16 units that a string of JSON stands for: by these, names are sorted.
fn units(escaped: &str) -> impl Iterator<Item = u16> {
    let mut chars = escaped.chars();
    let mut low = None;
    std::iter::from_fn(move || {
        if low.is_some() {
            return low.take();
        }
        let plain = match chars.next()? {
            '\\' => match chars.next()? {
                'u' => {
                    let digits = (&mut chars).take(4).filter_map(|c| c.to_digit(16));
                    return Some(digits.fold(0, |unit, digit| unit << 4 | digit as u16));
                }
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                quote => quote,
            },
            c => c,
        };
        let mut pair = [0; 2];
        let pair = plain.encode_utf16(&mut pair);
        low = pair.get(1).copied();
        Some(pair[0])
    })
}

fn write_string(escaped: &str, out: &mut String) {
    out.push('"');
    if !escaped.contains('\\') {
        out.push_str(escaped);
    } else {
        for c in char::decode_utf16(units(escaped)) {
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
                Err(lone) => drop(write!(out, "\\u{:04x}", lone.unpaired_surrogate())),
            }
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
            // The last of equal names, however they are spelt.
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
