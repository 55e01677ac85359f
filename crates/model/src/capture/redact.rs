//! Takes secrets out of what is recorded.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use regex::{Regex, RegexBuilder};
use sabir_proto::{JsonKind, RawJson};

use crate::filter::JsonPath;
use crate::json_path::{elements, kind, members};

/// What stands in the place of a secret.
const HIDDEN: &str = "[redacted]";

/// Rules at most, and bytes that the program of a regular expression may take.
const MOST_RULES: usize = 64;
const PROGRAM: usize = 1 << 20;

/// Says what is a secret: a regular expression for the names of members, in upper or lower case, or a path such as
/// `$.params.password`.
#[derive(Debug, Clone)]
pub struct RedactRule(Rule);

#[derive(Debug, Clone)]
enum Rule {
    Name(Regex),
    Path(JsonPath),
}

/// Why a text is not a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactError(String);

impl fmt::Display for RedactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RedactError {}

impl FromStr for RedactRule {
    type Err = RedactError;

    fn from_str(text: &str) -> Result<Self, RedactError> {
        if text.starts_with('$') {
            let path = text.parse().map_err(|error| RedactError(format!("{error}")))?;
            return Ok(RedactRule(Rule::Path(path)));
        }
        let regex = RegexBuilder::new(text)
            .case_insensitive(true)
            .size_limit(PROGRAM)
            .dfa_size_limit(PROGRAM)
            .build()
            .map_err(|_| {
                RedactError("this is neither a regular expression nor a path that begins with `$`".to_owned())
            })?;
        match regex.is_match("") {
            true => Err(RedactError("this matches every name".to_owned())),
            false => Ok(RedactRule(Rule::Name(regex))),
        }
    }
}

/// Replaces the values that rules name, before anything is written.
///
/// ```
/// use sabir_model::capture::Redactor;
///
/// let redactor = Redactor::new(["token|authorization".parse()?, "$.params.user".parse()?]);
/// let text = br#"{"method":"x","params":{"user":"me","apiToken":{"a":1},"n":1}}"#;
/// let want = br#"{"method":"x","params":{"user":"[redacted]","apiToken":"[redacted]","n":1}}"#;
/// assert_eq!(redactor.message(text).as_ref(), want);
/// assert_eq!(redactor.text("Authorization: Bearer x"), "Authorization[redacted]");
/// # Ok::<(), sabir_model::capture::RedactError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    rules: Vec<RedactRule>,
}

impl Redactor {
    /// With these rules, 64 at most.
    pub fn new(rules: impl IntoIterator<Item = RedactRule>) -> Self {
        Redactor { rules: rules.into_iter().take(MOST_RULES).collect() }
    }

