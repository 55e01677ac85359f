//! Tasks that are kept in a file, and outlive the process.

#![expect(clippy::result_large_err, reason = "the errors of `redb` are large, and rare")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

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
    path: PathBuf,
    /// None if it could not be opened again.
    database: RwLock<Option<Database>>,
    limits: TaskStoreLimits,
    used: Mutex<StoreUse>,
}

impl RedbTasks {
    /// Opens the file, or makes it, for its owner alone. Fails if another process has it open.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        RedbTasks::with_limits(path, TaskStoreLimits::default())
    }

    /// The same with limits of its own.
    pub fn with_limits(path: impl AsRef<Path>, limits: TaskStoreLimits) -> io::Result<Self> {
        let at = |error: &dyn std::error::Error| {
            io::Error::other(format!("the tasks in {} cannot be opened: {error}", path.as_ref().display()))
        };
        make_private(path.as_ref()).map_err(|error| io::Error::new(error.kind(), at(&error)))?;
        let database = Database::create(path.as_ref()).map_err(|error| at(&error))?;
        let used = take_over(&database).map_err(|error| at(&error))?;
        let database = RwLock::new(Some(database));
        let path = path.as_ref().to_owned();
        Ok(RedbTasks(Arc::new(Shared { path, database, limits, used: Mutex::new(used) })))
    }
}

/// Makes the file, if there is none, so that only its owner can read what came of tasks. An empty one is a new database.
fn make_private(path: &Path) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Counts what an earlier process has left, and ends what ran in it.
fn take_over(database: &Database) -> Result<StoreUse, redb::Error> {
    let mut used = StoreUse::default();
    let write = database.begin_write()?;
    {
        let mut table = write.open_table(TASKS)?;
        let (mut ended, mut broken) = (Vec::new(), Vec::new());
        for entry in table.iter()? {
            let (id, record) = entry?;
            // One that nobody can read is of no use, and must not take the others with it.
            let Ok(mut record) = serde_json::from_slice::<TaskRecord>(record.value()) else {
                broken.push(id.value().to_owned());
                continue;
            };
            if !record.status.is_final() {
                interrupt(&mut record);
                ended.push(record.clone());
            }
            // What is there stays, whatever the limits are now.
            used.restore(&record.id, Some(&record));
        }
        for id in broken {
            table.remove(id.as_str())?;
        }
        for record in ended {
            if let Ok(json) = serde_json::to_vec(&record) {
                table.insert(record.id.as_str(), json.as_slice())?;
            }
        }
    }
    write.commit()?;
    Ok(used)
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

    /// Works with the file. After a write that failed, for want of room say, `redb` takes nothing more until the file is opened
    /// again.
    fn work<T>(&self, work: impl Fn(&Database) -> Result<T, redb::Error>) -> io::Result<T> {
        let done = match &*self.database.read().unwrap_or_else(PoisonError::into_inner) {
            Some(database) => work(database),
            None => Err(redb::Error::PreviousIo),
        };
        if !matches!(done, Err(redb::Error::Io(_) | redb::Error::PreviousIo)) {
            return done.map_err(io::Error::other);
        }
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        // It is closed first: a file can be open once.
        drop(database.take());
        let opened = database.insert(Database::open(&self.path).map_err(io::Error::other)?);
        work(opened).map_err(io::Error::other)
    }

    fn put(&self, task: &TaskRecord) -> io::Result<()> {
        let json = serde_json::to_vec(task)?;
        let before = self.get(&task.id)?;
        self.used().count(task, &self.limits)?;
        let written = self.work(|database| {
            let write = database.begin_write()?;
            write.open_table(TASKS)?.insert(task.id.as_str(), json.as_slice())?;
            Ok(write.commit()?)
        });
        if written.is_err() {
            self.used().restore(&task.id, before.as_ref());
        }
        written
    }

    fn get(&self, id: &str) -> io::Result<Option<TaskRecord>> {
        let found = self.work(|database| {
            let table = database.begin_read()?.open_table(TASKS)?;
            Ok(table.get(id)?.map(|record| record.value().to_vec()))
        })?;
        Ok(found.map(|record| serde_json::from_slice(&record)).transpose()?)
    }

    fn list(&self, owner: &str, after: Option<&str>, most: usize) -> io::Result<Vec<TaskRecord>> {
        self.work(|database| {
            let table = database.begin_read()?.open_table(TASKS)?;
            let mut found = Vec::new();
            for entry in table.range(after.unwrap_or_default()..)? {
                let (id, record) = entry?;
                if Some(id.value()) == after {
                    continue;
                }
                let record = serde_json::from_slice::<TaskRecord>(record.value()).ok();
                found.extend(record.filter(|record| record.owner.as_deref() == Some(owner)));
                if found.len() == most {
                    break;
                }
            }
            Ok(found)
        })
    }

    fn expire(&self, now: u64) -> io::Result<Option<u64>> {
        let gone = self.used().expired(now);
        if !gone.is_empty() {
            self.work(|database| {
                let write = database.begin_write()?;
                {
                    let mut table = write.open_table(TASKS)?;
                    for id in &gone {
                        table.remove(id.as_str())?;
                    }
                }
                write.commit()?;
                // Their pages are free for others from the next transaction on; a full disk would take no other one.
                Ok(database.begin_write()?.commit()?)
            })?;
            let mut used = self.used();
            gone.iter().for_each(|id| used.restore(id, None));
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
