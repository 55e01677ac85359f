//! What a value is compared with: text, names with `*`, numbers.

use regex::bytes::{Regex, RegexBuilder};
use sabir_proto::{Id, JsonKind, RawJson};

use crate::json_path::{kind, string};

/// Bytes that the program of a regular expression may take, and its tables as much again.
const PROGRAM: usize = 1 << 20;

/// Compiles a regular expression, within limits.
pub(super) fn regex(pattern: &str, ignore_case: bool) -> Result<Regex, String> {
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .size_limit(PROGRAM)
        .dfa_size_limit(PROGRAM)
        .nest_limit(64)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "the regular expression is too large".to_owned(),
            // Of its picture, the last line.
            error => {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                format!("this is not a regular expression: {last}")
            }
        })
}

/// A name.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    Exactly(String),
    Regex(Regex),
}

impl Pattern {
    pub(super) fn new(value: &str, quoted: bool) -> Result<Self, String> {
        if quoted {
            return Ok(Pattern::Exactly(value.to_owned()));
        }
        if !value.contains('*') {
            return regex(&regex::escape(value), true).map(Pattern::Regex);
        }
        let parts: Vec<String> = value.split('*').map(regex::escape).collect();
        regex(&format!("(?s)^{}$", parts.join(".*")), true).map(Pattern::Regex)
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        match self {
            Pattern::Exactly(exact) => exact == text,
            Pattern::Regex(regex) => regex.is_match(text.as_bytes()),
        }
    }
}

/// How two numbers, or a value and a text, are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    /// The one with which a text begins, and its length.
    pub(super) fn parse(text: &str) -> Option<(Operator, usize)> {
        Some(match text.as_bytes() {
            [b'>', b'=', ..] => (Operator::GreaterOrEqual, 2),
            [b'<', b'=', ..] => (Operator::LessOrEqual, 2),
            [b'>', ..] => (Operator::Greater, 1),
            [b'<', ..] => (Operator::Less, 1),
            [b'=', ..] => (Operator::Equal, 1),
            _ => return None,
        })
    }

    pub(super) fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Operator::Equal => left == right,
            Operator::Less => left < right,
            Operator::LessOrEqual => left <= right,
            Operator::Greater => left > right,
            Operator::GreaterOrEqual => left >= right,
        }
    }
}

/// What a value at the end of a path must be.
#[derive(Debug, Clone)]
pub(super) enum Expected {
    /// There.
    Any,
    /// This number, word or text.
    Equal {
        plain: Option<RawJson<'static>>,
        text: Pattern,
    },
    Compared(Operator, f64),
}

impl Expected {
    pub(super) fn equal(value: &str, quoted: bool) -> Result<Self, String> {
        let plain = RawJson::new(value.to_owned()).ok().filter(|_| !quoted);
        // Unlike a name, a value is meant whole.
        let text = Pattern::new(value, quoted || !value.contains('*'))?;
        Ok(Expected::Equal { plain, text })
    }

    /// Whether a JSON text is it.
    pub(super) fn is(&self, value: &str) -> bool {
        match self {
            Expected::Any => true,
            Expected::Compared(operator, number) => {
                kind(value) == JsonKind::Number
                    && value.parse().is_ok_and(|value: f64| operator.holds(value, *number))
            }
            Expected::Equal { plain, text } => match kind(value) {
                JsonKind::String => string(value).is_some_and(|value| text.matches(&value)),
                JsonKind::Number => {
                    let number = |json: RawJson<'_>| Id::from_json(json.into_owned());
                    plain.as_ref().filter(|plain| plain.kind() == JsonKind::Number).is_some_and(|plain| {
                        let value = RawJson::new(value).ok().and_then(number);
                        value.is_some() && value == number(plain.as_borrowed())
                    })
                }
                _ => plain.as_ref().is_some_and(|plain| plain.as_str() == value),
            },
        }
    }
}
