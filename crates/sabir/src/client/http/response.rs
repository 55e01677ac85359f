//! Answers as they come: one body, or a stream of events, within the limits.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use sabir_proto::{
    ByteSize, ErrorObject, Id, Invalid, LENIENT, Limits, Message, Response, Syntax, Undelivered, decode,
};
use tokio::sync::OwnedSemaphorePermit;

use crate::client::http::client::Client;
use crate::client::http::failure::HttpFailure;
use crate::client::http::pool::describe;
use crate::client::http::sse::{Event, Parser};

/// Bytes of an answer for which no room need be asked for.
const SMALL: usize = 64 * 1024;

/// How long the next piece of a large answer may take: while it is not whole, it takes the room of others.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the body of a refusal may take: its status says what matters.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of a refusal that are read, and of its text that are reported.
pub(crate) const REFUSAL: usize = 256 * 1024;
const TOLD: usize = 200;

/// What a body holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Nothing,
    Json,
    Events,
    /// Neither: of this type, and why it is not used, in words.
    Other(Box<str>, String),
}

/// Judges by the headers.
pub(crate) fn content(headers: &HeaderMap, body: &Incoming) -> Content {
    if body.is_end_stream() {
        return Content::Nothing;
    }
    if let Some(encoding) = headers.get(CONTENT_ENCODING).filter(|encoding| *encoding != "identity") {
        let encoding = shown(encoding);
        let why = format!("is compressed ({encoding}), which was not asked for");
        return Content::Other(encoding.into(), why);
    }
    let Some(kind) = headers.get(CONTENT_TYPE) else { return Content::Json };
    let kind = shown(kind);
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "text/event-stream" => Content::Events,
        "application/json" | "application/json-rpc" | "application/jsonrequest" => Content::Json,
        other if other.starts_with("application/") && other.ends_with("+json") => Content::Json,
        _ => {
            let why = format!("is `{essence}`, not JSON");
            Content::Other(essence.into(), why)
        }
    }
}

fn shown(value: &http::HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).chars().take(TOLD).collect()
}

/// Why an answer is not whole.
#[derive(Debug)]
pub(crate) enum Broken {
    /// It is larger than this limit.
    TooLarge(usize),
    /// It broke off, in these words.
    Off(String),
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Broken::TooLarge(limit) => write!(f, "is larger than {}", ByteSize(*limit)),
            Broken::Off(why) => write!(f, "is incomplete: {why}"),
        }
    }
}

