//! Tasks that are kept in memory, and gone with the process.

use std::collections::BTreeMap;
use std::future::ready;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::record::TaskRecord;
use super::store::{StoreFuture, StoreUse, TaskStore, TaskStoreLimits};

/// Keeps tasks in memory. A server has one unless it is given another store.
#[derive(Debug, Default)]
pub struct MemoryTasks {
    limits: TaskStoreLimits,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    tasks: BTreeMap<String, TaskRecord>,
    used: StoreUse,
}

impl MemoryTasks {
    /// An empty store with limits of its own.
    pub fn new(limits: TaskStoreLimits) -> Self {
        MemoryTasks { limits, kept: Mutex::default() }
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.kept().tasks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskStore for MemoryTasks {
    fn put<'a>(&'a self, task: &'a TaskRecord) -> StoreFuture<'a, ()> {
        let mut kept = self.kept();
        let counted = kept.used.count(task, &self.limits);
        if counted.is_ok() {
            kept.tasks.insert(task.id.clone(), task.clone());
        }
        Box::pin(ready(counted))
    }

    fn get<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<TaskRecord>> {
        Box::pin(ready(Ok(self.kept().tasks.get(id).cloned())))
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> StoreFuture<'a, Vec<TaskRecord>> {
        let kept = self.kept();
        let behind = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let tasks = kept.tasks.range::<str, _>(behind).map(|(_, task)| task);
        let found = tasks.filter(|task| task.owner.as_deref() == Some(owner)).take(most).cloned().collect();
        Box::pin(ready(Ok(found)))
    }

    fn expire(&self, now: u64) -> StoreFuture<'_, Option<u64>> {
        let mut kept = self.kept();
        for id in kept.used.take_expired(now) {
            kept.tasks.remove(&id);
        }
        let next = kept.used.next_expiry();
        if next.is_none() {
            // What many tasks once took is not kept for the next ones.
            *kept = Kept::default();
        }
        Box::pin(ready(Ok(next)))
    }
}
