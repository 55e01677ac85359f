//! Keeps its own records of what one session hears and says, from the bytes alone.

use std::fmt;

use sabir_proto::{
    Cut, Deframer, Dialect, Entry, ErrorCode, Fault, FrameFault, Framing, Id, Incoming, Invalid, LENIENT,
    Limits, Message, NotificationStyle, RawJson, decode,
};
use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, Visitor};

use crate::map::Map;

/// Cuts and decodes a stream independently of the session.
struct Reader {
    deframer: Option<Deframer>,
    pending: Vec<u8>,
}

impl Reader {
    fn new(framing: Framing, limit: usize) -> Self {
        let deframer = (framing != Framing::Whole).then(|| Deframer::new(Some(framing), limit));
        Reader { deframer, pending: Vec::new() }
    }

    fn read(
        &mut self,
        bytes: &[u8],
        ended: bool,
        limit: usize,
        mut got: impl FnMut(Result<&[u8], (FrameFault, &[u8])>),
    ) {
        let Some(deframer) = &mut self.deframer else {
            if !ended {
                let start = &bytes[..bytes.len().min(limit)];
                got(if bytes.len() > limit {
                    Err((FrameFault::TooLarge { limit }, start))
                } else {
                    Ok(bytes)
                });
            }
            return;
        };
        self.pending.extend_from_slice(bytes);
        let mut done = 0;
        loop {
            let rest = &self.pending[done..];
            match if ended { deframer.finish(rest) } else { deframer.cut(rest) } {
                Cut::Message { body, used } => {
                    got(Ok(body));
                    done += used;
                }
                Cut::Fault { fault, start, used } => {
                    got(Err((fault, start)));
                    done += used;
                }
                Cut::More { used, .. } => {
                    self.pending.drain(..done + used);
                    return;
                }
            }
        }
    }
}

pub(crate) struct Audit {
    heard: Reader,
    said: Reader,
    dialect: Dialect,
    limits: Limits,
    /// Requests heard and answers said, for each id.
    open: Map<Id<'static>, i64>,
    /// Answers that are owed in all, whatever their id.
    pub(crate) owed: i64,
    pub(crate) answers: i64,
    /// Cancels after which no answer is owed. Some may have come too late to stop it.
    pub(crate) silenced: i64,
    /// The most answers that one batch was owed.
    longest: i64,
}

impl Audit {
    pub(crate) fn new(framing: Framing, dialect: Dialect, limits: Limits) -> Self {
        Audit {
            heard: Reader::new(framing, limits.message_bytes),
            said: Reader::new(framing, usize::MAX - 1),
            dialect,
            limits,
            open: Map::default(),
            owed: 0,
            answers: 0,
            silenced: 0,
            longest: 0,
        }
    }

    /// Bytes that the session was given.
    pub(crate) fn hears(&mut self, bytes: &[u8], ended: bool) {
        let Audit { heard, dialect, limits, open, owed, silenced, longest, .. } = self;
        heard.read(bytes, ended, limits.message_bytes, |message| {
            let entries = match message.map(|body| decode(body, dialect, limits)) {
                Ok(Ok(Incoming::One(entry))) => vec![entry],
                Ok(Ok(Incoming::Batch(entries))) => entries,
                Err((FrameFault::TooLarge { .. }, start)) => {
                    // What begins like an answer gets none; anything else gets an error.
                    let Start { id, answers } = Start::of(start);
                    *owed += i64::from(!answers);
                    *open.entry(id.unwrap_or(Id::NULL)).or_default() += i64::from(!answers);
                    return;
                }
                Ok(Err(_)) | Err(_) => return *owed += i64::from(!dialect.allow_non_json),
            };
            let before = *owed;
            for entry in entries {
                match entry {
                    Ok(Message::Request(request)) => {
                        *owed += 1;
                        *open.entry(request.id.into_owned()).or_default() += 1;
                    }
                    Err(Invalid { response: false, id, fault, .. }) => {
                        *owed += 1;
                        // With the id of an open call it counts as that call's answer, and gets none itself.
                        *silenced += i64::from(fault == Fault::Shapeless);
                        *open.entry(id.unwrap_or(Id::NULL).into_owned()).or_default() += 1;
                    }
                    Ok(Message::Notification(note)) if note.method == "notifications/cancelled" => {
                        *silenced += i64::from(dialect.cancel == NotificationStyle::Notifications);
                    }
                    _ => {}
                }
            }
            *longest = (*longest).max(*owed - before);
        });
    }

