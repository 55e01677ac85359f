//! Follows traffic: pairs answers and cancels with requests.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use hashbrown::HashMap;
use sabir_proto::{
    ErrorCode, Id, Incoming, LENIENT, Limits, Message, Notification, ParseError, Request, Response, decode,
};

use super::names::{Name, Names};
use super::rounds::Rounds;
use super::{Entry, Kind, Status, id_hash};
use crate::capture::{Direction, Event, Record, What};
use crate::json_path::{member, text_at};

/// Requests that are open at the same time. Beyond it the older half is forgotten, and its answers are not paired.
const OPEN: usize = 65_536;

/// The code with which language servers answer a call that was cancelled.
const CANCELLED: ErrorCode = ErrorCode(-32800);

/// Pairs answers with requests. See the [module](super).
#[derive(Default)]
pub struct Tracker {
    number: u64,
    names: Names,
    open: HashMap<Key, Open>,
    rounds: Rounds,
    settled: Vec<Settled>,
}

type Key = (u64, Option<Direction>, Id<'static>);

/// A request without its answer.
struct Open {
    number: u64,
    time: Option<Duration>,
    /// When the first request of the call was sent, if this is not it.
    began: Option<Duration>,
    name: Name,
    cancelled: bool,
}

/// A request of which more is known now.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Settled {
    /// The request.
    pub number: u64,
    /// How its call stands now.
    pub status: Status,
    /// The answer, or the cancel.
    pub by: u64,
    /// Time between request and answer.
    pub took: Option<Duration>,
}

impl Tracker {
    /// The names of all entries.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The requests that the last entry has settled.
    pub fn settled(&self) -> &[Settled] {
        &self.settled
    }

    /// How many entries there were.
    pub fn count(&self) -> u64 {
        self.number
    }

    /// Counts a record that says nothing of calls.
    pub(crate) fn skip(&mut self) {
        self.number += 1;
    }

    /// The header of another capture, whose records come among those of this one: no call ends with it.
    pub(crate) fn other_start(&mut self, record: &Record<'_>) -> Entry {
        self.start(record.time, record.direction, record.connection, Kind::Start, 0)
    }

    /// The next record.
    pub fn follow(&mut self, record: &Record<'_>) -> Entry {
        let Record { time, direction, connection, .. } = *record;
        let (kind, bytes) = match &record.what {
            What::Message(text) => return self.message(time, direction, connection, text),
            What::Noise(text) => (Kind::Noise, text.len()),
            What::Stderr(text) => (Kind::Stderr, text.len()),
            What::Event(event, text) => return self.event(time, direction, connection, *event, text),
            What::Start(_) => (Kind::Start, 0),
            What::Damage(_) => (Kind::Damage, 0),
        };
        self.other(time, direction, connection, kind, bytes as u64)
    }

    /// What was sent as a message, whatever it is.
    pub fn message(
        &mut self,
        time: Option<Duration>,
        direction: Option<Direction>,
        connection: u64,
        text: &[u8],
    ) -> Entry {
        let decoded = decode(text, &LENIENT, &Limits::default());
        self.decoded(time, direction, connection, text.len(), &decoded)
    }

    /// Something else than a message.
    pub fn other(
        &mut self,
        time: Option<Duration>,
        direction: Option<Direction>,
        connection: u64,
        kind: Kind,
        bytes: u64,
    ) -> Entry {
        match kind {
            Kind::Start => self.open.clear(),
            Kind::Close | Kind::Exit => self.open.retain(|(of, ..), _| *of != connection),
            _ => {}
        }
        self.start(time, direction, connection, kind, bytes)
    }

    /// Something that happened.
    pub fn event(
        &mut self,
        time: Option<Duration>,
        direction: Option<Direction>,
        connection: u64,
        event: Event,
        text: &str,
    ) -> Entry {
        let entry = self.other(time, direction, connection, event.into(), text.len() as u64);
        let status = || text.trim_start_matches("HTTP ").split(' ').next()?.parse().ok();
        Entry { code: (event == Event::Http).then(status).flatten(), ..entry }
    }

