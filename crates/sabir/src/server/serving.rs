//! A connection that carries messages in both directions, and its deadlines: streams and WebSockets.
//!
//! A connection may be silent for as long as it likes between two messages: a peer that waits for notifications has
//! nothing to say, and one that has vanished is found by the keep-alive of TCP or by pings. Only when the server has no
//! place left are silent connections closed, and it is the limiter that says which.

use std::task::{Context, Poll};
use std::time::Duration;

use sabir_proto::Usage;
use tokio::time::Instant;

use crate::runtime::io::Io;
use crate::server::activity::Doing;
use crate::server::deadline_timer::DeadlineTimer;
use crate::server::metered::Metered;

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    Nothing,
    /// The rest of the message with this number.
    Message(u64),
    /// Answers, after the end of the input.
    Answers,
}

/// What the port of a connection knows of it.
pub(crate) struct Progress {
    /// Grows with each whole message that came, and with what was sent.
    pub(crate) done: u64,
    /// A number for the message that has begun to come, if one has.
    pub(crate) unfinished: Option<u64>,
    /// Nothing more comes.
    pub(crate) ended: bool,
}

/// How long things may take.
#[derive(Clone, Copy)]
pub(crate) struct ServingTimeouts {
    /// From the first byte of a message to its last.
    pub(crate) message: Duration,
    /// From the end of the input to the last answer.
    pub(crate) after_end: Duration,
    /// From the moment that the server stops.
    pub(crate) stop: Duration,
}

pub(crate) struct Serving<P> {
    connection: Metered<P>,
    progress: fn(&P, &Usage) -> Progress,
    done: u64,
    timer: DeadlineTimer,
    timeouts: ServingTimeouts,
    waits: Waits,
    /// When it began to wait.
    since: Instant,
}

impl<P: Io> Serving<P> {
    pub(crate) fn new(
        connection: Metered<P>,
        progress: fn(&P, &Usage) -> Progress,
        timer: DeadlineTimer,
        timeouts: ServingTimeouts,
    ) -> Self {
        let since = Instant::now();
        Serving { connection, progress, done: 0, timer, timeouts, waits: Waits::Nothing, since }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.connection.poll_run(cx).is_ready() {
            return Poll::Ready(());
        }
        if self.timer.is_stopped() && !self.connection.is_closing {
            self.connection.shut_down(self.timeouts.stop);
        }
        // A shutdown command wakes it, and it ends by itself then.
        if !self.connection.is_closing {
            let deadline = self.deadline();
            if self.timer.poll(cx, deadline).is_ready() {
                match self.timer.activity().is_evicted() {
                    true => self.connection.make_room(),
                    false => self.connection.shut_down(Duration::ZERO),
                }
            }
        }
        Poll::Pending
    }

    /// The deadline of what it waits for. Publishes what it is doing.
    fn deadline(&mut self) -> Option<Instant> {
        let is_overloaded = self.connection.is_overloaded();
        let connection = &mut self.connection.connection;
        let usage = connection.usage();
        let progress = (self.progress)(&connection.io, &usage);
        let activity = self.timer.activity();
        if self.done != progress.done {
            self.done = progress.done;
            activity.touch(connection.now());
        }
        let is_idle = connection.is_idle() && usage.calls == 0;
        activity.set(if is_idle { Doing::Nothing } else { Doing::Waiting });
        let waits = match progress.unfinished {
            _ if progress.ended => Waits::Answers,
            // What is not read because answers are not taken is not the sender's delay.
            Some(number) if is_overloaded || connection.wants_read() => Waits::Message(number),
            _ => Waits::Nothing,
        };
        if self.waits != waits {
            (self.waits, self.since) = (waits, Instant::now());
        }
        match waits {
            Waits::Nothing => None,
            Waits::Message(_) => Some(self.since + self.timeouts.message),
            Waits::Answers => Some(self.since + self.timeouts.after_end),
        }
    }
}
