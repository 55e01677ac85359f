//! OpenRPC documents in YAML: read into the values of JSON, and written from them.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// Levels of nesting.
const DEEPEST: usize = 128;
/// Values of a document, with those that aliases repeat.
const MOST: usize = 1_000_000;

/// The value of a text, or the line and what is wrong there.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    let mut reader =
        Reader { parser: Parser::new_from_str(text), anchors: HashMap::new(), count: 0, line: 1 };
    let value = reader.document().map_err(|what| format!("line {}: {what}", reader.line))?;
    Ok(value)
}

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    anchors: HashMap<usize, Value>,
    count: usize,
    line: usize,
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Value, String> {
        loop {
            match self.next()? {
                Event::StreamEnd => return Err("there is no document".to_owned()),
                Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
                event => return self.value(event, 0),
            }
        }
    }

    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.parser.next() {
            Some(Ok((event, span))) => {
                self.line = span.start.line();
                Ok(event)
            }
            Some(Err(error)) => {
                self.line = error.marker().line();
                Err(error.info().to_owned())
            }
            None => Err("the document ends early".to_owned()),
        }
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, String> {
        if depth > DEEPEST {
            return Err(format!("it is nested deeper than {DEEPEST} levels"));
        }
        self.count(1)?;
        let (value, anchor) = match event {
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned().ok_or("an alias of itself")?;
                self.count(size(&value))?;
                return Ok(value);
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix == "str");
                (if is_text { Value::String(text.into_owned()) } else { plain(&text) }, anchor)
            }
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => break,
                        event => items.push(self.value(event, depth + 1)?),
                    }
                }
                (Value::Array(items), anchor)
            }
            Event::MappingStart(anchor, _) => {
                let mut members = Map::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => break,
                        Event::Scalar(text, ..) => text.into_owned(),
                        _ => return Err("a key is not a plain text".to_owned()),
                    };
                    let event = self.next()?;
                    let value = self.value(event, depth + 1)?;
                    if members.insert(key.clone(), value).is_some() {
                        return Err(format!("the key `{key}` is there twice"));
                    }
                }
                (Value::Object(members), anchor)
            }
            _ => return Err("a value is missing".to_owned()),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn count(&mut self, more: usize) -> Result<(), String> {
        self.count += more;
        if self.count > MOST { Err(format!("it has more than {MOST} values")) } else { Ok(()) }
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// A scalar without quotes, by the core schema of YAML 1.2.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        if let Some(hex) = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok()) {
            return hex.into();
        }
        let number = text.strip_prefix('+').unwrap_or(text);
        if let Ok(integer) = number.parse::<i64>() {
            return integer.into();
        }
        if let Ok(integer) = number.parse::<u64>() {
            return integer.into();
        }
        if let Some(number) = number.parse().ok().and_then(Number::from_f64) {
            return Value::Number(number);
        }
    }
    Value::String(text.to_owned())
}

/// A value as YAML.
pub(crate) fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Array(items) if !items.is_empty() => sequence(&mut out, items, 0),
        Value::Object(members) if !members.is_empty() => mapping(&mut out, members, 0),
        value => {
            scalar(&mut out, value);
            out.push('\n');
        }
    }
    out
}

fn mapping(out: &mut String, members: &Map<String, Value>, depth: usize) {
    for (i, (key, value)) in members.iter().enumerate() {
        // The first stands behind the dash of a list.
        if i > 0 || !out.ends_with("- ") {
            out.push_str(&"  ".repeat(depth));
        }
        string(out, key);
        out.push(':');
        nested(out, value, depth);
    }
}

fn nested(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            sequence(out, items, depth + 1);
        }
        Value::Object(members) if !members.is_empty() => {
            out.push('\n');
            mapping(out, members, depth + 1);
        }
        value => {
            out.push(' ');
            scalar(out, value);
            out.push('\n');
        }
    }
}

fn sequence(out: &mut String, items: &[Value], depth: usize) {
    for item in items {
        out.push_str(&"  ".repeat(depth));
        out.push_str("- ");
        match item {
            Value::Object(members) if !members.is_empty() => mapping(out, members, depth + 1),
            Value::Array(items) if !items.is_empty() => {
                out.truncate(out.len() - 1);
                out.push('\n');
                sequence(out, items, depth + 1);
            }
            item => {
                scalar(out, item);
                out.push('\n');
            }
        }
    }
}

fn scalar(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => string(out, text),
        other => out.push_str(&other.to_string()),
    }
}

/// Without quotes where nothing else could be read from it. Otherwise as in JSON, which is YAML too.
fn string(out: &mut String, text: &str) {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./ (),;+=<>$".contains(c);
    let begins = text.starts_with(|c: char| c.is_alphabetic() || "_/$".contains(c));
    let reads_back = plain(text) == Value::String(text.to_owned());
    let word = ["y", "n", "yes", "no", "on", "off"].iter().any(|word| text.eq_ignore_ascii_case(word));
    if begins && !text.ends_with(' ') && text.chars().all(is_plain) && reads_back && !word {
        out.push_str(text);
    } else {
        let quoted = Value::String(text.to_owned()).to_string();
        out.push_str(&crate::json::escape_controls(&quoted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_back() {
        for value in [
            json!({}),
            json!([]),
            json!("x"),
            json!({"a": {"b": [1, "2", null, true, -1.5, {}, [], [[1]], {"c": "d", "e": [{"f": 1}]}]}}),
            json!({"": "", "no": "yes", "1": "0x1", "a: b": "# c", "~": "- x", "é": "line\none\u{7f}\"'"}),
            json!({"big": 18446744073709551615u64, "exp": 1e300, "text": "1e300", "t": "true ", "s": " a"}),
        ] {
            let text = write(&value);
            assert_eq!(read(&text), Ok(value), "{text}");
        }
    }

    #[test]
    fn documents_as_people_write_them() {
        for (text, want) in [
            ("# c\nopenrpc: 1.4.1\nn: 0x10\n", Ok(json!({"openrpc": "1.4.1", "n": 16}))),
            ("a: &x {b: 1}\nc: *x\n", Ok(json!({"a": {"b": 1}, "c": {"b": 1}}))),
            ("a: |\n  one\n  two\nb: >-\n  one\n  two\n", Ok(json!({"a": "one\ntwo\n", "b": "one two"}))),
            ("a: 1\na: 2\n", Err("line 2: the key `a` is there twice")),
            ("", Err("line 1: there is no document")),
            ("[1]: 2", Err("line 1: a key is not a plain text")),
        ] {
            assert_eq!(read(text), want.map_err(str::to_owned), "{text}");
        }
        assert!(read("a: [1\nb: 2").is_err_and(|what| what.starts_with("line ")));
    }

    #[test]
    fn aliases_do_not_explode() {
        let mut text = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
        for i in 1..12 {
            let last = i - 1;
            let list = vec![format!("*a{last}"); 10].join(",");
            text.push_str(&format!("a{i}: &a{i} [{list}]\n"));
        }
        assert!(read(&text).is_err_and(|what| what.contains("more than")));
        assert!(read(&"[".repeat(100_000)).is_err());
    }
}