    /// What came of decoding a message of this many bytes.
    pub(crate) fn decoded(
        &mut self,
        time: Option<Duration>,
        direction: Option<Direction>,
        connection: u64,
        bytes: usize,
        decoded: &Result<Incoming<'_>, ParseError>,
    ) -> Entry {
        let mut entry = self.start(time, direction, connection, Kind::Noise, bytes as u64);
        match decoded {
            Err(_) => {}
            Ok(Incoming::Batch(entries)) => {
                entry.kind = Kind::Batch;
                for message in entries.iter().flatten() {
                    let part = self.part(entry, message);
                    entry.status = worse(entry.status, part.status);
                    entry.other = part.other.or(entry.other);
                    entry.took = part.took.max(entry.took);
                }
            }
            Ok(Incoming::One(Ok(message))) => entry = self.part(entry, message),
            Ok(Incoming::One(Err(invalid))) => {
                entry.kind = Kind::Invalid;
                entry.id = invalid.id.as_ref().map_or(0, id_hash);
            }
        }
        entry
    }

    fn start(
        &mut self,
        time: Option<Duration>,
        direction: Option<Direction>,
        connection: u64,
        kind: Kind,
        bytes: u64,
    ) -> Entry {
        self.number += 1;
        self.settled.clear();
        Entry {
            number: self.number,
            time,
            direction,
            connection,
            kind,
            status: None,
            name: Name::NONE,
            code: None,
            other: None,
            took: None,
            total: None,
            bytes,
            id: 0,
        }
    }

    /// One message, alone or in a batch.
    fn part(&mut self, entry: Entry, message: &Message<'_>) -> Entry {
        match message {
            Message::Request(request) => self.request(entry, request),
            Message::Notification(notification) => self.notification(entry, notification),
            Message::Response(response) => self.response(entry, response),
        }
    }

    fn request(&mut self, entry: Entry, request: &Request<'_>) -> Entry {
        let tool = called(request);
        let name = self.names.add(&request.method, tool.as_deref());
        let Entry { number, time, direction, connection, .. } = entry;
        let began = self.rounds.continued(connection, request).and_then(|round| round.began);
        if self.open.len() >= OPEN {
            self.forget();
        }
        let key = (connection, direction, request.id.clone().into_owned());
        self.open.insert(key, Open { number, time, began, name, cancelled: false });
        let (kind, status, id) = (Kind::Request, Some(Status::Pending), id_hash(&request.id));
        Entry { kind, status, name, id, ..entry }
    }

    fn notification(&mut self, mut entry: Entry, notification: &Notification<'_>) -> Entry {
        entry.kind = Kind::Notification;
        entry.name = self.names.add(&notification.method, None);
        let member = match &*notification.method {
            "notifications/cancelled" => "requestId",
            "$/cancelRequest" => "id",
            _ => return entry,
        };
        let id = notification.params.as_ref().and_then(|params| params.get(member));
        let Some(id) = id.and_then(|id| Id::from_json(id.into_owned())) else { return entry };
        entry.id = id_hash(&id);
        if let Some(open) = self.open.get_mut(&(entry.connection, entry.direction, id)) {
            open.cancelled = true;
            entry.other = Some(open.number);
            let (number, status, by) = (open.number, Status::Cancelled, entry.number);
            self.settled.push(Settled { number, status, by, took: None });
        }
        entry
    }

