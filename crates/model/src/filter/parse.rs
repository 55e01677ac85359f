//! Reads filters. Errors point at the word, or at the part of it, that is wrong.

use std::ops::Range;

use sabir_proto::{Id, RawJson};

use super::path::JsonPath;
use super::pattern::{Expected, Operator, Pattern, regex};
use super::test::Test;
use super::{FilterError, Term};
use crate::calls::{KINDS, Kind, STATUSES};
use crate::capture::Direction;

/// Bytes of a filter, and words in it.
const LONGEST: usize = 4096;
const MOST_WORDS: usize = 64;

const KEYS: [&str; 9] = ["method", "tool", "id", "task", "dir", "kind", "status", "code", "conn"];

pub(super) fn parse(text: &str) -> Result<Vec<Term>, FilterError> {
    let all = 0..text.len();
    if text.len() > LONGEST {
        return Err(error(all, format!("a filter has {LONGEST} bytes at most")));
    }
    let mut parser = Parser { text, at: 0 };
    let mut terms = Vec::new();
    while parser.skip_space() {
        if terms.len() == MOST_WORDS {
            return Err(error(parser.at..text.len(), format!("a filter has {MOST_WORDS} words at most")));
        }
        terms.push(parser.term()?);
    }
    Ok(terms)
}

