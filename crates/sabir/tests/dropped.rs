//! What is dropped ends: every handle, at every stage, leaves nobody waiting.

#![allow(clippy::unwrap_used)]

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use sabir::{CallError, Cause, Ctx, Peer, Router, SendError, transport};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

const LONG: Duration = Duration::from_secs(60);

async fn client(server: Router) -> Peer {
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, server));
    sabir::connect(near, Router::new()).await.unwrap()
}

fn server() -> Router {
    Router::new()
        .method("echo", |_, value: Value| async move { Ok(value) })
        .method("hang", |_, _: Value| pending::<sabir::Result<()>>())
}

async fn ended<T>(call: impl Future<Output = T>) -> T {
    timeout(LONG, call).await.expect("nobody ends the call")
}

/// Polls once.
async fn touch(future: impl Future) {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let _ = future.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}

#[tokio::test]
async fn calls_of_a_batch_that_is_dropped_end() {
    let peer = client(server()).await;
    let mut batch = peer.batch();
    let calls: Vec<_> = (0..3).map(|i| batch.call::<Value>("echo", json!({"i": i}))).collect();
    drop(batch);
    let unsent = || Err(CallError::NotSent(SendError::Unsent));
    assert_eq!(ended(futures_util::future::join_all(calls)).await, [unsent(), unsent(), unsent()]);
}

#[tokio::test]
async fn calls_of_a_batch_that_comes_too_late_end_with_the_connection() {
    let peer = client(server()).await;
    let mut batch = peer.batch();
    let call = batch.call::<Value>("echo", json!({}));
    assert_eq!(peer.shutdown(LONG).await, Cause::Shutdown);
    let closed = CallError::NotSent(SendError::Closed(Cause::Shutdown));
    assert_eq!(batch.send(), Err(closed.clone()));
    assert_eq!(ended(call).await, Err(closed));
}

#[tokio::test]
async fn a_batch_that_cannot_be_sent_ends_its_calls() {
    let peer = client(server()).await;
    // JSON has no objects whose names are lists.
    let unwritable = std::collections::HashMap::from([(vec![1], 1)]);
    let mut batch = peer.batch();
    let call = batch.call::<Value>("echo", json!({}));
    batch.notify("log", unwritable);
    let error = batch.send().unwrap_err();
    assert!(matches!(error, CallError::NotSent(SendError::Params(_))), "{error:?}");
    assert_eq!(ended(call).await, Err(error));
}

#[tokio::test(start_paused = true)]
async fn timeouts_hold_in_batches_and_after_sending() {
    let peer = client(server()).await;
    let start = Instant::now();
    let mut batch = peer.batch();
    let before = batch.call::<()>("hang", json!({})).timeout(Duration::from_secs(3));
    let after = batch.call::<()>("hang", json!({}));
    let other = batch.call::<Value>("echo", json!({"a": 1}));
    batch.send().unwrap();
    assert_eq!(ended(before).await, Err(CallError::TimedOut));
    assert_eq!(start.elapsed().as_secs(), 3);
    // The connection has sent it three seconds ago: the time counts from here.
    assert_eq!(ended(after.timeout(Duration::from_secs(4))).await, Err(CallError::TimedOut));
    assert_eq!(start.elapsed().as_secs(), 7);
    // A batch is answered as a whole, once all that it waits for is over.
    assert_eq!(ended(other).await, Ok(json!({"a": 1})));
    let mut call = peer.call::<()>("hang", json!({}));
    touch(&mut call).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ended(call.timeout(Duration::from_secs(2))).await, Err(CallError::TimedOut));
    assert_eq!(start.elapsed().as_secs(), 10);
    // Each timeout takes the place of the one before, be it longer or shorter.
    for (first, then) in [(1, 5), (5, 1)] {
        let start = Instant::now();
        let mut call = peer.call::<()>("hang", json!({})).timeout(Duration::from_secs(first));
        touch(&mut call).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(ended(call.timeout(Duration::from_secs(then))).await, Err(CallError::TimedOut));
        assert_eq!(start.elapsed().as_millis(), u128::from(then) * 1000 + 500);
    }
}

#[tokio::test]
async fn progress_that_cannot_be_asked_for_is_refused() {
    let router = server().method("steps", |ctx: Ctx, _: Value| async move {
        for step in 1..=3 {
            ctx.progress(step).await;
        }
        Ok(())
    });
    let peer = client(router).await;
    let refused = Err(CallError::NotSent(SendError::Progress));
    // No place for a token.
    for params in [json!([1]), json!(1), json!({"_meta": 1})] {
        let mut call = peer.call::<()>("steps", params.clone());
        assert_eq!(call.progress::<u8>().await, None, "{params}");
        assert_eq!(ended(call).await, refused, "{params}");
        assert_eq!(ended(peer.call::<()>("steps", params).with_progress()).await, refused);
    }
    // Too late.
    let mut call = peer.call::<()>("hang", json!({}));
    touch(&mut call).await;
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    assert_eq!(call.progress::<u8>().await, None);
    assert_eq!(ended(call).await, refused);
    // In time.
    for params in [json!({}), json!(null), json!({"_meta": {}})] {
        let mut batch = peer.batch();
        let mut call = batch.call::<()>("steps", params).with_progress();
        batch.send().unwrap();
        let mut steps = Vec::new();
        while let Some(step) = call.progress::<u8>().await {
            steps.push(step);
        }
        assert_eq!((steps, call.await), (vec![1, 2, 3], Ok(())));
    }
}

