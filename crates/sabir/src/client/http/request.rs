//! One message to the server, and what comes back for it; and the stream that the server has for itself.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use hyper::body::Body as _;
use sabir_proto::{DeliveryFailure, Origin, Undelivered};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{sleep, timeout};

use crate::client::http::client::{Client, Deliver, Delivery, Trace};
use crate::client::http::failure::HttpFailure;
use crate::client::http::pool::{Reply, RequestError};
use crate::client::http::response::{
    Answers, Broken, Content, Events, REFUSAL, answers, content, refusal, refusal_text, whole,
};
use crate::client::http::sse::Event;
use crate::runtime::message_transport::Incoming;

/// How long a server may take to accept what wants no answer.
const ACCEPTING: Duration = Duration::from_secs(30);

/// How long to wait before a stream is opened again, unless the server says.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest that is waited after failure upon failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How often in a row a stream is asked for again that gives nothing.
const ATTEMPTS: u32 = 5;

/// How long a stream may go on once everything in it is answered.
const ENDING: Duration = Duration::from_millis(250);

/// How long a request to subscribe waits for the server's own stream. Some servers answer the request for it only once
/// they have something to say.
const OPENING: Duration = Duration::from_secs(2);

/// Whether the server's own stream is open, once that is known.
pub(crate) type Opened = watch::Receiver<Option<Result<(), Undelivered>>>;

/// What came of a message.
#[derive(Default)]
pub(crate) struct Done {
    /// The server has taken what wanted no answer.
    pub(crate) accepted: bool,
    /// It was lost, and nobody waits for it.
    pub(crate) not_delivered: Option<Undelivered>,
    /// The server has no stream of its own.
    pub(crate) refused: Option<Undelivered>,
}

/// One message, until everything is answered that it asks.
pub(crate) struct Exchange {
    pub(crate) client: Arc<Client>,
    pub(crate) deliver: Deliver,
    /// The calls in it that wait for an answer.
    pub(crate) open: Vec<u64>,
}

impl Exchange {
    /// Posts calls, and delivers what comes.
    pub(crate) async fn call(mut self, message: Bytes, trace: Trace) -> Done {
        let undelivered = match self.client.post(message, trace).await {
            Ok(reply) => match self.unless_streamed(reply) {
                Some(reply) => self.take(reply).await.err(),
                // The answer comes on the stream.
                None => return Done::default(),
            },
            Err(error) => Some(error.into()),
        };
        let undelivered = undelivered.unwrap_or_else(|| {
            self.says(DeliveryFailure::NoResponse, "does not contain a response to this call")
        });
        self.give_up(undelivered).await;
        Done::default()
    }

    /// Posts a request to subscribe, once items can come. If they cannot, the server does not get it.
    pub(crate) async fn subscribe(mut self, message: Bytes, trace: Trace, mut opened: Opened) -> Done {
        let opened = match timeout(OPENING, opened.wait_for(Option::is_some)).await {
            Ok(Ok(opened)) => opened.clone(),
            _ => None,
        };
        if let Some(Err(reason)) = opened {
            self.give_up(reason).await;
            return Done::default();
        }
        self.call(message, trace).await
    }

    /// `None` if the server has taken what was posted, and all that it says comes on one stream: the body of the reply
    /// is not a message, but often the word `Accepted`.
    fn unless_streamed(&self, reply: Reply) -> Option<Reply> {
        let (response, _) = &reply;
        if !response.status().is_success() || self.client.event_stream().is_none() {
            return Some(reply);
        }
        if response.body().is_end_stream() {
            let (_, lease) = reply;
            self.client.pool.give_back(lease);
        }
        None
    }

