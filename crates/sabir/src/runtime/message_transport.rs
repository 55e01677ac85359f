//! Transports that carry whole messages: WebSocket, and HTTP in both roles.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use sabir_proto::{Cause, ErrorObject, Lost, Origin, Outgoing, Purpose, Undelivered};

use crate::router::observe::{Observed, Side};
use crate::runtime::caller::HttpCaller;
use crate::runtime::io::{Io, IoProgress};
use crate::runtime::session_context::SessionContext;
use crate::transport::{Direction, Tap};

/// Bytes that are taken in before the engine has its turn.
const TAKEN_AT_ONCE: usize = 16 * 1024;

/// What a message counts for beside its text.
const PER_MESSAGE: usize = 64;

/// Something that came over a link.
pub(crate) enum Incoming {
    /// A message. What answers it has the same origin.
    Message { text: Bytes, origin: Origin, caller: Option<Arc<HttpCaller>> },
    /// An error without an id, which refuses a message of ours as a whole: these calls were in it.
    Refused { text: Bytes, ids: Vec<u64>, error: ErrorObject<'static> },
    /// The calls with these ids were lost on the way, or their answers were.
    Undelivered { ids: Vec<u64>, reason: Undelivered },
    /// A notification or an answer of ours was lost on the way.
    NotDelivered(Undelivered),
    /// The peer has no way for the items of subscriptions.
    ItemsUndelivered(Undelivered),
    /// A message is larger than this limit, and the link cannot go on behind it.
    TooLarge { limit: usize },
    /// The link is broken.
    Lost(Lost),
    /// The peer sends no more. What it has sent is answered.
    #[cfg(feature = "nats")]
    Ended,
    /// Of several peers, this one is lost, or all of them are; the link is not.
    #[cfg(feature = "nats")]
    OriginLost(Option<Origin>, Lost),
}

/// A transport that carries whole messages.
pub(crate) trait Link: Send {
    /// Waits for the next message.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Incoming>;

    /// Takes a message over, unless it has no room for it yet. An empty one only says that it is the last
    /// for its origin.
    ///
    /// One that takes a message over by parts gets it again until it has all of it.
    fn poll_send(&mut self, cx: &mut Context<'_>, outgoing: Outgoing<'_>) -> Poll<io::Result<()>>;

    /// Whether it has taken over another part of a message since this was last asked.
    fn took_part(&mut self) -> bool {
        false
    }

    /// Whether it tells the peer how long a call has left.
    fn carries_deadlines(&self) -> bool {
        false
    }

    /// How long the calls have left that are sent next.
    fn set_time_left(&mut self, _: Option<Duration>) {}

    /// Whether it wants to know what the peer has open here.
    fn minds_what_is_open(&self) -> bool {
        false
    }

    /// Whether the peer has more open here than its requests: subscriptions, or questions to it.
    fn set_held(&mut self, _: bool) {}

    /// Whether it opens a stream for what the peer says unasked, once something waits for that.
    fn opens_streams(&self) -> bool {
        false
    }

    /// Whether subscriptions wait for items. `subscribes` if the call does that is sent next.
    fn set_awaits_items(&mut self, _awaits: bool, _subscribes: bool) {}

    /// Sends what was taken over. Called whenever there is nothing more to take for now.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Closes the link, and tells the peer why.
    fn poll_close(&mut self, cx: &mut Context<'_>, cause: &Cause) -> Poll<()>;
}

/// A link as the port of a connection.
pub(crate) struct MessageTransport<L> {
    pub(crate) link: L,
    pub(crate) tap: Option<Tap>,
    unflushed: bool,
    /// Came behind messages that are to be looked at first.
    held: Option<Incoming>,
}

impl<L: Link> MessageTransport<L> {
    pub(crate) fn new(link: L, tap: Option<Tap>) -> Self {
        MessageTransport { link, tap, unflushed: false, held: None }
    }

    fn take(&mut self, incoming: Incoming, context: &mut SessionContext) {
        match incoming {
            Incoming::Message { text, origin, caller } => {
                self.received(&text, context);
                if let Some(caller) = caller {
                    context.callers.keep(origin, caller);
                }
                context.session.handle_message_from(context.now, &text, origin);
            }
            Incoming::Refused { text, ids, error } => {
                self.received(&text, context);
                context.session.handle_refused(context.now, &ids, error);
            }
            Incoming::Undelivered { ids, reason } => {
                for id in ids {
                    context.session.handle_undelivered(context.now, id, reason.clone());
                }
            }
            Incoming::NotDelivered(reason) => context.session.handle_not_delivered(context.now, reason),
            Incoming::ItemsUndelivered(reason) => {
                context.session.handle_items_undelivered(context.now, reason);
            }
            Incoming::TooLarge { limit } => context.session.handle_oversize(context.now, limit),
            Incoming::Lost(reason) => context.session.handle_lost(context.now, reason),
            #[cfg(feature = "nats")]
            Incoming::Ended => context.handle_eof(),
            #[cfg(feature = "nats")]
            Incoming::OriginLost(origin, reason) => {
                context.session.handle_origin_lost(context.now, origin, reason);
            }
        }
    }

