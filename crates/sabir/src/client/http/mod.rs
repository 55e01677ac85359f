//! HTTP as a link: each message is posted by itself, and answered in the body or in a stream of events.

mod authorizer;
mod client;
mod failure;
#[cfg(feature = "fuzzing")]
#[allow(missing_docs)]
pub(crate) mod fuzzing;
mod pool;
mod request;
mod response;
pub mod sse;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

pub use authorizer::{Authorized, Authorizer, Verdict};
use bytes::Bytes;
use client::{Client, Deliver, Delivery, EventStream};
pub(crate) use client::{Headers, OnFailure, OnPost, Trace, header};
pub use failure::HttpFailure;
use http::Uri;
use pool::{Pool, RequestError};
use request::{Done, Exchange, Opened};
use response::{Content, content};
use sabir_proto::{Cause, Outgoing, Purpose};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, Id, JoinSet};

use crate::runtime::message_transport::{Incoming, Link};
use crate::transport::endpoint::{Dial, Endpoint, in_time};
use crate::transport::error::{ConnectError, ConnectErrorKind};

/// Messages with calls that are on their way at a time. Each has a connection to itself with HTTP/1.1.
const CALLS: usize = 64;

/// Bytes of calls that wait for their turn.
const WAITING: usize = 8 << 20;

/// Answers and cancels of ours that are on their way at a time. They never wait for calls: what a call waits
/// for may be one of them.
const ANSWERS: usize = 64;

/// Messages that wait for the session.
const UNREAD: usize = CALLS;

/// A server at the other end of HTTP.
pub(crate) struct Http {
    client: Arc<Client>,
    tasks: JoinSet<Done>,
    running: HashMap<Id, Running>,
    calls: usize,
    /// Calls that wait for their turn.
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    notifying: Notifying,
    own_stream: OwnStream,
    /// Subscriptions wait for what comes on it.
    awaits_items: bool,
    /// The call that is sent next subscribes.
    subscribes: bool,
    /// The task of a request to subscribe that may open the session. Until it has ended no other one is sent, or each
    /// would open its own.
    opening: Option<Id>,
    deliver: Deliver,
    inbox: mpsc::Receiver<Delivery>,
    /// Events of the link itself, for the session.
    pending_events: VecDeque<Incoming>,
    closing: Closing,
}

/// Calls that wait for their turn.
struct Waiting {
    ids: Vec<u64>,
    message: Bytes,
    trace: Trace,
    /// It subscribes: where there is a session, the server's own stream is to be open before, or items may be lost.
    subscribes: bool,
}

/// What a task does.
struct Running {
    task: Task,
    abort: AbortHandle,
}

enum Task {
    /// It posts calls, of which these are still wanted.
    Calls(Vec<u64>),
    Notification,
    /// It cancels the calls of another task.
    Cancel(Id),
    Answer,
    Stream,
}

/// The stream on which the server says what belongs to no call.
enum OwnStream {
    /// It was never asked for.
    Unasked,
    /// It is open, or is to be: servers close it now and then.
    Running(Opened),
    /// The server has none. It is asked again only for a subscription.
    Refused,
}

/// A notification is accepted before anything that follows it is sent.
enum Notifying {
    Nothing,
    Underway,
    /// It is through, or lost; the session learns of the loss first.
    Over {
        told: bool,
    },
}

enum Closing {
    No,
    Settling,
    SessionEnd(Pin<Box<dyn Future<Output = ()> + Send>>),
}

