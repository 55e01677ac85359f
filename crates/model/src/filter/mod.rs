//! The language in which traffic is searched: `tool:echo -status:ok ms>250`.
//!
//! All of the words must apply; `-` before one negates it.
//!
//! | word | matches |
//! |---|---|
//! | `text`, `"two words"` | a content or a method with this text, in upper or lower case |
//! | `/re/`, `/re/i` | a content that matches the regular expression |
//! | `method:tools/*` | the method that is called or answered |
//! | `tool:echo` | the tool, prompt or command that is called or answered |
//! | `id:7` | the id |
//! | `task:abc` | messages of this task |
//! | `dir:c2s`, `dir:s2c` | from client to server, from server to client |
//! | `kind:req` | `req`, `res` (with a result or an error), `err`, `note`, `batch`, `invalid`, `noise`, `stderr`, `open`, `close`, `exit`, `gap`, `mark`, `http`, `start`, `damage` |
//! | `status:error` | how the call stands: `pending`, `ok`, `error`, `cancel`, `late`, `input`; or the status of HTTP, such as `401`; a tool that has failed (`isError`) is an `error` |
//! | `code:-32601` | the code of an error |
//! | `conn:2` | the connection |
//! | `ms>250`, `ms>1.5s`, `bytes>1k` | the time between request and answer, or [until now](Filter::set_now) if there is none yet; the size; also `<`, `>=`, `<=`, `=` |
//! | `$.params.name=x` | a content with this value there; also `>`, `<`, `>=`, `<=`, or nothing where any value will do |
//!
//! Values behind a colon can be several, with commas between them. A name without `*` and without quotes matches every
//! name that contains it, in upper or lower case; `*` stands for any text in the whole name, and quotes mean exactly this.
//!
//! ```
//! use sabir_model::calls::Tracker;
//! use sabir_model::capture::Direction;
//! use sabir_model::filter::Filter;
//!
//! let filter: Filter = "method:add $.params[0]=2 -dir:s2c".parse()?;
//! let mut tracker = Tracker::default();
//! let text = br#"{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}"#;
//! let entry = tracker.message(None, Some(Direction::ToServer), 1, text);
//! assert!(filter.matches(&entry, tracker.names(), text));
//!
//! let error = "methd:add".parse::<Filter>().unwrap_err();
//! assert_eq!(error.to_string(), "`methd:` is not a filter; did you mean `method:`?");
//! assert_eq!(error.span, 0..5);
//! # Ok::<(), sabir_model::filter::FilterError>(())
//! ```

mod parse;
mod path;
mod pattern;
mod test;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use crate::calls::{Entry, Names};

pub use path::{JsonPath, PathError};
use test::Test;

/// Which records to show. See the [module](self) for the language; the empty filter matches all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    terms: Vec<Term>,
    now: Option<Duration>,
}

#[derive(Debug, Clone)]
struct Term {
    negated: bool,
    test: Test,
}

/// What is wrong with a filter, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterError {
    /// The bytes of the text that are wrong.
    pub span: Range<usize>,
    what: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for FilterError {}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        parse::parse(text).map(|terms| Filter { terms, now: None })
    }
}

impl Filter {
    /// Whether it matches all.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Says when it is, as records say it: since the start of the capture. A call that has no answer yet has taken until then.
    /// Before this is called, `ms` matches no call without an answer.
    pub fn set_now(&mut self, now: Duration) {
        self.now = Some(now);
    }

