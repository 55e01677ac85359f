//! Answers out of a recording: by method and params, in order, and else the nearest.

use std::collections::HashMap;
use std::time::Duration;

use sabir_model::capture::Direction;
use sabir_proto::{Cursor, JsonKind};

use crate::recorded::compare::Compare;
use crate::recorded::handles::Handles;
use crate::recorded::ignore::Ignore;
use crate::recorded::{PartKind, Place, Recording, call_name};

/// Recorded calls of one name that are compared to find the nearest.
const MOST_COMPARED: usize = 1000;

/// Tokens that a client makes up, and what it says about itself beside the params.
const VOLATILE: [&str; 4] =
    ["$.params._meta", "$.params.workDoneToken", "$.params.partialResultToken", "$.params.processId"];

/// What a server has said after something that a client sent, and before the answer.
#[derive(Debug, Clone)]
pub(super) struct Said {
    /// A notification, or a request.
    pub(super) place: Place,
    /// Since the client's message.
    pub(super) after: Duration,
    /// It came behind the answer.
    pub(super) is_later: bool,
}

/// A message of the client, and what the server made of it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) request: Place,
    pub(super) answer: Option<Place>,
    pub(super) took: Duration,
    pub(super) said: Vec<Said>,
    used: bool,
}

/// All recorded answers.
pub(super) struct Answers {
    pub(super) recording: Recording,
    entries: Vec<Entry>,
    by_name: HashMap<String, Vec<usize>>,
    /// The same, where the params are equal to the letter.
    by_text: HashMap<(String, String), Vec<usize>>,
    ignore: Ignore,
}

/// What was found for a message.
pub(super) struct Found {
    pub(super) entry: usize,
    /// What differs, if it is only the nearest.
    pub(super) differs: Vec<String>,
}

impl Answers {
    pub(super) fn new(recording: Recording) -> Self {
        let rules: Vec<_> = VOLATILE.iter().filter_map(|path| path.parse().ok()).collect();
        let entries = entries(&recording);
        let mut answers = Answers {
            recording,
            entries,
            by_name: HashMap::new(),
            by_text: HashMap::new(),
            ignore: Ignore::new(&rules),
        };
        for (at, entry) in answers.entries.iter().enumerate() {
            let text = answers.recording.text(entry.request);
            let name = call_name(text);
            let params = Cursor::trusted(text).member("params").unwrap_or_default().to_owned();
            answers.by_name.entry(name.clone()).or_default().push(at);
            answers.by_text.entry((name, params)).or_default().push(at);
        }
        answers
    }

    /// Whether a session of MCP was opened.
    pub(super) fn speak_mcp(&self) -> bool {
        let opened = self.by_name.get("initialize").into_iter().flatten();
        opened.filter_map(|at| self.entries[*at].answer).any(|answer| {
            let result = Cursor::trusted(self.recording.text(answer)).member("result");
            result.is_some_and(|result| Cursor::trusted(result).member("protocolVersion").is_some())
        })
    }

    pub(super) fn entry(&self, at: usize) -> &Entry {
        &self.entries[at]
    }

    /// The recorded message that this one is most like. `text` is a whole message.
    pub(super) fn find(&mut self, text: &str) -> Option<Found> {
        let name = call_name(text);
        let params = Cursor::trusted(text).member("params").unwrap_or_default();
        let key = (name, params.to_owned());
        if let Some(equal) = self.by_text.get(&key) {
            let entry = next(&self.entries, equal)?;
            self.entries[entry].used = true;
            return Some(Found { entry, differs: Vec::new() });
        }
        let handles = Handles::default();
        let compare = Compare { ignore: &self.ignore, handles: &handles };
        let mut nearest: Vec<usize> = Vec::new();
        let mut differs: Option<Vec<String>> = None;
        for at in self.by_name.get(&key.0)?.iter().take(MOST_COMPARED) {
            let found = compare.messages(self.recording.text(self.entries[*at].request), text);
            let least = differs.as_ref().map_or(usize::MAX, Vec::len);
            if found.len() < least {
                nearest.clear();
                differs = Some(found.into_iter().map(|found| found.path).collect());
                nearest.push(*at);
            } else if found.len() == least {
                nearest.push(*at);
            }
        }
        let entry = next(&self.entries, &nearest)?;
        self.entries[entry].used = true;
        Some(Found { entry, differs: differs.unwrap_or_default() })
    }
}

/// The first that was not used, or else the last.
fn next(entries: &[Entry], of: &[usize]) -> Option<usize> {
    of.iter().find(|at| !entries[**at].used).or(of.last()).copied()
}

