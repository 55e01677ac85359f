//! Leaving others their turn.
//!
//! A task that only wakes itself goes on before the runtime looks at sockets that have become ready. What is deferred as
//! `yield_now` does it goes on behind them.

use std::future::Future;
#[cfg(feature = "http")]
use std::future::poll_fn;
use std::pin::pin;
#[cfg(feature = "http")]
use std::sync::Arc;
#[cfg(feature = "http")]
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
#[cfg(feature = "http")]
use std::task::{Wake, Waker};
use std::time::Duration;

/// How long one connection may keep its thread before others have their turn.
pub(crate) const TURN: Duration = Duration::from_millis(1);

/// Is polled again once others have had their turn.
pub(crate) fn yield_turn<T>(cx: &mut Context<'_>) -> Poll<T> {
    let _ = pin!(tokio::task::yield_now()).poll(cx);
    Poll::Pending
}

/// Waits until others have had their turn, also if the task is woken before that: a connection of hyper's wakes itself
/// with each request.
#[cfg(feature = "http")]
pub(crate) async fn next_turn() {
    let mut turn: Option<Arc<Turn>> = None;
    poll_fn(|cx| match &turn {
        Some(turn) if turn.has_come.load(Relaxed) => Poll::Ready(()),
        Some(_) => Poll::Pending,
        None => {
            let next = Arc::new(Turn { has_come: AtomicBool::new(false), task: cx.waker().clone() });
            let waker = Waker::from(Arc::clone(&next));
            turn = Some(next);
            yield_turn(&mut Context::from_waker(&waker))
        }
    })
    .await;
}

#[cfg(feature = "http")]
struct Turn {
    has_come: AtomicBool,
    task: Waker,
}

#[cfg(feature = "http")]
impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        self.has_come.store(true, Relaxed);
        self.task.wake_by_ref();
    }
}
