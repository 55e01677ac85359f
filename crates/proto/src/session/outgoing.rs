//! Calling the peer.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::calls::Call;
use super::event::{CallKey, Purpose, RequestKey};
use super::meta::{self, TraceContext};
use super::{Core, Phase, Session};
use crate::dialect::NotificationStyle;
use crate::json::raw::RawJson;
use crate::message::encode;
use crate::time::Time;

/// How a call is made.
#[derive(Debug, Clone, Default)]
pub struct CallOptions<'a> {
    /// Ends the call with [`TimedOut`](super::CallError::TimedOut) and cancels it.
    pub timeout: Option<Duration>,
    /// Each progress notification starts the timeout anew.
    pub reset_on_progress: bool,
    /// The most that the call may take, whatever progress it makes.
    pub total_timeout: Option<Duration>,
    /// Asks for progress. The token goes into the params, which therefore must be an object, or absent: the
    /// call is [`SendError::Progress`] otherwise.
    pub progress: bool,
    /// The trace that the call belongs to. It goes along if the params are an object.
    pub trace: Option<TraceContext<'a>>,
    /// The call passes on that of another peer, whose params they are. Nothing is added to them: a token of ours takes
    /// the place of a `_meta.progressToken`, which has this call's progress delivered, and `trace` takes the place of a
    /// trace. `progress` has no effect.
    pub relay: bool,
}

/// How a call is cancelled.
#[derive(Debug, Clone, Copy, Default)]
pub struct CancelOptions<'a> {
    /// The cancel message to use instead of the dialect's.
    pub style: Option<NotificationStyle>,
    /// Why, where the style has a place for it.
    pub reason: Option<&'a str>,
}

/// Why something was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The connection has ended, or is about to.
    Closed,
    /// Too many calls wait for an answer.
    TooManyCalls,
    /// Too much is unsent: the peer does not read.
    Congested,
    /// The params cannot be written as JSON.
    Params(String),
    /// Progress was asked for, and it cannot be: the params are not an object, or the call was sent
    /// before.
    Progress,
    /// It was part of a batch, or of something else, that was dropped before it was sent.
    Unsent,
    /// It was awaited before its batch was sent.
    BatchNotSent,
    /// The dialect has no batches.
    NoBatches,
    /// The transport has no way back for the answer.
    OneWay,
    /// The caller runs where the answer would have to be read, and would wait for ever.
    OwnThread,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Closed => f.write_str("the connection is closed"),
            SendError::TooManyCalls => f.write_str("too many calls wait for an answer"),
            SendError::Congested => f.write_str("the peer does not read what was sent"),
            SendError::Params(reason) => write!(f, "params cannot be written as JSON: {reason}"),
            SendError::Progress => f.write_str(
                "progress can be asked for only before the call is sent, with params by name or none at all",
            ),
            SendError::Unsent => f.write_str("it was dropped before it was sent"),
            SendError::BatchNotSent => {
                f.write_str("its batch has not been sent: call `send` before awaiting it")
            }
            SendError::OneWay => f.write_str("this transport cannot deliver an answer"),
            SendError::NoBatches => f.write_str("batches are not part of this protocol"),
            SendError::OwnThread => {
                f.write_str("a handler on the connection's own thread cannot wait for an answer")
            }
        }
    }
}

impl std::error::Error for SendError {}

/// Appends params, which may turn out to be `null`: none at all.
pub(super) type WriteParams<'w> = &'w mut dyn FnMut(&mut Vec<u8>) -> Result<(), SendError>;

impl Purpose {
    pub(super) fn of(call: &CallKey) -> Self {
        Purpose::Call { first: call.id(), last: call.id() }
    }
}

fn notify((): &()) -> Purpose {
    Purpose::Notify
}

fn serialized<T: Serialize + ?Sized>(params: &T) -> impl FnMut(&mut Vec<u8>) -> Result<(), SendError> + '_ {
    move |out| serde_json::to_writer(out, params).map_err(|error| SendError::Params(error.to_string()))
}

