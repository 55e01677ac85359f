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
    /// With its last name, for what is not JSON. A path without a name stands for all of such a text.
    Path(JsonPath, Option<Regex>),
}

impl Rule {
    /// Where the first secret in a text that is not JSON begins.
    fn secret(&self, text: &str) -> Option<usize> {
        let regex = match self {
            Rule::Name(regex) | Rule::Path(_, Some(regex)) => regex,
            Rule::Path(_, None) => return Some(0),
        };
        if let Some(found) = regex.find(text) {
            return Some(found.end());
        }
        // A name can be written with escapes. Where the name ends is not worth knowing.
        let escape = text.find("\\u")?;
        regex.is_match(&unescaped(text)).then_some(escape)
    }
}

/// A text without its `\u` escapes of single characters.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\u") {
        out.push_str(&rest[..at]);
        rest = &rest[at + 2..];
        let code = rest.get(..4).and_then(|code| u32::from_str_radix(code, 16).ok());
        if let Some(c) = code.and_then(char::from_u32) {
            out.push(c);
            rest = &rest[4..];
        }
    }
    out.push_str(rest);
    out
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
            let path: JsonPath = text.parse().map_err(|error| RedactError(format!("{error}")))?;
            let name = path.last_name().map(whole_word).transpose()?;
            return Ok(RedactRule(Rule::Path(path, name)));
        }
        let regex = regex(text)?;
        match regex.is_match("") {
            true => Err(RedactError("this matches every name".to_owned())),
            false => Ok(RedactRule(Rule::Name(regex))),
        }
    }
}

fn regex(pattern: &str) -> Result<Regex, RedactError> {
    RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(PROGRAM)
        .dfa_size_limit(PROGRAM)
        .build()
        .map_err(|_| {
            RedactError("this is neither a regular expression nor a path that begins with `$`".to_owned())
        })
}