/// Counts the handlers that run.
fn counted(running: &Arc<AtomicUsize>) -> Router {
    struct Running(Arc<AtomicUsize>);
    impl Drop for Running {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let running = Arc::clone(running);
    server().method("count", move |_, ()| {
        running.fetch_add(1, Ordering::SeqCst);
        let running = Running(Arc::clone(&running));
        async move {
            let _running = running;
            pending::<sabir::Result<()>>().await
        }
    })
}

#[tokio::test]
async fn calls_are_cancelled_at_whichever_stage_they_are_dropped() {
    let running = Arc::default();
    let peer = client(counted(&running)).await;
    let echo = || peer.call::<Value>("echo", json!({"a": 1}));
    // Never sent.
    drop(peer.call::<()>("count", ()));
    // Handed over, perhaps not taken up, perhaps running.
    for turns in 0..8 {
        let mut call = peer.call::<()>("count", ());
        touch(&mut call).await;
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        drop(call);
        let mut batch = peer.batch();
        let call = batch.call::<()>("count", ());
        let kept = batch.call::<Value>("echo", json!({"b": 2}));
        if turns % 2 == 0 {
            drop(call);
            batch.send().unwrap();
        } else {
            batch.send().unwrap();
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            drop(call);
        }
        // Nobody else suffers.
        assert_eq!(ended(kept).await, Ok(json!({"b": 2})), "{turns}");
        assert_eq!(ended(echo()).await, Ok(json!({"a": 1})), "{turns}");
    }
    // Answered, and never looked at.
    let mut call = echo();
    touch(&mut call).await;
    assert_eq!(ended(echo()).await, Ok(json!({"a": 1})));
    drop(call);
    assert_eq!(ended(echo()).await, Ok(json!({"a": 1})));
    assert_eq!(running.load(Ordering::SeqCst), 0);
}

/// A cancel that comes when its call has ended must not touch the call that has its place by now.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_late_cancel_hits_nobody_else() {
    let peer = client(server()).await;
    let tasks: Vec<_> = (0..4)
        .map(|task| {
            let peer = peer.clone();
            tokio::spawn(async move {
                for i in 0..2000 {
                    let mut raced = peer.call::<Value>("echo", json!({"i": i}));
                    touch(&mut raced).await;
                    if task % 2 == 0 {
                        tokio::task::yield_now().await;
                    }
                    drop(raced);
                    let echoed = ended(peer.call::<Value>("echo", json!({"i": i}))).await;
                    assert_eq!(echoed, Ok(json!({"i": i})));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn what_is_left_for_a_call_that_is_over_is_not_left_for_ever() {
    let kept: Arc<Mutex<Option<Ctx>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let router = server().method("keep", move |ctx, ()| {
        *keep.lock().unwrap() = Some(ctx);
        async { Ok(()) }
    });
    let peer = client(router).await;
    peer.call::<()>("keep", ()).await.unwrap();
    let ctx = kept.lock().unwrap().take().unwrap();
    ended(ctx.cancelled()).await;
    let (ran, has_run) = tokio::sync::oneshot::channel();
    ctx.after_reply(move |_| ran.send(()).unwrap());
    ended(has_run).await.unwrap();
}

/// The same by a handler of the same connection, and once the connection is over. A table that is not empty when
/// nothing is open ends the connection: debug assertions look.
#[tokio::test]
async fn nothing_is_left_for_a_call_that_is_over_by_another_handler() {
    let kept: Arc<Mutex<Vec<Ctx>>> = Arc::default();
    let (keep, used) = (Arc::clone(&kept), Arc::clone(&kept));
    let router = server()
        .method("keep", move |ctx, ()| {
            keep.lock().unwrap().push(ctx);
            async { Ok(()) }
        })
        .method("use", move |_, ()| {
            let ctx = used.lock().unwrap()[0].clone();
            let cancelled = ctx.cancelled();
            let (ran, has_run) = tokio::sync::oneshot::channel();
            ctx.after_reply(move |_| ran.send(()).unwrap());
            async move {
                cancelled.await;
                has_run.await.map_err(|_| sabir::ErrorObject::new(1, "the hook was dropped"))
            }
        });
    let peer = client(router).await;
    peer.call::<()>("keep", ()).await.unwrap();
    for _ in 0..3 {
        assert_eq!(ended(peer.call::<()>("use", ())).await, Ok(()));
    }
    assert_eq!(ended(peer.call::<serde_json::Value>("echo", json!({"i": 1}))).await, Ok(json!({"i": 1})));
    peer.shutdown(std::time::Duration::from_secs(1)).await;
    let ctx = kept.lock().unwrap().pop().unwrap();
    ended(ctx.peer().closed()).await;
    ended(ctx.cancelled()).await;
    let (ran, has_run) = tokio::sync::oneshot::channel::<()>();
    ctx.after_reply(move |_| ran.send(()).unwrap());
    ended(has_run).await.unwrap_err();
}

#[tokio::test]
async fn connections_that_are_dropped_end_all_that_waits() {
    let (near, far) = transport::memory();
    let serving = tokio::spawn(sabir::serve(far, server()));
    let peer = sabir::connect(near, Router::new()).await.unwrap();
    let mut batch = peer.batch();
    let batched = batch.call::<()>("hang", json!({}));
    batch.send().unwrap();
    let mut single = peer.call::<()>("hang", json!({}));
    touch(&mut single).await;
    tokio::task::yield_now().await;
    serving.abort();
    assert!(matches!(ended(single).await, Err(CallError::Closed(_))));
    assert!(matches!(ended(batched).await, Err(CallError::Closed(_))));
    let late = ended(peer.call::<()>("hang", json!({}))).await;
    assert!(matches!(late, Err(CallError::NotSent(SendError::Closed(_)))), "{late:?}");
}