    /// Posts what wants no answer.
    pub(crate) async fn tell(mut self, message: Bytes) -> Done {
        let posting = async {
            let reply = self.client.post(message, Trace::new()).await?;
            match self.unless_streamed(reply) {
                Some(reply) => self.take(reply).await,
                None => Ok(()),
            }
        };
        match timeout(ACCEPTING, posting).await {
            Ok(Ok(())) => Done { accepted: true, ..Done::default() },
            Ok(Err(not_delivered)) => Done { not_delivered: Some(not_delivered), ..Done::default() },
            Err(_) => {
                let why = format!("did not come within {} s", ACCEPTING.as_secs());
                let not_delivered = self.says(DeliveryFailure::Other, &why);
                Done { not_delivered: Some(not_delivered), ..Done::default() }
            }
        }
    }

    /// Listens to what the server says by itself, for as long as it has a stream for that.
    pub(crate) async fn listen(mut self, tell: watch::Sender<Option<Result<(), Undelivered>>>) -> Done {
        let mut cursor = Cursor::default();
        let mut failures = 0;
        loop {
            let before = cursor.events;
            match self.client.get(cursor.id.as_deref()).await {
                Ok(reply) if is_stream(&reply) => {
                    tell.send_replace(Some(Ok(())));
                    drop(self.follow(reply, &mut cursor).await);
                }
                Ok((response, _)) if response.status() == StatusCode::NOT_FOUND => {
                    self.lose_session().await;
                    return Done::default();
                }
                Ok(reply) if is_refused(reply.0.status()) => {
                    let reason = self.no_stream(reply).await;
                    tell.send_replace(Some(Err(reason.clone())));
                    return Done { refused: Some(reason), ..Done::default() };
                }
                Ok(_) | Err(_) => {}
            }
            failures = if cursor.events > before { 0 } else { failures + 1 };
            sleep(cursor.pause(failures)).await;
        }
    }

    /// Why the server has no stream of its own.
    async fn no_stream(&self, (response, _): Reply) -> Undelivered {
        let (head, body) = response.into_parts();
        let body = refusal_text(&self.client, &head.headers, body).await.unwrap_or_default();
        let failure = HttpFailure { status: head.status, headers: &head.headers, body: &body };
        let what = failure.instead_of("the stream of events on which items come");
        let reason = format!("{} answers with {what}", self.client.url);
        Undelivered {
            status: Some(head.status.as_u16()),
            ..Undelivered::new(DeliveryFailure::Refused, reason)
        }
    }

    /// Follows the stream on which all answers come. Its end is that of the connection.
    pub(crate) async fn follow_stream(mut self, reply: Reply) -> Done {
        let _ = self.follow(reply, &mut Cursor::default()).await;
        if let Some(stream) = self.client.event_stream() {
            stream.end();
        }
        let incoming = Incoming::Lost("the server has ended its stream of events".into());
        let _ = self.deliver.send(Delivery { incoming, _room: None }).await;
        Done::default()
    }

    /// Delivers an answer. Calls that are open afterwards have none.
    async fn take(&mut self, reply: Reply) -> Result<(), Undelivered> {
        let (response, lease) = reply;
        let (head, body) = response.into_parts();
        if head.status == StatusCode::NOT_FOUND && self.client.has_session() {
            self.lose_session().await;
            return Err(lost_session());
        }
        if !head.status.is_success() {
            let (text, found) = refusal(&self.client, head.status, &head.headers, body, &self.open).await?;
            self.client.pool.give_back(lease);
            self.deliver(text, found, None).await;
            return Ok(());
        }
        match content(&head.headers, &body) {
            Content::Nothing => {
                self.client.pool.give_back(lease);
                match self.open.is_empty() {
                    true => Ok(()),
                    false => Err(self.says(DeliveryFailure::Empty, "is empty")),
                }
            }
            // Whatever a server has to say to what wants no answer, it has taken it. A stream in its place may
            // never end.
            Content::Other(..) | Content::Events if self.open.is_empty() => Ok(()),
            Content::Other(kind, what) => {
                if self.client.on_failure.is_some()
                    && let Ok((body, _)) = whole(&self.client, body, REFUSAL).await
                {
                    self.on_failure(&head, &body);
                }
                Err(self.says(DeliveryFailure::ContentType(kind), &what))
            }
            Content::Json => {
                let limit = self.client.limits.message_bytes;
                let read = whole(&self.client, body, limit).await;
                let (text, room) = read.map_err(|broken| self.broken(&broken))?;
                self.client.pool.give_back(lease);
                if text.is_empty() && self.open.is_empty() {
                    return Ok(());
                }
                let found = answers(&text, &self.client.limits).map_err(|reason| {
                    self.on_failure(&head, &text[..text.len().min(REFUSAL)]);
                    self.says(DeliveryFailure::NotAMessage, &reason)
                })?;
                self.deliver(text, found, room).await;
                Ok(())
            }
            Content::Events => self.resume((http::Response::from_parts(head, body), lease)).await,
        }
    }