fn error(span: Range<usize>, what: impl Into<String>) -> FilterError {
    FilterError { span, what: what.into() }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

/// A value behind a key or an operator, and where it is.
struct Value {
    text: String,
    quoted: bool,
    span: Range<usize>,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Whether there is more.
    fn skip_space(&mut self) -> bool {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.at < self.text.len()
    }

    fn term(&mut self) -> Result<Term, FilterError> {
        // `-32601` is a number to search for.
        let rest = self.rest().as_bytes();
        let negated = rest[0] == b'-' && !rest.get(1).is_some_and(u8::is_ascii_digit);
        if negated {
            self.at += 1;
            if self.rest().is_empty() || self.rest().starts_with(char::is_whitespace) {
                return Err(error(self.at - 1..self.at, "`-` stands before what must not match"));
            }
        }
        let test = self.test()?;
        if !self.rest().is_empty() && !self.rest().starts_with(char::is_whitespace) {
            let end = self.word_end();
            return Err(error(self.at..end, "a space is missing here, or quotes around a text"));
        }
        Ok(Term { negated, test })
    }

    fn word_end(&self) -> usize {
        self.rest().find(char::is_whitespace).map_or(self.text.len(), |end| self.at + end)
    }

    fn test(&mut self) -> Result<Test, FilterError> {
        let rest = self.rest();
        if rest.starts_with('/') {
            return self.regex();
        }
        if rest.starts_with('$') {
            return self.path();
        }
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (key, behind) = rest.split_at(letters);
        if behind.starts_with(':') && !key.is_empty() {
            return self.keyed(key);
        }
        if let ("ms" | "bytes", Some((operator, length))) = (key, Operator::parse(behind)) {
            let start = self.at;
            self.at += letters + length;
            let end = self.word_end();
            let number = &self.text[self.at..end];
            let number = match key {
                "ms" => millis(number),
                _ => size(number),
            };
            let what = match key {
                "ms" => "a number of milliseconds follows, as in `ms>250` or `ms>1.5s`",
                _ => "a number of bytes follows, as in `bytes>1k` or `bytes>2MiB`",
            };
            let number = number.ok_or_else(|| error(start..end, what))?;
            self.at = end;
            return Ok(match key {
                "ms" => Test::Millis(operator, number),
                _ => Test::Bytes(operator, number),
            });
        }
        let Value { text, span, quoted } = self.value(&[])?;
        let is_compared =
            matches!(&*text, "ms" | "bytes") && Operator::parse(self.rest().trim_start()).is_some();
        let meant =
            if is_compared { Some("a comparison has no blanks, as in `ms>250`") } else { meant(&text) };
        if let Some(what) = meant.filter(|_| !quoted) {
            return Err(error(span, what));
        }
        if text.is_empty() {
            return Err(error(span, "there is no text between the quotes"));
        }
        regex(&regex::escape(&text), true).map(Test::Text).map_err(|what| error(span, what))
    }

    /// `/re/` or `/re/i`, with `\/` for a slash.
    fn regex(&mut self) -> Result<Test, FilterError> {
        let start = self.at;
        let (mut pattern, mut escaped) = (String::new(), false);
        let inner = &self.text[start + 1..];
        let end = inner.char_indices().find(|&(_, c)| {
            match (escaped, c) {
                (false, '/') => return true,
                (true, '/') => {
                    pattern.pop();
                    pattern.push('/');
                }
                _ => pattern.push(c),
            }
            escaped = c == '\\' && !escaped;
            false
        });
        let Some((end, _)) = end else {
            let what = "a regular expression ends with `/`; put a text that begins with one into quotes";
            return Err(error(start..self.text.len(), what));
        };
        self.at = start + 1 + end + 1;
        let ignore_case = self.rest().starts_with('i');
        self.at += usize::from(ignore_case);
        let word = start..self.word_end();
        if word.end != self.at {
            let what = "behind the last `/` only `i` may follow; put a text that begins with `/` into quotes";
            return Err(error(self.at..word.end, what));
        }
        regex(&pattern, ignore_case).map(Test::Regex).map_err(|what| error(word, what))
    }

    fn path(&mut self) -> Result<Test, FilterError> {
        let (path, length) = JsonPath::parse(self.rest()).map_err(|wrong| {
            let at = self.at + wrong.at;
            error(at..self.word_end().max(at), wrong.to_string())
        })?;
        self.at += length;
        let Some((operator, length)) = Operator::parse(self.rest()) else {
            return Ok(Test::Path(path, Expected::Any));
        };
        self.at += length;
        let value = self.value(&[])?;
        let expected = match operator {
            Operator::Equal => Expected::equal(&value.text, value.quoted),
            operator => match value.text.parse() {
                Ok(number) if !value.quoted => Ok(Expected::Compared(operator, number)),
                _ => Err("only numbers are compared like this".to_owned()),
            },
        };
        expected.map(|expected| Test::Path(path, expected)).map_err(|what| error(value.span, what))
    }

    fn keyed(&mut self, key: &str) -> Result<Test, FilterError> {
        let span = self.at..self.at + key.len();
        if !KEYS.contains(&key) {
            let near = KEYS.iter().find(|known| is_near(known, key));
            return Err(error(
                span,
                match near {
                    Some(near) => format!("`{key}:` is not a filter; did you mean `{near}:`?"),
                    None => format!("`{key}:` is not a filter; put a text into quotes to search for it"),
                },
            ));
        }
        self.at += key.len() + 1;
        let values = self.values()?;
        match key {
            "method" => patterns(&values).map(Test::Method),
            "tool" => patterns(&values).map(Test::Tool),
            "task" => patterns(&values).map(Test::Task),
            "id" => Ok(Test::Ids(values.iter().flat_map(ids).collect())),
            "dir" => match &values[..] {
                [value] => direction(value).map(Test::Direction),
                [_, more, ..] => Err(error(more.span.clone(), "there is one direction: c2s or s2c")),
                [] => Err(error(span, "a direction follows: c2s or s2c")),
            },
            "kind" => each(&values, kinds).map(|kinds| Test::Kinds(kinds.concat())),
            "status" => statuses(&values),
            "code" => each(&values, |value| number(value, "a code is a whole number")).map(Test::Codes),
            _ => each(&values, |value| number(value, "a connection is a number")).map(Test::Connections),
        }
    }

    /// Values with commas between them.
    fn values(&mut self) -> Result<Vec<Value>, FilterError> {
        let mut values = Vec::new();
        loop {
            let value = self.value(&[','])?;
            if value.text.is_empty() && !value.quoted {
                return Err(error(self.at.saturating_sub(1)..self.at, "a value is missing here"));
            }
            values.push(value);
            if !self.rest().starts_with(',') {
                return Ok(values);
            }
            self.at += 1;
        }
    }

    /// A text in quotes, with the escapes of JSON, or up to the next space.
    fn value(&mut self, ends: &[char]) -> Result<Value, FilterError> {
        let start = self.at;
        if self.rest().starts_with('"') {
            let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter::<String>();
            let Some(Ok(text)) = values.next() else {
                return Err(error(
                    start..self.text.len(),
                    "a quoted text ends with a quote, and has JSON's escapes",
                ));
            };
            self.at += values.byte_offset();
            return Ok(Value { text, quoted: true, span: start..self.at });
        }
        let end = self.rest().find(|c: char| c.is_whitespace() || ends.contains(&c));
        self.at = end.map_or(self.text.len(), |end| start + end);
        Ok(Value { text: self.text[start..self.at].to_owned(), quoted: false, span: start..self.at })
    }
}

fn each<T>(values: &[Value], read: impl Fn(&Value) -> Result<T, FilterError>) -> Result<Vec<T>, FilterError> {
    values.iter().map(read).collect()
}

fn patterns(values: &[Value]) -> Result<Vec<Pattern>, FilterError> {
    each(values, |value| {
        Pattern::new(&value.text, value.quoted).map_err(|what| error(value.span.clone(), what))
    })
}

/// A number, or the string that is written like it; in quotes the string alone.
fn ids(value: &Value) -> Vec<Id<'static>> {
    let plain = RawJson::new(value.text.clone()).ok().filter(|_| !value.quoted);
    let string = RawJson::from_value(&value.text).ok();
    [plain, string].into_iter().flatten().filter_map(Id::from_json).collect()
}

