//! Wakes a task at a time, more exactly than the timers of a runtime do: those have a grain of a millisecond, which is longer
//! than most calls take.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// A sleeping thread is woken so much too late, about. The rest of the time is waited for by yielding.
const EARLY: Duration = Duration::from_micros(120);

/// A thread that sleeps. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Alarm(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    wake: Option<(Instant, Waker)>,
    is_over: bool,
}

impl Alarm {
    pub(crate) fn start() -> std::io::Result<Alarm> {
        let shared = Arc::new(Shared::default());
        let sleeping = Arc::clone(&shared);
        thread::Builder::new().name("pace".to_owned()).spawn(move || sleeping.run())?;
        Ok(Alarm(shared))
    }

    /// Ready at that time. Until shortly before, the task sleeps.
    pub(crate) fn poll_until(&self, time: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        if now >= time {
            return Poll::Ready(());
        }
        if time - now <= EARLY {
            // The runtime looks for input in between, and other tasks have their turn.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_earlier = state.wake.as_ref().is_none_or(|(set, _)| time - EARLY < *set);
        state.wake = Some((time - EARLY, cx.waker().clone()));
        drop(state);
        // One that wakes too early only looks at the time again.
        if is_earlier {
            self.0.changed.notify_one();
        }
        Poll::Pending
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.0.changed.notify_one();
    }
}

impl Shared {
    fn run(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.is_over {
            let now = Instant::now();
            state = match &state.wake {
                Some((time, _)) if *time <= now => {
                    let woken = state.wake.take();
                    drop(state);
                    woken.into_iter().for_each(|(_, waker)| waker.wake());
                    self.state.lock().unwrap_or_else(PoisonError::into_inner)
                }
                Some((time, _)) => {
                    let wait = *time - now;
                    let waited = self.changed.wait_timeout(state, wait);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}
