//! Answering the peer's requests.

use serde::Serialize;

use super::event::{Purpose, RequestKey};
use super::{Core, Session};
use crate::dialect::NotificationStyle;
use crate::json::cursor::Cursor;
use crate::json::raw::RawJson;
use crate::message::encode;
use crate::message::error::{ErrorCode, ErrorObject};
use crate::time::Time;

/// Ids up to this length count as nothing.
const SMALL_ID: usize = 64;

impl Session {
    /// Answers a request with a result. Whether there was still one to answer.
    ///
    /// A value that cannot be written as JSON is answered `-32603`, and one that finds no room
    /// [`ANSWER_TOO_LARGE`](ErrorCode::ANSWER_TOO_LARGE): [`take_replaced`](Self::take_replaced) tells.
    pub fn reply<T: Serialize + ?Sized>(&mut self, now: Time, key: RequestKey, result: &T) -> bool {
        self.core.act(now);
        self.core.answer(key, |out, id| encode::result_value(out, id, result).map(|()| None))
    }

    /// Answers a request with a result that is JSON already. It goes out as it is, but for line breaks
    /// between its tokens where messages are lines.
    pub fn reply_raw(&mut self, now: Time, key: RequestKey, result: &RawJson<'_>) -> bool {
        self.core.act(now);
        self.core.answer(key, |out, id| {
            encode::result(out, id, result);
            Ok(None)
        })
    }

    /// Answers a request with an error.
    pub fn reply_error(&mut self, now: Time, key: RequestKey, error: &ErrorObject<'_>) -> bool {
        self.core.act(now);
        self.core.answer_error(key, error)
    }

    /// The code of the error that went out in place of the last answer, if that was the answer to this request, and
    /// could not be sent.
    pub fn take_replaced(&mut self, key: RequestKey) -> Option<ErrorCode> {
        self.core.replaced.take_if(|(replaced, _)| *replaced == key).map(|(_, code)| code)
    }

    /// Gives a request up without a result: its handler was stopped. The peer gets the answer that it is
    /// owed: `-32800` after `$/cancelRequest`, none after `notifications/cancelled`, `-32603` if it did not
    /// cancel.
    pub fn abandon(&mut self, now: Time, key: RequestKey) -> bool {
        self.core.act(now);
        self.core.answer_nothing(key)
    }

    /// The handler of the last [`Event::Notification`](super::Event::Notification) has finished: the next
    /// one may start.
    pub fn finish_notification(&mut self, now: Time) {
        self.core.act(now);
        self.core.barrier = false;
    }

    /// Tells the caller of a request how far it is. `value` is a number or an object with `progress`,
    /// `total` and `message` for a `_meta.progressToken`; anything for a `workDoneToken`. Whether the
    /// caller asked for progress, and there is room to tell.
    pub fn progress<T: Serialize + ?Sized>(&mut self, now: Time, key: RequestKey, value: &T) -> bool {
        self.core.act(now);
        self.core.send_progress(key, value)
    }
}

impl Session {
    /// Passes on the progress of a call that [relays](super::CallOptions::relay) this request: the params of a
    /// `notifications/progress`, in which the caller's own token takes the place of ours. Whether the caller waits for it, and there
    /// is room.
    pub fn relay_progress(&mut self, now: Time, key: RequestKey, params: &RawJson<'_>) -> bool {
        self.core.act(now);
        self.core.relay_progress(key, params.as_str())
    }
}

impl Core {
    /// Ends a request with the answer that `write` appends. It returns the code if that is an error.
    fn answer(
        &mut self,
        key: RequestKey,
        write: impl FnOnce(&mut Vec<u8>, &str) -> Result<Option<ErrorCode>, serde_json::Error>,
    ) -> bool {
        let Some(slot) = self.requests.get(key) else { return false };
        let (batch, origin) = (slot.batch, slot.origin);
        self.outbox.set_origin(origin);
        if slot.cancelled != Some(NotificationStyle::Notifications) {
            let id = slot.id();
            let room =
                self.limits.outbound_bytes.saturating_sub(self.outbox.pending() + self.gathering.bytes());
            let limit = self.limits.outbound_bytes;
            let replaced = &mut self.replaced;
            let write = |out: &mut Vec<u8>| {
                let start = out.len();
                let mut code = write(out, id).unwrap_or_else(|error| {
                    encode::error(out, id, &unwritable(&error));
                    *replaced = Some((key, ErrorCode::INTERNAL_ERROR));
                    Some(ErrorCode::INTERNAL_ERROR)
                });
                let length = out.len() - start;
                if length > room {
                    out.truncate(start);
                    // A refusal stays one, only without its reason: who reads it knows that nothing was done.
                    let shorter = code.filter(|code| *code == ErrorCode::OVERLOADED);
                    let shorter = shorter.unwrap_or(ErrorCode::ANSWER_TOO_LARGE);
                    encode::error(out, id, &ErrorObject::standard(shorter));
                    code = Some(shorter);
                    *replaced = Some((key, shorter));
                }
                // It would find room alone: what comes behind it may not.
                (code, length > room && length <= limit)
            };
            match batch {
                Some(batch) => {
                    if self.gathering.add(batch, write).1 {
                        self.gathering.overflow(batch);
                    }
                }
                None => self.outbox.frame(|out| write(out).0),
            }
        }
        self.requests.remove(key);
        match batch {
            Some(batch) => self.settle(batch),
            None => self.outbox.settle(origin),
        }
        true
    }

