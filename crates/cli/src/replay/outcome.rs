//! What came of a replay, beside what was recorded.

use std::collections::HashMap;
use std::time::Duration;

use sabir_model::capture::Direction;

use super::report::{Row, Verdict};
use crate::recorded::compare::{Compare, Difference, paired, short_text};
use crate::recorded::{Call, Place, Recording, call_name};

/// Notifications that are kept to be compared, and the bytes that they may take.
const MOST_TOLD: usize = 100_000;
const MOST_BYTES: usize = 128 << 20;

/// What was not expected, and is kept to be shown.
const MOST_EXTRA: usize = 100;

/// How a replay ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// All was played.
    Done,
    /// An answer did not come in time.
    TimedOut,
    /// The peer has closed the connection too early, and this may be why.
    Closed(Option<String>),
}

/// An own call.
pub(super) struct Played {
    pub(super) call: Call,
    pub(super) sent: bool,
    pub(super) took: Option<Duration>,
    /// What differs in the answer, once there is one.
    pub(super) differences: Option<Vec<Difference>>,
    /// Why there is none.
    pub(super) why: Option<String>,
}

/// A request of the peer.
pub(super) struct Asked {
    pub(super) call: Call,
    /// What differs in the request, once it has come.
    pub(super) differences: Option<Vec<Difference>>,
}

/// All that came.
pub(super) struct Outcome {
    pub(super) calls: Vec<Played>,
    pub(super) asked: Vec<Asked>,
    unexpected: Vec<String>,
    invalid: Vec<String>,
    told: Vec<String>,
    strays: Vec<String>,
    bytes: usize,
    /// What there was no room for.
    untold: u64,
    pub(super) end: End,
}

impl Outcome {
    pub(super) fn new(calls: &[Call], asked: &[Call]) -> Self {
        let played = |call: &Call| Played {
            call: call.clone(),
            sent: false,
            took: None,
            differences: None,
            why: None,
        };
        Outcome {
            calls: calls.iter().map(played).collect(),
            asked: asked.iter().map(|call| Asked { call: call.clone(), differences: None }).collect(),
            unexpected: Vec::new(),
            invalid: Vec::new(),
            told: Vec::new(),
            strays: Vec::new(),
            bytes: 0,
            untold: 0,
            end: End::Done,
        }
    }

    /// A notification of the peer.
    pub(super) fn told(&mut self, text: &str) {
        if self.told.len() == MOST_TOLD || self.bytes + text.len() > MOST_BYTES {
            self.untold += 1;
            return;
        }
        self.bytes += text.len();
        self.told.push(text.to_owned());
    }

    /// An answer of the peer to what was no call.
    pub(super) fn stray(&mut self, text: &str) {
        if self.strays.len() == MOST_TOLD || self.bytes + text.len() > MOST_BYTES {
            self.untold += 1;
            return;
        }
        self.bytes += text.len();
        self.strays.push(text.to_owned());
    }

    /// A request of the peer that was not recorded.
    pub(super) fn unexpected(&mut self, name: String) {
        if self.unexpected.len() < MOST_EXTRA {
            self.unexpected.push(name);
        }
    }

    /// An invalid message.
    pub(super) fn invalid(&mut self, text: &str) {
        if self.invalid.len() < MOST_EXTRA {
            self.invalid.push(text.chars().take(200).collect());
        }
    }

    /// The rows of the report.
    pub(super) fn rows(
        &self,
        recording: &Recording,
        own: Direction,
        compare: Compare<'_>,
        strict: bool,
    ) -> Vec<Row> {
        let mut rows = Vec::new();
        let counts = |name: &str| !compare.ignore.has_method(name);
        for played in self.calls.iter().filter(|played| counts(&played.call.name)) {
            rows.push(played.row(&self.end));
        }
        let who = if own == Direction::ToServer { "server" } else { "client" };
        for asked in self.asked.iter().filter(|asked| counts(&asked.call.name)) {
            let name = match own {
                Direction::ToServer => format!("{who} asks {}", asked.call.name),
                Direction::ToClient => asked.call.name.clone(),
            };
            let verdict = match &asked.differences {
                None => Verdict::Missing,
                Some(found) if found.is_empty() => Verdict::Same,
                Some(_) => Verdict::Different,
            };
            let differences = asked.differences.clone().unwrap_or_default();
            rows.push(Row { differences, ..Row::new(name, verdict) });
        }
        for name in self.unexpected.iter().filter(|name| counts(name)) {
            rows.push(Row::new(format!("{who} asks {name}"), Verdict::Extra));
        }
        let recorded: Vec<Place> = recording.notifications(own.reversed());
        let was: Vec<&str> = recorded.iter().map(|place| recording.text(*place)).collect();
        let now: Vec<&str> = self.told.iter().map(String::as_str).collect();
        notifications(&was, &now, compare, strict, &mut rows);
        let calls: Vec<Call> = self.calls.iter().map(|played| played.call.clone()).collect();
        let strays = recording.strays(own.reversed(), &calls);
        let was: Vec<&str> = strays.iter().map(|place| recording.text(*place)).collect();
        for at in 0..was.len().max(self.strays.len()) {
            let name = "answer to no call".to_owned();
            rows.push(match (was.get(at), self.strays.get(at)) {
                (Some(was), Some(now)) => Row::compared(name, compare.messages(was, now)),
                (Some(_), None) => Row::new(name, Verdict::Missing),
                (None, now) => Row { note: now.map(|now| short_text(now)), ..Row::new(name, Verdict::Extra) },
            });
        }
        for text in &self.invalid {
            let note = Some(short_text(text));
            rows.push(Row { note, ..Row::new("no message".to_owned(), Verdict::Extra) });
        }
        if self.untold > 0 {
            let note = Some(format!("{} more came than are compared", self.untold));
            rows.push(Row { note, ..Row::new("notifications and stray answers".to_owned(), Verdict::Extra) });
        }
        rows
    }
}

