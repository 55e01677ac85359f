//! Handlers that run beside their connection.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use futures_util::future::try_join_all;
use sabir::blocking::{self, Streams};
use sabir::{CallError, Ctx, ErrorCode, Limits, Next, Peer, Router, transport};
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(60);

async fn client_with(router: Router, limits: Limits, back: Router) -> Peer {
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far.limits(limits), router));
    sabir::connect(near, back).await.unwrap()
}

async fn client(router: Router) -> Peer {
    client_with(router, Limits::default(), Router::new()).await
}

async fn until(mut done: impl FnMut() -> bool) {
    let waiting = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(LONG, waiting).await.expect("it does not happen");
}

/// Is set when it is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_of_one_connection_run_at_the_same_time() {
    // None of them returns before the others have started: on one core after the other they would wait for ever.
    let meet = || Arc::new(Barrier::new(3));
    let (one, two, three) = (meet(), meet(), meet());
    let grouped = Router::new()
        .spawned()
        .method("async", move |_, n: u64| {
            let meeting = Arc::clone(&one);
            async move {
                meeting.wait();
                Ok(n)
            }
        })
        .method_sync("sync", move |_, n: u64| {
            two.wait();
            Ok(n)
        });
    let router = Router::new().merge(grouped).method_spawned("single", move |_, n: u64| {
        let meeting = Arc::clone(&three);
        async move {
            meeting.wait();
            Ok(n)
        }
    });
    let peer = client(router).await;
    for method in ["async", "sync", "single"] {
        let calls = try_join_all((0..3).map(|n| peer.call::<u64>(method, n)));
        assert_eq!(timeout(LONG, calls).await.unwrap(), Ok(vec![0, 1, 2]), "{method}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thousands_are_all_answered() {
    let router = Router::new().spawned().method("work", |_, n: u64| async move {
        if n.is_multiple_of(3) {
            tokio::task::yield_now().await;
        }
        Ok(n)
    });
    let peer = client(router).await;
    let calls = try_join_all((0..10_000).map(|n| peer.call::<u64>("work", n)));
    assert_eq!(timeout(LONG, calls).await.unwrap(), Ok((0..10_000).collect()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn notifications_stay_in_order_and_hold_up_what_follows() {
    let log = Arc::<Mutex<Vec<u64>>>::default();
    let (written, read) = (Arc::clone(&log), Arc::clone(&log));
    let router = Router::new()
        .spawned()
        .method("change", move |_, n: u64| {
            let log = Arc::clone(&written);
            async move {
                // The later, the faster.
                tokio::time::sleep(Duration::from_micros(400 - 20 * n)).await;
                log.lock().unwrap().push(n);
                Ok(())
            }
        })
        .method("read", move |_, ()| {
            let log = Arc::clone(&read);
            async move { Ok(log.lock().unwrap().clone()) }
        });
    let peer = client(router).await;
    for n in 0..20 {
        peer.notify("change", [n]).await.unwrap();
    }
    let seen: Vec<u64> = peer.call("read", ()).await.unwrap();
    assert_eq!(seen, (0..20).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_handler_sends_goes_out_before_its_answer() {
    let router = Router::new().method_spawned("work", |ctx: Ctx, n: usize| async move {
        ctx.peer().notify("before", [n]).await?;
        ctx.after_reply(move |peer| peer.try_notify("after", [n]).unwrap());
        Ok(n)
    });
    let log = Arc::<Mutex<Vec<(&str, usize)>>>::default();
    let (before, after) = (Arc::clone(&log), Arc::clone(&log));
    let back = Router::new()
        .method_sync("before", move |_, n: usize| {
            before.lock().unwrap().push(("before", n));
            Ok(())
        })
        .method_sync("after", move |_, n: usize| {
            after.lock().unwrap().push(("after", n));
            Ok(())
        });
    let peer = client_with(router, Limits::default(), back).await;
    for n in 0..200 {
        let answered = Arc::clone(&log);
        let call = peer.call::<usize>("work", n);
        call.on_reply(move |n| answered.lock().unwrap().push(("answer", *n.as_ref().unwrap())))
            .await
            .unwrap();
    }
    until(|| log.lock().unwrap().len() == 600).await;
    let log = log.lock().unwrap();
    for n in 0..200 {
        let of: Vec<_> = log.iter().filter(|entry| entry.1 == n).map(|entry| entry.0).collect();
        assert_eq!(of, ["before", "answer", "after"], "{n}");
    }
}

/// A handler that waits for ever, one that cleans up when it is cancelled, and one that panics.
fn unfinished(dropped: &Arc<AtomicBool>, cleaned: &Arc<AtomicBool>, started: &Arc<Notify>) -> Router {
    let (dropped, cleaned) = (Arc::clone(dropped), Arc::clone(cleaned));
    let (waits, cleans) = (Arc::clone(started), Arc::clone(started));
    Router::new()
        .method("wait", move |_, ()| {
            let (guard, started) = (Dropped(Arc::clone(&dropped)), Arc::clone(&waits));
            async move {
                started.notify_one();
                std::future::pending::<()>().await;
                drop(guard);
                Ok(())
            }
        })
        .method("clean", move |ctx: Ctx, ()| {
            let (cleaned, started) = (Arc::clone(&cleaned), Arc::clone(&cleans));
            async move {
                let cancelled = ctx.cancelled();
                started.notify_one();
                cancelled.await;
                cleaned.store(true, Ordering::SeqCst);
                Ok("cleaned")
            }
        })
        .method("panic", |_, ()| async {
            if true {
                panic!("of no concern to the caller")
            }
            Ok(())
        })
        .method("ping", |_, ()| async { Ok("pong") })
        .spawned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_stops_the_handler_unless_it_takes_over() {
    let (dropped, cleaned, started) = Default::default();
    let peer = client(unfinished(&dropped, &cleaned, &started)).await;
    for (method, stopped) in [("wait", &dropped), ("clean", &cleaned)] {
        let call = peer.call::<()>(method, ());
        tokio::select! {
            _ = call => panic!("{method} has ended"),
            () = started.notified() => {}
        }
        until(|| stopped.load(Ordering::SeqCst)).await;
    }
    assert_eq!(peer.call::<String>("ping", ()).await.unwrap(), "pong");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_the_connection_stops_the_handler() {
    let (dropped, cleaned, started) = Default::default();
    let (near, far) = transport::memory();
    let serving = tokio::spawn(sabir::serve(far, unfinished(&dropped, &cleaned, &started)));
    let peer = sabir::connect(near, Router::new()).await.unwrap();
    let call = tokio::spawn(async move { peer.call::<()>("wait", ()).await });
    timeout(LONG, started.notified()).await.unwrap();
    serving.abort();
    until(|| dropped.load(Ordering::SeqCst)).await;
    assert!(matches!(call.await.unwrap(), Err(CallError::Closed(_))));
}

#[tokio::test]
async fn a_panic_is_answered_and_the_connection_lives() {
    let (dropped, cleaned, started) = Default::default();
    let peer = client(unfinished(&dropped, &cleaned, &started)).await;
    match peer.call::<()>("panic", ()).await {
        Err(CallError::Error(error)) => {
            assert_eq!((error.code, error.data), (ErrorCode::INTERNAL_ERROR, None));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(peer.call::<String>("ping", ()).await.unwrap(), "pong");
}

#[tokio::test]
async fn a_panic_of_what_a_handler_holds_is_answered() {
    struct Panics;

    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    let router = Router::new().method_spawned("panic", |_, ()| {
        let panics = Panics;
        async move {
            let _panics = panics;
            Ok(())
        }
    });
    let peer = client(router.method("ping", |_, ()| async { Ok("pong") })).await;
    for _ in 0..3 {
        match timeout(LONG, peer.call::<()>("panic", ())).await.unwrap() {
            Err(CallError::Error(error)) => assert_eq!(error.code, ErrorCode::INTERNAL_ERROR),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(peer.call::<String>("ping", ()).await.unwrap(), "pong");
}

#[tokio::test]
async fn wrong_params_are_refused_as_everywhere() {
    let router = Router::new().method_spawned("half", |_, n: u64| async move { Ok(n / 2) });
    let peer = client(router).await;
    match peer.call::<u64>("half", ["four"]).await {
        Err(CallError::Error(error)) => assert_eq!(error.code, ErrorCode::INVALID_PARAMS),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn layers_fallbacks_and_raw_handlers_take_part() {
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let layered = Arc::clone(&seen);
    let inner = Router::new()
        .method_raw("raw", |_, params| async move { Ok(params.unwrap()) })
        .fallback(|_, method, _| async move { Ok(sabir::RawJson::from_value(&method)?) })
        .layer(move |_, next: Next| {
            layered.lock().unwrap().push(next.method().to_owned());
            next.run()
        })
        .spawned();
    let peer = client(Router::new().nest("in.", inner)).await;
    assert_eq!(peer.call::<Vec<u64>>("in.raw", [1, 2]).await.unwrap(), [1, 2]);
    assert_eq!(peer.call::<String>("in.else", ()).await.unwrap(), "in.else");
    assert_eq!(*seen.lock().unwrap(), ["in.raw", "in.else"]);
}

#[tokio::test]
async fn no_more_run_than_the_limits_allow() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let gate = Arc::new(Semaphore::new(0));
    let (now, seen, opened) = (Arc::clone(&running), Arc::clone(&most), Arc::clone(&gate));
    let router = Router::new().method_spawned("work", move |_, ()| {
        let (now, seen, gate) = (Arc::clone(&now), Arc::clone(&seen), Arc::clone(&opened));
        async move {
            seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let _permit = gate.acquire().await?;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        }
    });
    let peer = client_with(router, Limits { in_flight: 8, ..Limits::default() }, Router::new()).await;
    let calls =
        tokio::spawn(async move { try_join_all((0..100).map(|_| peer.call::<()>("work", ()))).await });
    until(|| running.load(Ordering::SeqCst) == 8).await;
    gate.add_permits(100);
    timeout(LONG, calls).await.unwrap().unwrap().unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_can_shut_its_own_connection_down() {
    let router = Router::new().method_spawned("bye", |ctx: Ctx, ()| async move {
        ctx.peer().shutdown(LONG).await;
        Ok("bye")
    });
    let peer = client(router).await;
    let answer = timeout(LONG / 2, peer.call::<String>("bye", ())).await;
    assert_eq!(answer.expect("it waits for itself").unwrap(), "bye");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_call_back() {
    let router = Router::new().method_spawned("deep", |ctx: Ctx, depth: u64| async move {
        match depth {
            0 => Ok(0),
            _ => Ok(1 + ctx.peer().call::<u64>("deep", depth - 1).await?),
        }
    });
    let peer = client_with(router.clone(), Limits::default(), router).await;
    let depth = timeout(LONG, peer.call::<u64>("deep", 500)).await.expect("deadlock");
    assert_eq!(depth.unwrap(), 500);
}

#[test]
fn without_a_runtime_they_run_on_threads() {
    let threads = Arc::<Mutex<HashSet<ThreadId>>>::default();
    let (seen, meeting) = (Arc::clone(&threads), Arc::new(Barrier::new(3)));
    let stopped = Arc::new(AtomicBool::new(false));
    let dropped = Arc::clone(&stopped);
    let router = Router::new()
        .spawned()
        .method("work", move |_, n: u64| {
            let (seen, meeting) = (Arc::clone(&seen), Arc::clone(&meeting));
            async move {
                seen.lock().unwrap().insert(std::thread::current().id());
                meeting.wait();
                Ok(n)
            }
        })
        .method("wait", move |_, ()| {
            let guard = Dropped(Arc::clone(&dropped));
            async move {
                std::future::pending::<()>().await;
                drop(guard);
                Ok(())
            }
        });
    let (near, far) = blocking_pair();
    let server = std::thread::spawn(move || blocking::serve(far, router));
    let peer = blocking::connect(near, Router::new()).unwrap();
    let callers: Vec<_> = (0..3)
        .map(|n| {
            let peer = peer.clone();
            std::thread::spawn(move || peer.call::<u64>("work", n).unwrap())
        })
        .collect();
    let answers: Vec<_> = callers.into_iter().map(|caller| caller.join().unwrap()).collect();
    assert_eq!(answers, [0, 1, 2]);
    assert_eq!(threads.lock().unwrap().len(), 3);
    // A call that is cancelled before it has a thread never starts.
    while !stopped.load(Ordering::SeqCst) {
        let cancelled = peer.call_timeout::<()>("wait", (), Duration::from_millis(20));
        assert_eq!(cancelled, Err(CallError::TimedOut));
    }
    peer.shutdown(LONG);
    server.join().unwrap().unwrap();
}

fn blocking_pair() -> (Streams, Streams) {
    blocking::memory().unwrap()
}
