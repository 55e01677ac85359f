//! Where tasks are kept, and what that must be able to do.

use std::future::Future;
use std::io;
use std::pin::Pin;

use super::record::TaskRecord;

/// What a [`TaskStore`] returns.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// Keeps tasks: in memory ([`MemoryTasks`](crate::MemoryTasks)), in a file (`RedbTasks`, with the feature `redb`), or
/// wherever you like.
///
/// The server never asks for what a caller may not see; a store need not check that.
pub trait TaskStore: Send + Sync + 'static {
    /// Adds a task, or replaces it. When it is done, every [`get`](Self::get) finds it. Fails with
    /// [`io::ErrorKind::StorageFull`] if there is no room; but a task that is there must be replaceable by one with an
    /// [error](crate::TaskOutcome::Error).
    fn put<'a>(&'a self, task: &'a TaskRecord) -> StoreFuture<'a, ()>;

    /// A task by its id.
    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<TaskRecord>>;

    /// Tasks of an owner in the order of their ids: at most `most`, behind the id `after`.
    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> StoreFuture<'a, Vec<TaskRecord>>;

    /// Removes every task that has [expired](TaskRecord::expires) at this time, and tells when the next one will.
    fn expire(&self, now: u64) -> StoreFuture<'_, Option<u64>>;
}

impl<T: TaskStore + ?Sized> TaskStore for std::sync::Arc<T> {
    fn put<'a>(&'a self, task: &'a TaskRecord) -> StoreFuture<'a, ()> {
        (**self).put(task)
    }

    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<TaskRecord>> {
        (**self).get(id)
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> StoreFuture<'a, Vec<TaskRecord>> {
        (**self).list(owner, after, most)
    }

    fn expire(&self, now: u64) -> StoreFuture<'_, Option<u64>> {
        (**self).expire(now)
    }
}

/// How much a store keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskStoreLimits {
    /// Tasks. 10,000.
    pub tasks: usize,
    /// Bytes that they may have together: mostly what came of them. 64 MiB.
    pub bytes: usize,
}

impl Default for TaskStoreLimits {
    fn default() -> Self {
        TaskStoreLimits { tasks: 10_000, bytes: 64 << 20 }
    }
}

/// What is in a store, in numbers, and when it expires.
#[derive(Debug, Default)]
pub(crate) struct StoreUse {
    /// Bytes and time of expiry by id.
    tasks: std::collections::HashMap<String, (usize, u64)>,
    expiry: std::collections::BTreeSet<(u64, String)>,
    bytes: usize,
}

impl StoreUse {
    /// Counts a task that is added or replaced, if there is room.
    pub(crate) fn count(&mut self, task: &TaskRecord, limits: &TaskStoreLimits) -> io::Result<()> {
        let (bytes, expires) = (task.bytes(), task.expires());
        let old = self.tasks.get(&task.id).copied();
        let replaces_by_error = old.is_some() && matches!(task.outcome, Some(super::TaskOutcome::Error(_)));
        let after = self.bytes - old.map_or(0, |(bytes, _)| bytes) + bytes;
        if !replaces_by_error && (after > limits.bytes || (old.is_none() && self.tasks.len() >= limits.tasks))
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if let Some((_, expired)) = old {
            self.expiry.remove(&(expired, task.id.clone()));
        }
        self.bytes = after;
        self.tasks.insert(task.id.clone(), (bytes, expires));
        self.expiry.insert((expires, task.id.clone()));
        Ok(())
    }

    /// The ids of what has expired, which are no longer counted.
    pub(crate) fn take_expired(&mut self, now: u64) -> Vec<String> {
        let mut gone = Vec::new();
        while self.expiry.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, id)) = self.expiry.pop_first() else { break };
            if let Some((bytes, _)) = self.tasks.remove(&id) {
                self.bytes -= bytes;
            }
            gone.push(id);
        }
        gone
    }

    /// When the next one expires.
    pub(crate) fn next_expiry(&self) -> Option<u64> {
        self.expiry.first().map(|(at, _)| *at)
    }
}
