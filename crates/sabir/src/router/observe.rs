//! Telling others what happens: for metrics, and for traces.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sabir_proto::Cause;

use crate::handler::ctx::Ctx;
use crate::router::{Next, Router};
use crate::{CallError, ErrorCode, RawJson, Report, Result};

/// Who made a call, or sent something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// This side.
    Ours,
    /// The peer.
    Theirs,
}

/// Something that happened, as [`Router::observe`] is told of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Observed<'a> {
    /// A connection has begun. A single request over HTTP is none.
    Opened,
    /// A connection has ended.
    Closed {
        /// Why.
        cause: &'a Cause,
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
    /// The peer did something that it should not.
    Report(&'a Report<'a>),
    /// Bytes were sent, or came.
    Bytes {
        /// Who sent them.
        side: Side,
        /// How many.
        count: usize,
    },
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
    pub(crate) fn of<T>(outcome: &std::result::Result<T, CallError>) -> Self {
        match outcome {
            Ok(_) => CallEnd::Result,
            Err(CallError::Error(error)) => CallEnd::Error(error.code),
            Err(CallError::TimedOut) => CallEnd::TimedOut,
            Err(CallError::Cancelled) => CallEnd::Cancelled,
            Err(_) => CallEnd::Failed,
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

/// Is told of everything.
pub(crate) type Observer = Arc<dyn Fn(&Observed<'_>) + Send + Sync>;

impl Router {
    /// Tells `observer` of every call, notification and connection that has to do with this router: for
    /// metrics. It is called where the connection runs, so it should only count. With several, all are told.
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
        let observer: Observer = Arc::new(observer);
        self.add_observer(Arc::clone(&observer)).layer(move |ctx: Ctx, next: Next| {
            let watch = ctx.is_request().then(|| Watch::start(&observer, &next));
            observed(watch, next)
        })
    }
}

async fn observed(watch: Option<Watch>, next: Next) -> Result<RawJson<'static>> {
    let outcome = next.run().await;
    if let Some(mut watch) = watch {
        watch.end = match &outcome {
            Ok(_) => CallEnd::Result,
            Err(error) => CallEnd::Error(error.code),
        };
    }
    outcome
}

/// A call of the peer that is watched until it ends, be it by being dropped.
struct Watch {
    observer: Observer,
    method: String,
    known: bool,
    start: Instant,
    end: CallEnd,
}

impl Watch {
    fn start(observer: &Observer, next: &Next) -> Self {
        let (method, known) = (next.method().to_owned(), next.is_known());
        observer(&Observed::CallStarted { side: Side::Theirs, method: &method, known });
        let observer = Arc::clone(observer);
        Watch { observer, method, known, start: Instant::now(), end: CallEnd::Cancelled }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let &mut Watch { known, end, .. } = self;
        let took = self.start.elapsed();
        (self.observer)(&Observed::CallEnded { side: Side::Theirs, method: &self.method, known, end, took });
    }
}