fn number<T: std::str::FromStr>(value: &Value, what: &str) -> Result<T, FilterError> {
    value.text.parse().map_err(|_| error(value.span.clone(), what))
}

fn direction(value: &Value) -> Result<Direction, FilterError> {
    match &*value.text {
        "c2s" | ">" => Ok(Direction::ToServer),
        "s2c" | "<" => Ok(Direction::ToClient),
        _ => Err(error(value.span.clone(), "a direction is c2s or s2c")),
    }
}

/// How a call stands, or a number of HTTP.
fn statuses(values: &[Value]) -> Result<Test, FilterError> {
    let (mut calls, mut http) = (Vec::new(), Vec::new());
    for value in values {
        match STATUSES.into_iter().find(|status| status.name() == value.text) {
            Some(status) => calls.push(status),
            None => http.push(value.text.parse().map_err(|_| {
                let names: Vec<&str> = STATUSES.iter().map(|status| status.name()).collect();
                let what = format!("a status is one of {}, or a number of HTTP", names.join(", "));
                error(value.span.clone(), what)
            })?),
        }
    }
    Ok(Test::Status(calls, http))
}

fn kinds(value: &Value) -> Result<Vec<Kind>, FilterError> {
    match &*value.text {
        "res" | "resp" => return Ok(vec![Kind::Result, Kind::Error]),
        "notify" => return Ok(vec![Kind::Notification]),
        _ => {}
    }
    KINDS.into_iter().find(|kind| kind.name() == value.text).map(|kind| vec![kind]).ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name()).collect();
        error(value.span.clone(), format!("a kind is one of {}", names.join(", ")))
    })
}

/// Why a word is not searched for as a text: in other languages it is an operator. In quotes it is a text.
fn meant(word: &str) -> Option<&'static str> {
    match word {
        "OR" | "||" | "|" => {
            Some("there is no `or`: several values have commas between them, as in `tool:echo,add`")
        }
        "AND" | "&&" | "&" => Some("all words must apply: leave this out"),
        "NOT" | "!" => Some("`-` before a word negates it, as in `-status:ok`"),
        _ if Operator::parse(word).is_some_and(|(_, length)| length == word.len()) => {
            Some("an operator has no blanks around it, as in `ms>250`")
        }
        "==" | "!=" => Some("a comparison is written `=`, without blanks, as in `$.params.n=250`"),
        _ => None,
    }
}

/// A number of milliseconds, or of another unit of time.
fn millis(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "ms" => 1.0,
        "us" => 1e-3,
        "s" => 1e3,
        "m" | "min" => 60e3,
        "h" => 3_600e3,
        _ => return None,
    };
    digits.parse().ok().map(|number: f64| number * unit).filter(|time| time.is_finite())
}

/// A number of bytes, with a unit or without.
fn size(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    digits.parse().ok().map(|number: f64| number * unit).filter(|size| size.is_finite())
}

/// Whether a word is meant as this key: a letter too many, too few, or others in two places.
fn is_near(key: &str, word: &str) -> bool {
    let common = key.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
    let (key, word) = (&key[common..], &word[common..]);
    let last = key.chars().rev().zip(word.chars().rev()).take_while(|(a, b)| a == b).count();
    key.len().max(word.len()) - last.min(key.len().min(word.len())) <= 2 && common + last > 0
}