    /// Follows a stream until everything is answered, also where that takes several connections.
    async fn resume(&mut self, reply: Reply) -> Result<(), Undelivered> {
        let mut cursor = Cursor::default();
        let mut why = match self.follow(reply, &mut cursor).await {
            Err(Broken::TooLarge(limit)) => return Err(self.broken(&Broken::TooLarge(limit))),
            followed => followed.err().map(|broken| broken.to_string()),
        };
        let mut failures = 0;
        while !self.open.is_empty() {
            let reason = why.take().unwrap_or_else(|| "ended without the answer".to_owned());
            if cursor.id.is_none() || failures == ATTEMPTS {
                return Err(self.says(DeliveryFailure::Incomplete, &reason));
            }
            failures += 1;
            sleep(cursor.pause(failures)).await;
            let before = cursor.events;
            match self.client.get(cursor.id.as_deref()).await {
                Ok(reply) if reply.0.status().is_success() => {
                    why = match content(reply.0.headers(), reply.0.body()) {
                        Content::Events => match self.follow(reply, &mut cursor).await {
                            Err(Broken::TooLarge(limit)) => return Err(self.broken(&Broken::TooLarge(limit))),
                            followed => followed.err().map(|broken| broken.to_string()),
                        },
                        _ => {
                            let reason = format!("{reason}, and cannot be resumed");
                            return Err(self.says(DeliveryFailure::Incomplete, &reason));
                        }
                    };
                }
                Ok((response, _))
                    if response.status() == StatusCode::NOT_FOUND && self.client.has_session() =>
                {
                    self.lose_session().await;
                    return Err(lost_session());
                }
                Ok((response, _)) if response.status().is_client_error() => {
                    let status = response.status();
                    let reason = format!("{reason}, and cannot be resumed (HTTP {})", status.as_str());
                    let undelivered = self.says(DeliveryFailure::Refused, &reason);
                    return Err(Undelivered { status: Some(status.as_u16()), ..undelivered });
                }
                Ok(_) => why = Some(reason),
                Err(error) => why = Some(error.to_string()),
            }
            if cursor.events > before {
                failures = 0;
            }
        }
        Ok(())
    }

    /// Delivers the events of one connection, until it ends or, after a moment, everything is answered.
    async fn follow(&mut self, reply: Reply, cursor: &mut Cursor) -> Result<(), Broken> {
        let (response, lease) = reply;
        let client = Arc::clone(&self.client);
        let asked = !self.open.is_empty();
        let mut events = Events::new(&client, response.into_body(), asked);
        loop {
            let next = if asked && self.open.is_empty() {
                match timeout(ENDING, events.next()).await {
                    Ok(next) => next,
                    Err(_) => return Ok(()),
                }
            } else {
                events.next().await
            };
            cursor.keep(&events);
            match next? {
                None => {
                    client.pool.give_back(lease);
                    return Ok(());
                }
                Some((Event::Data(text), room)) => {
                    let found = answers(&text, &client.limits).unwrap_or_default();
                    self.deliver(text.into(), found, room).await;
                }
                Some((Event::TooLarge, _)) if asked => {
                    return Err(Broken::TooLarge(client.limits.message_bytes));
                }
                Some((Event::TooLarge, _)) => {}
            }
            cursor.events += 1;
        }
    }