    /// Whether a call that has no answer may match at one time and not at another.
    pub fn depends_on_now(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.test, Test::Millis(..)))
    }

    /// Whether a record matches, if that can be told without its content.
    pub fn glance(&self, entry: &Entry, names: &Names) -> Option<bool> {
        let mut known = Some(true);
        for term in &self.terms {
            match term.test.glance(entry, names, self.now) {
                Some(found) if found == term.negated => return Some(false),
                Some(_) => {}
                None => known = None,
            }
        }
        known
    }

    /// Whether a record with this content matches.
    pub fn matches(&self, entry: &Entry, names: &Names, content: &[u8]) -> bool {
        self.terms.iter().all(|term| {
            let found = term.test.glance(entry, names, self.now);
            found.unwrap_or_else(|| term.test.look(entry, content)) != term.negated
        })
    }

    /// Whether a call matches, if that can be told without its contents. A word applies to a call if it applies to its
    /// request or to its answer; which way a call goes is its request's.
    pub fn glance_call(&self, request: &Entry, answer: &Entry, names: &Names) -> Option<bool> {
        let mut known = Some(true);
        for term in &self.terms {
            let glance = |half| term.test.glance(half, names, self.now);
            let found = match (glance(request), glance(answer)) {
                (found, _) if term.test.is_direction() => found,
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
            match found {
                Some(found) if found == term.negated => return Some(false),
                Some(_) => {}
                None => known = None,
            }
        }
        known
    }

    /// Whether a call matches: each half is what is known of it, and its content.
    pub fn matches_call(&self, request: (&Entry, &[u8]), answer: (&Entry, &[u8]), names: &Names) -> bool {
        let applies = |test: &Test, (entry, content): (&Entry, &[u8])| {
            test.glance(entry, names, self.now).unwrap_or_else(|| test.look(entry, content))
        };
        self.terms.iter().all(|Term { negated, test }| {
            let found = applies(test, request) || !test.is_direction() && applies(test, answer);
            found != *negated
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::calls::Tracker;
    use crate::capture::Direction;

    #[test]
    fn a_call_is_both_of_its_halves() {
        let call = br#"{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":"two"}}"#;
        let answer = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"not a number"}}"#;
        let mut tracker = Tracker::default();
        let request = tracker.message(None, Some(Direction::ToServer), 1, call);
        let error = tracker.message(None, Some(Direction::ToClient), 1, answer);
        for (text, want) in [
            ("", true),
            ("two", true),
            ("two number", true),
            ("-number", false),
            ("three", false),
            ("kind:err", true),
            ("kind:req", true),
            ("kind:note", false),
            ("dir:c2s", true),
            ("dir:s2c", false),
            ("-dir:s2c code:-32602 method:add", true),
            ("$.params.a=two $.error.code=-32602", true),
            ("bytes>65", true),
        ] {
            let filter: Filter = text.parse().unwrap();
            let matches = filter.matches_call((&request, call), (&error, answer), tracker.names());
            assert_eq!(matches, want, "{text}");
            let glance = filter.glance_call(&request, &error, tracker.names());
            assert!(glance.is_none_or(|glance| glance == want), "{text}");
        }
    }

    #[test]
    fn a_call_without_an_answer_takes_until_now() {
        let second = Duration::from_secs;
        let call = br#"{"jsonrpc":"2.0","id":1,"method":"add"}"#;
        let mut tracker = Tracker::default();
        let open = tracker.message(Some(second(1)), Some(Direction::ToServer), 1, call);
        let other = tracker.message(None, Some(Direction::ToServer), 2, call);
        for (text, now, want) in [
            ("status:pending ms>1000", Some(6), true),
            ("ms>5s", Some(6), false),
            ("ms>=5s", Some(6), true),
            ("ms<6s", Some(6), true),
            ("-ms>1000", Some(6), false),
            // The clock of another machine may be behind.
            ("ms<1", Some(0), true),
            ("ms>0", None, false),
            ("ms<1h", None, false),
        ] {
            let mut filter: Filter = text.parse().unwrap();
            assert!(filter.depends_on_now());
            if let Some(now) = now {
                filter.set_now(second(now));
            }
            assert_eq!(filter.matches(&open, tracker.names(), call), want, "{text} at {now:?}");
            assert_eq!(filter.glance(&open, tracker.names()), Some(want), "{text} at {now:?}");
            // Nobody knows when this was sent.
            assert!(text.starts_with('-') || !filter.matches(&other, tracker.names(), call), "{text}");
        }
        assert!(!"status:pending".parse::<Filter>().unwrap().depends_on_now());
    }
}
