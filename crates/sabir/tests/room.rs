//! Calls beyond the limit, batches awaited too early, ends that nobody waits for, and calls that are made again.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use sabir::{CallError, Cause, Ctx, Error, ErrorCode, ErrorObject, Limits, Method, Peer, Reconnect, Router};
use sabir::{SendError, transport};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(20);

fn router() -> Router {
    Router::new()
        .method("echo", |_, n: u64| async move {
            tokio::task::yield_now().await;
            Ok(n)
        })
        .method("hang", |_, ()| async {
            std::future::pending::<()>().await;
            Ok(())
        })
}

/// A client that may have this many calls in flight.
async fn client(calls: usize) -> Peer {
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, router()));
    sabir::connect(near.limits(Limits { calls, ..Limits::default() }), Router::new()).await.unwrap()
}

#[tokio::test]
async fn calls_beyond_the_limit_wait_if_they_are_told_to() {
    let peer = client(2).await;
    let refused = join_all((0..5).map(|n| peer.call::<u64>("echo", n))).await;
    assert_eq!(refused.iter().filter(|outcome| outcome.is_ok()).count(), 2);
    assert_eq!(refused[4], Err(CallError::NotSent(SendError::TooManyCalls)));

    let all = try_join_all((0..200).map(|n| peer.call::<u64>("echo", n).wait_for_room()));
    let all = timeout(LONG, all).await.expect("they all have their turn");
    assert_eq!(all, Ok((0..200).collect()));
}

#[tokio::test]
async fn calls_that_wait_can_be_given_up_and_end_with_the_connection() {
    let peer = client(1).await;
    let hanging = tokio::spawn(peer.call::<()>("hang", ()).into_future());
    tokio::task::yield_now().await;
    let mut given_up = Box::pin(peer.call::<u64>("echo", 1).wait_for_room());
    let waiting = tokio::spawn(peer.call::<u64>("echo", 2).wait_for_room().into_future());
    assert!(timeout(Duration::from_millis(20), &mut given_up).await.is_err());
    drop(given_up);
    assert!(!waiting.is_finished());
    hanging.abort();
    // Its place is free once its call is cancelled, and goes to the one that still wants it.
    assert_eq!(timeout(LONG, waiting).await.unwrap().unwrap(), Ok(2));

    let hanging = tokio::spawn(peer.call::<()>("hang", ()).into_future());
    tokio::task::yield_now().await;
    let waiting = tokio::spawn(peer.call::<u64>("echo", 3).wait_for_room().into_future());
    tokio::task::yield_now().await;
    peer.shutdown(Duration::ZERO).await;
    assert!(timeout(LONG, waiting).await.unwrap().unwrap().is_err());
    assert!(timeout(LONG, hanging).await.unwrap().unwrap().is_err());
}

#[tokio::test]
async fn a_call_awaited_before_its_batch_is_sent_is_an_error() {
    let peer = client(10).await;
    let mut batch = peer.batch();
    let early = batch.call::<u64>("echo", 1);
    let mut told = batch.call::<u64>("echo", serde_json::json!({"n": 2})).with_progress();
    let late = batch.call::<u64>("echo", 3);
    let error = timeout(LONG, early).await.expect("it does not wait for ever");
    assert_eq!(error, Err(CallError::NotSent(SendError::BatchNotSent)));
    assert_eq!(timeout(LONG, told.progress::<u64>()).await.expect("nor does its progress"), None);
    assert_eq!(told.await, Err(CallError::NotSent(SendError::BatchNotSent)));
    batch.send().unwrap();
    assert_eq!(late.await, Ok(3));
}

#[tokio::test]
async fn close_does_not_wait() {
    let peer = client(10).await;
    let call = tokio::spawn(peer.call::<u64>("echo", 1).into_future());
    tokio::task::yield_now().await;
    peer.close();
    assert_eq!(timeout(LONG, peer.closed()).await.expect("it ends"), Cause::Shutdown);
    assert_eq!(call.await.unwrap(), Ok(1));
    let late = peer.call::<u64>("echo", 1).await;
    assert_eq!(late, Err(CallError::NotSent(SendError::Closed(Cause::Shutdown))));
}