pub(super) fn verbatim<'p>(
    params: Option<&'p RawJson<'_>>,
) -> impl FnMut(&mut Vec<u8>) -> Result<(), SendError> + 'p {
    move |out| {
        out.extend_from_slice(params.map_or("null", RawJson::as_str).as_bytes());
        Ok(())
    }
}

impl Session {
    /// Calls a method of the peer. Params are an array, an object, or `&()` for none; any other value is
    /// sent as the only argument. The call ends with one [`Event::Reply`](super::Event::Reply).
    ///
    /// Its timeouts count from `now`.
    pub fn call<T: Serialize + ?Sized>(
        &mut self,
        now: Time,
        method: &str,
        params: &T,
        options: &CallOptions<'_>,
    ) -> Result<CallKey, SendError> {
        self.core.act(now);
        self.core
            .send(Purpose::of, |core, out| core.write_call(out, method, &mut serialized(params), options))
    }

    /// Calls a method with params that are JSON already.
    pub fn call_raw(
        &mut self,
        now: Time,
        method: &str,
        params: Option<&RawJson<'_>>,
        options: &CallOptions<'_>,
    ) -> Result<CallKey, SendError> {
        self.core.act(now);
        self.core.send(Purpose::of, |core, out| core.write_call(out, method, &mut verbatim(params), options))
    }

    /// Sends a notification. Params are an array, an object, or `&()` for none.
    pub fn notify<T: Serialize + ?Sized>(
        &mut self,
        now: Time,
        method: &str,
        params: &T,
    ) -> Result<(), SendError> {
        self.core.act(now);
        self.core.send(notify, |core, out| core.write_notification(out, method, &mut serialized(params)))
    }

    /// Sends a notification with params that are JSON already.
    pub fn notify_raw(
        &mut self,
        now: Time,
        method: &str,
        params: Option<&RawJson<'_>>,
    ) -> Result<(), SendError> {
        self.core.act(now);
        self.core.send(notify, |core, out| core.write_notification(out, method, &mut verbatim(params)))
    }

    /// Ends a call and tells the peer. No event follows; a late answer is ignored. Whether the call was
    /// still open.
    pub fn cancel(&mut self, now: Time, call: CallKey) -> bool {
        self.cancel_with(now, call, &CancelOptions::default())
    }

    /// The same, in the words of whoever gave up.
    pub fn cancel_with(&mut self, now: Time, call: CallKey, options: &CancelOptions<'_>) -> bool {
        self.core.act(now);
        match self.core.calls.remove(call) {
            Some(ended) => {
                self.core.send_cancel(call, &ended, options);
                true
            }
            None => false,
        }
    }

    /// The style in which the peer has cancelled a request that is still open.
    pub fn cancelled_as(&self, key: RequestKey) -> Option<NotificationStyle> {
        self.core.requests.get(key)?.cancelled
    }

    /// Sets when an open call gives up, from `now` on: its timeout, its total, and whether progress starts it
    /// anew. The other options cannot change once a call is sent. Whether the call was still open.
    pub fn set_timeout(&mut self, now: Time, call: CallKey, options: &CallOptions<'_>) -> bool {
        self.core.act(now);
        let latest = options.total_timeout.map(|total| now + total);
        let Some(deadline) = options.timeout.map(|timeout| now + timeout).or(latest) else {
            return self.core.calls.find(call.id()).is_some();
        };
        let extension = options.timeout.filter(|_| options.reset_on_progress);
        self.core.calls.expire(call, deadline, extension, latest)
    }

    /// Begins a batch of calls and notifications, which go out together when it is sent. Timeouts of its
    /// calls count from `now`.
    pub fn batch(&mut self, now: Time) -> Result<Batch<'_>, SendError> {
        self.core.act(now);
        self.core.check_open()?;
        if !self.core.dialect.batches {
            return Err(SendError::NoBatches);
        }
        Ok(Batch { core: &mut self.core, text: Vec::new(), calls: Vec::new() })
    }
}

