//! Finished tasks, kept for the next calls of their methods.

use crate::handler::ctx::Ctx;
use crate::handler::task::BoxTask;
use crate::router::Routes;
use crate::{ErrorCode, ErrorObject, RawJson, Result};

/// Tasks above this size are not kept.
const MAX_POOLED_BYTES: usize = 1024;
/// Methods with names above this length are looked up each time.
const LONGEST_NAME: usize = 64;

/// A task and where it belongs when it is done.
pub(crate) struct Running {
    pub(crate) task: BoxTask,
    route: usize,
}

/// One task for each route, while it has nothing to do.
#[derive(Default)]
pub(crate) struct TaskPool {
    tasks: Vec<Option<BoxTask>>,
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
        self.tasks.get_mut(route).and_then(Option::take)
    }

    /// Keeps a task that is done.
    #[inline(always)]
    pub(crate) fn keep(&mut self, Running { task, route }: Running) {
        if size_of_val(&*task) > MAX_POOLED_BYTES {
            return;
        }
        if self.tasks.len() <= route {
            self.tasks.resize_with(route + 1, || None);
        }
        self.tasks[route] = Some(task);
    }
}
