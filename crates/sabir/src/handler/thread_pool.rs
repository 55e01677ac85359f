//! The bounded thread pool for blocking handlers, and its queue.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::sync::lock;

/// The default for the largest number of threads.
const MOST: usize = 64;

/// How long a thread waits for work before it ends.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// Runs functions on a bounded number of threads.
pub(crate) struct Pool {
    most: usize,
    /// Threads keep this, and not the pool: it may go while they are at work.
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    /// Notified of each job that is added.
    added: Condvar,
}

#[derive(Default)]
struct State {
    /// By the order in which they came, so that one that is no longer wanted can be taken out.
    waiting: BTreeMap<u64, Job>,
    next: u64,
    threads: usize,
    idle: usize,
}

impl Pool {
    pub(crate) fn new(most: usize) -> Self {
        Pool { most: most.max(1), queue: Arc::default() }
    }

    /// Runs `function` on a thread, once there is one for it. The future gives what it returns; `None` if it
    /// panicked. Dropped before the function has started, it is never run.
    pub(crate) fn run<T, F>(
        &self,
        function: F,
    ) -> io::Result<impl Future<Output = Option<T>> + Send + use<T, F>>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let (done, outcome) = oneshot::channel();
        let job = Box::new(move || drop(done.send(function())));
        let ticket = self.add(job)?;
        Ok(async move {
            let outcome = outcome.await.ok();
            drop(ticket);
            outcome
        })
    }

    fn add(&self, job: Job) -> io::Result<Ticket> {
        let mut state = lock(&self.queue.state);
        let number = state.next;
        state.next += 1;
        state.waiting.insert(number, job);
        if state.waiting.len() > state.idle && state.threads < self.most {
            let queue = Arc::clone(&self.queue);
            match thread::Builder::new().name("sabir-worker".to_owned()).spawn(move || queue.work()) {
                Ok(_) => state.threads += 1,
                // Others will come to it.
                Err(_) if state.threads > 0 => {}
                Err(error) => {
                    let job = state.waiting.remove(&number);
                    drop(state);
                    drop(job);
                    return Err(error);
                }
            }
        }
        drop(state);
        self.queue.added.notify_one();
        Ok(Ticket { number, queue: Arc::clone(&self.queue) })
    }
}

impl Default for Pool {
    fn default() -> Self {
        Pool::new(MOST)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Queue {
    fn work(&self) {
        let mut state = lock(&self.state);
        loop {
            if let Some((_, job)) = state.waiting.pop_first() {
                drop(state);
                // Whoever waits sees that there is no answer; the panic hook has printed why.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = lock(&self.state);
                continue;
            }
            state.idle += 1;
            let (back, waited) = self.added.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = back;
            state.idle -= 1;
            if waited.timed_out() && state.waiting.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

/// The right to a turn, given back when it is dropped.
struct Ticket {
    number: u64,
    queue: Arc<Queue>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // Dropped outside of the lock: it may hold anything.
        let job = lock(&self.queue.state).waiting.remove(&self.number);
        drop(job);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn no_more_threads_than_allowed_and_all_is_done() {
        let pool = Pool::new(3);
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (sender, done) = mpsc::channel();
        let waiting: Vec<_> = (0..300)
            .map(|number| {
                let (now, most, sender) = (Arc::clone(&now), Arc::clone(&most), sender.clone());
                pool.run(move || {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::yield_now();
                    now.fetch_sub(1, Ordering::SeqCst);
                    sender.send(number).unwrap();
                })
                .unwrap()
            })
            .collect();
        drop(sender);
        let mut all: Vec<i32> = done.iter().collect();
        all.sort_unstable();
        assert_eq!(all, (0..300).collect::<Vec<_>>());
        assert!(most.load(Ordering::SeqCst) <= 3, "{most:?}");
        assert!(lock(&pool.queue.state).threads <= 3);
        drop(waiting);
    }

    #[test]
    fn what_is_dropped_while_it_waits_is_never_run_and_leaves_nothing() {
        let pool = Pool::new(1);
        let (release, held) = mpsc::channel::<()>();
        let (started, running) = mpsc::channel();
        let first = pool.run(move || {
            started.send(()).unwrap();
            held.recv().unwrap();
        });
        running.recv().unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..1000 {
            let ran = Arc::clone(&ran);
            drop(pool.run(move || ran.fetch_add(1, Ordering::SeqCst)).unwrap());
        }
        assert_eq!(lock(&pool.queue.state).waiting.len(), 0);
        release.send(()).unwrap();
        drop(first);
        let (sender, last) = mpsc::channel();
        let _last = pool.run(move || sender.send(()).unwrap()).unwrap();
        last.recv().unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), 0);
    }
}
