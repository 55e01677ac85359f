//! Handlers on threads: how many there are, and what becomes of calls that wait for one.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use sabir::blocking::{self, Streams};
use sabir::{CallError, Cause, Ctx, Limits, Peer, Router, transport};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(60);

/// Holds handlers until it is opened, and counts them.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
    started: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
    threads: Mutex<HashSet<ThreadId>>,
}

impl Gate {
    fn pass(&self) {
        self.threads.lock().unwrap().insert(std::thread::current().id());
        self.started.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(self.running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let open = self.open.lock().unwrap();
        drop(self.opened.wait_while(open, |open| !*open).unwrap());
        self.running.fetch_sub(1, Ordering::SeqCst);
    }

    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    /// How many threads have run handlers. Other tests of this process have threads, too.
    fn threads(&self) -> usize {
        self.threads.lock().unwrap().len()
    }

    async fn has_started(&self, count: usize) {
        let started = async {
            while self.started.load(Ordering::SeqCst) < count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(LONG, started).await.expect("handlers do not start");
    }
}

fn router(gate: &Arc<Gate>) -> Router {
    let gate = Arc::clone(gate);
    Router::new()
        .method_blocking("work", move |_, n: u64| {
            gate.pass();
            Ok(n)
        })
        .method_blocking("panic", |_, ()| {
            if true {
                panic!("of no concern to the caller")
            }
            Ok(())
        })
        .method("ping", |_, ()| async { Ok("pong") })
}

async fn client(router: Router) -> Peer {
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, router));
    sabir::connect(near, Router::new()).await.unwrap()
}

#[tokio::test]
async fn thousands_of_calls_need_no_more_threads_than_allowed() {
    for (most, router) in [
        (64, router as fn(&Arc<Gate>) -> Router),
        (5, |gate| router(gate).max_blocking_threads(5)),
        (1, |gate| {
            // Whichever comes first.
            let gate = Arc::clone(gate);
            Router::new().max_blocking_threads(0).method_blocking("work", move |_, n: u64| {
                gate.pass();
                Ok(n)
            })
        }),
    ] {
        let gate = Arc::<Gate>::default();
        // Of two connections of one router.
        let router = router(&gate);
        let (one, other) = (client(router.clone()).await, client(router).await);
        let calls = tokio::spawn(async move {
            let calls = (0..1000).map(|n| one.call::<u64>("work", n));
            let others = (1000..2000).map(|n| other.call::<u64>("work", n));
            try_join_all(calls.chain(others)).await
        });
        gate.has_started(most).await;
        gate.open();
        let done = timeout(LONG, calls).await.unwrap().unwrap();
        assert_eq!(done, Ok((0..2000).collect()));
        assert_eq!((gate.most.load(Ordering::SeqCst), gate.threads()), (most, most));
    }
}

#[tokio::test]
async fn calls_that_wait_count_against_the_limits_and_are_forgotten_when_cancelled() {
    let gate = Arc::<Gate>::default();
    let (near, far) = transport::memory();
    let limits = Limits { in_flight: 8, queued_bytes: 0, ..Limits::default() };
    tokio::spawn(sabir::serve(far.limits(limits), router(&gate).max_blocking_threads(1)));
    let peer = sabir::connect(near, Router::new()).await.unwrap();
    let first = tokio::spawn({
        let peer = peer.clone();
        async move { peer.call::<u64>("work", 0).await }
    });
    gate.has_started(1).await;
    for _ in 0..100 {
        let waiting = (1..20).map(|n| peer.call::<u64>("work", n).timeout(Duration::from_millis(2)));
        let outcomes = join_all(waiting).await;
        assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
    }
    assert_eq!(peer.call::<String>("ping", ()).await, Ok("pong".to_owned()));
    gate.open();
    assert_eq!(first.await.unwrap(), Ok(0));
    assert_eq!(peer.call::<u64>("work", 7).await, Ok(7));
    assert_eq!(gate.started.load(Ordering::SeqCst), 2, "a cancelled call was run");
}

#[tokio::test]
async fn panics_are_answered_and_cost_no_thread() {
    let gate = Arc::<Gate>::default();
    gate.open();
    let peer = client(router(&gate).max_blocking_threads(1)).await;
    for _ in 0..5 {
        let error = peer.call::<()>("panic", ()).await.unwrap_err();
        assert_eq!(error.to_string(), "-32603: Internal error");
        assert_eq!(peer.call::<u64>("work", 1).await, Ok(1));
    }
}