    fn received(&mut self, text: &[u8], context: &mut SessionContext) {
        if let Some(tap) = &mut self.tap {
            tap(Direction::Received, text);
        }
        context.tell(&Observed::Bytes { side: Side::Theirs, count: text.len() });
    }

    fn flush(&mut self, cx: &mut Context<'_>, context: &mut SessionContext) -> IoProgress {
        if self.unflushed {
            match self.link.poll_flush(cx) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.unflushed = false,
                Poll::Ready(Err(error)) => {
                    context.session.handle_lost(context.now, Lost::from_error(error));
                    return IoProgress::Yes;
                }
            }
        }
        IoProgress::No
    }
}

impl<L: Link> Io for MessageTransport<L> {
    fn send(&mut self, cx: &mut Context<'_>, context: &mut SessionContext) -> IoProgress {
        let mut moved = IoProgress::No;
        if self.link.minds_what_is_open() {
            let usage = context.session.usage();
            self.link.set_held(usage.sinks > 0 || usage.calls > 0);
        }
        let opens_streams = self.link.opens_streams();
        if opens_streams {
            self.link.set_awaits_items(context.session.awaits_items(), false);
        }
        while let Some(outgoing) = context.session.outgoing() {
            if opens_streams
                && let Purpose::Call { first, .. } = outgoing.purpose
                && context.session.is_subscribing(first)
            {
                self.link.set_awaits_items(context.session.awaits_items(), true);
            }
            if let Purpose::Call { first, last } = outgoing.purpose
                && self.link.carries_deadlines()
            {
                let mut left = (first..=last).map(|id| context.session.time_left(context.now, id));
                let longest = left.try_fold(Duration::ZERO, |longest, left| Some(longest.max(left?)));
                self.link.set_time_left(longest);
            }
            match self.link.poll_send(cx, outgoing) {
                Poll::Pending => {
                    if self.link.took_part() {
                        context.session.handle_sent_part(context.now);
                    }
                    return moved;
                }
                Poll::Ready(Ok(())) => {
                    if let Some(tap) = self.tap.as_mut().filter(|_| !outgoing.message.is_empty()) {
                        tap(Direction::Sent, outgoing.message);
                    }
                    let count = outgoing.message.len();
                    if outgoing.last {
                        context.callers.forget(outgoing.origin);
                    }
                    context.session.handle_sent(context.now);
                    context.tell(&Observed::Bytes { side: Side::Ours, count });
                    self.unflushed = true;
                    moved = IoProgress::Yes;
                }
                Poll::Ready(Err(error)) => {
                    context.session.handle_lost(context.now, Lost::from_error(error));
                    return IoProgress::Yes;
                }
            }
        }
        // As long as more may have come, what it is answered with may go out together.
        match moved {
            IoProgress::No if !context.session.wants_read() => self.flush(cx, context),
            moved => moved,
        }
    }

    fn receive(&mut self, cx: &mut Context<'_>, context: &mut SessionContext) -> IoProgress {
        let mut taken = 0;
        while taken < TAKEN_AT_ONCE {
            let incoming = match self.held.take() {
                Some(held) => held,
                None => match self.link.poll_receive(cx) {
                    Poll::Ready(incoming) => incoming,
                    Poll::Pending if taken == 0 => return self.flush(cx, context),
                    Poll::Pending => break,
                },
            };
            match &incoming {
                Incoming::Message { text, .. } => taken += PER_MESSAGE + text.len(),
                // It would overtake messages that the engine has not looked at yet.
                _ if taken > 0 => {
                    self.held = Some(incoming);
                    break;
                }
                _ => taken = TAKEN_AT_ONCE,
            }
            self.take(incoming, context);
        }
        IoProgress::Yes
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, cause: &Cause) -> Poll<()> {
        self.link.poll_close(cx, cause)
    }
}

impl Link for Box<dyn Link> {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Incoming> {
        (**self).poll_receive(cx)
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, outgoing: Outgoing<'_>) -> Poll<io::Result<()>> {
        (**self).poll_send(cx, outgoing)
    }

    fn took_part(&mut self) -> bool {
        (**self).took_part()
    }

    fn carries_deadlines(&self) -> bool {
        (**self).carries_deadlines()
    }

    fn set_time_left(&mut self, left: Option<Duration>) {
        (**self).set_time_left(left);
    }

    fn minds_what_is_open(&self) -> bool {
        (**self).minds_what_is_open()
    }

    fn set_held(&mut self, held: bool) {
        (**self).set_held(held);
    }

    fn opens_streams(&self) -> bool {
        (**self).opens_streams()
    }

    fn set_awaits_items(&mut self, awaits: bool, subscribes: bool) {
        (**self).set_awaits_items(awaits, subscribes);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        (**self).poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>, cause: &Cause) -> Poll<()> {
        (**self).poll_close(cx, cause)
    }
}
