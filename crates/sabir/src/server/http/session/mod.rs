//! Sessions of Streamable HTTP: one engine each, that many requests share.

mod hub;
mod link;
mod state;
mod store;
mod stream;

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use sabir_proto::{Incoming, Message, decode};
use tokio::time::Sleep;

use crate::ErrorCode;
use crate::runtime::caller::HttpCaller;
use crate::server::budget::{self, MemoryBudget, Reservation};
use crate::server::http::body::Body;
use crate::server::http::config::{SessionOpener, Sessions};
use crate::server::http::content::Accepts;
use crate::server::http::pending;
use crate::server::http::response::{self, Refusal};
use crate::server::http::service::Inner;
use crate::server::http::sse::{self, EventId, KeepAlive};
use hub::Hub;
use store::Session;
pub(crate) use store::Table;
use stream::{First, Reader};

const SESSION_ID: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const LAST_EVENT_ID: &str = "last-event-id";

/// Whether a request stands for itself although there are sessions.
pub(crate) fn is_stateless(sessions: &Sessions, parts: &Parts) -> bool {
    version(parts).is_some_and(|version| sessions.stateless.contains(&version))
}

/// Whether a POST names a session, or may open one that is optional: its client takes streams.
pub(crate) fn concerns(parts: &Parts) -> bool {
    parts.headers.contains_key(SESSION_ID) || Accepts::of(&parts.headers).takes_events()
}

fn version(parts: &Parts) -> Option<&str> {
    parts.headers.get(VERSION)?.to_str().ok()
}

/// A header that comes once. Somebody in front of us may have gone by the other one.
fn single<'a>(parts: &'a Parts, name: &str) -> Result<Option<&'a HeaderValue>, Refusal> {
    let mut values = parts.headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(Refusal::REPEATED_HEADER),
        (value, None) => Ok(value),
    }
}

fn check_version(sessions: &Sessions, parts: &Parts) -> Result<(), Refusal> {
    let known = match single(parts, VERSION)? {
        Some(value) if !sessions.versions.is_empty() => {
            sessions.versions.iter().any(|known| value.as_bytes() == known.as_bytes())
        }
        _ => true,
    };
    if known { Ok(()) } else { Err(Refusal::VERSION) }
}

/// The session that a request names, which must be the caller's own.
fn find(inner: &Inner, sessions: &Sessions, caller: &HttpCaller) -> Result<Arc<Session>, Refusal> {
    let id = single(caller.parts(), SESSION_ID)?.ok_or(Refusal::NO_SESSION)?;
    let session = inner.sessions.get(id.as_bytes()).ok_or(Refusal::UNKNOWN_SESSION)?;
    let same = match (&session.owner, &caller.identity, &inner.http.auth) {
        (Some(owner), Some(identity), Some(auth)) => (auth.same)(&**owner, &**identity),
        (owner, identity, _) => owner.is_none() && identity.is_none(),
    };
    if !same {
        return Err(Refusal::UNKNOWN_SESSION);
    }
    check_version(sessions, caller.parts())?;
    Ok(session)
}

/// A message for a session, or one that opens it.
pub(crate) async fn post(
    inner: &Arc<Inner>,
    sessions: &Sessions,
    (message, reservation): (Bytes, Reservation),
    caller: HttpCaller,
    accepts: Accepts,
) -> Result<Response<Body>, Refusal> {
    if caller.parts().headers.contains_key(SESSION_ID) {
        let session = find(inner, sessions, &caller)?;
        let message = budget::attach(message, reservation);
        return pass_on(inner, sessions, &session.hub, message, caller, accepts).await;
    }
    let opens = match decode(&message, &inner.config.dialect, &inner.config.limits) {
        Ok(Incoming::One(Ok(Message::Request(request)))) => match sessions.opened_by {
            SessionOpener::Method(method) => request.method == method,
            SessionOpener::Subscribing => accepts.takes_events() && inner.routes.subscribes(&request.method),
        },
        Ok(Incoming::One(Ok(_)) | Incoming::Batch(_)) => false,
        // The engine says best what is wrong with it.
        _ => return Ok(pending::answer(inner, (message, reservation), caller, accepts).await),
    };
    if !opens {
        // Where requests may stand for themselves, their handler says best what this one lacks.
        return match sessions.are_optional() {
            false => Err(Refusal::NO_SESSION),
            true => Ok(pending::answer(inner, (message, reservation), caller, accepts).await),
        };
    }
    check_version(sessions, caller.parts())?;
    let session = Table::open(inner, sessions, &caller)?;
    let message = budget::attach(message, reservation);
    let answered = pass_on(inner, sessions, &session.hub, message, caller, accepts).await;
    // A client whose opening request failed has no session either.
    match answered {
        Ok(mut response) if !session.hub.has_failed() => {
            response.headers_mut().insert(SESSION_ID, session.id.clone());
            Ok(response)
        }
        other => {
            inner.sessions.end(&session);
            other
        }
    }
}