impl Played {
    fn row(&self, end: &End) -> Row {
        let is_unknown = self.call.answer.is_none() && !self.call.cancelled;
        let (verdict, note) = match (&self.differences, &self.why) {
            (Some(_), _) if is_unknown => (Verdict::NotRecorded, None),
            (Some(found), _) if found.is_empty() => (Verdict::Same, None),
            (Some(_), _) => (Verdict::Different, None),
            (None, Some(why)) => (Verdict::NoAnswer, Some(why.clone())),
            (None, None) if !self.sent => (Verdict::NotSent, None),
            // Whether a cancelled call is still answered is chance.
            (None, None) if self.call.cancelled => (Verdict::Same, None),
            (None, None) if is_unknown => (Verdict::NotRecorded, None),
            (None, None) => {
                let why = match end {
                    End::TimedOut => "not in time".to_owned(),
                    End::Closed(Some(why)) => why.clone(),
                    End::Closed(None) => "the connection was closed".to_owned(),
                    End::Done => String::new(),
                };
                (Verdict::NoAnswer, Some(why))
            }
        };
        let differences = self.differences.clone().unwrap_or_default();
        let (was, now) = (self.call.took, self.took);
        Row { differences, note, was, now, ..Row::new(self.call.name.clone(), verdict) }
    }
}

/// Compares notifications, in order or not.
pub(crate) fn notifications<T: AsRef<str>>(
    was: &[T],
    now: &[T],
    compare: Compare<'_>,
    strict: bool,
    rows: &mut Vec<Row>,
) {
    let counts = |text: &&str| !compare.ignore.has_method(&call_name(text));
    let was: Vec<&str> = was.iter().map(T::as_ref).filter(counts).collect();
    let now: Vec<&str> = now.iter().map(T::as_ref).filter(counts).collect();
    match strict {
        true => in_order(&was, &now, compare, rows),
        false => by_method(&was, &now, compare, rows),
    }
}

/// Compares notifications in the order in which they came.
fn in_order(was: &[&str], now: &[&str], compare: Compare<'_>, rows: &mut Vec<Row>) {
    let named = |text: &str| format!("notification {}", call_name(text));
    for at in 0..was.len().max(now.len()) {
        rows.push(match (was.get(at), now.get(at)) {
            (Some(was), Some(now)) => Row::compared(named(was), compare.messages(was, now)),
            (Some(was), None) => Row::new(named(was), Verdict::Missing),
            (None, Some(now)) => Row::new(named(now), Verdict::Extra),
            (None, None) => return,
        });
    }
}

/// Compares notifications of the same method, in whichever order fits.
fn by_method(was: &[&str], now: &[&str], compare: Compare<'_>, rows: &mut Vec<Row>) {
    let mut order: Vec<String> = Vec::new();
    let mut methods: HashMap<String, (Vec<&str>, Vec<&str>)> = HashMap::new();
    for (text, is_new) in was.iter().map(|text| (*text, false)).chain(now.iter().map(|text| (*text, true))) {
        let name = call_name(text);
        let (old, new) = methods.entry(name.clone()).or_insert_with(|| {
            order.push(name);
            Default::default()
        });
        if is_new { new.push(text) } else { old.push(text) }
    }
    for name in order {
        let Some((was, now)) = methods.remove(&name) else { continue };
        let name = format!("notification {name}");
        let pairs = paired(&was, &now, compare);
        for (was, at) in was.iter().zip(&pairs) {
            rows.push(match at {
                Some(at) => Row::compared(name.clone(), compare.messages(was, now[*at])),
                None => Row::new(name.clone(), Verdict::Missing),
            });
        }
        // Each of the old has one of the new, if there are enough.
        rows.extend((was.len()..now.len()).map(|_| Row::new(name.clone(), Verdict::Extra)));
    }
}