/// A server whose connections end when the first call has come, until it has been called often enough.
fn flaky(good_from: usize) -> (Reconnect, Arc<AtomicUsize>) {
    let called = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&called);
    let server = Reconnect::new(Router::new(), move || {
        let count = Arc::clone(&count);
        async move {
            let (near, far) = transport::memory();
            let router = Router::new()
                .method("get", move |ctx: Ctx, ()| {
                    let n = count.fetch_add(1, Ordering::SeqCst);
                    async move {
                        match n {
                            n if n >= good_from => Ok(n),
                            n if n % 2 == 0 => Err(ErrorObject::standard(ErrorCode::OVERLOADED)),
                            _ => {
                                ctx.peer().shutdown(Duration::ZERO).await;
                                std::future::pending().await
                            }
                        }
                    }
                })
                .method("refuse", |_, ()| async { Err::<(), _>(ErrorObject::new(1, "no")) });
            tokio::spawn(sabir::serve(far, router));
            Ok::<_, Error>(near)
        }
    });
    (server, called)
}

#[tokio::test(start_paused = true)]
async fn calls_that_may_run_twice_are_made_again() {
    const GET: Method<(), usize> = Method::new("get");
    let (server, called) = flaky(4);
    assert_eq!(server.call_idempotent::<usize>("get", ()).await.unwrap(), 4);
    assert_eq!(called.load(Ordering::SeqCst), 5);
    assert_eq!(server.call_method(GET, ()).await.unwrap(), 5);

    // Others are made once.
    let (server, called) = flaky(4);
    let error = server.call::<usize>("get", ()).await.unwrap_err();
    assert!(matches!(error, Error::Call(CallError::Error(_))), "{error}");
    let error = server.call::<usize>("get", ()).await.unwrap_err();
    assert!(matches!(error, Error::Call(_)), "{error}");
    assert_eq!(called.load(Ordering::SeqCst), 2);

    // An answer that is an error is an answer.
    let error = server.call_idempotent::<()>("refuse", ()).await.unwrap_err();
    assert_eq!(error.to_string(), "1: no");

    // Patience ends.
    let (server, called) = flaky(usize::MAX);
    let server = server.timeout(Duration::from_secs(10));
    assert!(server.call_idempotent::<usize>("get", ()).await.is_err());
    assert!(called.load(Ordering::SeqCst) > 3);
}

/// Whatever a server does, the caller has its answer in the time that it gave: in virtual time, to the millisecond.
#[tokio::test(start_paused = true)]
async fn repeated_calls_end_in_the_time_that_was_given() {
    const GIVEN: Duration = Duration::from_secs(3);
    let hanging = || {
        let (near, far) = transport::memory();
        tokio::spawn(sabir::serve(far, router()));
        near
    };
    type Dial = Box<
        dyn Fn() -> std::pin::Pin<Box<dyn Future<Output = Result<sabir::Transport, Error>> + Send>>
            + Send
            + Sync,
    >;
    let refused = || Error::from(std::io::Error::from(std::io::ErrorKind::ConnectionRefused));
    let attempts = Arc::new(AtomicUsize::new(0));
    let servers: [(&str, Dial); 5] = [
        ("never answers", Box::new(move || Box::pin(async move { Ok(hanging()) }))),
        ("is never there", Box::new(move || Box::pin(async move { Err(refused()) }))),
        ("never opens", Box::new(|| Box::pin(std::future::pending()))),
        (
            "opens late, and never answers",
            Box::new(move || {
                Box::pin(async move {
                    tokio::time::sleep(Duration::from_millis(2900)).await;
                    Ok(hanging())
                })
            }),
        ),
        (
            "ends each connection, and then hangs",
            Box::new(move || {
                let attempt = attempts.fetch_add(1, Ordering::SeqCst);
                Box::pin(async move { if attempt < 4 { Ok(transport::memory().0) } else { Ok(hanging()) } })
            }),
        ),
    ];
    for (name, dial) in servers {
        let server = Reconnect::new(Router::new(), dial).timeout(GIVEN);
        // The second one also waits for the first one's attempt to connect.
        let start = tokio::time::Instant::now();
        let (one, two) =
            tokio::join!(server.call_idempotent::<()>("hang", ()), server.call_idempotent::<()>("hang", ()));
        let took = start.elapsed();
        assert!(one.is_err() && two.is_err(), "{name}");
        assert!(took <= GIVEN + Duration::from_millis(2), "{name}: {took:?}");
    }
    // No clock can show the end.
    let server = Reconnect::new(Router::new(), move || std::future::ready(Ok::<_, Error>(hanging())))
        .timeout(Duration::MAX);
    assert_eq!(server.call_idempotent::<u64>("echo", 1).await.unwrap(), 1);
}