/// What the client has sent, each with what the server has said because of it, as far as that can be told: what has the
/// token of a call belongs to it, and else it belongs to the call that is open, or to what was sent last.
fn entries(recording: &Recording) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut at_place: HashMap<Place, usize> = HashMap::new();
    let calls = recording.calls(Direction::ToServer);
    let answers: HashMap<Place, usize> =
        calls.iter().enumerate().filter_map(|(at, call)| Some((call.answer?, at))).collect();
    let requests: HashMap<Place, usize> =
        calls.iter().enumerate().map(|(at, call)| (call.request, at)).collect();
    // For each connection: what is open, oldest first, and what was sent last.
    let mut open: HashMap<u64, (Vec<usize>, Option<usize>)> = HashMap::new();
    for place in recording.places() {
        let (sent, part) = (recording.sent(place), recording.part(place));
        let (waiting, last) = open.entry(sent.connection).or_default();
        match (sent.direction, part.kind) {
            (Direction::ToServer, PartKind::Request | PartKind::Notification) => {
                let call = requests.get(&place).map(|at| &calls[*at]);
                if part.kind == PartKind::Request {
                    waiting.push(entries.len());
                }
                *last = Some(entries.len());
                at_place.insert(place, entries.len());
                entries.push(Entry {
                    request: place,
                    answer: call.and_then(|call| call.answer),
                    took: call.and_then(|call| call.took).unwrap_or_default(),
                    said: Vec::new(),
                    used: false,
                });
            }
            (Direction::ToClient, PartKind::Result | PartKind::Error) => {
                let entry = answers.get(&place).and_then(|at| at_place.get(&calls[*at].request));
                waiting.retain(|at| Some(at) != entry);
            }
            (Direction::ToClient, PartKind::Request | PartKind::Notification) => {
                let token = token(recording.text(place));
                let of_token = token.and_then(|token| {
                    waiting.iter().rev().find(|at| asks_for(recording.text(entries[**at].request), token))
                });
                let Some(at) = of_token.or(waiting.last()).or(last.as_ref()).copied() else { continue };
                let is_later = !waiting.contains(&at);
                let began = recording.sent(entries[at].request).time;
                let after = sent.time.zip(began).map(|(now, began)| now.saturating_sub(began));
                entries[at].said.push(Said { place, after: after.unwrap_or_default(), is_later });
            }
            _ => {}
        }
    }
    entries
}

/// The token that a message carries.
fn token(text: &str) -> Option<&str> {
    let params =
        Cursor::trusted(text).member("params").filter(|params| JsonKind::of(params) == JsonKind::Object)?;
    Cursor::trusted(params).member("progressToken").or_else(|| Cursor::trusted(params).member("token"))
}

/// Whether a request asks for progress with this token.
fn asks_for(text: &str, token: &str) -> bool {
    let Some(params) =
        Cursor::trusted(text).member("params").filter(|of| JsonKind::of(of) == JsonKind::Object)
    else {
        return false;
    };
    let member = |of: &str, name: &str| Cursor::trusted(of).member(name) == Some(token);
    member(params, "workDoneToken")
        || member(params, "partialResultToken")
        || Cursor::trusted(params).member("_meta").is_some_and(|meta| member(meta, "progressToken"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::Printer;

    fn answers(text: &str) -> Answers {
        Answers::new(Recording::read(text.as_bytes(), "test", &Printer::new(false)).unwrap_or_else(
            |failure| {
                panic!("{}", failure.what);
            },
        ))
    }

    #[test]
    fn the_nearest_answer_is_found() {
        let mut answers = answers(concat!(
            "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get\",\"params\":{\"a\":1,\"b\":1}}\n",
            "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"first\"}\n",
            "> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"get\",\"params\":{\"a\":1,\"b\":1}}\n",
            "< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"second\"}\n",
            "> {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"get\",\"params\":{\"a\":2,\"b\":2}}\n",
            "< {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"third\"}\n",
        ));
        for (params, want, differs) in [
            ("{\"a\":1,\"b\":1}", "first", ""),
            ("{\"b\":1, \"a\":1.0}", "second", ""),
            ("{\"a\":1,\"b\":1}", "second", ""),
            ("{\"a\":2,\"b\":3}", "third", "$.params.b"),
            ("{\"a\":2,\"b\":2,\"_meta\":{\"progressToken\":1}}", "third", ""),
            ("[]", "third", "$.params"),
        ] {
            let text = format!("{{\"id\":1,\"method\":\"get\",\"params\":{params}}}");
            let found = answers.find(&text).unwrap_or_else(|| panic!("{params}"));
            let answer = answers.entry(found.entry).answer.unwrap_or_else(|| panic!("{params}"));
            assert!(
                answers.recording.text(answer).contains(want),
                "{params}: {}",
                answers.recording.text(answer)
            );
            assert_eq!(found.differs.join(" "), differs, "{params}");
        }
        assert!(answers.find("{\"id\":1,\"method\":\"other\"}").is_none());
    }

    #[test]
    fn what_is_said_belongs_to_its_call() {
        let answers = answers(concat!(
            "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{\"progressToken\":7}}}\n",
            "> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n",
            "< {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":7,\"progress\":1}}\n",
            "< {\"jsonrpc\":\"2.0\",\"method\":\"log\"}\n",
            "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n",
            "< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":2}\n",
            "> {\"jsonrpc\":\"2.0\",\"method\":\"didOpen\"}\n",
            "< {\"jsonrpc\":\"2.0\",\"method\":\"diagnostics\"}\n",
        ));
        let said: Vec<(usize, bool)> = answers
            .entries
            .iter()
            .map(|entry| (entry.said.len(), entry.said.iter().any(|said| said.is_later)))
            .collect();
        assert_eq!(said, [(1, false), (1, false), (1, true)]);
    }
}
