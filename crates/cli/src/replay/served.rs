//! The server's side of a replay: whatever the library can serve, one client at a time or several.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sabir::{CallError, Ctx, ErrorObject, Peer, RawJson, Router, Stopper};
use sabir_proto::{Cursor, Id, JsonStr};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::link::Event;
use crate::exit::Failure;
use crate::print::Printer;
use crate::recorded::{PartKind, split};
use crate::serve::{Place, ServeOptions, listening};

/// What may wait to be looked at.
const QUEUE: usize = 1024;

/// How long the end may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(4);

type Answer = Result<RawJson<'static>, ErrorObject>;

/// A server that asks a replay for its answers.
pub(super) struct Served {
    events: mpsc::Receiver<Event>,
    tell: mpsc::Sender<Event>,
    clients: Arc<Mutex<Clients>>,
    task: JoinHandle<()>,
    stopper: Option<Stopper>,
}

/// Who has asked what.
#[derive(Default)]
struct Clients {
    count: u64,
    open: BTreeMap<u64, (oneshot::Sender<Answer>, Peer)>,
    last: Option<Peer>,
}

impl Served {
    pub(super) async fn start(options: ServeOptions, printer: &Printer) -> Result<Self, Failure> {
        let (tell, events) = mpsc::channel(QUEUE);
        let clients = Arc::<Mutex<Clients>>::default();
        let (shared, told) = (clients.clone(), tell.clone());
        let router = Router::new().fallback(move |ctx, method, params| {
            let (shared, told) = (shared.clone(), told.clone());
            async move { handle(ctx, &method, params, &shared, &told).await }
        });
        let ended = tell.clone();
        let (task, stopper) = match listening(router, options, printer).await? {
            Place::Stdio(serving) => {
                let task = tokio::spawn(async move {
                    let why = serving.await.err().map(|error| error.to_string());
                    let _ = ended.send(Event::Ended { connection: None, why }).await;
                });
                (task, None)
            }
            Place::Listening(server) => {
                let stopper = server.stopper();
                let task = tokio::spawn(async move {
                    let why = server.run().await.err().map(|error| error.to_string());
                    let _ = ended.send(Event::Ended { connection: None, why }).await;
                });
                (task, Some(stopper))
            }
        };
        Ok(Served { events, tell, clients, task, stopper })
    }

    /// Sends a message of the recording: an answer to whom has asked, or something that the server says by itself.
    pub(super) async fn send(&mut self, connection: u64, text: &str) {
        for part in split(text) {
            let one = &text[part.range.clone()];
            let method = part.method.as_deref().unwrap_or_default().to_owned();
            let params = member(one, "params");
            match (part.kind, part.id) {
                (PartKind::Result | PartKind::Error, Some(id)) => self.answer(&id, one),
                (PartKind::Notification, _) => {
                    if let Some(peer) = self.peer() {
                        let sent = peer.notify_raw(method, params);
                        let _ = tokio::time::timeout(CLOSE_TIMEOUT, sent).await;
                    }
                }
                (PartKind::Request, Some(id)) => {
                    if let Some(peer) = self.peer() {
                        let tell = self.tell.clone();
                        tokio::spawn(async move {
                            let text = response(&id, peer.call_raw(method, params).await);
                            let connection = Some(connection);
                            let _ = tell.send(Event::Message { connection, text }).await;
                        });
                    }
                }
                // The library sends nothing that is not a message.
                _ => {}
            }
        }
    }

    pub(super) async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    pub(super) async fn close(self) {
        if let Some(stopper) = &self.stopper {
            stopper.stop();
        }
        drop(self.events);
        let mut task = self.task;
        if tokio::time::timeout(CLOSE_TIMEOUT, &mut task).await.is_err() {
            task.abort();
        }
    }

    fn answer(&self, id: &Id<'_>, text: &str) {
        let open = id.as_u64().and_then(|id| lock(&self.clients).open.remove(&id));
        let Some((reply, _)) = open else { return };
        let answer = match member(text, "result") {
            Some(result) => Ok(result),
            None => Err(error_of(text)),
        };
        let _ = reply.send(answer);
    }

    /// Whom to tell something: whoever asked last and waits, or else whoever asked last.
    fn peer(&self) -> Option<Peer> {
        let clients = lock(&self.clients);
        clients.open.values().next_back().map(|(_, peer)| peer.clone()).or_else(|| clients.last.clone())
    }
}

fn lock(clients: &Mutex<Clients>) -> std::sync::MutexGuard<'_, Clients> {
    clients.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets a call whose caller has gone or cancelled it.
struct Open<'a>(&'a Mutex<Clients>, u64);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        lock(self.0).open.remove(&self.1);
    }
}

async fn handle(
    ctx: Ctx,
    method: &str,
    params: Option<RawJson<'static>>,
    clients: &Mutex<Clients>,
    tell: &mpsc::Sender<Event>,
) -> Answer {
    let ended = || ErrorObject::new(-32603, "the replay has ended");
    let mut text = format!(r#"{{"jsonrpc":"2.0","method":{}"#, serde_json::Value::from(method));
    if let Some(params) = &params {
        text.push_str(&format!(r#","params":{}"#, params.as_str()));
    }
    let connection = None;
    if !ctx.is_request() {
        lock(clients).last = Some(ctx.peer().clone());
        text.push('}');
        let _ = tell.send(Event::Message { connection, text }).await;
        return RawJson::from_value(&()).map_err(|_| ended());
    }
    let (reply, answer) = oneshot::channel();
    let id = {
        let mut clients = lock(clients);
        clients.count += 1;
        let id = clients.count;
        clients.last = Some(ctx.peer().clone());
        clients.open.insert(id, (reply, ctx.peer().clone()));
        id
    };
    let _open = Open(clients, id);
    text.push_str(&format!(r#","id":{id}}}"#));
    tell.send(Event::Message { connection, text }).await.map_err(|_| ended())?;
    answer.await.unwrap_or_else(|_| Err(ended()))
}

/// A part of a message that is valid JSON.
fn member(text: &str, name: &str) -> Option<RawJson<'static>> {
    RawJson::new(Cursor::trusted(text).member(name)?.to_owned()).ok()
}

/// The error of a recorded answer, whatever that is.
pub(crate) fn error_of(text: &str) -> ErrorObject {
    let error = member(text, "error");
    let part = |name: &str| error.as_ref().and_then(|error| Some(error.get(name)?.into_owned()));
    let code = part("code").and_then(|code| code.parse::<i64>().ok()).unwrap_or(-32603);
    let message = part("message")
        .and_then(|message| JsonStr::trusted(message.as_str())?.value().map(|text| text.into_owned()))
        .unwrap_or_default();
    match part("data") {
        Some(data) => ErrorObject::new(code, message).with_data(data),
        None => ErrorObject::new(code, message),
    }
}

/// What a client has answered, as a message.
fn response(id: &Id<'_>, answer: Result<RawJson<'static>, CallError>) -> String {
    match answer {
        Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, result.as_str()),
        Err(CallError::Error(error)) => {
            let error = serde_json::to_string(&error).unwrap_or_else(|_| "{}".to_owned());
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
        }
        Err(error) => {
            let error = json!({"code": -32603, "message": error.to_string()});
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
        }
    }
}
