//! What a query may take: time, and memory where the system says how much is taken.
//!
//! The engine keeps what it sorts, groups and joins in memory, and nobody can tell beforehand how much that is.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use sabir_model::graph::{QueryError, Stop};

use crate::exit::{Exit, Failure};
use crate::problem::time;

/// Bytes that a query or a picture may take beside the graph.
const MOST_MEMORY: u64 = 2 << 30;

/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a query within the limits.
pub(super) fn limited<T: Send + 'static>(
    timeout: Duration,
    query: impl FnOnce(&Stop) -> Result<T, QueryError> + Send + 'static,
) -> Result<T, Failure> {
    within(timeout, MOST_MEMORY, query)
}

fn within<T: Send + 'static>(
    timeout: Duration,
    most: u64,
    query: impl FnOnce(&Stop) -> Result<T, QueryError> + Send + 'static,
) -> Result<T, Failure> {
    let stop = Stop::default();
    let (send, receive) = mpsc::channel();
    let asked = stop.clone();
    let (start, before) = (Instant::now(), resident());
    // Where the engine does not check whether to stop, its thread ends with the program.
    std::thread::spawn(move || send.send(query(&asked)));
    let answer = loop {
        let left = timeout.saturating_sub(start.elapsed());
        match receive.recv_timeout(left.min(LOOK)) {
            Err(RecvTimeoutError::Timeout) if left > LOOK => {}
            answer => break answer,
        }
        if let (Some(before), Some(now)) = (before, resident())
            && now.saturating_sub(before) > most
        {
            stop.stop();
            let why = format_args!("the query takes more than {} MiB of memory", most >> 20);
            return Err(Failure::new(Exit::Error, why).hint(NARROW));
        }
    };
    stop.stop();
    match answer {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error @ QueryError::TooLarge)) => {
            Err(Failure::new(Exit::Error, error)
                .hint("ask for less: narrow it down, count, or add LIMIT 1000"))
        }
        Ok(Err(error)) => Err(Failure::usage(error).hint("`sabir model query` lists queries to start from")),
        Err(RecvTimeoutError::Timeout) => {
            let why = format_args!("the query did not finish within {}", time(timeout));
            Err(Failure::new(Exit::Timeout, why)
                .hint(format_args!("{NARROW}; or wait longer with --timeout 2m")))
        }
        Err(RecvTimeoutError::Disconnected) => Err(Failure::new(Exit::Error, "the query engine has failed")),
    }
}

const NARROW: &str = "narrow it down: patterns that share no variable multiply";

/// Bytes of memory that the program takes, where that is in a file.
fn resident() -> Option<u64> {
    // In pages of 4 KiB; where pages are larger, the limit is as much higher.
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(pages.split(' ').nth(1)?.parse::<u64>().ok()? * 4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_query_that_takes_too_much_memory_is_stopped() {
        let (done, wait) = mpsc::channel::<()>();
        let failed = within(Duration::from_secs(600), 64 << 20, move |_| {
            let kept = vec![1_u8; 512 << 20];
            let _ = wait.recv();
            Ok(kept.len())
        });
        drop(done);
        let Err(failure) = failed else { panic!("it was not stopped") };
        assert!(failure.what.contains("more than 64 MiB"), "{}", failure.what);
    }

    #[test]
    fn what_stays_within_the_limits_is_answered() {
        assert_eq!(within(Duration::from_secs(60), 1 << 30, |_| Ok(7)).ok(), Some(7));
    }
}
