//! What a server knows of one connection, from `initialize` to `exit`.

use std::collections::HashMap;
use std::process::{ExitCode, Termination};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lsp_types::{InitializeParams, TraceValue};
use sabir::internal::lock;
use sabir::{ErrorCode, ErrorObject};
use tokio::sync::Notify;

use crate::document::Documents;
use crate::error::code;

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    Uninitialized,
    Initializing,
    Running,
    ShutDown,
}

impl Phase {
    const ALL: [Phase; 4] = [Phase::Uninitialized, Phase::Initializing, Phase::Running, Phase::ShutDown];
}

/// The state of a connection.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// A [`Phase`].
    phase: AtomicU8,
    /// Whether `$/logTrace` is wanted, and how much of it.
    trace: AtomicU8,
    client: Mutex<Option<Arc<InitializeParams>>>,
    pub(crate) documents: Documents,
    /// What the client may cancel of the work that the server tells it of, by its token.
    work: Mutex<HashMap<String, Arc<Notify>>>,
    last_token: AtomicU64,
}

impl Connection {
    fn phase(&self) -> Phase {
        Phase::ALL[usize::from(self.phase.load(Ordering::Acquire))]
    }

    /// Whether requests and notifications may be handled.
    #[inline]
    pub(crate) fn admit(&self) -> sabir::Result<()> {
        match self.phase() {
            Phase::Running => Ok(()),
            phase => Err(refused(phase)),
        }
    }

    /// Begins the handshake, which can be done once.
    pub(crate) fn begin(self: &Arc<Self>) -> sabir::Result<Handshake> {
        let (from, to) = (Phase::Uninitialized as u8, Phase::Initializing as u8);
        match self.phase.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(Handshake { connection: Arc::clone(self), done: false }),
            Err(_) => Err(ErrorObject::because(ErrorCode::INVALID_REQUEST, "`initialize` was sent already")),
        }
    }

    pub(crate) fn shut_down(&self) {
        self.phase.store(Phase::ShutDown as u8, Ordering::Release);
    }

    pub(crate) fn client(&self) -> Option<Arc<InitializeParams>> {
        lock(&self.client).clone()
    }

    pub(crate) fn set_client(&self, params: Arc<InitializeParams>) {
        self.set_trace(params.trace.unwrap_or_default());
        *lock(&self.client) = Some(params);
    }

    pub(crate) fn trace(&self) -> TraceValue {
        match self.trace.load(Ordering::Relaxed) {
            0 => TraceValue::Off,
            1 => TraceValue::Messages,
            _ => TraceValue::Verbose,
        }
    }

    pub(crate) fn set_trace(&self, trace: TraceValue) {
        let value = match trace {
            TraceValue::Off => 0,
            TraceValue::Messages => 1,
            TraceValue::Verbose => 2,
        };
        self.trace.store(value, Ordering::Relaxed);
    }

    /// A token of our own for work.
    pub(crate) fn work_token(self: &Arc<Self>) -> WorkToken {
        let token = format!("sabir/{}", self.last_token.fetch_add(1, Ordering::Relaxed) + 1);
        let cancelled = Arc::<Notify>::default();
        lock(&self.work).insert(token.clone(), Arc::clone(&cancelled));
        WorkToken { connection: Arc::clone(self), token, cancelled }
    }

    pub(crate) fn cancel_work(&self, token: &str) {
        if let Some(cancelled) = lock(&self.work).get(token) {
            cancelled.notify_one();
        }
    }
}

fn refused(phase: Phase) -> ErrorObject {
    match phase {
        Phase::ShutDown => ErrorObject::because(ErrorCode::INVALID_REQUEST, "the server was shut down"),
        _ => ErrorObject::new(code::SERVER_NOT_INITIALIZED, "Server not initialized"),
    }
}

/// An `initialize` that is being answered. Dropped before its end, as if there had been none: the client may try again.
#[derive(Debug)]
pub(crate) struct Handshake {
    connection: Arc<Connection>,
    done: bool,
}

impl Handshake {
    pub(crate) fn finish(mut self) {
        self.done = true;
        self.connection.phase.store(Phase::Running as u8, Ordering::Release);
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        if !self.done {
            self.connection.phase.store(Phase::Uninitialized as u8, Ordering::Release);
        }
    }
}

/// Names work that the server tells the client of, as long as it lives.
#[derive(Debug)]
pub(crate) struct WorkToken {
    connection: Arc<Connection>,
    pub(crate) token: String,
    /// Told when the client cancels the work.
    pub(crate) cancelled: Arc<Notify>,
}

impl Drop for WorkToken {
    fn drop(&mut self) {
        lock(&self.connection.work).remove(&self.token);
    }
}

/// How a server ended: what `main` returns. The process exits with 0 if the client had sent `shutdown`, and with 1 if
/// not, as the specification has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Whether the client had sent `shutdown`.
    pub was_shut_down: bool,
    /// What ended it.
    pub reason: ExitReason,
}

/// What ended a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitReason {
    /// The client sent `exit`.
    Requested,
    /// The connection ended without it.
    Disconnected,
    /// The process of the client has died.
    ClientDied,
}

impl Exit {
    /// The exit code of the process.
    pub fn code(self) -> u8 {
        u8::from(!self.was_shut_down)
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self.code())
    }
}

/// What is known of the end while the server runs.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    pub(crate) was_shut_down: AtomicBool,
    pub(crate) was_requested: AtomicBool,
    pub(crate) client_died: AtomicBool,
}

impl Ending {
    pub(crate) fn exit(&self) -> Exit {
        let is = |flag: &AtomicBool| flag.load(Ordering::Acquire);
        let reason = match (is(&self.was_requested), is(&self.client_died)) {
            (true, _) => ExitReason::Requested,
            (false, true) => ExitReason::ClientDied,
            (false, false) => ExitReason::Disconnected,
        };
        Exit { was_shut_down: is(&self.was_shut_down), reason }
    }
}