    pub(super) fn answer_nothing(&mut self, key: RequestKey) -> bool {
        let cancelled = self.requests.get(key).and_then(|slot| slot.cancelled);
        let code = match cancelled {
            Some(_) => ErrorCode::REQUEST_CANCELLED,
            None => ErrorCode::INTERNAL_ERROR,
        };
        self.answer_error(key, &ErrorObject::standard(code))
    }

    pub(super) fn answer_error(&mut self, key: RequestKey, error: &ErrorObject<'_>) -> bool {
        self.answer(key, |out, id| {
            encode::error(out, id, error);
            Ok(Some(error.code))
        })
    }

    /// An error for something that is not in the table.
    ///
    /// Such errors are small and need no room, but for the id: one that finds none is left out.
    pub(super) fn send_error(&mut self, id: &str, error: &ErrorObject<'_>, batch: Option<u32>) {
        let load = self.outbox.load() + self.gathering.bytes();
        let id =
            if id.len() > SMALL_ID && load + id.len() > self.limits.outbound_bytes { "null" } else { id };
        match batch {
            Some(batch) => self.gathering.add(batch, |out| encode::error(out, id, error)),
            None => {
                self.outbox.set_origin(self.incoming);
                self.outbox.frame(|out| {
                    encode::error(out, id, error);
                    Some(error.code)
                });
            }
        }
    }

    /// Answers with a result that is JSON.
    pub(super) fn answer_with(&mut self, key: RequestKey, result: &str) -> bool {
        self.answer(key, |out, id| {
            encode::result(out, id, &RawJson::trusted(result));
            Ok(None)
        })
    }

    /// One entry of a batch is done with; the last one sends the answers.
    pub(super) fn settle(&mut self, batch: u32) {
        let outbox = &mut self.outbox;
        let mut sent = false;
        self.gathering.settle(batch, |origin, answers| {
            sent = true;
            outbox.set_origin(origin);
            if !answers.is_empty() {
                outbox.frame_of(answers);
            }
            outbox.settle(origin);
        });
        if sent && let Some(tables) = &mut self.subscriptions {
            tables.sinks.batch_sent(batch);
        }
    }

    fn send_progress<T: Serialize + ?Sized>(&mut self, key: RequestKey, value: &T) -> bool {
        let Some(slot) = self.requests.get(key) else { return false };
        let Some((style, token)) = slot.token().filter(|_| slot.cancelled.is_none()) else { return false };
        let (head, middle): (&str, &str) = match style {
            NotificationStyle::Dollar => ("\"$/progress\",\"params\":{\"token\":", ",\"value\":"),
            NotificationStyle::Notifications => {
                ("\"notifications/progress\",\"params\":{\"progressToken\":", ",")
            }
        };
        self.outbox.set_origin(slot.origin);
        let mark = self.outbox.begin();
        let out = self.outbox.buffer();
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":");
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(token.as_bytes());
        out.extend_from_slice(middle.as_bytes());
        let start = out.len();
        let written = serde_json::to_writer(&mut *out, value).is_ok();
        let fits = match (style, out.get(start)) {
            (NotificationStyle::Dollar, _) => {
                out.push(b'}');
                true
            }
            // The members of the value stand beside the token.
            (NotificationStyle::Notifications, Some(b'{')) => {
                out.remove(start);
                if out.get(start) == Some(&b'}') {
                    out.remove(start - 1);
                }
                true
            }
            (NotificationStyle::Notifications, Some(b'-' | b'0'..=b'9')) => {
                out.splice(start..start, *b"\"progress\":");
                out.push(b'}');
                true
            }
            _ => false,
        };
        out.push(b'}');
        let room = self.outbox.pending() + self.gathering.bytes() <= self.limits.outbound_bytes;
        if !(written && fits && room) {
            self.outbox.cancel(mark);
            return false;
        }
        self.outbox.end(mark, Purpose::Notify);
        self.notified = true;
        true
    }
}

impl Core {
    fn relay_progress(&mut self, key: RequestKey, params: &str) -> bool {
        let Some(slot) = self.requests.get(key).filter(|slot| slot.cancelled.is_none()) else { return false };
        let Some((NotificationStyle::Notifications, token)) = slot.token() else { return false };
        let Some(ours) = Cursor::trusted(params).member("progressToken") else { return false };
        let at = ours.as_ptr() as usize - params.as_ptr() as usize;
        if self.outbox.load() + self.gathering.bytes() + params.len() + token.len()
            > self.limits.outbound_bytes
        {
            return false;
        }
        self.outbox.set_origin(slot.origin);
        let mark = self.outbox.begin();
        let out = self.outbox.buffer();
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":");
        for part in [&params[..at], token, &params[at + ours.len()..], "}"] {
            out.extend_from_slice(part.as_bytes());
        }
        self.outbox.end(mark, Purpose::Notify);
        self.notified = true;
        true
    }
}

/// A result that serde could not write.
fn unwritable(error: &serde_json::Error) -> ErrorObject<'static> {
    ErrorObject::because(ErrorCode::INTERNAL_ERROR, error)
}