/// Finds a name, but not as a part of a longer word: `key` is not in `monkey`.
fn whole_word(name: &str) -> Result<Regex, RedactError> {
    let edge = |c: Option<char>| if c.is_some_and(char::is_alphanumeric) { r"\b" } else { "" };
    let (start, end) = (edge(name.chars().next()), edge(name.chars().next_back()));
    regex(&format!("{start}{}{end}", regex::escape(name)))
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

    /// A message without its secrets. A path applies to each message of a batch. What is not JSON is taken as text, and if
    /// it is like JSON, all behind the first name is a secret: where the value ends cannot be told.
    pub fn message<'t>(&self, message: &'t [u8]) -> Cow<'t, [u8]> {
        if self.rules.is_empty() {
            return Cow::Borrowed(message);
        }
        if RawJson::from_bytes(message).is_err() {
            let text = String::from_utf8_lossy(message);
            let is_like_json = text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[', '"']);
            let redacted = if is_like_json { self.whole(&text) } else { self.text(&text) };
            return match redacted {
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
        if self.rules.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut is_changed = false;
        let lines: Vec<Cow<'_, str>> = text
            .split_inclusive('\n')
            .map(|line| {
                let (content, end) = line.strip_suffix('\n').map_or((line, ""), |content| (content, "\n"));
                match self.whole(content) {
                    Cow::Borrowed(_) => Cow::Borrowed(line),
                    Cow::Owned(content) => {
                        is_changed = true;
                        Cow::Owned(content + end)
                    }
                }
            })
            .collect();
        if is_changed { Cow::Owned(lines.concat()) } else { Cow::Borrowed(text) }
    }

    /// Behind a name that a rule matches, the rest of the text is a secret, over all of its lines.
    fn whole<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let secret = self.rules.iter().filter_map(|RedactRule(rule)| rule.secret(text)).min();
        match secret {
            Some(at) if !text[at..].trim().is_empty() => Cow::Owned(format!("{}{HIDDEN}", &text[..at])),
            _ => Cow::Borrowed(text),
        }
    }

    /// The words of a command: what follows a name, in the same word or as the next one, is a secret.
    pub fn words(&self, words: &[String]) -> Vec<String> {
        let mut hide = false;
        let redacted = words.iter().map(|word| {
            let text = self.whole(word);
            let shown = if hide { HIDDEN.to_owned() } else { text.clone().into_owned() };
            // An option whose value is the next word.
            hide = !hide && text == *word && word.starts_with('-') && self.is_named(word);
            shown
        });
        redacted.collect()
    }

    fn names(&self, name: &str) -> bool {
        self.rules.iter().any(|RedactRule(rule)| matches!(rule, Rule::Name(regex) if regex.is_match(name)))
    }

    /// Whether a text has the name of a secret.
    fn is_named(&self, text: &str) -> bool {
        self.rules.iter().any(|RedactRule(rule)| rule.secret(text).is_some())
    }

    /// The places of secrets in a JSON text, moved by `offset`.
    fn spans(&self, text: &str, offset: usize) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        for RedactRule(rule) in &self.rules {
            let Rule::Path(path, _) = rule else { continue };
            path.spans(text, &mut spans);
            // A batch: the path is that of a message.
            for message in elements(text) {
                let start = message.as_ptr().addr() - text.as_ptr().addr();
                let mut within = Vec::new();
                path.spans(message, &mut within);
                spans.extend(within.iter().map(|span| span.start + start..span.end + start));
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
    }

    /// What cannot be parsed loses more rather than less.
    #[test]
    fn paths_find_secrets_in_batches_and_in_what_is_almost_json() {
        let path = redactor(&["$.params.key"]);
        let deep = format!("{}{{\"params\":{{\"key\":\"HUNTER2\"}}}}{}", "[".repeat(200), "]".repeat(200));
        for text in [
            r#"[{"method":"x","params":{"key":"HUNTER2"}},{"params":{"key":{"a":"HUNTER2"}}}]"#.as_bytes(),
            b"{\"params\":{\"key\":\"HUNTER2\",\"x\":\"\xFF\"}}",
            "\u{feff}{\"params\":{\"key\":\"HUNTER2\"}}".as_bytes(),
            br#"{"params":{"key":"HUNTER2"}},"#,
            br#"{"params":{"key":1}} {"params":{"key":"HUNTER2"}}"#,
            br#"{"params":{"key":"HUNTER2"#,
            b"{\"params\":{\"key\":\n\"HUNTER2\"},}",
            br#"{"params":{"Key":"HUNTER2"},}"#,
            br#"{"params":{"k\u0065y":"HUNTER2"},}"#,
            b"key = HUNTER2",
            deep.as_bytes(),
        ] {
            let text = String::from_utf8_lossy(&path.message(text)).into_owned();
            assert!(!text.contains("HUNTER2") && text.contains("[redacted]"), "{text}");
        }
        for text in [r#"{"key":"shown","params":{"keys":1}}"#, "a monkey = shown", r#"["a"]"#] {
            assert_eq!(path.message(text.as_bytes()).as_ref(), text.as_bytes());
        }
        // A path without a name may mean anything.
        for rule in ["$", "$[0]", "$.*"] {
            assert_eq!(redactor(&[rule]).message(b"[\"HUNTER2\",").as_ref(), b"[redacted]");
        }
    }

    #[test]
    fn the_words_of_commands_lose_their_secrets() {
        let rules = redactor(&["token|private-key", "$.params.pin"]);
        for (words, want) in [
            (
                &["run", "--token", "abc", "--api-token=abc", "x"][..],
                "run --token [redacted] --api-token[redacted] x",
            ),
            (&["--private-key", "-----BEGIN\nHUNTER2\n-----END", "x"], "--private-key [redacted] x"),
            (&["--token=a\nHUNTER2\n", "x"], "--token[redacted] x"),
            (&["a\nb --token", "HUNTER2"], "a\nb --token HUNTER2"),
            (&["--pin", "1234", "--pin=1234"], "--pin [redacted] --pin[redacted]"),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(rules.words(&words).join(" "), want);
        }
        assert_eq!(
            rules.text("http://127.0.0.1/rpc?a=1&token=HUNTER2"),
            "http://127.0.0.1/rpc?a=1&token[redacted]"
        );
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
