//! Input and output of a session on a transport that delimits messages, such as WebSocket or HTTP.

use super::event::{CallError, Event, Origin, Outgoing, RequestKey, Undelivered};
use super::report::Report;
use super::{Session, WholeMessage};
use crate::frame::message_start;
use crate::message::error::ErrorObject;
use crate::time::Time;

impl Session {
    /// One whole message came, on a transport that delimits messages.
    ///
    /// # Panics
    /// If the session was not made with [`Framing::Whole`](crate::Framing::Whole).
    pub fn handle_message(&mut self, now: Time, message: &[u8]) {
        self.handle_message_from(now, message, Origin::NONE);
    }

    /// The same, on a transport where answers must go back the way the message came: everything that is
    /// [sent](Self::outgoing) in answer to it has the same origin.
    ///
    /// # Panics
    /// If the session was not made with [`Framing::Whole`](crate::Framing::Whole).
    pub fn handle_message_from(&mut self, now: Time, message: &[u8], origin: Origin) {
        assert!(self.core.deframer.is_none(), "the session expects a stream of bytes");
        self.settle_input();
        self.core.act(now);
        let limit = self.core.limits.message_bytes;
        let too_large = message.len() > limit;
        let kept = if too_large { message_start(message, limit) } else { message };
        self.input.push(kept, limit);
        self.core.whole.push_back(WholeMessage { kept: kept.len(), too_large, origin });
    }

    /// The next message to send, with [`Framing::Whole`](crate::Framing::Whole). Call [`handle_sent`](Self::handle_sent) once it is.
    pub fn outgoing(&self) -> Option<Outgoing<'_>> {
        self.core.outbox.outgoing()
    }

    /// The message that [`outgoing`](Self::outgoing) returned was sent.
    pub fn handle_sent(&mut self, now: Time) {
        self.core.advance(now);
        self.core.outbox.sent_message();
        self.core.write_blocked_since = None;
        self.core.active = self.core.now;
    }

    /// A part of the message that [`outgoing`](Self::outgoing) returned was sent: the peer reads, however slowly.
    pub fn handle_sent_part(&mut self, now: Time) {
        self.core.advance(now);
        self.core.write_blocked_since = None;
        self.core.active = self.core.now;
    }

    /// The call with this id on the wire cannot be answered any more: its message was lost on the way.
    /// Whether it was still open.
    pub fn handle_undelivered(&mut self, now: Time, id: u64, reason: impl Into<Undelivered>) -> bool {
        self.core.advance(now);
        let lost = CallError::Undelivered(reason.into());
        let Some((call, _)) = self.core.calls.find(id) else {
            self.core.late_id(id, Err(lost));
            return false;
        };
        self.core.calls.remove(call);
        let outcome = Err(lost);
        self.core.pending_events.push_back(Event::Reply { call, outcome });
        true
    }

    /// The peer refused a message of ours with an error that has no id, and the transport knows which calls were in
    /// it: those with these ids on the wire. They end with the error. If none of them is open, it is reported.
    pub fn handle_refused(&mut self, now: Time, ids: &[u64], error: ErrorObject<'static>) {
        self.core.advance(now);
        let mut open = false;
        for id in ids {
            if let Some((call, _)) = self.core.calls.find(*id) {
                self.core.calls.remove(call);
                let outcome = Err(CallError::Error(error.clone()));
                self.core.pending_events.push_back(Event::Reply { call, outcome });
                open = true;
            } else {
                open |= self.core.late_id(*id, Err(CallError::Error(error.clone())));
            }
        }
        if !open {
            self.core.pending_events.push_back(Event::Report(Report::PeerError(error)));
        }
    }

    /// A notification or an answer of ours was lost on the way. Nobody waits for it: it is reported.
    pub fn handle_not_delivered(&mut self, now: Time, reason: impl Into<Undelivered>) {
        self.core.advance(now);
        self.core.pending_events.push_back(Event::Report(Report::Undelivered(reason.into())));
    }

    /// What is sent by the next commands is on behalf of this request, if it is still open: it has the same
    /// origin.
    pub fn relate(&mut self, key: Option<RequestKey>) {
        let origin = key.and_then(|key| self.core.requests.get(key)).map_or(Origin::NONE, |slot| slot.origin);
        self.core.outbox.set_origin(origin);
    }
}