/// A whole body, with the room that it takes.
pub(crate) async fn whole(
    client: &Client,
    mut body: Incoming,
    limit: usize,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Broken> {
    if body.size_hint().lower() > limit as u64 {
        return Err(Broken::TooLarge(limit));
    }
    let mut text = Vec::new();
    let mut room = None;
    while let Some(piece) = next_piece(&mut body, room.is_some()).await? {
        if text.len() + piece.len() > limit {
            return Err(Broken::TooLarge(limit));
        }
        if text.is_empty() && body.is_end_stream() {
            return Ok((piece, room));
        }
        if text.len() + piece.len() > SMALL && room.is_none() {
            room = client.room().await;
        }
        text.extend_from_slice(&piece);
    }
    Ok((text.into(), room))
}

async fn next_piece(body: &mut Incoming, hurried: bool) -> Result<Option<Bytes>, Broken> {
    loop {
        let frame = if hurried {
            let next = tokio::time::timeout(CONNECT_TIMEOUT, body.frame()).await;
            next.map_err(|_| Broken::Off(format!("nothing came for {} s", CONNECT_TIMEOUT.as_secs())))?
        } else {
            body.frame().await
        };
        match frame {
            None => return Ok(None),
            Some(Err(error)) => return Err(Broken::Off(cause(&error))),
            // Trailers say nothing to us.
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// Why a body has no more.
fn cause(error: &hyper::Error) -> String {
    let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    match source.map(std::io::Error::kind) {
        Some(std::io::ErrorKind::UnexpectedEof) => "the connection was closed early".to_owned(),
        _ if error.is_incomplete_message() => "the connection was closed early".to_owned(),
        _ => describe(error),
    }
}

/// A stream of events.
pub(crate) struct Events<'c> {
    client: &'c Client,
    body: Incoming,
    pub(crate) parser: Parser,
    room: Option<OwnedSemaphorePermit>,
    /// An event that is over the limit is reported as soon as that is known, not at its end, which may never come.
    early: bool,
}

impl<'c> Events<'c> {
    pub(crate) fn new(client: &'c Client, body: Incoming, early: bool) -> Self {
        Events { client, body, parser: Parser::new(client.limits.message_bytes), room: None, early }
    }

    /// The next event, with the room that it takes; nothing at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<(Event, Option<OwnedSemaphorePermit>)>, Broken> {
        loop {
            let event = self.parser.next();
            if let Some(endpoint) = self.parser.endpoint.take() {
                self.client.set_endpoint(&endpoint);
            }
            if let Some(event) = event {
                return Ok(Some((event, self.room.take())));
            }
            if self.early && self.parser.is_over_limit() {
                return Ok(Some((Event::TooLarge, None)));
            }
            if self.parser.held() <= SMALL {
                self.room = None;
            } else if self.room.is_none() {
                self.room = self.client.room().await;
            }
            match next_piece(&mut self.body, self.room.is_some()).await? {
                Some(piece) => self.parser.feed(&piece),
                None => return Ok(None),
            }
        }
    }
}

/// What a message answers.
#[derive(Default)]
pub(crate) struct Answers {
    /// The ids of the calls.
    pub(crate) ids: Vec<u64>,
    /// An error without an id, if there is nothing but such errors: it refuses what was posted, as a whole.
    pub(crate) refusal: Option<ErrorObject<'static>>,
}

/// Looks at a message: what it answers, or why it is not one.
pub(crate) fn answers(text: &[u8], limits: &Limits) -> Result<Answers, String> {
    let decoded = decode(text, &LENIENT, limits).map_err(|error| match error.reason {
        Syntax::TooDeep => format!("is {error}"),
        _ => format!("is not JSON: {error}"),
    })?;
    let entries = match decoded {
        sabir_proto::Incoming::One(entry) => vec![entry],
        sabir_proto::Incoming::Batch(entries) => entries,
    };
    let mut found = Answers { ids: Vec::new(), refusal: None };
    let single = entries.len() == 1;
    let mut other = false;
    for entry in entries {
        match entry {
            Ok(Message::Response(Response { id, outcome })) => match (number(&id), outcome) {
                (Some(id), _) => found.ids.push(id),
                (None, Err(error)) if id.is_null() => {
                    found.refusal.get_or_insert_with(|| error.into_owned());
                    continue;
                }
                (None, _) => {}
            },
            Ok(_) => {}
            Err(invalid) => match (&invalid.id, single) {
                (Some(id), _) => found.ids.extend(number(id)),
                (None, true) => return Err(format!("is not a JSON-RPC message: {}", fault(&invalid))),
                (None, false) => {}
            },
        }
        other = true;
    }
    found.refusal = found.refusal.filter(|_| !other);
    Ok(found)
}

fn fault(invalid: &Invalid<'_>) -> String {
    cut(&invalid.fault.to_string())
}

/// Old servers send a number back as a string.
fn number(id: &Id<'_>) -> Option<u64> {
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}

fn cut(text: &str) -> String {
    text.chars().take(TOLD).collect()
}

/// A status that is not a success. If the answer to one of the calls is in it, that is returned instead.
pub(crate) async fn refusal(
    client: &Client,
    status: StatusCode,
    headers: &HeaderMap,
    body: Incoming,
    open: &[u64],
) -> Result<(Bytes, Answers), Undelivered> {
    let is_json = content(headers, &body) == Content::Json && headers.contains_key(CONTENT_TYPE);
    let text = refusal_text(client, headers, body).await;
    let failure = HttpFailure { status, headers, body: text.as_deref().unwrap_or_default() };
    if let (Some(on_failure), Some(_)) = (&client.on_failure, &text) {
        on_failure(&failure);
    }
    let undelivered = failure.undelivered(&client.url);
    if let Some(text) = text.filter(|_| is_json && !status.is_redirection())
        && let Ok(answers) = answers(&text, &client.limits)
        && answers.ids.iter().any(|id| open.contains(id))
    {
        return Ok((text, answers));
    }
    Err(undelivered)
}

/// The body of a refusal, if it may say why, and comes in time.
pub(crate) async fn refusal_text(client: &Client, headers: &HeaderMap, body: Incoming) -> Option<Bytes> {
    let is_read = match content(headers, &body) {
        Content::Json | Content::Nothing => true,
        Content::Other(kind, _) => kind.starts_with("text/") || client.on_failure.is_some(),
        Content::Events => client.on_failure.is_some(),
    };
    let read = tokio::time::timeout(REFUSAL_TIMEOUT, whole(client, body, REFUSAL));
    let read = if is_read { read.await.ok()?.ok() } else { None };
    read.map(|(text, _)| text)
}