/// Calls and notifications that go out together. Dropped without being sent, none of it has happened.
#[derive(Debug)]
pub struct Batch<'s> {
    core: &'s mut Core,
    text: Vec<u8>,
    calls: Vec<CallKey>,
}

impl Batch<'_> {
    /// Adds a call. See [`Session::call`].
    pub fn call<T: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &T,
        options: &CallOptions<'_>,
    ) -> Result<CallKey, SendError> {
        self.add_call(method, &mut serialized(params), options)
    }

    /// Adds a call with params that are JSON already.
    pub fn call_raw(
        &mut self,
        method: &str,
        params: Option<&RawJson<'_>>,
        options: &CallOptions<'_>,
    ) -> Result<CallKey, SendError> {
        self.add_call(method, &mut verbatim(params), options)
    }

    /// Adds a notification. See [`Session::notify`].
    pub fn notify<T: Serialize + ?Sized>(&mut self, method: &str, params: &T) -> Result<(), SendError> {
        self.add(|core, out| core.write_notification(out, method, &mut serialized(params)))
    }

    /// Adds a notification with params that are JSON already.
    pub fn notify_raw(&mut self, method: &str, params: Option<&RawJson<'_>>) -> Result<(), SendError> {
        self.add(|core, out| core.write_notification(out, method, &mut verbatim(params)))
    }

    /// Sends it. An empty batch is nothing and sends nothing.
    pub fn send(mut self) -> Result<(), SendError> {
        if self.text.is_empty() {
            return Ok(());
        }
        self.text.push(b']');
        let text = std::mem::take(&mut self.text);
        let purpose = match (self.calls.first(), self.calls.last()) {
            (Some(first), Some(last)) => Purpose::Call { first: first.id(), last: last.id() },
            _ => Purpose::Notify,
        };
        self.core.send(
            |()| purpose,
            |_, out| {
                out.extend_from_slice(&text);
                Ok(())
            },
        )?;
        self.core.calls.batched(&self.calls);
        self.calls.clear();
        Ok(())
    }

    fn add_call(
        &mut self,
        method: &str,
        params: WriteParams<'_>,
        options: &CallOptions<'_>,
    ) -> Result<CallKey, SendError> {
        let call = self.add(|core, out| core.write_call(out, method, params, options))?;
        self.calls.push(call);
        Ok(call)
    }

    fn add<R>(
        &mut self,
        write: impl FnOnce(&mut Core, &mut Vec<u8>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let before = self.text.len();
        self.text.push(if before == 0 { b'[' } else { b',' });
        write(self.core, &mut self.text).inspect_err(|_| self.text.truncate(before))
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        for call in self.calls.drain(..) {
            self.core.calls.remove(call);
        }
    }
}

impl Core {
    pub(super) fn check_open(&self) -> Result<(), SendError> {
        match self.phase {
            Phase::Open | Phase::Draining(_) if !self.eof => Ok(()),
            _ => Err(SendError::Closed),
        }
    }

