//! Keeps its own clocks beside a session's, and complains where the session's are early or late.

use std::time::Duration;

use sabir_proto::{CallError, CallKey, CallOptions, Cause, Limits, RawJson, Time};

use crate::map::Map;

pub(crate) struct Clocks {
    limits: Limits,
    calls: Map<CallKey, Due>,
    /// When the first call is due, as long as that is known.
    first: Option<Option<Time>>,
    /// When anything last came, went or was commanded.
    active: Time,
    /// Since when something has waited to be sent, with nothing of it sent since.
    unsent: Option<Time>,
    /// When a shutdown gives up.
    grace: Option<Time>,
}

struct Due {
    at: Option<Time>,
    extension: Option<Duration>,
    latest: Option<Time>,
}

impl Clocks {
    pub(crate) fn new(limits: Limits) -> Self {
        Clocks { limits, calls: Map::default(), first: None, active: Time::START, unsent: None, grace: None }
    }

    pub(crate) fn active(&mut self, now: Time) {
        self.active = self.active.max(now);
    }

    pub(crate) fn called(&mut self, now: Time, call: CallKey, options: &CallOptions<'_>) {
        self.active(now);
        let latest = options.total_timeout.map(|total| now + total);
        let at = options.timeout.map(|timeout| now + timeout);
        let due = Due {
            at: at.into_iter().chain(latest).min(),
            extension: options.timeout.filter(|_| options.reset_on_progress),
            latest,
        };
        self.first = None;
        self.calls.insert(call, due);
    }

    pub(crate) fn ended(&mut self, call: CallKey) {
        self.first = None;
        self.calls.remove(&call);
    }

    pub(crate) fn progressed(&mut self, now: Time, call: CallKey) {
        if let Some(due) = self.calls.get_mut(&call)
            && let Some(extension) = due.extension
        {
            self.first = None;
            due.at = Some(now + extension).into_iter().chain(due.latest).min();
        }
    }

    /// A call that times out does so at its time. The driver polls at each deadline, so it is never late.
    pub(crate) fn replied(&mut self, now: Time, call: CallKey, outcome: &Result<RawJson<'_>, CallError>) {
        if *outcome == Err(CallError::TimedOut) {
            let due = self.calls.get(&call).and_then(|due| due.at).expect("only a timed call times out");
            assert!(due <= now, "call {} timed out at {now}, due at {due}", call.id());
        }
    }

    /// Deadlines of calls that the session must have named when it waits.
    pub(crate) fn waits(&mut self, now: Time, unsent: bool, deadline: Option<Time>) {
        match unsent {
            false => self.unsent = None,
            true => drop(self.unsent.get_or_insert(now)),
        }
        let first = || self.calls.values().filter_map(|due| due.at).min();
        if let Some(first) = *self.first.get_or_insert_with(first) {
            assert!(
                deadline.is_some_and(|at| at <= first),
                "a call is due at {first}, wakes at {deadline:?}"
            );
        }
    }

    pub(crate) fn wrote(&mut self, now: Time) {
        self.active(now);
        self.unsent = None;
    }

    pub(crate) fn shuts_down(&mut self, now: Time, grace: Duration) {
        self.grace.get_or_insert(now + grace);
    }

    /// No connection is given up too early.
    pub(crate) fn closed(&self, now: Time, cause: &Cause) {
        match (cause, self.limits.stall, self.limits.idle) {
            (Cause::Stalled, Some(stall), _) => {
                let since = self.unsent.expect("only what is unsent stalls");
                assert!(now - since >= stall, "stalled at {now}, nothing was sent since {since}");
            }
            (Cause::Idle, _, Some(idle)) => {
                assert!(now - self.active >= idle, "idle at {now}, active at {}", self.active);
            }
            _ => {}
        }
    }
}
