//! `--allow-send`: messages of the page between those of the client, on the same connection.
//!
//! What the page sends gets an id of its own, goes out where a message ends, and its answer does not reach the client. Both
//! are recorded. Where messages begin and end has to be known for that, so with `--allow-send` the traffic is read while it
//! is passed on; the bytes of the client and of the server stay as they are.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::process::ChildStdin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sabir_model::capture::{Direction, Event};
use sabir_proto::{Cut, Deframer, Framing, Id, Incoming, LENIENT, Limits, Message, RawJson, decode};
use tokio::sync::oneshot;

use super::queue::{BUFFER, Channel, Queue, Stream};
use crate::json::compact;
use crate::view::{Sender, Sent};

/// Bytes of a message, and messages of the page that wait for their answer.
const LONGEST: usize = 64 << 20;
const WAITING: usize = 16;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the ids of the page's messages begin with.
const MARK: &str = "sabir-send-";

pub(super) struct Injector {
    queue: Arc<Queue>,
    state: Mutex<State>,
    next: AtomicU64,
}

#[derive(Default)]
struct State {
    stdin: Option<ChildStdin>,
    to_server: Units,
    /// Messages that go out where the next one of the client ends.
    held: Vec<Vec<u8>>,
    waiting: HashMap<String, oneshot::Sender<String>>,
}

/// A stream, cut where messages end.
struct Units {
    deframer: Deframer,
    /// Since the end of the last message.
    bytes: Vec<u8>,
    /// How much of that the deframer is done with.
    read: usize,
}

impl Default for Units {
    fn default() -> Self {
        Units { deframer: Deframer::new(None, LONGEST), bytes: Vec::new(), read: 0 }
    }
}

impl Units {
    /// Hands out each message with all of its bytes.
    fn pass(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8], &[u8])) {
        self.bytes.extend_from_slice(bytes);
        loop {
            let (used, body) = match self.deframer.cut(&self.bytes[self.read..]) {
                Cut::Message { body, used } => (used, body),
                Cut::Fault { used, .. } => (used, &b""[..]),
                Cut::More { used, .. } => {
                    self.read += used;
                    return;
                }
            };
            let end = self.read + used;
            each(&self.bytes[..end], body);
            self.bytes.drain(..end);
            self.read = 0;
        }
    }

    /// Whether the last message has ended.
    fn is_between(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }
}