impl Http {
    /// Connects to the server.
    pub(crate) async fn open(
        endpoint: Endpoint,
        uri: Uri,
        dial: Dial,
        #[cfg(feature = "tls")] tls: Option<tokio_rustls::TlsConnector>,
    ) -> Result<Http, ConnectError> {
        let url = endpoint.url.clone();
        #[cfg(feature = "tls")]
        let pool = Pool::open(endpoint, uri, tls).await?;
        #[cfg(not(feature = "tls"))]
        let pool = Pool::open(endpoint, uri).await?;
        let event_stream = dial.event_stream.then(EventStream::default);
        let client = Client::new(pool, url, dial, event_stream);
        let (deliver, inbox) = mpsc::channel(UNREAD);
        let mut http = Http {
            client: Arc::new(client),
            tasks: JoinSet::new(),
            running: HashMap::new(),
            calls: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            notifying: Notifying::Nothing,
            own_stream: OwnStream::Unasked,
            awaits_items: false,
            subscribes: false,
            opening: None,
            deliver,
            inbox,
            pending_events: VecDeque::new(),
            closing: Closing::No,
        };
        if http.client.event_stream().is_some() {
            let url = http.client.url.clone();
            in_time(&url, http.open_stream()).await?;
        }
        Ok(http)
    }

    /// Opens the stream on which all answers come, and waits until it says where to post.
    async fn open_stream(&mut self) -> Result<(), ConnectError> {
        let url = self.client.url.clone();
        let failed = |kind, reason: String| ConnectError::new(kind, &url, reason);
        let reply = match self.client.get(None).await {
            Ok(reply) => reply,
            Err(RequestError::Dial(error)) => return Err(error),
            Err(error @ RequestError::Unauthorized(_)) => {
                return Err(failed(ConnectErrorKind::Status(401), error.to_string()));
            }
            Err(error @ RequestError::Broken { .. }) => {
                return Err(failed(ConnectErrorKind::Protocol, error.to_string()));
            }
        };
        let status = reply.0.status();
        if !status.is_success() || content(reply.0.headers(), reply.0.body()) != Content::Events {
            let (head, body) = reply.0.into_parts();
            let body = response::refusal_text(&self.client, &head.headers, body).await.unwrap_or_default();
            let failure = HttpFailure { status, headers: &head.headers, body: &body };
            let reason = failure.instead_of("a stream of events");
            return Err(failed(ConnectErrorKind::Status(status.as_u16()), reason));
        }
        let (client, deliver) = (Arc::clone(&self.client), self.deliver.clone());
        let exchange = Exchange { client: Arc::clone(&client), deliver, open: Vec::new() };
        let abort = self.tasks.spawn(exchange.follow_stream(reply));
        self.running.insert(abort.id(), Running { task: Task::Stream, abort });
        self.own_stream = OwnStream::Running(watch::channel(Some(Ok(()))).1);
        match client.event_stream() {
            Some(stream) => stream.endpoint().await.map_err(|why| failed(ConnectErrorKind::Protocol, why)),
            None => Ok(()),
        }
    }

    /// The headers of what is sent from now on.
    pub(crate) fn headers(&self) -> Arc<Headers> {
        Arc::clone(&self.client.headers)
    }

    fn exchange(&self, open: Vec<u64>) -> Exchange {
        Exchange { client: Arc::clone(&self.client), deliver: self.deliver.clone(), open }
    }

    /// Posts what wants no answer.
    fn start(&mut self, task: Task, message: Bytes) {
        let abort = self.tasks.spawn(self.exchange(Vec::new()).tell(message));
        self.running.insert(abort.id(), Running { task, abort });
    }

    fn start_calls(&mut self, Waiting { ids, message, trace, subscribes }: Waiting) {
        let exchange = self.exchange(ids.clone());
        let abort = match &self.own_stream {
            OwnStream::Running(opened) if subscribes => {
                self.tasks.spawn(exchange.subscribe(message, trace, opened.clone()))
            }
            _ => self.tasks.spawn(exchange.call(message, trace)),
        };
        if subscribes && !self.client.has_session() {
            self.opening = Some(abort.id());
        }
        self.calls += 1;
        self.running.insert(abort.id(), Running { task: Task::Calls(ids), abort });
    }

    /// Asks for the server's own stream.
    fn listen(&mut self) {
        let (tell, opened) = watch::channel(None);
        let abort = self.tasks.spawn(self.exchange(Vec::new()).listen(tell));
        self.running.insert(abort.id(), Running { task: Task::Stream, abort });
        self.own_stream = OwnStream::Running(opened);
    }

