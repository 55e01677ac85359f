//! Finished tasks, kept for the next calls of their methods.

use std::time::Duration;

use sabir_proto::Time;

use crate::handler::ctx::Ctx;
use crate::handler::task::BoxTask;
use crate::router::Routes;
use crate::{ErrorCode, ErrorObject, RawJson, Result};

/// Tasks above this size are not kept.
const LARGEST_KEPT: usize = 1024;
/// What all tasks that are kept may take.
const MOST_KEPT: usize = 1 << 20;
/// What they may take for good. The rest is for a burst, and for the next one if that comes soon.
const KEPT_FOR_GOOD: usize = 64 * 1024;
/// How long tasks are kept that nobody needs.
const KEPT_FOR: Duration = Duration::from_secs(1);
/// Methods with names above this length are looked up each time.
const LONGEST_NAME: usize = 64;

/// A task and where it belongs when it is done.
pub(crate) struct Running {
    pub(crate) task: BoxTask,
    route: usize,
}

/// Tasks that have nothing to do.
#[derive(Default)]
pub(crate) struct TaskPool {
    /// By their route.
    tasks: Vec<Vec<BoxTask>>,
    bytes: usize,
    /// The least that they took since there was last looked for what nobody needs: that much was never used.
    unused: usize,
    /// When to look again.
    trim_at: Option<Time>,
    /// The method that was called last, and its route. Calls come in rows, and then nothing is looked up.
    last: String,
    route: Option<usize>,
}

impl TaskPool {
    /// Starts the handler of a call, if there is one. The error is its answer.
    #[inline]
    pub(crate) fn start(
        &mut self,
        routes: &Routes,
        ctx: Ctx,
        method: &str,
        params: Option<&RawJson<'_>>,
    ) -> Result<Running> {
        let Some(mut running) = self.task(method, routes) else {
            return Err(ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND));
        };
        running.task.as_mut().start(ctx, method, params)?;
        Ok(running)
    }

    /// A task for a call of this method, if there is a handler.
    #[inline(always)]
    fn task(&mut self, method: &str, routes: &Routes) -> Option<Running> {
        if let Some(route) = self.route
            && method == self.last
            && let Some(task) = self.take(route)
        {
            return Some(Running { task, route });
        }
        let route = routes.route(method)?;
        self.route = (method.len() <= LONGEST_NAME).then(|| {
            self.last.clear();
            self.last.push_str(method);
            route.index
        });
        let task = self.take(route.index).unwrap_or_else(|| route.task());
        Some(Running { task, route: route.index })
    }

    #[inline]
    fn take(&mut self, route: usize) -> Option<BoxTask> {
        let task = self.tasks.get_mut(route)?.pop()?;
        self.bytes -= task.bytes();
        self.unused = self.unused.min(self.bytes);
        Some(task)
    }

    /// Keeps a task that is done.
    #[inline(always)]
    pub(crate) fn keep(&mut self, Running { task, route }: Running) {
        let bytes = task.bytes();
        if bytes > LARGEST_KEPT {
            return;
        }
        if self.tasks.len() <= route {
            self.tasks.resize_with(route + 1, Vec::new);
        }
        if self.bytes + bytes <= MOST_KEPT {
            self.bytes += bytes;
            self.tasks[route].push(task);
        }
    }

    /// Whether there are more tasks than are kept for good.
    #[inline]
    pub(crate) fn is_large(&self) -> bool {
        self.bytes > KEPT_FOR_GOOD
    }

    /// When to call [`trim`](Self::trim), if nothing else happens.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.trim_at
    }

    /// Gives back the tasks of a burst, once nobody has needed them for a while.
    #[cold]
    pub(crate) fn trim(&mut self, now: Time) {
        if self.trim_at.is_some_and(|at| at > now) {
            return;
        }
        if self.trim_at.is_some() {
            let kept = (self.bytes - self.unused).max(KEPT_FOR_GOOD);
            for route in &mut self.tasks {
                while self.bytes > kept
                    && let Some(task) = route.pop()
                {
                    self.bytes -= task.bytes();
                }
                route.shrink_to(route.len().next_power_of_two());
            }
        }
        self.unused = self.bytes;
        self.trim_at = self.is_large().then(|| now + KEPT_FOR);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use sabir_proto::RequestKey;

    use super::*;
    use crate::handler::task::Task;
    use crate::runtime::session_context::SessionContext;

    struct Idle(usize);

    impl Task for Idle {
        fn start(self: Pin<&mut Self>, _: Ctx, _: &str, _: Option<&RawJson<'_>>) -> Result<()> {
            Ok(())
        }

        fn poll(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut SessionContext,
            _: Option<RequestKey>,
        ) -> Poll<()> {
            Poll::Ready(())
        }

        fn bytes(&self) -> usize {
            self.0
        }
    }

    fn keep(pool: &mut TaskPool, bytes: usize, count: usize) {
        for _ in 0..count {
            pool.keep(Running { task: Box::pin(Idle(bytes)), route: 1 });
        }
    }

    #[test]
    fn tasks_of_a_burst_are_kept_for_as_long_as_they_are_needed() {
        let second = |n: u64| Time::since(Duration::from_secs(n));
        let mut pool = TaskPool::default();
        keep(&mut pool, LARGEST_KEPT + 1, 10);
        assert_eq!(pool.bytes, 0);
        keep(&mut pool, LARGEST_KEPT, 2000);
        assert_eq!(pool.bytes, MOST_KEPT);
        pool.trim(second(0));
        assert_eq!(pool.deadline(), Some(second(1)));
        // A burst of 512 needs as many.
        let burst: Vec<_> = (0..512).filter_map(|_| pool.take(1)).collect();
        for task in burst {
            pool.keep(Running { task, route: 1 });
        }
        pool.trim(second(1));
        assert_eq!((pool.bytes, pool.deadline()), (512 * LARGEST_KEPT, Some(second(2))));
        // Nothing more comes.
        pool.trim(second(2));
        assert_eq!((pool.bytes, pool.deadline()), (KEPT_FOR_GOOD, None));
    }
}
