//! Observers of calls, for metrics and traces.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sabir_proto::{Cause, RequestKey, SinkEnd};

use crate::router::Router;
use crate::router::routes::Routes;
use crate::{CallError, ErrorCode, Report};

/// Who made a call, or sent something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// This side.
    Ours,
    /// The peer.
    Theirs,
}

/// An event that [`Router::observe`] reports.
#[derive(Debug)]
#[non_exhaustive]
pub enum Observed<'a> {
    /// A connection has begun. Not sent for a single HTTP request.
    Opened,
    /// A connection has ended.
    Closed {
        /// Why.
        cause: &'a Cause,
        /// How long it was open.
        took: Duration,
    },
    /// A call has begun.
    CallStarted {
        /// Who called.
        side: Side,
        /// The method. The peer may call anything: see `known`.
        method: &'a str,
        /// Whether the router has this method. Names that it does not know should not become labels.
        known: bool,
    },
    /// A call has ended. What was cancelled ends so too.
    CallEnded {
        /// Who called.
        side: Side,
        /// The method.
        method: &'a str,
        /// Whether the router has this method.
        known: bool,
        /// How it ended.
        end: CallEnd,
        /// How long it took.
        took: Duration,
    },
    /// A notification was sent, or came.
    Notification {
        /// Who sent it.
        side: Side,
        /// The method.
        method: &'a str,
    },
    /// The peer has subscribed.
    Subscribed {
        /// The method that subscribes.
        method: &'a str,
    },
    /// A subscription of the peer has ended.
    SubscriptionEnded {
        /// The method that subscribes.
        method: &'a str,
        /// Why; `None` if its handler ended it.
        end: Option<SinkEnd>,
        /// How many items it has sent. If its handler ended it, or the connection ends in order, also those that wait
        /// and go out before the end.
        sent: u64,
        /// How many it has dropped, since the peer read too slowly.
        lost: u64,
    },
    /// The peer did something that it should not, or sent a notification that failed.
    Report(&'a Report<'a>),
    /// Bytes were sent, or came.
    Bytes {
        /// Who sent them.
        side: Side,
        /// How many.
        count: usize,
    },
    /// Something happened to the connection of a worker behind NATS, which all of its callers share. Their calls are
    /// reported by themselves.
    Worker(WorkerEvent<'a>),
}

/// What happens to the connection of a worker behind NATS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerEvent<'a> {
    /// The connection to the server is lost. It is opened again by itself.
    ConnectionLost,
    /// The connection was opened again, to the same server or to another one of the cluster.
    ConnectionRestored,
    /// The server is about to stop. If another one is known, the worker moves there.
    ServerStopping,
    /// Messages came faster than they were read: some were dropped, or the server closes the connection.
    SlowConsumer,
    /// The server has refused something, such as a message for which the worker has no right. This is what it says.
    Refused(&'a str),
    /// Something else has failed, in the words of the client of NATS.
    Failed(&'a str),
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallEnd {
    /// In a result.
    Result,
    /// In an error that was answered.
    Error(ErrorCode),
    /// Its time was up.
    TimedOut,
    /// Nobody wanted the answer any more.
    Cancelled,
    /// The answer never came, or could not be understood.
    Failed,
}

impl CallEnd {
    pub(crate) fn of_handler<T>(outcome: &crate::Result<T>) -> Self {
        match outcome {
            Ok(_) => CallEnd::Result,
            Err(error) => CallEnd::Error(error.code),
        }
    }

    /// The value of `error.type` in telemetry: the code, or a word.
    pub fn error_type(self) -> Option<String> {
        match self {
            CallEnd::Result => None,
            CallEnd::Error(code) => Some(code.0.to_string()),
            CallEnd::TimedOut => Some("timeout".to_owned()),
            CallEnd::Cancelled => Some("cancelled".to_owned()),
            CallEnd::Failed => Some("_OTHER".to_owned()),
        }
    }
}

impl From<&CallError> for CallEnd {
    fn from(error: &CallError) -> Self {
        match error {
            CallError::Error(error) => CallEnd::Error(error.code),
            CallError::TimedOut => CallEnd::TimedOut,
            CallError::Cancelled => CallEnd::Cancelled,
            _ => CallEnd::Failed,
        }
    }
}

/// Called with every event.
pub(crate) type Observer = Arc<dyn Fn(&Observed<'_>) + Send + Sync>;

impl Router {
    /// Calls `observer` for every call, notification and connection of this router, for metrics. It runs in the
    /// connection's task, so it should return quickly. All observers are called.
    ///
    /// Observers are outside of all [layers](Router::layer), whichever was added first: they also see what a layer
    /// refuses. A notification that fails, or that no method takes, is an [`Observed::Report`].
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use sabir::{Observed, Router};
    ///
    /// static CALLS: AtomicU64 = AtomicU64::new(0);
    ///
    /// let router = Router::new().method("ping", |_, ()| async { Ok("pong") }).observe(|event| {
    ///     if let Observed::CallEnded { .. } = event {
    ///         CALLS.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn observe(self, observer: impl Fn(&Observed<'_>) + Send + Sync + 'static) -> Self {
        self.add_observer(Arc::new(observer))
    }
}

/// The calls of the peer that are being handled. Each is reported once when it begins and once when it ends, also if
/// it is dropped.
pub(crate) struct Watches {
    routes: Arc<Routes>,
    /// By the index of the request.
    open: Vec<Option<Watch>>,
}

struct Watch {
    key: RequestKey,
    method: String,
    known: bool,
    start: Instant,
}

impl Watches {
    /// `None` if nobody observes.
    pub(crate) fn new(routes: &Arc<Routes>) -> Option<Self> {
        routes.is_observed().then(|| Watches { routes: Arc::clone(routes), open: Vec::new() })
    }

    pub(crate) fn begin(&mut self, key: RequestKey, method: &str) {
        let known = self.routes.knows(method);
        self.routes.tell(&Observed::CallStarted { side: Side::Theirs, method, known });
        if self.open.len() <= key.index() {
            self.open.resize_with(key.index() + 1, || None);
        }
        let watch = Watch { key, method: method.to_owned(), known, start: Instant::now() };
        if let Some(before) = self.open[key.index()].replace(watch) {
            self.tell(&before, CallEnd::Cancelled);
        }
    }

    pub(crate) fn end(&mut self, key: RequestKey, end: CallEnd) {
        let watch = self.open.get_mut(key.index()).and_then(|open| open.take_if(|watch| watch.key == key));
        if let Some(watch) = watch {
            self.tell(&watch, end);
        }
    }

    #[cfg(debug_assertions)]
    pub(crate) fn is_empty(&self) -> bool {
        self.open.iter().all(Option::is_none)
    }

    /// No handler runs any more.
    pub(crate) fn end_all(&mut self) {
        for watch in std::mem::take(&mut self.open).into_iter().flatten() {
            self.tell(&watch, CallEnd::Cancelled);
        }
    }

    fn tell(&self, watch: &Watch, end: CallEnd) {
        let &Watch { ref method, known, start, .. } = watch;
        self.routes.tell(&Observed::CallEnded {
            side: Side::Theirs,
            method,
            known,
            end,
            took: start.elapsed(),
        });
    }
}
