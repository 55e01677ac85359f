//! When timeouts begin: with the call, however long the connection has been silent before.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use sabir::{CallError, Peer, Router, transport};
use tokio::time::{Instant, sleep};

const SILENCE: Duration = Duration::from_secs(300);
const TIMEOUT: Duration = Duration::from_millis(200);

fn server() -> Router {
    Router::new()
        .method("soon", |_, ()| async {
            sleep(Duration::from_millis(20)).await;
            Ok(1)
        })
        .method("never", |_, ()| async {
            std::future::pending::<()>().await;
            Ok(())
        })
}

async fn connected() -> Peer {
    let (a, b) = transport::memory();
    tokio::spawn(sabir::serve(a, server()));
    sabir::connect(b, Router::new()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_call_after_silence_has_all_its_time() {
    let peer = connected().await;
    for _ in 0..3 {
        sleep(SILENCE).await;
        assert_eq!(peer.call::<i64>("soon", ()).timeout(TIMEOUT).await, Ok(1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_after_silence_comes_on_time() {
    let peer = connected().await;
    for _ in 0..3 {
        sleep(SILENCE).await;
        let start = Instant::now();
        let ended = peer.call::<()>("never", ()).timeout(TIMEOUT).await;
        assert_eq!(ended, Err(CallError::TimedOut));
        // Virtual time: only the timer's own resolution is added.
        let took = start.elapsed();
        assert!((TIMEOUT..TIMEOUT + Duration::from_millis(5)).contains(&took), "{took:?}");
    }
}

/// Nothing overflows on the way to a deadline that no clock can show.
#[tokio::test(start_paused = true)]
async fn a_timeout_may_be_as_long_as_can_be() {
    let peer = connected().await;
    assert_eq!(peer.call::<i64>("soon", ()).timeout(Duration::MAX).await, Ok(1));
}

/// A handler that blocks the connection's thread takes no time from a call that it makes afterwards.
#[tokio::test]
async fn time_in_a_handler_is_not_taken_from_its_calls() {
    let server = server().method("block", |ctx: sabir::Ctx, ()| async move {
        std::thread::sleep(Duration::from_millis(2500));
        Ok(ctx.peer().call::<i64>("soon", ()).timeout(Duration::from_secs(2)).await?)
    });
    let (a, b) = transport::memory();
    tokio::spawn(sabir::serve(a, server));
    let peer = sabir::connect(b, self::server()).await.unwrap();
    assert_eq!(peer.call::<i64>("block", ()).await, Ok(1));
}

#[cfg(unix)]
mod blocking {
    use std::os::unix::net::UnixStream;
    use std::thread;
    use std::time::{Duration, Instant};

    use sabir::{CallError, Router, blocking};

    /// Real time: the silence is longer than the timeout, and the timeout far longer than the call.
    #[test]
    fn a_call_after_silence_has_all_its_time() {
        let (a, b) = UnixStream::pair().unwrap();
        let streams = |stream: UnixStream| blocking::Streams::new(stream.try_clone().unwrap(), stream);
        let server = Router::new().method_sync("add", |_, (a, b): (i64, i64)| Ok(a + b)).method_blocking(
            "sleep",
            |_, millis: u64| {
                thread::sleep(Duration::from_millis(millis));
                Ok(())
            },
        );
        thread::spawn(move || blocking::serve(streams(a), server));
        let peer = blocking::connect(streams(b), Router::new()).unwrap();
        assert_eq!(peer.call("add", (1, 2)), Ok(3));
        thread::sleep(Duration::from_millis(2500));
        assert_eq!(peer.call_timeout::<()>("sleep", 20, Duration::from_secs(2)), Ok(()));
        thread::sleep(Duration::from_millis(500));
        let start = Instant::now();
        let timeout = Duration::from_millis(300);
        assert_eq!(peer.call_timeout::<()>("sleep", 3000, timeout), Err(CallError::TimedOut));
        assert!(start.elapsed() >= timeout, "{:?}", start.elapsed());
        assert_eq!(peer.call_timeout::<i64>("add", (1, 2), Duration::MAX), Ok(3));
    }
}