    /// An answer belongs to what was posted, also if it is an error without an id.
    async fn deliver(&mut self, text: Bytes, found: Answers, room: Option<OwnedSemaphorePermit>) {
        self.open.retain(|open| !found.ids.contains(open));
        let incoming = match found.refusal {
            Some(error) => Incoming::Refused { text, ids: std::mem::take(&mut self.open), error },
            None => Incoming::Message { text, origin: Origin::NONE, caller: None },
        };
        let _ = self.deliver.send(Delivery { incoming, _room: room }).await;
    }

    /// The calls that are still open will not be answered any more.
    async fn give_up(&mut self, reason: Undelivered) {
        if !self.open.is_empty() {
            let incoming = Incoming::Undelivered { ids: std::mem::take(&mut self.open), reason };
            let _ = self.deliver.send(Delivery { incoming, _room: None }).await;
        }
    }

    async fn lose_session(&self) {
        if self.client.forget_session() {
            let incoming = Incoming::Lost(LOST_SESSION.into());
            let _ = self.deliver.send(Delivery { incoming, _room: None }).await;
        }
    }

    fn broken(&self, broken: &Broken) -> Undelivered {
        let (too_large, failure) = match broken {
            Broken::TooLarge(limit) => (Some(*limit), DeliveryFailure::TooLarge),
            Broken::Off(_) => (None, DeliveryFailure::Incomplete),
        };
        Undelivered { too_large, ..self.says(failure, &broken.to_string()) }
    }

    fn says(&self, failure: DeliveryFailure, what: &str) -> Undelivered {
        Undelivered::new(failure, format!("the answer from {} {what}", self.client.url))
    }

    /// Shows an answer that cannot be used to whoever asked for that.
    fn on_failure(&self, head: &http::response::Parts, body: &[u8]) {
        if let Some(on_failure) = &self.client.on_failure {
            on_failure(&HttpFailure { status: head.status, headers: &head.headers, body });
        }
    }
}

fn is_stream((response, _): &Reply) -> bool {
    response.status().is_success() && content(response.headers(), response.body()) == Content::Events
}

/// Whether a server that answers so to a request for its own stream has none, now and later.
fn is_refused(status: StatusCode) -> bool {
    let passes = matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
    let is_none = status.is_success() || status.is_client_error() || status == StatusCode::NOT_IMPLEMENTED;
    is_none && !passes
}

fn lost_session() -> Undelivered {
    Undelivered { status: Some(404), ..Undelivered::new(DeliveryFailure::SessionEnded, LOST_SESSION) }
}

const LOST_SESSION: &str = "the server has ended the session, or forgotten it: connect again";

impl From<RequestError> for Undelivered {
    fn from(error: RequestError) -> Self {
        let reason = error.to_string();
        match error {
            RequestError::Dial(_) => Undelivered::new(DeliveryFailure::Connect, reason),
            RequestError::Unauthorized(_) => {
                Undelivered { status: Some(401), ..Undelivered::new(DeliveryFailure::Refused, reason) }
            }
            RequestError::Broken { failure, .. } => Undelivered::new(failure, reason),
        }
    }
}

/// How far a stream was read, over all its connections.
#[derive(Default)]
struct Cursor {
    id: Option<String>,
    retry: Option<Duration>,
    events: u64,
}

impl Cursor {
    fn keep(&mut self, events: &Events<'_>) {
        if let Some(id) = &events.parser.id
            && self.id.as_ref() != Some(id)
        {
            self.id = Some(id.clone());
            self.events += 1;
        }
        self.retry = events.parser.retry.or(self.retry);
    }

    /// What the server asks for, or longer and longer.
    fn pause(&self, failures: u32) -> Duration {
        let pause = self.retry.unwrap_or(PAUSE);
        match failures {
            0 | 1 => pause,
            more => pause.max((pause * 2u32.saturating_pow(more.min(8) - 1)).min(LONGEST_PAUSE)),
        }
    }
}
