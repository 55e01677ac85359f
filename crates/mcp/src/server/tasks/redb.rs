//! Tasks that are kept in a file, and outlive the process.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use redb::{Database, ReadableTable, TableDefinition};
use sabir::{ErrorCode, ErrorObject};

use super::record::{TaskOutcome, TaskRecord};
use super::store::{StoreFuture, StoreUse, TaskStore, TaskStoreLimits};
use crate::types::TaskStatus;

/// Records in JSON, by id.
const TASKS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("tasks");

/// Keeps tasks in a file, so that a server that is started again still knows them. One process at a time.
///
/// What ran when the process ended is `failed`, with the reason.
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// use sabir_mcp::{McpServer, RedbTasks};
///
/// let server = McpServer::new("films", "1.0.0").task_store(RedbTasks::open("tasks.redb")?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedbTasks(Arc<Shared>);

struct Shared {
    database: Database,
    limits: TaskStoreLimits,
    used: Mutex<StoreUse>,
}

impl RedbTasks {
    /// Opens the file, or makes it. Fails if another process has it open.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        RedbTasks::with_limits(path, TaskStoreLimits::default())
    }

    /// The same with limits of its own.
    pub fn with_limits(path: impl AsRef<Path>, limits: TaskStoreLimits) -> io::Result<Self> {
        let database = Database::create(path).map_err(io::Error::other)?;
        let mut used = StoreUse::default();
        let write = database.begin_write().map_err(io::Error::other)?;
        {
            let mut table = write.open_table(TASKS).map_err(io::Error::other)?;
            let mut ended = Vec::new();
            for entry in table.iter().map_err(io::Error::other)? {
                let (_, record) = entry.map_err(io::Error::other)?;
                let mut record: TaskRecord = serde_json::from_slice(record.value())?;
                if !record.status.is_final() {
                    interrupt(&mut record);
                    ended.push(record.clone());
                }
                // What is there stays, whatever the limits are now.
                let most = usize::MAX;
                let unlimited = TaskStoreLimits {
                    tasks: most,
                    tasks_per_caller: most,
                    bytes: most,
                    bytes_per_caller: most,
                };
                used.count(&record, &unlimited)?;
            }
            for record in ended {
                let json = serde_json::to_vec(&record)?;
                table.insert(record.id.as_str(), json.as_slice()).map_err(io::Error::other)?;
            }
        }
        write.commit().map_err(io::Error::other)?;
        Ok(RedbTasks(Arc::new(Shared { database, limits, used: Mutex::new(used) })))
    }
}

/// Ends a task whose process has ended.
fn interrupt(record: &mut TaskRecord) {
    let reason = "the server was restarted while the task ran";
    record.status = TaskStatus::Failed;
    record.status_message = Some(reason.to_owned());
    record.input_requests.clear();
    record.outcome = Some(TaskOutcome::Error(ErrorObject::because(ErrorCode::INTERNAL_ERROR, reason)));
}

impl Shared {
    fn used(&self) -> std::sync::MutexGuard<'_, StoreUse> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, task: &TaskRecord) -> io::Result<()> {
        self.used().count(task, &self.limits)?;
        let json = serde_json::to_vec(task)?;
        let write = self.database.begin_write().map_err(io::Error::other)?;
        {
            let mut table = write.open_table(TASKS).map_err(io::Error::other)?;
            table.insert(task.id.as_str(), json.as_slice()).map_err(io::Error::other)?;
        }
        write.commit().map_err(io::Error::other)
    }

    fn get(&self, id: &str) -> io::Result<Option<TaskRecord>> {
        let read = self.database.begin_read().map_err(io::Error::other)?;
        let table = read.open_table(TASKS).map_err(io::Error::other)?;
        let found = table.get(id).map_err(io::Error::other)?;
        Ok(found.map(|record| serde_json::from_slice(record.value())).transpose()?)
    }

    fn list(&self, owner: &str, after: Option<&str>, most: usize) -> io::Result<Vec<TaskRecord>> {
        let read = self.database.begin_read().map_err(io::Error::other)?;
        let table = read.open_table(TASKS).map_err(io::Error::other)?;
        let mut found = Vec::new();
        for entry in table.range(after.unwrap_or_default()..).map_err(io::Error::other)? {
            let (id, record) = entry.map_err(io::Error::other)?;
            if Some(id.value()) == after {
                continue;
            }
            let record: TaskRecord = serde_json::from_slice(record.value())?;
            if record.owner.as_deref() == Some(owner) {
                found.push(record);
            }
            if found.len() == most {
                break;
            }
        }
        Ok(found)
    }

    fn expire(&self, now: u64) -> io::Result<Option<u64>> {
        let gone = self.used().take_expired(now);
        if !gone.is_empty() {
            let write = self.database.begin_write().map_err(io::Error::other)?;
            {
                let mut table = write.open_table(TASKS).map_err(io::Error::other)?;
                for id in &gone {
                    table.remove(id.as_str()).map_err(io::Error::other)?;
                }
            }
            write.commit().map_err(io::Error::other)?;
        }
        Ok(self.used().next_expiry())
    }
}

/// Files are written on a thread for that.
fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> StoreFuture<'static, T> {
    Box::pin(async move { tokio::task::spawn_blocking(work).await.map_err(io::Error::other)? })
}

impl TaskStore for RedbTasks {
    fn put<'a>(&'a self, task: &'a TaskRecord) -> StoreFuture<'a, ()> {
        let (shared, task) = (Arc::clone(&self.0), task.clone());
        blocking(move || shared.put(&task))
    }

    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<TaskRecord>> {
        let (shared, id) = (Arc::clone(&self.0), id.to_owned());
        blocking(move || shared.get(&id))
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> StoreFuture<'a, Vec<TaskRecord>> {
        let shared = Arc::clone(&self.0);
        let (owner, after) = (owner.to_owned(), after.map(str::to_owned));
        blocking(move || shared.list(&owner, after.as_deref(), most))
    }

    fn expire(&self, now: u64) -> StoreFuture<'_, Option<u64>> {
        let shared = Arc::clone(&self.0);
        blocking(move || shared.expire(now))
    }
}

impl std::fmt::Debug for RedbTasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedbTasks").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}