    /// Bytes that the session sent: whole frames of valid messages, and each answer to something asked.
    pub(crate) fn says(&mut self, bytes: &[u8]) {
        let Audit { said, open, answers, silenced, longest, .. } = self;
        let limits = Limits { batch_len: usize::MAX, ..Limits::default() };
        said.read(bytes, false, usize::MAX, |message| {
            let body = message.expect("a session sends no damaged frames");
            let shown = || String::from_utf8_lossy(body);
            // Dialects differ in what they take, not in what they send: everybody takes this.
            let dialect = Dialect { version_required: true, allow_non_json: false, ..LENIENT };
            let entries: Vec<Entry<'_>> = match decode(body, &dialect, &limits) {
                Ok(Incoming::One(entry)) => vec![entry],
                Ok(Incoming::Batch(entries)) => entries,
                Err(error) => panic!("a session sends JSON: {error}: {}", shown()),
            };
            for entry in entries {
                let message = entry.unwrap_or_else(|e| panic!("a session sends messages: {e}: {}", shown()));
                let Message::Response(response) = message else { continue };
                *answers += 1;
                // One error may refuse a whole batch for which there is no room.
                if response.id.is_null()
                    && response.outcome.as_ref().is_err_and(|error| error.code == ErrorCode::OVERLOADED)
                {
                    *silenced += (*longest - 1).max(0);
                }
                if !response.id.is_null() {
                    let count = open.entry(response.id.into_owned()).or_default();
                    *count -= 1;
                    assert!(*count >= 0, "answered twice, or never asked: {}", shown());
                }
            }
        });
    }
}

/// What the start of an oversize message tells, read by serde.
#[derive(Default)]
struct Start {
    id: Option<Id<'static>>,
    /// It has an id and an outcome, and no method before them.
    answers: bool,
}

impl Start {
    fn of(text: &[u8]) -> Start {
        let mut start = Start::default();
        let text = mended(text.trim_ascii_start());
        let entry = text.strip_prefix(b"[").unwrap_or(&text);
        // The error at the end of the text is expected.
        let _ = (&mut start).deserialize(&mut serde_json::Deserializer::from_slice(entry));
        start
    }
}

/// The text without what may be wrong inside of a string. A message that was damaged on its way is still an answer, or a
/// request, as long as its members can be told apart. Outside of strings there stays something wrong.
fn mended(text: &[u8]) -> Vec<u8> {
    let mut escaped = false;
    let mend = |byte: &u8| match byte {
        _ if std::mem::take(&mut escaped) => b'?',
        b'\\' => {
            escaped = true;
            b'?'
        }
        b'\t' | b'\r' | b'\n' => b' ',
        b' '..=b'~' => *byte,
        _ => b'?',
    };
    text.iter().map(mend).collect()
}

impl<'de> DeserializeSeed<'de> for &mut Start {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Start {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let (mut asks, mut outcome) = (false, false);
        while let Some(name) = members.next_key::<String>()? {
            asks |= name == "method";
            outcome |= name == "result" || name == "error";
            let answers = outcome && !asks && self.id.is_some();
            let value: Result<serde_json::Value, _> = members.next_value();
            // A name without a colon is not that of a member.
            let is_member = !value.as_ref().is_err_and(|error| error.to_string().starts_with("expected `:`"));
            self.answers |= answers && is_member;
            let value = value?;
            if name == "id" {
                self.id = RawJson::from_value(&value).ok().and_then(Id::from_json).map(Id::into_owned);
            }
        }
        Ok(())
    }
}

#[test]
fn a_damaged_message_is_known_by_what_can_be_read_of_it() {
    let check = |text: &[u8], id: Option<u64>, answers: bool| {
        let start = Start::of(text);
        let shown = text.escape_ascii();
        assert_eq!((start.id, start.answers), (id.map(Id::from), answers), "{shown}");
    };
    check(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[1", Some(1), true);
    check(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a", Some(1), false);
    // Inside of a string.
    check(b"[{\"jsonr\x9dc\":\"2.0\",\"id\":1,\"result\":[1", Some(1), true);
    check(b"{\"jsonrpc\":\"2\n0\",\"id\":1,\"error\":{", Some(1), true);
    check(b"{\"jsonrpc\":\"2\\0\",\"id\":1,\"method\":\"a", Some(1), false);
    check(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"resul\0\":[1", Some(1), false);
    // Where members cannot be told apart.
    check(b"{\"jsonrpc\":\"2.0\\\",\"id\":1,\"result\":[1", None, false);
    check(b"{\"jsonrpc\":\"2.0\"\x9d\"id\":1,\"result\":[1", None, false);
    check(b"{\"jsonrpc\":\"2.0\",\"id\":\x9d,\"result\":[1", None, false);
    check(b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\" {\"a\":1}", Some(1), false);
}