    fn response(&mut self, mut entry: Entry, response: &Response<'_>) -> Entry {
        let (kind, status) = match &response.outcome {
            Ok(_) => (Kind::Result, Status::Ok),
            Err(error) => {
                entry.code = Some(error.code.0);
                (Kind::Error, Status::Error)
            }
        };
        (entry.kind, entry.status, entry.id) = (kind, Some(status), id_hash(&response.id));
        let direction = entry.direction.map(Direction::reversed);
        let key = (entry.connection, direction, response.id.clone().into_owned());
        let Some(open) = self.open.remove(&key) else { return entry };
        let since = |start: Option<Duration>| Some(entry.time?.saturating_sub(start?));
        let took = since(open.time);
        let total = open.began.and_then(|began| since(Some(began)));
        let is_input = self.rounds.asks(entry.connection, open.began.or(open.time), response);
        let status = match (open.cancelled, entry.code) {
            (true, Some(code)) if code == CANCELLED.0 => Status::Cancelled,
            (true, _) => Status::Late,
            (false, _) if is_input => Status::Input,
            // A tool that fails says so in its result.
            (false, _) if self.names.method(open.name) == Some("tools/call") && is_tool_error(response) => {
                Status::Error
            }
            (false, _) => status,
        };
        self.settled.push(Settled { number: open.number, status, by: entry.number, took });
        Entry { status: Some(status), name: open.name, other: Some(open.number), took, total, ..entry }
    }

    /// Forgets the older half of the open requests.
    #[cold]
    fn forget(&mut self) {
        let mut numbers: Vec<u64> = self.open.values().map(|open| open.number).collect();
        let (_, middle, _) = numbers.select_nth_unstable(OPEN / 2);
        let middle = *middle;
        self.open.retain(|_, open| open.number > middle);
    }
}

/// Whether a tool of MCP says that it has failed.
fn is_tool_error(response: &Response<'_>) -> bool {
    const FLAG: &str = "isError";
    let Ok(result) = &response.outcome else { return false };
    memchr::memmem::find(result.as_str().as_bytes(), FLAG.as_bytes()).is_some()
        && member(result.as_str(), &[FLAG]) == Some("true")
}

/// The tool, prompt or command that a request names besides its method.
fn called<'r>(request: &'r Request<'_>) -> Option<Cow<'r, str>> {
    let member = match &*request.method {
        "tools/call" | "prompts/get" => "name",
        "workspace/executeCommand" => "command",
        _ => return None,
    };
    text_at(request.params.as_ref()?.as_str(), &[member])
}

/// Of the parts of a batch, the one to look at.
fn worse(a: Option<Status>, b: Option<Status>) -> Option<Status> {
    let rank = |status: Option<Status>| match status {
        None => 0,
        Some(Status::Ok) => 1,
        Some(Status::Input) => 2,
        Some(Status::Pending) => 3,
        Some(Status::Cancelled) => 4,
        Some(Status::Late) => 5,
        Some(Status::Error) => 6,
    };
    if rank(b) > rank(a) { b } else { a }
}

