//! Until when callers wait for their answers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::pin::Pin;
use std::task::Context;

use tokio::time::{Instant, Sleep};

/// Deadlines that may be left behind by answered messages.
const FEW: usize = 64;

/// The deadlines of messages, by their numbers. Which of them are still open is for others to know.
#[derive(Default)]
pub(super) struct Deadlines {
    heap: BinaryHeap<Reverse<(Instant, u64)>>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Deadlines {
    /// Adds one, while so many messages are open.
    pub(super) fn push(&mut self, at: Instant, message: u64, open: usize, is_open: impl Fn(u64) -> bool) {
        // Those of answered messages go when they are next; behind one that is not, they would pile up.
        if self.heap.len() >= 2 * open + FEW {
            self.heap.retain(|Reverse((_, message))| is_open(*message));
        }
        self.heap.push(Reverse((at, message)));
    }

    /// The next open message whose time is up.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, is_open: impl Fn(u64) -> bool) -> Option<u64> {
        while let Some(&Reverse((at, message))) = self.heap.peek() {
            // Nearly all are answered in time.
            if !is_open(message) {
                self.heap.pop();
                continue;
            }
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
            if timer.deadline() != at {
                timer.as_mut().reset(at);
            }
            if timer.as_mut().poll(cx).is_pending() {
                return None;
            }
            self.heap.pop();
            return Some(message);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_first_one_that_is_open_is_told() {
        let (now, mut deadlines) = (Instant::now(), Deadlines::default());
        for (seconds, message) in [(3, 1), (1, 2), (2, 3)] {
            deadlines.push(now + Duration::from_secs(seconds), message, 3, |_| true);
        }
        let is_open = |message| message != 2;
        for message in [3, 1] {
            assert_eq!(
                std::future::poll_fn(|cx| deadlines
                    .poll(cx, is_open)
                    .map_or(std::task::Poll::Pending, std::task::Poll::Ready))
                .await,
                message
            );
        }
        assert!(deadlines.heap.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn those_of_answered_messages_do_not_pile_up() {
        let (now, mut deadlines) = (Instant::now(), Deadlines::default());
        // One is never answered, and is next; all others were answered at once.
        deadlines.push(now + Duration::from_secs(1), 0, 0, |_| true);
        for message in 1..100_000 {
            deadlines.push(now + Duration::from_secs(60), message, 1, |message| message == 0);
            assert!(deadlines.heap.len() <= FEW + 3, "{} for two messages", deadlines.heap.len());
        }
    }
}
