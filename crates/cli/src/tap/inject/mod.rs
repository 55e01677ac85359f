//! `--allow-send`: messages of the page between those of the client, on the same connection.
//!
//! What the page sends gets an id of its own, goes out where a message ends, and its answer does not reach the client. Both
//! are recorded. Where messages begin and end has to be known for that, so with `--allow-send` the traffic is read while it
//! is passed on; the bytes of the client and of the server stay as they are.
//!
//! `pipes` does it for the standard streams of a command, `listen::relay` for sockets.

mod pipes;
mod units;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(super) use pipes::Pipes;
use sabir_proto::{Id, Incoming, LENIENT, Limits, Message, RawJson, decode};
use tokio::sync::{mpsc, oneshot};
pub(super) use units::Units;

use super::queue::Channel;
use crate::json::compact;
use crate::view::Sent;

/// Messages of the page that wait to be sent, on each connection.
const WAITING: usize = 16;

/// Answers that may come late.
const LATE: usize = 64;

/// How long an answer is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// What the ids of the page's messages begin with.
const MARK: &str = "sabir-send-";

/// A message of the page, with an id of its own.
pub(super) struct Own {
    pub(super) text: String,
    /// As JSON. A notification has none.
    pub(super) id: Option<String>,
}

/// Messages on their way to a connection.
pub(super) type Injected = mpsc::Receiver<(Own, oneshot::Sender<Answer>)>;

/// The way there.
pub(super) type Injector = mpsc::Sender<(Own, oneshot::Sender<Answer>)>;

pub(super) fn channel() -> (Injector, Injected) {
    mpsc::channel(WAITING)
}

/// The answer to a message, or why there is none. A notification has none.
pub(super) type Answer = Result<Option<String>, String>;

/// The next message of the page.
pub(super) fn own(text: &str) -> Result<Own, String> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let (text, id) = with_own_id(text, NEXT.fetch_add(1, Ordering::Relaxed))?;
    Ok(Own { text, id })
}

/// Sends a message, and gives its answer once it is there.
pub(super) async fn send(injector: Injector, text: String) -> Result<Sent, String> {
    let start = Instant::now();
    let (tell, told) = oneshot::channel();
    injector.try_send((own(&text)?, tell)).map_err(|error| match error {
        mpsc::error::TrySendError::Full(_) => "too many messages wait to be sent".to_owned(),
        mpsc::error::TrySendError::Closed(_) => "the connection is closed".to_owned(),
    })?;
    match tokio::time::timeout(PATIENCE, told).await {
        Ok(Ok(answer)) => Ok(Sent { answer: answer?, took: start.elapsed() }),
        Ok(Err(_)) => Err("the connection was closed before an answer came".to_owned()),
        Err(_) => Err(format!("there was no answer in {} s", PATIENCE.as_secs())),
    }
}

/// Who waits for which answer. One who has lost patience stays for a while: a late answer is not the client's either.
#[derive(Default)]
pub(super) struct Waiting(Mutex<HashMap<String, oneshot::Sender<Answer>>>);

impl Waiting {
    fn state(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<Answer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody waits for an answer.
    fn is_idle(&self) -> bool {
        self.state().values().all(oneshot::Sender::is_closed)
    }

    /// A message of the page as it is to be written now; it waits for its answer from now on. `None` if it cannot be.
    pub(super) fn begin(&self, own: Own, tell: oneshot::Sender<Answer>, units: &Units) -> Option<Vec<u8>> {
        let Some(framed) = units.framed(&own.text) else {
            let why = "how messages are kept apart shows with the client's first one";
            let _ = tell.send(Err(why.to_owned()));
            return None;
        };
        let mut waiting = self.state();
        if waiting.len() >= LATE {
            waiting.retain(|_, tell| !tell.is_closed());
        }
        match own.id {
            Some(id) => drop(waiting.insert(id, tell)),
            None => drop(tell.send(Ok(None))),
        }
        Some(framed)
    }

    /// Whether a message answers one of the page's. Whoever waits for it gets it.
    fn is_answer(&self, body: &[u8]) -> bool {
        if memchr::memmem::find(body, MARK.as_bytes()).is_none() {
            return false;
        }
        let Ok(Incoming::One(Ok(Message::Response(response)))) = decode(body, &LENIENT, &Limits::default())
        else {
            return false;
        };
        // An id that was not sent from here is another's, such as that of a tap before this one.
        let Some(tell) = self.state().remove(&response.id.to_string()) else { return false };
        let _ = tell.send(Ok(Some(String::from_utf8_lossy(body.trim_ascii()).into_owned())));
        true
    }
}

/// What a server says, without the answers to the page.
pub(super) struct Answers {
    units: Units,
    /// Bytes of the current message that were passed on before it was whole.
    passed: usize,
}

impl Answers {
    pub(super) fn new(channel: Channel) -> Self {
        Answers { units: Units::new(channel), passed: 0 }
    }

    /// What to pass on of these bytes, and of those before them.
    pub(super) fn pass(&mut self, bytes: &[u8], waiting: &Waiting) -> Vec<u8> {
        let Answers { units, passed } = self;
        let (mut out, mut left_out) = (Vec::new(), Vec::new());
        units.pass(bytes, |unit, body| {
            // What has begun before the page has asked is not an answer to it.
            if *passed > 0 || !waiting.is_answer(body) {
                out.extend_from_slice(&unit[*passed..]);
            } else {
                left_out.push((out.len(), unit.to_vec()));
            }
            *passed = 0;
        });
        for (at, unit) in left_out.into_iter().rev() {
            out.splice(at..at, self.units.kept_of(&unit));
        }
        if waiting.is_idle() {
            out.extend_from_slice(&self.units.rest()[self.passed..]);
            self.passed = self.units.rest().len();
        }
        out
    }

    /// The end of a stream ends its last message, too.
    pub(super) fn rest(&self) -> &[u8] {
        &self.units.rest()[self.passed..]
    }
}

/// A message with an id that no client has, and that id as JSON. A notification has none.
fn with_own_id(text: &str, number: u64) -> Result<(String, Option<String>), String> {
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
}