impl Injector {
    pub(super) fn new(queue: Arc<Queue>) -> Arc<Self> {
        Arc::new(Injector { queue, state: Mutex::default(), next: AtomicU64::new(1) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes on what the client says, and in between what the page does.
    pub(super) fn carry_in(&self, mut from: impl Read, stdin: ChildStdin, stream: Stream) {
        self.state().stdin = Some(stdin);
        let mut buffer = vec![0; BUFFER];
        while let Some(count) = read(&mut from, &mut buffer) {
            let mut state = self.state();
            let written = state.write(&buffer[..count]);
            self.queue.push_copy(stream, &buffer[..count]);
            if written.is_err() {
                self.queue.event(stream.connection, Event::Mark, "the command no longer reads");
                break;
            }
            state.to_server.pass(&buffer[..count], |_, _| {});
            if state.to_server.is_between() {
                for message in std::mem::take(&mut state.held) {
                    let _ = state.write(&message);
                    self.queue.push_copy(stream, &message);
                }
            }
        }
        self.state().stdin = None;
        self.queue.end(stream);
    }

    /// Passes on what the server says, but for the answers to the page.
    pub(super) fn carry_out(&self, mut from: impl Read, mut to: impl Write, stream: Stream) {
        let mut buffer = vec![0; BUFFER];
        let mut units = Units::default();
        // Bytes of the current message that were passed on before it was whole.
        let mut passed = 0;
        while let Some(count) = read(&mut from, &mut buffer) {
            let mut out = Vec::new();
            units.pass(&buffer[..count], |unit, body| {
                // What has begun before the page has asked is not an answer to it.
                if passed > 0 || !self.is_answer(body) {
                    out.extend_from_slice(&unit[passed..]);
                }
                passed = 0;
            });
            if self.state().waiting.is_empty() {
                out.extend_from_slice(&units.bytes[passed..]);
                passed = units.bytes.len();
            }
            let written = to.write_all(&out);
            self.queue.push_copy(stream, &buffer[..count]);
            if written.is_err() {
                self.queue.event(stream.connection, Event::Mark, "the client no longer reads");
                break;
            }
        }
        // The end of a stream ends its last message, too.
        let _ = to.write_all(units.bytes.get(passed..).unwrap_or_default());
        self.queue.end(stream);
    }

    /// Whether a message answers one of the page's. Whoever waits for it gets it.
    fn is_answer(&self, body: &[u8]) -> bool {
        let mut state = self.state();
        if memchr::memmem::find(body, MARK.as_bytes()).is_none() {
            return false;
        }
        let Ok(Incoming::One(Ok(Message::Response(response)))) = decode(body, &LENIENT, &Limits::default())
        else {
            return false;
        };
        let id = response.id.to_string();
        let is_ours = id.strip_prefix('"').is_some_and(|id| id.starts_with(MARK));
        if let Some(waits) = state.waiting.remove(&id) {
            let _ = waits.send(String::from_utf8_lossy(body.trim_ascii()).into_owned());
        }
        is_ours
    }

    /// Sends a message, and gives its answer once it is there.
    async fn send(self: Arc<Self>, text: String, stream: Stream) -> Result<Sent, String> {
        let start = Instant::now();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (message, id) = with_own_id(&text, number)?;
        let (tell, told) = oneshot::channel();
        {
            let mut state = self.state();
            let framed = match state.to_server.deframer.framing() {
                _ if state.stdin.is_none() => {
                    return Err("the command has ended, or its input has".to_owned());
                }
                None => {
                    return Err("how messages are kept apart shows with the client's first one".to_owned());
                }
                Some(Framing::Headers) => {
                    [format!("Content-Length: {}\r\n\r\n", message.len()).as_bytes(), message.as_bytes()]
                        .concat()
                }
                Some(_) => format!("{message}\n").into_bytes(),
            };
            if state.waiting.len() >= WAITING || state.held.len() >= WAITING {
                return Err("too many messages wait for their answers".to_owned());
            }
            if let Some(id) = &id {
                state.waiting.insert(id.clone(), tell);
            }
            if state.to_server.is_between() {
                state.write(&framed).map_err(|error| format!("the command does not read: {error}"))?;
                self.queue.push_copy(stream, &framed);
            } else {
                state.held.push(framed);
            }
        }
        let Some(id) = id else { return Ok(Sent { answer: None, took: start.elapsed() }) };
        match tokio::time::timeout(PATIENCE, told).await {
            Ok(Ok(answer)) => Ok(Sent { answer: Some(answer), took: start.elapsed() }),
            _ => {
                self.state().waiting.remove(&id);
                Err(format!("there was no answer in {} s", PATIENCE.as_secs()))
            }
        }
    }

    /// For the page.
    pub(super) fn sender(self: &Arc<Self>, connection: u64) -> Sender {
        let injector = self.clone();
        let (direction, channel) = (Direction::ToServer, Channel::Stream);
        let stream = Stream { connection, direction, channel, exchange: 0 };
        Arc::new(move |_, text| Box::pin(injector.clone().send(text, stream)))
    }
}

impl State {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(bytes)
    }
}

/// How many bytes there are now; `None` at the end.
fn read(from: &mut impl Read, buffer: &mut [u8]) -> Option<usize> {
    loop {
        match from.read(buffer) {
            Ok(0) => return None,
            Ok(count) => return Some(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// A message with an id that no client has, and that id as JSON. A notification has none.
pub(super) fn with_own_id(text: &str, number: u64) -> Result<(String, Option<String>), String> {
    let message = match decode(text.as_bytes(), &LENIENT, &Limits::default()) {
        Ok(Incoming::One(Ok(message))) => message,
        Ok(Incoming::One(Err(invalid))) => return Err(invalid.to_string()),
        Ok(Incoming::Batch(_)) => return Err("a batch cannot be sent from here".to_owned()),
        Err(error) => return Err(format!("this is not JSON: {error}")),
    };
    let with_params = |params: Option<RawJson<'_>>| {
        params.map_or(String::new(), |params| format!(r#","params":{}"#, compact(params.as_str())))
    };
    let name = |method: &str| serde_json::Value::from(method).to_string();
    match message {
        Message::Request(request) => {
            let id = Id::from(&*format!("{MARK}{number}")).to_string();
            let (method, params) = (name(&request.method), with_params(request.params));
            Ok((format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}{params}}}"#), Some(id)))
        }
        Message::Notification(note) => {
            let (method, params) = (name(&note.method), with_params(note.params));
            Ok((format!(r#"{{"jsonrpc":"2.0","method":{method}{params}}}"#), None))
        }
        Message::Response(_) => Err("an answer cannot be sent from here".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_get_an_id_of_their_own() {
        for (text, want) in [
            (
                "{\"jsonrpc\":\"2.0\",\"id\":1,\n \"method\":\"a\",\"params\":[1.0, 2]}",
                Ok(r#"{"jsonrpc":"2.0","id":"sabir-send-7","method":"a","params":[1.0,2]}"#),
            ),
            (r#"{"jsonrpc":"2.0","method":"a"}"#, Ok(r#"{"jsonrpc":"2.0","method":"a"}"#)),
            (r#"{"jsonrpc":"2.0","id":1,"result":1}"#, Err("an answer cannot be sent from here")),
            (r#"[{"jsonrpc":"2.0","method":"a"}]"#, Err("a batch cannot be sent from here")),
        ] {
            let made = with_own_id(text, 7).map(|(made, _)| made);
            assert_eq!(made.as_deref().map_err(String::as_str), want, "{text}");
        }
    }

    #[test]
    fn units_end_where_messages_do() {
        for (text, want) in [
            ("{\"a\":1}\n{\"b\":2}\n", vec!["{\"a\":1}", "{\"b\":2}"]),
            ("Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]", vec!["{}", "[1]"]),
        ] {
            for step in [1, 5, 100] {
                let mut units = Units::default();
                let (mut bodies, mut all) = (Vec::new(), Vec::new());
                for part in text.as_bytes().chunks(step) {
                    units.pass(part, |unit, body| {
                        all.extend_from_slice(unit);
                        bodies.push(String::from_utf8_lossy(body).into_owned());
                    });
                    assert_eq!(
                        units.is_between(),
                        all.len() + units.bytes.len() == all.len(),
                        "{text} {step}"
                    );
                }
                assert_eq!(
                    (bodies, all),
                    (want.iter().map(|&body| body.to_owned()).collect(), text.as_bytes().to_vec())
                );
            }
        }
    }
}
