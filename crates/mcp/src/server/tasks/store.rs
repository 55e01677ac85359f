//! Where tasks are kept, and what that must be able to do.

use std::collections::HashMap;
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
    /// Tasks of one [share](TaskRecord::share): one who makes many leaves room for others. 1,000.
    pub tasks_per_caller: usize,
    /// Bytes that they may have together: mostly what came of them. 64 MiB.
    pub bytes: usize,
    /// Bytes of the tasks of one share. 16 MiB.
    pub bytes_per_caller: usize,
}

#[cfg(feature = "redb")]
impl TaskStoreLimits {
    /// For what is there already.
    pub(crate) const NONE: Self = TaskStoreLimits {
        tasks: usize::MAX,
        tasks_per_caller: usize::MAX,
        bytes: usize::MAX,
        bytes_per_caller: usize::MAX,
    };
}

impl Default for TaskStoreLimits {
    fn default() -> Self {
        TaskStoreLimits {
            tasks: 10_000,
            tasks_per_caller: 1_000,
            bytes: 64 << 20,
            bytes_per_caller: 16 << 20,
        }
    }
}

/// What is in a store, in numbers, and when it expires.
#[derive(Debug, Default)]
pub(crate) struct StoreUse {
    tasks: HashMap<String, Counted>,
    /// Tasks and bytes by share.
    shares: HashMap<String, (usize, usize)>,
    expiry: std::collections::BTreeSet<(u64, String)>,
    bytes: usize,
}

#[derive(Debug, Clone)]
struct Counted {
    bytes: usize,
    expires: u64,
    share: Option<String>,
}

impl StoreUse {
    /// Counts a task that is added or replaced, if there is room.
    pub(crate) fn count(&mut self, task: &TaskRecord, limits: &TaskStoreLimits) -> io::Result<()> {
        let (bytes, expires) = (task.bytes(), task.expires());
        let old = self.tasks.get(&task.id).cloned();
        let old_bytes = old.as_ref().map_or(0, |old| old.bytes);
        let replaces_by_error = old.is_some() && matches!(task.outcome, Some(super::TaskOutcome::Error(_)));
        let added = usize::from(old.is_none());
        let (own, own_bytes) =
            task.share.as_ref().and_then(|share| self.shares.get(share)).copied().unwrap_or_default();
        let is_full =
            self.tasks.len() + added > limits.tasks || self.bytes - old_bytes + bytes > limits.bytes;
        let is_greedy = task.share.is_some()
            && (own + added > limits.tasks_per_caller
                || own_bytes - old_bytes + bytes > limits.bytes_per_caller);
        if !replaces_by_error && (is_full || is_greedy) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if let Some(old) = old {
            self.uncount(&task.id, &old);
        }
        self.bytes += bytes;
        if let Some(share) = &task.share {
            let (tasks, all) = self.shares.entry(share.clone()).or_default();
            (*tasks, *all) = (*tasks + 1, *all + bytes);
        }
        self.tasks.insert(task.id.clone(), Counted { bytes, expires, share: task.share.clone() });
        self.expiry.insert((expires, task.id.clone()));
        Ok(())
    }

    /// Counts a task as it was before, since what should have replaced it is not there.
    #[cfg(feature = "redb")]
    pub(crate) fn restore(&mut self, id: &str, before: Option<&TaskRecord>) {
        if let Some(now) = self.tasks.remove(id) {
            self.uncount(id, &now);
        }
        if let Some(before) = before {
            // Nothing is refused without limits.
            let _ = self.count(before, &TaskStoreLimits::NONE);
        }
    }

    fn uncount(&mut self, id: &str, old: &Counted) {
        self.bytes -= old.bytes;
        self.expiry.remove(&(old.expires, id.to_owned()));
        if let Some(share) = &old.share
            && let Some((tasks, bytes)) = self.shares.get_mut(share)
        {
            (*tasks, *bytes) = (*tasks - 1, *bytes - old.bytes);
            if *tasks == 0 {
                self.shares.remove(share);
            }
        }
    }

    /// The ids of what has expired.
    #[cfg(feature = "redb")]
    pub(crate) fn expired(&self, now: u64) -> Vec<String> {
        self.expiry.iter().take_while(|(at, _)| *at <= now).map(|(_, id)| id.clone()).collect()
    }

    /// The ids of what has expired, which are no longer counted.
    pub(crate) fn take_expired(&mut self, now: u64) -> Vec<String> {
        let mut gone = Vec::new();
        while let Some((at, id)) = self.expiry.first().cloned()
            && at <= now
        {
            match self.tasks.remove(&id) {
                Some(old) => self.uncount(&id, &old),
                None => drop(self.expiry.remove(&(at, id.clone()))),
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