impl fmt::Debug for Tracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracker").field("number", &self.number).field("open", &self.open.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `kind status method tool @other +took(total)` of each message, and what it settles.
    fn told(lines: &str) -> Vec<String> {
        let mut tracker = Tracker::default();
        let mut time = Duration::ZERO;
        lines
            .lines()
            .map(|line| {
                time += Duration::from_millis(1);
                let direction = match &line[..1] {
                    ">" => Direction::ToServer,
                    _ => Direction::ToClient,
                };
                let entry = tracker.message(Some(time), Some(direction), 1, &line.as_bytes()[2..]);
                let mut out = entry.kind.to_string();
                out.extend(entry.status.map(|status| format!(" {status}")));
                out.extend(tracker.names().method(entry.name).map(|method| format!(" {method}")));
                out.extend(tracker.names().tool(entry.name).map(|tool| format!(" {tool}")));
                out.extend(entry.code.map(|code| format!(" {code}")));
                out.extend(entry.other.map(|other| format!(" @{other}")));
                out.extend(entry.took.map(|took| format!(" +{took:?}")));
                out.extend(entry.total.map(|total| format!("/{total:?}")));
                out.extend(tracker.settled().iter().map(|done| format!(" {}={}", done.number, done.status)));
                out
            })
            .collect()
    }

    #[test]
    fn answers_find_their_requests() {
        let lines = r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ec\u0068o"}}
> {"jsonrpc":"2.0","id":"1","method":"b"}
< {"jsonrpc":"2.0","id":1,"method":"ask"}
< {"jsonrpc":"2.0","id":1.0,"result":{}}
> {"jsonrpc":"2.0","id":1,"result":{}}
< {"jsonrpc":"2.0","id":"1","error":{"code":-32601,"message":"no"}}
< {"jsonrpc":"2.0","id":9,"result":{}}
> {"jsonrpc":"2.0","method":"n"}
< Starting
< {"a":1}"#;
        assert_eq!(
            told(lines),
            [
                "req pending tools/call echo",
                "req pending b",
                "req pending ask",
                "res ok tools/call echo @1 +3ms 1=ok",
                "res ok ask @3 +2ms 3=ok",
                "err error b -32601 @2 +4ms 2=error",
                "res ok",
                "note n",
                "noise",
                "invalid",
            ]
        );
    }

    #[test]
    fn cancelled_calls_may_be_answered_late() {
        let lines = r#"> {"jsonrpc":"2.0","id":1,"method":"a"}
> {"jsonrpc":"2.0","id":2,"method":"b"}
> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
> {"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}
< {"jsonrpc":"2.0","id":1,"result":{}}
< {"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"cancelled"}}
> {"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":3}}"#;
        assert_eq!(
            told(lines)[2..],
            [
                "note notifications/cancelled @1 1=cancel",
                "note $/cancelRequest @2 2=cancel",
                "res late a @1 +4ms 1=late",
                "err cancel b -32800 @2 +4ms 2=cancel",
                "note $/cancelRequest",
            ]
        );
    }

    #[test]
    fn rounds_of_a_call_are_joined() {
        let lines = r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}
< {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s1"}}
> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","requestState":"s1"}}
< {"jsonrpc":"2.0","id":2,"result":{"requestState":"s2"}}
> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask","requestState":"s2"}}
< {"jsonrpc":"2.0","id":3,"result":{}}"#;
        let told = told(lines);
        assert_eq!(told[1], "res input tools/call ask @1 +1ms 1=input");
        assert_eq!(told[3], "res input tools/call ask @3 +1ms/3ms 3=input");
        assert_eq!(told[5], "res ok tools/call ask @5 +1ms/5ms 5=ok");
    }

    #[test]
    fn a_tool_that_failed_is_an_error() {
        for (method, result, want) in [
            ("tools/call", r#"{"content":[],"isError":true}"#, "error"),
            ("tools/call", r#"{"content":[],"isError":false}"#, "ok"),
            ("tools/call", r#"{"content":[{"isError":true}]}"#, "ok"),
            ("tools/call", r#""isError""#, "ok"),
            ("other", r#"{"isError":true}"#, "ok"),
        ] {
            let call = format!(r#"> {{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"name":"t"}}}}"#);
            let told = told(&format!("{call}\n< {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}"));
            assert!(told[1].starts_with(&format!("res {want} ")), "{}", told[1]);
            assert!(told[1].ends_with(&format!("1={want}")), "{}", told[1]);
        }
    }

    #[test]
    fn a_batch_is_as_good_as_its_worst_part() {
        let lines = r#"> [{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]
< [{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":""}},{"jsonrpc":"2.0","id":1,"result":1}]"#;
        assert_eq!(told(lines), ["batch pending", "batch error @1 +1ms 1=error 1=ok"]);
    }

    #[test]
    fn open_requests_are_forgotten_at_a_limit_and_at_the_end() {
        let mut tracker = Tracker::default();
        let mut send = |direction, text: String| tracker.message(None, Some(direction), 1, text.as_bytes());
        for id in 0..=OPEN {
            send(Direction::ToServer, format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a"}}"#));
        }
        let answer = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#);
        assert_eq!(send(Direction::ToClient, answer(0)).other, None);
        assert_eq!(send(Direction::ToClient, answer(OPEN)).other, Some(OPEN as u64 + 1));
        tracker.other(None, None, 2, Kind::Close, 0);
        assert!(!tracker.open.is_empty());
        tracker.other(None, None, 1, Kind::Exit, 0);
        assert!(tracker.open.is_empty());
    }
}