/// Hands a message to the session, and waits for the first thing that comes back.
async fn pass_on(
    inner: &Arc<Inner>,
    sessions: &Sessions,
    hub: &Arc<Hub>,
    message: Bytes,
    caller: HttpCaller,
    accepts: Accepts,
) -> Result<Response<Body>, Refusal> {
    let budget = inner.budget_of(caller.parts());
    let primed = is_primed(sessions, caller.parts());
    let room = inner.config.limits.message_bytes;
    poll_fn(|cx| hub.poll_room(cx, message.len(), room)).await;
    let (reader, caller) = Hub::post(hub, message, caller, accepts, primed)?;
    let mut keep_alive_timer: Option<KeepAlive> = None;
    let every = inner.http.keep_alive_every();
    let first = poll_fn(|cx| {
        if let Poll::Ready(first) = reader.poll_first(cx) {
            return Poll::Ready(first);
        }
        let keep_alive_timer = keep_alive_timer.get_or_insert_with(|| KeepAlive::new(every));
        if accepts.takes_events() && keep_alive_timer.poll(cx).is_ready() {
            reader.begin_stream();
            return Poll::Ready(First::Events);
        }
        Poll::Pending
    })
    .await;
    Ok(match first {
        First::Nothing if hub.is_closed() => return Err(Refusal::UNKNOWN_SESSION),
        First::Nothing => response::empty(inner.http.accepted(), HeaderMap::new()),
        First::Json(message, code) => {
            let (message, code) = match budget::reserve_bytes(&budget, message) {
                Some(message) => (message, code),
                None => (response::OVERLOADED, Some(ErrorCode::OVERLOADED)),
            };
            let status = code.map_or(StatusCode::OK, |code| inner.http.status_of(caller.parts(), code));
            response::json(status, message)
        }
        First::Events => stream(inner, sessions, reader, primed, budget, None),
    })
}

fn is_primed(sessions: &Sessions, parts: &Parts) -> bool {
    version(parts).is_some_and(|version| version >= sessions.primed_from)
}

fn stream(
    inner: &Inner,
    sessions: &Sessions,
    reader: Reader,
    primed: bool,
    budget: Arc<MemoryBudget>,
    until: Option<Instant>,
) -> Response<Body> {
    let priming = primed.then(|| sse::priming(reader.last_id(), sessions.retry));
    let every = inner.http.keep_alive_every();
    response::events(Body::session(Events {
        priming,
        reader,
        keep_alive_timer: KeepAlive::new(every),
        budget,
        end: until.map(|until| Box::pin(tokio::time::sleep_until(until.into()))),
    }))
}

/// The stream of the server's own messages, or one that was broken off.
pub(crate) fn get(
    inner: &Inner,
    sessions: &Sessions,
    caller: &HttpCaller,
) -> Result<Response<Body>, Refusal> {
    if !Accepts::of(&caller.parts().headers).takes_events() {
        return Err(Refusal::ACCEPT_EVENTS);
    }
    let session = find(inner, sessions, caller)?;
    let reader = match single(caller.parts(), LAST_EVENT_ID)? {
        Some(id) => {
            let id = id.to_str().ok().and_then(EventId::parse).ok_or(Refusal::UNKNOWN_EVENT)?;
            Hub::resume(&session.hub, id)?
        }
        None => Hub::listen(&session.hub)?,
    };
    let budget = inner.budget_of(caller.parts());
    let until = inner.http.until.as_ref().and_then(|until| until(caller.identity.as_deref()?));
    Ok(stream(inner, sessions, reader, is_primed(sessions, caller.parts()), budget, until))
}

/// Ends the session.
pub(crate) fn delete(
    inner: &Inner,
    sessions: &Sessions,
    caller: &HttpCaller,
) -> Result<Response<Body>, Refusal> {
    let session = find(inner, sessions, caller)?;
    inner.sessions.end(&session);
    Ok(response::empty(StatusCode::OK, HeaderMap::new()))
}

/// A stream of a session, as it is sent.
pub(crate) struct Events {
    priming: Option<Bytes>,
    reader: Reader,
    keep_alive_timer: KeepAlive,
    /// What the connection may hold.
    budget: Arc<MemoryBudget>,
    /// When its caller's credentials are no longer good.
    end: Option<Pin<Box<Sleep>>>,
}

impl Events {
    pub(crate) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.end.as_mut().is_some_and(|end| end.as_mut().poll(cx).is_ready()) {
            return Poll::Ready(None);
        }
        if let Some(priming) = self.priming.take() {
            return Poll::Ready(Some(priming));
        }
        if let Poll::Ready(event) = self.reader.poll_event(cx, &self.budget) {
            return Poll::Ready(event.map(|(id, message, reservation)| {
                budget::attach(sse::event(Some(id), &message), reservation)
            }));
        }
        self.keep_alive_timer.poll(cx).map(|()| Some(sse::COMMENT))
    }
}

/// An id that nobody can guess: 128 bits of the system's randomness.
fn new_id() -> Result<HeaderValue, Refusal> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| Refusal::too_many_sessions())?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&text).map_err(|_| Refusal::too_many_sessions())
}