    /// A message without its secrets. What is not JSON is taken as text.
    pub fn message<'t>(&self, message: &'t [u8]) -> Cow<'t, [u8]> {
        if self.rules.is_empty() {
            return Cow::Borrowed(message);
        }
        if RawJson::from_bytes(message).is_err() {
            let text = String::from_utf8_lossy(message);
            return match self.text(&text) {
                Cow::Borrowed(_) => Cow::Borrowed(message),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            };
        }
        let Ok(text) = std::str::from_utf8(message) else { return Cow::Borrowed(message) };
        let mut spans = self.spans(text.trim_ascii_start(), text.len() - text.trim_ascii_start().len());
        if spans.is_empty() {
            return Cow::Borrowed(message);
        }
        // Those that are in another come behind it.
        spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        let mut out = Vec::with_capacity(message.len());
        let mut done = 0;
        for span in spans {
            if span.start < done {
                continue;
            }
            out.extend_from_slice(&message[done..span.start]);
            out.extend_from_slice(format!("\"{HIDDEN}\"").as_bytes());
            done = span.end;
        }
        out.extend_from_slice(&message[done..]);
        Cow::Owned(out)
    }

    /// A text that is not JSON: behind a name that a rule matches, the rest of the line is a secret.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = Cow::Borrowed(text);
        for RedactRule(rule) in &self.rules {
            let Rule::Name(regex) = rule else { continue };
            if !regex.is_match(&out) {
                continue;
            }
            let lines = out.split_inclusive('\n').map(|line| match regex.find(line) {
                Some(found) if !line[found.end()..].trim().is_empty() => {
                    let end = if line.ends_with('\n') { "\n" } else { "" };
                    Cow::Owned(format!("{}{HIDDEN}{end}", &line[..found.end()]))
                }
                _ => Cow::Borrowed(line),
            });
            out = Cow::Owned(lines.collect());
        }
        out
    }

    /// The words of a command: what follows a name, in the same word or as the next one, is a secret.
    pub fn words(&self, words: &[String]) -> Vec<String> {
        let mut hide = false;
        let redacted = words.iter().map(|word| {
            let text = self.text(word);
            let shown = if hide { HIDDEN.to_owned() } else { text.clone().into_owned() };
            // An option whose value is the next word.
            hide = !hide && text == *word && word.starts_with('-') && self.names(word);
            shown
        });
        redacted.collect()
    }

    fn names(&self, name: &str) -> bool {
        self.rules.iter().any(|RedactRule(rule)| matches!(rule, Rule::Name(regex) if regex.is_match(name)))
    }

    /// The places of secrets in a JSON text, moved by `offset`.
    fn spans(&self, text: &str, offset: usize) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        for RedactRule(rule) in &self.rules {
            if let Rule::Path(path) = rule {
                path.spans(text, &mut spans);
            }
        }
        if self.rules.iter().any(|RedactRule(rule)| matches!(rule, Rule::Name(_))) {
            self.named(text, text.as_ptr().addr(), &mut spans);
        }
        spans.iter().map(|span| span.start + offset..span.end + offset).collect()
    }

    /// The values of members whose name is one of a secret. Its depth is that of valid JSON, which has a limit.
    fn named(&self, text: &str, base: usize, spans: &mut Vec<Range<usize>>) {
        match kind(text) {
            JsonKind::Object => {
                for (name, value) in members(text) {
                    if self.names(&name) {
                        let start = value.as_ptr().addr() - base;
                        spans.push(start..start + value.len());
                    } else {
                        self.named(value, base, spans);
                    }
                }
            }
            JsonKind::Array => elements(text).for_each(|value| self.named(value, base, spans)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(rules: &[&str]) -> Redactor {
        Redactor::new(rules.iter().map(|rule| rule.parse().unwrap_or_else(|error| panic!("{rule}: {error}"))))
    }

    #[test]
    fn secrets_are_replaced_wherever_they_are() {
        let secrets = redactor(&["token|^key$", "$.params[*].pin", "$.params"]);
        let named = redactor(&["token|^key$", "$.params[*].pin"]);
        for (rules, text, want) in [
            (
                &named,
                r#" [{"a":{"to\u006ben":[1,2],"b":{"Key":null}}}] "#,
                r#" [{"a":{"to\u006ben":"[redacted]","b":{"Key":"[redacted]"}}}] "#,
            ),
            (
                &named,
                r#"{"params":[{"pin":1},{"pin":{"key":2}}]}"#,
                r#"{"params":[{"pin":"[redacted]"},{"pin":"[redacted]"}]}"#,
            ),
            (
                &secrets,
                r#"{"params":[{"pin":1}],"token":1}"#,
                r#"{"params":"[redacted]","token":"[redacted]"}"#,
            ),
            (&named, r#"{"keys":1,"x":"token"}"#, r#"{"keys":1,"x":"token"}"#),
            (&named, "Token = abc\nnext line", "Token[redacted]\nnext line"),
            (&named, "no secret", "no secret"),
        ] {
            assert_eq!(String::from_utf8_lossy(&rules.message(text.as_bytes())), want);
        }
        let words = ["run", "--token", "abc", "--api-token=abc", "x"].map(str::to_owned);
        assert_eq!(named.words(&words), ["run", "--token", "[redacted]", "--api-token[redacted]", "x"]);
    }

    #[test]
    fn rules_are_judged() {
        for (rule, want) in [
            ("(", "this is neither a regular expression nor a path that begins with `$`"),
            ("a*", "this matches every name"),
            ("$.a[", "a bracket ends with `]`"),
        ] {
            assert_eq!(rule.parse::<RedactRule>().map(drop), Err(RedactError(want.to_owned())));
        }
    }
}