    /// Asks for it if subscriptions wait for items. Whether it was not asked for before.
    fn listen_if_awaited(&mut self) -> bool {
        let listens = self.awaits_items
            && matches!(self.closing, Closing::No)
            && !matches!(self.own_stream, OwnStream::Running(_))
            && self.client.has_session();
        if listens {
            self.listen();
        }
        listens
    }

    fn finish(&mut self, id: Id) -> Option<Task> {
        let Running { task, .. } = self.running.remove(&id)?;
        self.opening.take_if(|opening| *opening == id);
        self.calls -= usize::from(matches!(task, Task::Calls(_)));
        Some(task)
    }

    /// Nobody wants to know any more: closing the connection tells the server so.
    fn abort(&mut self, id: Id) {
        if let Some(running) = self.running.get(&id) {
            running.abort.abort();
            self.finish(id);
        }
    }

    /// Handles finished tasks, and starts what has waited for them.
    fn advance(&mut self, cx: &mut Context<'_>) {
        loop {
            match self.tasks.poll_join_next_with_id(cx) {
                Poll::Ready(Some(Ok((id, done)))) => self.ended(id, done),
                Poll::Ready(Some(Err(error))) => self.failed(error.id()),
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        if !matches!(self.closing, Closing::No) {
            return;
        }
        let mut started = self.listen_if_awaited();
        while self.calls < CALLS
            && let Some(next) =
                self.waiting.iter().position(|waiting| self.opening.is_none() || !waiting.subscribes)
            && let Some(waiting) = self.waiting.remove(next)
        {
            self.waiting_bytes -= waiting.message.len();
            self.start_calls(waiting);
            started = true;
        }
        // So that the end of what was started wakes us.
        if started {
            self.advance(cx);
        }
    }

    /// A task panicked, or was aborted; of those that were, none is left in the table.
    fn failed(&mut self, id: Id) {
        if let Some(Running { task: Task::Calls(ids), .. }) = self.running.get_mut(&id) {
            let ids = std::mem::take(ids);
            self.pending_events
                .push_back(Incoming::Undelivered { ids, reason: "the transport failed".into() });
        }
        self.ended(id, Done::default());
    }

    fn ended(&mut self, id: Id, done: Done) {
        let Some(task) = self.finish(id) else { return };
        if let Some(not_delivered) = done.not_delivered {
            self.pending_events.push_back(Incoming::NotDelivered(not_delivered));
        }
        match task {
            Task::Notification => {
                self.notifying = Notifying::Over { told: false };
                // Servers that have sessions have a stream of their own once the session is set up.
                if done.accepted && self.client.has_session() && matches!(self.own_stream, OwnStream::Unasked)
                {
                    self.listen();
                }
            }
            Task::Cancel(call) => {
                // The server knows: nobody waits for what it may still say.
                if let Some(Running { task: Task::Calls(wanted), .. }) = self.running.get(&call)
                    && wanted.is_empty()
                {
                    self.abort(call);
                }
            }
            Task::Stream => {
                if let Some(reason) = done.refused {
                    self.own_stream = OwnStream::Refused;
                    if std::mem::take(&mut self.awaits_items) {
                        self.pending_events.push_back(Incoming::ItemsUndelivered(reason));
                    }
                }
            }
            Task::Calls(_) | Task::Answer => {}
        }
    }

    fn poll_notify(&mut self, cx: &mut Context<'_>, message: &[u8]) -> Poll<io::Result<()>> {
        match &mut self.notifying {
            Notifying::Nothing => {
                self.start(Task::Notification, Bytes::copy_from_slice(message));
                self.notifying = Notifying::Underway;
                self.advance(cx);
                Poll::Pending
            }
            Notifying::Underway => Poll::Pending,
            Notifying::Over { told } if !*told && !self.pending_events.is_empty() => {
                *told = true;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Notifying::Over { .. } => {
                self.notifying = Notifying::Nothing;
                Poll::Ready(Ok(()))
            }
        }
    }

    /// With a session, the server is told. Without one, closing the connection tells it.
    fn cancel(&mut self, call: u64, message: &[u8]) {
        if let Some(at) = self.waiting.iter().position(|waiting| waiting.ids.contains(&call)) {
            self.waiting[at].ids.retain(|id| *id != call);
            if self.waiting[at].ids.is_empty()
                && let Some(dropped) = self.waiting.remove(at)
            {
                self.waiting_bytes -= dropped.message.len();
            }
            return;
        }
        let found = self.running.iter_mut().find_map(|(id, running)| match &mut running.task {
            Task::Calls(wanted) => wanted.contains(&call).then_some((*id, wanted)),
            _ => None,
        });
        let Some((id, wanted)) = found else {
            if self.client.event_stream().is_some() {
                self.start(Task::Answer, Bytes::copy_from_slice(message));
            }
            return;
        };
        wanted.retain(|wanted| *wanted != call);
        let unwanted = wanted.is_empty();
        if self.client.has_session() {
            self.start(Task::Cancel(id), Bytes::copy_from_slice(message));
        } else if unwanted {
            self.abort(id);
        }
    }

    fn others(&self) -> usize {
        self.running.len() - self.calls
    }
}

impl Link for Http {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Incoming> {
        self.advance(cx);
        if let Some(incoming) = self.pending_events.pop_front() {
            return Poll::Ready(incoming);
        }
        match ready!(self.inbox.poll_recv(cx)) {
            Some(delivery) => Poll::Ready(delivery.incoming),
            None => Poll::Pending,
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, outgoing: Outgoing<'_>) -> Poll<io::Result<()>> {
        self.advance(cx);
        let message = outgoing.message;
        if message.is_empty() {
            return Poll::Ready(Ok(()));
        }
        match outgoing.purpose {
            Purpose::Call { first, last } => {
                if !self.waiting.is_empty() && self.waiting_bytes + message.len() > WAITING {
                    return Poll::Pending;
                }
                self.waiting_bytes += message.len();
                let trace = self.client.headers.take_trace(first);
                let (ids, message) = ((first..=last).collect(), Bytes::copy_from_slice(message));
                let subscribes = std::mem::take(&mut self.subscribes);
                self.waiting.push_back(Waiting { ids, message, trace, subscribes });
            }
            Purpose::Notify => return self.poll_notify(cx, message),
            Purpose::Cancel(call) => self.cancel(call, message),
            Purpose::Answer | Purpose::Error(_) if self.others() >= ANSWERS => return Poll::Pending,
            Purpose::Answer | Purpose::Error(_) => self.start(Task::Answer, Bytes::copy_from_slice(message)),
        }
        self.advance(cx);
        Poll::Ready(Ok(()))
    }

    fn opens_streams(&self) -> bool {
        true
    }

    fn set_awaits_items(&mut self, awaits: bool, subscribes: bool) {
        (self.awaits_items, self.subscribes) = (awaits, subscribes);
        self.listen_if_awaited();
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.advance(cx);
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, cause: &Cause) -> Poll<()> {
        if let Closing::No = self.closing {
            self.closing = Closing::Settling;
            let in_order = matches!(cause, Cause::Shutdown | Cause::Ended | Cause::Idle);
            // What was said last, such as a cancel, still goes out; what was asked is of no use any more.
            let asks = |task: &Task| matches!(task, Task::Calls(_) | Task::Stream);
            let unwanted = self.running.iter().filter(|(_, running)| asks(&running.task) || !in_order);
            for id in unwanted.map(|(id, _)| *id).collect::<Vec<_>>() {
                self.abort(id);
            }
            self.waiting.clear();
        }
        if let Closing::Settling = self.closing {
            self.advance(cx);
            if !self.running.is_empty() {
                return Poll::Pending;
            }
            let client = Arc::clone(&self.client);
            self.closing = Closing::SessionEnd(Box::pin(async move {
                if client.owns_session() {
                    let _ = client.delete().await;
                }
            }));
        }
        match &mut self.closing {
            Closing::SessionEnd(ending) => ending.as_mut().poll(cx),
            _ => Poll::Ready(()),
        }
    }
}