#[tokio::test]
async fn the_end_does_not_wait_for_threads() {
    let gate = Arc::<Gate>::default();
    let (near, far) = transport::memory();
    let serving = tokio::spawn(sabir::serve(far, router(&gate).max_blocking_threads(1)));
    let peer = sabir::connect(near, Router::new()).await.unwrap();
    let calls = tokio::spawn({
        let peer = peer.clone();
        async move { join_all((0..3).map(|n| peer.call::<u64>("work", n))).await }
    });
    gate.has_started(1).await;
    assert_eq!(timeout(LONG, peer.shutdown(Duration::from_millis(20))).await.unwrap(), Cause::Shutdown);
    let closed = CallError::Closed(Cause::Shutdown);
    assert!(calls.await.unwrap().iter().all(|outcome| outcome.as_ref() == Err(&closed)));
    serving.abort();
    let _ = serving.await;
    gate.open();
}

#[test]
fn the_same_without_a_runtime() {
    let gate = Arc::<Gate>::default();
    let (near, far) = UnixStream::pair().unwrap();
    let streams = |stream: UnixStream| Streams::new(stream.try_clone().unwrap(), stream);
    let router = router(&gate).max_blocking_threads(3);
    std::thread::spawn(move || blocking::serve(streams(far), router));
    let peer = blocking::connect(streams(near), Router::new()).unwrap();
    let asked = peer.clone();
    let calls = std::thread::spawn(move || {
        blocking::wait(try_join_all((0..500).map(|n| asked.as_async().call::<u64>("work", n))))
    });
    while gate.started.load(Ordering::SeqCst) < 3 {
        std::thread::yield_now();
    }
    assert_eq!(peer.call::<String>("ping", ()), Ok("pong".to_owned()));
    assert_eq!(gate.threads(), 3);
    gate.open();
    assert_eq!(calls.join().unwrap(), Some(Ok((0..500).collect())));
    assert!(peer.call::<()>("panic", ()).is_err());
}

/// A handler that ends its own connection is not waited for by itself, wherever it runs.
#[tokio::test]
async fn handlers_may_shut_down() {
    const GRACE: Duration = Duration::from_secs(3600);
    let router = || {
        Router::new()
            .method("quit", |ctx: Ctx, ()| async move { Ok(ctx.peer().shutdown(GRACE).await.to_string()) })
            .method("joined", |ctx: Ctx, ()| async move {
                let (cause, ()) = tokio::join!(ctx.peer().shutdown(GRACE), async {});
                Ok(cause.to_string())
            })
            .method_blocking("threaded", |ctx: Ctx, ()| {
                let cause = blocking::Peer::from(&ctx).shutdown(GRACE);
                Ok(cause.map(|cause| cause.to_string()))
            })
    };
    for method in ["quit", "joined", "threaded"] {
        for notifies in [false, true] {
            let (near, far) = transport::memory();
            let serving = tokio::spawn(sabir::serve(far, router()));
            let peer = sabir::connect(near, Router::new()).await.unwrap();
            if notifies {
                peer.notify(method, ()).await.unwrap();
            } else {
                let call = timeout(LONG, peer.call::<String>(method, ())).await;
                let answer = call.unwrap_or_else(|_| panic!("{method} waits for itself"));
                assert_eq!(answer, Ok("shut down".to_owned()), "{method}");
            }
            let served = timeout(LONG, serving).await;
            served.unwrap_or_else(|_| panic!("{method} waits for itself")).unwrap().unwrap();
        }
    }
    // Elsewhere it waits as before.
    let peer = client(Router::new()).await;
    assert_eq!(tokio::spawn(async move { peer.shutdown(GRACE).await }).await.unwrap(), Cause::Shutdown);
}

#[test]
fn handlers_may_shut_down_without_a_runtime() {
    for method in ["in place", "threaded"] {
        let (near, far) = UnixStream::pair().unwrap();
        let streams = |stream: UnixStream| Streams::new(stream.try_clone().unwrap(), stream);
        let quit = |ctx: Ctx, ()| {
            blocking::Peer::from(&ctx).shutdown(LONG * 60);
            Ok("bye")
        };
        let router = Router::new().method_sync("in place", quit).method_blocking("threaded", quit);
        let serving = std::thread::spawn(move || blocking::serve(streams(far), router));
        let peer = blocking::connect(streams(near), Router::new()).unwrap();
        assert_eq!(peer.call::<String>(method, ()), Ok("bye".to_owned()), "{method}");
        serving.join().unwrap().unwrap_or_else(|error| panic!("{method}: {error}"));
    }
}
