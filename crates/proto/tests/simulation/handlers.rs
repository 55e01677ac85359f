//! The handlers of one end that are not done.

use sabir_proto::{CallKey, RequestKey, Time};

use crate::map::Map;

#[derive(Debug)]
pub(crate) enum Handler {
    At(Time, Answer),
    /// Waits for a call-back.
    Asking(CallKey),
    /// Until it is cancelled, or for ever.
    Hanging,
}

#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Echo(String),
    Fail,
    Abandon,
    Progress(u32),
}

#[derive(Default)]
pub(crate) struct Handlers {
    open: Map<RequestKey, Handler>,
    /// When the first one has something to do, as long as that is known.
    next: Option<Option<Time>>,
}

impl Handlers {
    pub(crate) fn insert(&mut self, key: RequestKey, handler: Handler) {
        self.next = None;
        assert!(self.open.insert(key, handler).is_none(), "a key is used twice");
    }

    pub(crate) fn remove(&mut self, key: RequestKey) -> Option<Handler> {
        self.next = None;
        self.open.remove(&key)
    }

    pub(crate) fn asks(&self, key: RequestKey, call: CallKey) -> bool {
        matches!(self.open.get(&key), Some(Handler::Asking(asked)) if *asked == call)
    }

    /// When a handler has something to do.
    pub(crate) fn next(&mut self) -> Option<Time> {
        let due = |handler: &Handler| match handler {
            Handler::At(at, _) => Some(*at),
            Handler::Asking(_) | Handler::Hanging => None,
        };
        *self.next.get_or_insert_with(|| self.open.values().filter_map(due).min())
    }

    /// Takes those out whose time has come, in their order.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<(Time, RequestKey, Answer)> {
        if self.next().is_none_or(|at| at > now) {
            return Vec::new();
        }
        self.next = None;
        let is_due =
            |_: &RequestKey, handler: &mut Handler| matches!(handler, Handler::At(at, _) if *at <= now);
        let mut due: Vec<_> = self
            .open
            .extract_if(is_due)
            .filter_map(|(key, handler)| match handler {
                Handler::At(at, answer) => Some((at, key, answer)),
                Handler::Asking(_) | Handler::Hanging => None,
            })
            .collect();
        due.sort_by_key(|(at, key, _)| (*at, key.index()));
        due
    }

    /// Stops those that would hang for ever. Whether there were any.
    pub(crate) fn release(&mut self, now: Time) -> bool {
        self.next = None;
        let mut released = false;
        for handler in self.open.values_mut() {
            if matches!(handler, Handler::Hanging) {
                *handler = Handler::At(now, Answer::Abandon);
                released = true;
            }
        }
        released
    }

    pub(crate) fn clear(&mut self) {
        *self = Handlers::default();
    }
}
