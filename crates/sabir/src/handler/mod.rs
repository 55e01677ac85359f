//! A handler at work: its context, and the task that runs it.

pub(crate) mod ctx;
pub(crate) mod feed;
pub(crate) mod items;
pub(crate) mod sink;
pub(crate) mod spawned;
pub(crate) mod task;
pub(crate) mod task_pool;
pub(crate) mod test_ctx;
pub(crate) mod thread_pool;
mod worker;
