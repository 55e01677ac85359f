//! All tasks of a server: those that run, and those that the store knows.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sabir::{ErrorCode, ErrorObject, WeakPeer};
use sha2::{Digest, Sha256};
use tokio::sync::{Notify, broadcast};

use super::TaskOptions;
use super::live::{End, LiveTask};
use super::record::TaskRecord;
use super::store::TaskStore;
use crate::McpRevision;
use crate::error::{McpResult, ToolError, invalid, shown};
use crate::types::{TaskStatus, ToolResult};

/// Changes that a slow listener may be behind before it is told of everything at once.
const BACKLOG: usize = 256;

type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

pub(crate) struct Registry {
    pub(super) store: Arc<dyn TaskStore>,
    options: TaskOptions,
    clock: Clock,
    live: Mutex<HashMap<String, Arc<LiveTask>>>,
    /// The ids of tasks that have changed.
    changes: broadcast::Sender<Arc<str>>,
    /// Somebody waits for the next task to expire, and is woken when there is a new one.
    sweeping: AtomicBool,
    added: Notify,
}

/// A task that is about to begin.
pub(crate) struct Reservation<'a> {
    pub(crate) tool: &'a str,
    /// Of its arguments, which it holds while it runs.
    pub(crate) bytes: usize,
    pub(crate) owner: Option<String>,
    /// Who it is counted for.
    pub(crate) share: Option<String>,
    pub(crate) ttl: Option<u64>,
    pub(crate) revision: McpRevision,
    pub(crate) peer: Option<WeakPeer>,
}

/// A task, wherever it is.
pub(super) enum Found {
    Live(Arc<LiveTask>),
    Stored(Box<TaskRecord>),
}

impl Found {
    pub(super) fn record(&self) -> TaskRecord {
        match self {
            Found::Live(task) => task.record(),
            Found::Stored(record) => (**record).clone(),
        }
    }
}

/// The place of a task among those that run. Dropping it makes room for another, also if the runtime ends.
pub(crate) struct Reserved(Arc<LiveTask>);

impl Drop for Reserved {
    fn drop(&mut self) {
        self.0.registry.forget(&self.0.id);
    }
}

impl Reserved {
    pub(crate) fn task(&self) -> &Arc<LiveTask> {
        &self.0
    }

    /// Stores the task, and starts its function. The record is as it is then.
    pub(crate) async fn begin(
        self,
        running: Pin<Box<dyn Future<Output = McpResult<ToolResult>> + Send>>,
    ) -> McpResult<TaskRecord> {
        let record = self.0.record();
        self.0.registry.store.put(&record).await.map_err(|error| refused(&error))?;
        self.0.registry.sweep();
        tokio::spawn(run(self, running));
        Ok(record)
    }
}

/// Runs a function to its end, whatever that is.
async fn run(place: Reserved, running: Pin<Box<dyn Future<Output = McpResult<ToolResult>> + Send>>) {
    let task = place.task();
    let left = task.record().expires().saturating_sub(task.registry.now());
    // In a task of its own, so that a panic ends nothing else.
    let mut function = tokio::spawn(running);
    let end = tokio::select! {
        done = &mut function => done.map_or(End::Panicked, End::Done),
        () = task.stopped() => End::Stopped,
        () = tokio::time::sleep(Duration::from_millis(left)) => End::Expired,
    };
    function.abort();
    task.finish(end).await;
}

impl Registry {
    pub(crate) fn new(store: Arc<dyn TaskStore>, options: TaskOptions, clock: Clock) -> Arc<Self> {
        Arc::new(Registry {
            store,
            options,
            clock,
            live: Mutex::default(),
            changes: broadcast::Sender::new(BACKLOG),
            sweeping: AtomicBool::new(false),
            added: Notify::new(),
        })
    }

