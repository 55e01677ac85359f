//! Paths into JSON: `$.params.items[0].name`.

use std::fmt;
use std::str::FromStr;

use sabir_proto::JsonKind;

use crate::json_path::{elements, kind, members};

/// Steps of a path.
const MOST_STEPS: usize = 32;

/// What ends a name behind a dot.
const NAME_ENDS: [char; 8] = ['.', '[', '=', '<', '>', ' ', '\t', '"'];

/// A path to values: members by name, `["odd name"]` too, elements by number, `*` for all of either, and `..name` for
/// members of that name at any depth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Member(String),
    Element(usize),
    All,
    /// A member of this name, however deep.
    Below(String),
}

/// Why a text is not a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathError {
    /// The byte at which it stops being one.
    pub at: usize,
    what: &'static str,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl std::error::Error for PathError {}

impl FromStr for JsonPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        match JsonPath::parse(text)? {
            (path, end) if end == text.len() => Ok(path),
            (_, at) => Err(PathError { at, what: "the path goes on with `.name` or `[0]`" }),
        }
    }
}

impl JsonPath {
    /// The path with which a text begins, and where it ends.
    pub(crate) fn parse(text: &str) -> Result<(Self, usize), PathError> {
        let mut at = 1;
        let wrong = |at, what| Err(PathError { at, what });
        if !text.starts_with('$') {
            return wrong(0, "a path begins with `$`");
        }
        let mut steps = Vec::new();
        loop {
            let rest = &text[at..];
            let (step, length) = match rest.as_bytes() {
                [b'.', b'.', ..] => {
                    let end = rest[2..].find(NAME_ENDS);
                    let name = &rest[2..end.map_or(rest.len(), |end| end + 2)];
                    if name.is_empty() {
                        return wrong(at + 2, "a name follows the dots");
                    }
                    (Step::Below(name.to_owned()), name.len() + 2)
                }
                [b'.', ..] => {
                    let end = rest[1..].find(NAME_ENDS);
                    let name = &rest[1..end.map_or(rest.len(), |end| end + 1)];
                    match name {
                        "" => return wrong(at + 1, "a name follows the dot"),
                        "*" => (Step::All, 2),
                        name => (Step::Member(name.to_owned()), name.len() + 1),
                    }
                }
                [b'[', b'"', ..] => {
                    let mut values = serde_json::Deserializer::from_str(&rest[1..]).into_iter::<String>();
                    let name = match values.next() {
                        Some(Ok(name)) => name,
                        _ => return wrong(at + 1, "a string ends with a quote"),
                    };
                    let end = 1 + values.byte_offset();
                    if rest.as_bytes().get(end) != Some(&b']') {
                        return wrong(at + end, "a bracket ends with `]`");
                    }
                    (Step::Member(name), end + 1)
                }
                [b'[', ..] => {
                    let Some(end) = rest.find(']') else { return wrong(at, "a bracket ends with `]`") };
                    let step = match &rest[1..end] {
                        "*" => Step::All,
                        number => match number.parse() {
                            Ok(number) => Step::Element(number),
                            Err(_) => return wrong(at + 1, "in brackets is a number, `*` or a quoted name"),
                        },
                    };
                    (step, end + 1)
                }
                _ => return Ok((JsonPath { steps }, at)),
            };
            if steps.len() == MOST_STEPS {
                return wrong(at, "a path has 32 steps at most");
            }
            steps.push(step);
            at += length;
        }
    }

    /// The name of the last member on the way, if there is one: what is behind it in the text has what the path leads to.
    pub(crate) fn last_name(&self) -> Option<&str> {
        self.steps.iter().rev().find_map(|step| match step {
            Step::Member(name) | Step::Below(name) => Some(name.as_str()),
            Step::Element(_) | Step::All => None,
        })
    }

    /// Whether a value at the end of the path passes the test. `text` is valid JSON.
    pub(crate) fn any(&self, text: &str, test: &mut dyn FnMut(&str) -> bool) -> bool {
        any(text, &self.steps, test)
    }

    /// The values at the end of the path, as ranges of `text`, which is valid JSON.
    pub fn spans(&self, text: &str, out: &mut Vec<std::ops::Range<usize>>) {
        let base = text.as_ptr().addr();
        self.any(text, &mut |value| {
            let start = value.as_ptr().addr() - base;
            out.push(start..start + value.len());
            false
        });
    }
}

fn any(text: &str, steps: &[Step], test: &mut dyn FnMut(&str) -> bool) -> bool {
    let Some((step, rest)) = steps.split_first() else { return test(text) };
    match (step, kind(text)) {
        (Step::Member(name), JsonKind::Object) => {
            members(text).filter(|(of, _)| of == name).any(|(_, value)| any(value, rest, test))
        }
        (Step::Element(at), JsonKind::Array) => {
            elements(text).nth(*at).is_some_and(|value| any(value, rest, test))
        }
        (Step::All, JsonKind::Object) => members(text).any(|(_, value)| any(value, rest, test)),
        (Step::All, JsonKind::Array) => elements(text).any(|value| any(value, rest, test)),
        (Step::Below(name), JsonKind::Object) => members(text)
            .any(|(of, value)| (of == *name && any(value, rest, test)) || any(value, steps, test)),
        (Step::Below(_), JsonKind::Array) => elements(text).any(|value| any(value, steps, test)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_values() {
        let text = r#"{"a":{"b c":[1,{"d":2},{"d":3}]},"e":4,"e":5}"#;
        for (path, want) in [
            ("$", text),
            ("$.a[\"b c\"][0]", "1"),
            ("$.a.*[*].d", "2 3"),
            ("$.e", "4 5"),
            ("$..d", "2 3"),
            ("$.a..d", "2 3"),
            ("$.a[0]", ""),
            ("$[0]", ""),
            ("$.x.y", ""),
        ] {
            let mut spans = Vec::new();
            path.parse::<JsonPath>()
                .unwrap_or_else(|error| panic!("{path}: {error}"))
                .spans(text, &mut spans);
            let found: Vec<&str> = spans.into_iter().map(|span| &text[span]).collect();
            assert_eq!(found.join(" "), want, "{path}");
        }
    }

    #[test]
    fn errors_say_where() {
        for (path, at, what) in [
            ("a", 0, "a path begins with `$`"),
            ("$a", 1, "the path goes on with `.name` or `[0]`"),
            ("$.", 2, "a name follows the dot"),
            ("$..", 3, "a name follows the dots"),
            ("$.a[x]", 4, "in brackets is a number, `*` or a quoted name"),
            ("$[0", 1, "a bracket ends with `]`"),
            ("$[\"a\\\"]", 2, "a string ends with a quote"),
            ("$[\"a\"0]", 5, "a bracket ends with `]`"),
            (&format!("${}", ".a".repeat(33)), 65, "a path has 32 steps at most"),
        ] {
            assert_eq!(path.parse::<JsonPath>(), Err(PathError { at, what }), "{path}");
        }
    }
}
