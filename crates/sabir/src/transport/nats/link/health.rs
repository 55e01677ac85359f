//! What happens to a connection and to workers, and what is lost by it.

use std::task::Context;
use std::time::Duration;

use async_nats::{Event, ServerError};
use bytes::Bytes;
use sabir_proto::{DeliveryFailure, Lost, Undelivered};
use tokio::time::Instant;

use super::{CHECK_EVERY, Moving, NatsLink, Sticky};
use crate::runtime::message_transport::Incoming;
use crate::transport::nats::wire::{Status, Token};

/// How long new calls wait for those that are open, before a server is left that is about to stop.
const HOLD: Duration = Duration::from_secs(1);

/// How long calls wait for another server, when that one is left.
const FIND_WITHIN: Duration = Duration::from_secs(5);

impl NatsLink {
    pub(super) fn happened(&mut self, event: Event) {
        match event {
            Event::Disconnected if self.connected => self.disconnected(),
            Event::Connected if !self.connected => {
                self.connected = true;
                self.moving = None;
                // They would go on for somebody who has given up on them.
                self.close_sessions();
            }
            Event::LameDuckMode if self.moving.is_none() && self.has_other_servers() => {
                self.moving = Some(Moving { asked: false, closed: None, holds: true });
            }
            Event::SlowConsumer(_) => {
                const DROPPED: &str = "messages were dropped, as they came faster than they were read: the answer may be among them";
                let ids = self.calls.take_all();
                self.fail_ids(ids, DeliveryFailure::Other, DROPPED);
                self.incoming.push_back(Incoming::OriginLost(None, DROPPED.into()));
            }
            Event::ServerError(ServerError::Other(text)) if text.contains("Permissions Violation") => {
                self.forbidden(&text);
            }
            Event::Closed => {
                self.incoming.push_back(Incoming::Lost("the connection to NATS was closed".into()));
            }
            _ => {}
        }
    }

    /// What is open ends: nobody says what has come meanwhile.
    fn disconnected(&mut self) {
        self.connected = false;
        let why = match &mut self.moving {
            Some(moving) => {
                (moving.closed, moving.holds) = (Some(Instant::now()), true);
                "the server of NATS stops, and the connection goes to another one"
            }
            None => "the connection to NATS was lost",
        };
        let ids = self.calls.take_all();
        self.fail_ids(ids, DeliveryFailure::Closed, format!("{why}: the call may have run"));
        self.incoming.push_back(match self.sticky {
            Sticky::Bound(_) | Sticky::Asking => {
                Incoming::Lost(format!("{why}, and with it the session with its worker").into())
            }
            Sticky::No | Sticky::Unbound => {
                Incoming::OriginLost(None, format!("{why}: what came meanwhile is missing").into())
            }
        });
    }

    /// Whether there is somewhere to go, as far as is known.
    fn has_other_servers(&self) -> bool {
        self.has_hosts || self.client.server_info().connect_urls.len() > 1
    }

    /// Leaves a server that is about to stop, once nothing is open that would be lost by it.
    fn poll_move(&mut self) {
        let is_quiet = self.calls.is_empty() && self.outbox.is_empty() && self.sticky != Sticky::Asking;
        let Some(moving) = self.moving.as_mut().filter(|moving| !moving.asked && self.connected && is_quiet)
        else {
            return;
        };
        (moving.asked, moving.holds) = (true, true);
        let client = self.client.clone();
        tokio::spawn(async move { client.force_reconnect().await });
    }

    /// The server has refused to publish something, or to subscribe to something.
    fn forbidden(&mut self, text: &str) {
        let text = sabir_proto::escape_controls(text);
        if text.contains("Subscription") {
            let reason = format!("NATS does not allow to read the answers: {text}");
            return self.incoming.push_back(Incoming::Lost(Lost::from(reason)));
        }
        let reason = format!("NATS does not allow to call `{}`: {text}", self.service);
        // It does not say which message it was; those with a worker were allowed.
        let ids = self.calls.take_unowned();
        match ids.is_empty() {
            true => {
                let reason = Undelivered::new(DeliveryFailure::Refused, reason);
                self.incoming.push_back(Incoming::NotDelivered(reason));
            }
            false => self.fail_ids(ids, DeliveryFailure::Refused, reason),
        }
        if self.sticky == Sticky::Asking {
            self.sticky = Sticky::Unbound;
        }
    }

    /// Tells the workers that have something open for us that nobody waits for it.
    pub(super) fn close_sessions(&mut self) {
        let subjects: Vec<_> = self.calls.at_work().cloned().collect();
        for subject in subjects {
            if let Some(worker) = self.calls.worker(&subject, Instant::now()) {
                self.calls.set_beat(worker, None);
            }
            self.queue(subject, Token::Other, Bytes::new(), Some(Status::Closed.headers()));
        }
    }

    /// Looks for what is overdue.
    pub(super) fn poll_check(&mut self, cx: &mut Context<'_>) {
        self.poll_move();
        let waits = !self.calls.is_empty()
            || self.calls.has_beats()
            || !self.answered.is_empty()
            || !self.parts.is_empty()
            || self.moving.is_some()
            || self.sticky == Sticky::Asking;
        if !waits {
            self.timer_is_set = false;
            return;
        }
        let every = CHECK_EVERY.min(self.nats.accept_within / 4).max(Duration::from_millis(1));
        if !self.timer_is_set {
            self.timer_is_set = true;
            self.timer.as_mut().reset(Instant::now() + every);
        }
        while self.timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            // What came meanwhile is still to be read.
            let late = now.duration_since(self.timer.deadline());
            if late > every {
                self.calls.forgive(late);
            }
            self.timer.as_mut().reset(now + every);
            self.check(now);
        }
    }

    fn check(&mut self, now: Instant) {
        self.end_answered();
        let silence = self.calls.check(now, self.nats.accept_within);
        let within = self.nats.accept_within.as_secs_f32();
        let unaccepted = format!("no worker has accepted the call within {within} s: it may have run");
        self.fail_ids(silence.unaccepted, DeliveryFailure::Closed, unaccepted);
        for (worker, ids) in silence.lost {
            self.lose_worker(
                worker,
                ids,
                "the worker is lost, its heartbeat has stopped: the call may have run",
            );
        }
        for subject in self.parts.expire(now) {
            let reason =
                Undelivered::new(DeliveryFailure::Incomplete, "the rest of a message in parts has not come");
            self.fail(Token::of(&subject), &reason);
        }
        let has_asked_for_long = |since: Instant| now.duration_since(since) > self.nats.accept_within;
        if self.sticky == Sticky::Asking && self.asking_since.is_some_and(has_asked_for_long) {
            self.sticky = Sticky::Unbound;
        }
        let oldest = self.calls.oldest();
        let Some(moving) = &mut self.moving else { return };
        match moving.closed {
            // Others do not wait for calls that take long. The server closes the connection when it wants to wait no more.
            None => moving.holds = oldest.is_none_or(|sent| now.duration_since(sent) < HOLD),
            Some(closed) if now.duration_since(closed) > FIND_WITHIN => self.moving = None,
            Some(_) => {}
        }
    }
}