    pub(super) fn now(&self) -> u64 {
        let since = (self.clock)().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn live(&self) -> MutexGuard<'_, HashMap<String, Arc<LiveTask>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds room for a task.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        Reservation { tool, bytes, owner, share, ttl, revision, peer }: Reservation<'_>,
    ) -> McpResult<Reserved> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(ToolError::rpc(ErrorCode::INTERNAL_ERROR, "tasks need a server on tokio"));
        }
        let now = self.now();
        let most = u64::try_from(self.options.ttl.as_millis()).unwrap_or(u64::MAX);
        let record = TaskRecord {
            id: random_id()?,
            owner,
            share,
            tool: tool.to_owned(),
            status: TaskStatus::Working,
            status_message: None,
            created: now,
            updated: now,
            ttl: ttl.map_or(most, |asked| asked.min(most)),
            poll_interval: u64::try_from(self.options.poll_interval.as_millis()).unwrap_or(u64::MAX),
            input_requests: std::collections::BTreeMap::new(),
            outcome: None,
        };
        let task = Arc::new(LiveTask::new(record, bytes, revision, Arc::clone(self), peer));
        let mut live = self.live();
        let TaskOptions { running, running_per_caller, running_bytes, running_bytes_per_caller, .. } =
            self.options;
        if live.len() >= running {
            return Err(overloaded(format_args!("{running} tasks run already")));
        }
        let own = live.values().filter(|other| other.share.is_some() && other.share == task.share);
        let (own, own_held) = own.fold((0, 0), |(count, sum), other| (count + 1, sum + other.bytes));
        if own >= running_per_caller {
            return Err(overloaded(format_args!("{own} tasks of this caller run already")));
        }
        let held: usize = live.values().map(|other| other.bytes).sum();
        if held.saturating_add(bytes) > running_bytes {
            return Err(overloaded("the tasks that run have too many bytes of arguments"));
        }
        if own_held + bytes > running_bytes_per_caller {
            return Err(overloaded("the tasks of this caller that run have too many bytes of arguments"));
        }
        live.insert(task.id.clone(), Arc::clone(&task));
        Ok(Reserved(task))
    }

    pub(super) fn forget(&self, id: &str) {
        let mut live = self.live();
        live.remove(id);
        if live.is_empty() {
            live.shrink_to_fit();
        }
    }

    pub(super) fn announce(&self, id: &str) {
        // Fails if nobody listens.
        let _ = self.changes.send(Arc::from(id));
    }

    pub(super) fn changes(&self) -> broadcast::Receiver<Arc<str>> {
        self.changes.subscribe()
    }

    /// A task, if there is one and this caller may see it: others are told that there is none.
    pub(super) async fn find(&self, id: &str, owner: Option<&str>) -> sabir::Result<Found> {
        let live = self.live().get(id).cloned();
        let found = match live {
            Some(task) => Some(Found::Live(task)),
            None => {
                let stored = self.store.get(id).await;
                stored.map_err(|error| broken(&error))?.map(|record| Found::Stored(Box::new(record)))
            }
        };
        found
            .filter(|found| {
                let record = found.record();
                record.expires() > self.now() && (record.owner.is_none() || record.owner.as_deref() == owner)
            })
            .ok_or_else(|| invalid(format_args!("there is no task `{}`", shown(id))))
    }

    /// Removes what expires, also if nobody ever asks again.
    pub(crate) fn sweep(self: &Arc<Self>) {
        self.added.notify_one();
        if !self.sweeping.swap(true, Ordering::AcqRel) {
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }
}

async fn sweep(registry: Weak<Registry>) {
    loop {
        let Some(this) = registry.upgrade() else { return };
        let next = match this.store.expire(this.now()).await {
            Ok(Some(next)) => next,
            Ok(None) => {
                this.sweeping.store(false, Ordering::Release);
                // One may have been added since.
                match this.store.expire(this.now()).await {
                    Ok(Some(next)) if !this.sweeping.swap(true, Ordering::AcqRel) => next,
                    _ => return,
                }
            }
            // Tries again in a while.
            Err(_) => this.now().saturating_add(60_000),
        };
        let wait = Duration::from_millis(next.saturating_sub(this.now()).max(1));
        // A server that nobody holds any more is not kept by its sweeper for longer than a minute.
        let wait = tokio::time::sleep(wait.min(Duration::from_secs(60)));
        tokio::select! {
            () = wait => {}
            () = this.added.notified() => {}
        }
    }
}

/// A digest of who calls, so that credentials are not kept with tasks.
pub(crate) fn owner(identity: Option<Vec<u8>>) -> Option<String> {
    let mut digest = Sha256::new();
    digest.update(b"sabir-mcp task owner 1");
    digest.update(identity?);
    Some(URL_SAFE_NO_PAD.encode(digest.finalize()))
}

fn random_id() -> McpResult<String> {
    let mut id = [0; 18];
    getrandom::fill(&mut id).map_err(|error| ToolError::rpc(ErrorCode::INTERNAL_ERROR, error.to_string()))?;
    // A letter comes first: on a command line a dash would begin an option.
    Ok(format!("t{}", URL_SAFE_NO_PAD.encode(id)))
}

fn overloaded(reason: impl std::fmt::Display) -> ToolError {
    ToolError::Rpc(ErrorObject::because(ErrorCode::OVERLOADED, reason))
}

fn refused(error: &std::io::Error) -> ToolError {
    match error.kind() {
        std::io::ErrorKind::StorageFull => overloaded("there is no room for another task"),
        _ => ToolError::Rpc(broken(error)),
    }
}

/// Why a store fails is not for strangers.
pub(super) fn broken(_: &std::io::Error) -> ErrorObject {
    ErrorObject::because(ErrorCode::INTERNAL_ERROR, "the tasks are not to be had at the moment")
}