    /// Sends one frame that `write` appends, or nothing if that fails. It belongs to whatever was
    /// [related](Session::relate) to.
    pub(super) fn send<R>(
        &mut self,
        purpose: impl FnOnce(&R) -> Purpose,
        write: impl FnOnce(&mut Core, &mut Vec<u8>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        self.check_open_for_sending()?;
        let mark = self.outbox.begin();
        // Lent out, so that writing may use the rest of `self`.
        let mut buffer = std::mem::take(self.outbox.buffer());
        let written = write(self, &mut buffer);
        *self.outbox.buffer() = buffer;
        match &written {
            Ok(what) => self.outbox.end(mark, purpose(what)),
            Err(_) => self.outbox.cancel(mark),
        }
        written
    }

    /// A notification may still follow the peer's end, for as long as its requests are being answered.
    fn check_open_for_sending(&self) -> Result<(), SendError> {
        if matches!(self.phase, Phase::Closed(_)) {
            return Err(SendError::Closed);
        }
        if self.is_outbound_full() {
            return Err(SendError::Congested);
        }
        Ok(())
    }

    pub(super) fn write_call(
        &mut self,
        out: &mut Vec<u8>,
        method: &str,
        params: WriteParams<'_>,
        options: &CallOptions<'_>,
    ) -> Result<CallKey, SendError> {
        self.check_open()?;
        if self.one_way {
            return Err(SendError::OneWay);
        }
        if self.calls.len() >= self.limits.calls {
            return Err(SendError::TooManyCalls);
        }
        let id = self.calls.next_id();
        encode::call_head(out, Some(id), method);
        let progress = if options.relay {
            let start = out.len();
            write_params(out, params, None, None)?;
            meta::relay(out, start, id, options.trace.as_ref())
        } else {
            let token = options.progress.then_some((self.dialect.progress, id));
            write_params(out, params, token, options.trace.as_ref())?
        };
        out.push(b'}');
        let cancellable = self.dialect.can_be_cancelled(method);
        let mut call = Call::new(progress, cancellable, self.outbox.origin());
        let latest = options.total_timeout.map(|total| self.now + total);
        if let Some(deadline) = options.timeout.map(|timeout| self.now + timeout).or(latest) {
            call = call.expires(deadline, options.timeout.filter(|_| options.reset_on_progress), latest);
        }
        Ok(self.calls.insert(call))
    }

    fn write_notification(
        &mut self,
        out: &mut Vec<u8>,
        method: &str,
        params: WriteParams<'_>,
    ) -> Result<(), SendError> {
        self.notified = true;
        encode::call_head(out, None, method);
        write_params(out, params, None, None)?;
        out.push(b'}');
        Ok(())
    }

    /// Tells the peer that nobody waits for a call any more.
    pub(super) fn send_cancel(&mut self, call: CallKey, ended: &Call, options: &CancelOptions<'_>) {
        #[derive(Serialize)]
        struct Dollar {
            id: u64,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Notifications<'a> {
            request_id: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            reason: Option<&'a str>,
        }
        if !ended.cancellable {
            return;
        }
        let id = call.id();
        self.outbox.set_origin(ended.origin);
        // A peer that reads nothing will not read this either: nothing is lost if it is not sent.
        let cancel = |_: &()| Purpose::Cancel(id);
        let _ = self.send(cancel, |core, out| match options.style.unwrap_or(core.dialect.cancel) {
            NotificationStyle::Dollar => {
                core.write_notification(out, "$/cancelRequest", &mut serialized(&Dollar { id }))
            }
            NotificationStyle::Notifications => {
                let params = Notifications { request_id: id, reason: options.reason };
                core.write_notification(out, "notifications/cancelled", &mut serialized(&params))
            }
        });
    }
}

/// Appends `,"params":…` or nothing. Returns whether the progress token is in it.
fn write_params(
    out: &mut Vec<u8>,
    params: WriteParams<'_>,
    token: Option<(NotificationStyle, u64)>,
    trace: Option<&TraceContext<'_>>,
) -> Result<bool, SendError> {
    let before = out.len();
    out.extend_from_slice(b",\"params\":");
    let start = out.len();
    params(out)?;
    match out.get(start) {
        Some(b'{') => {}
        Some(b'[') if token.is_some() => return Err(SendError::Progress),
        Some(b'[') => return Ok(false),
        Some(b'n') if token.is_some() => {
            out.truncate(start);
            out.extend_from_slice(b"{}");
        }
        Some(b'n') => {
            out.truncate(before);
            return Ok(false);
        }
        // Params must be structured: a single value goes as the only argument.
        _ if token.is_some() => return Err(SendError::Progress),
        _ => {
            out.insert(start, b'[');
            out.push(b']');
            return Ok(false);
        }
    }
    if token.is_none() && trace.is_none() {
        return Ok(false);
    }
    meta::insert(out, start, token, trace).ok_or(SendError::Progress)
}
