//! What came behind an answer is handled after whoever asked could see the answer.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sabir::{Call, CallError, Ctx, Peer, Router, transport};
use tokio::time::timeout;

const ROUNDS: usize = 4000;
const TASKS: usize = 4;

/// Answers with a number, and sends an event with this number right behind it.
fn server() -> Router {
    let next = AtomicUsize::new(0);
    let subscribe = move |ctx: Ctx, ()| {
        let id = next.fetch_add(1, Ordering::Relaxed);
        ctx.after_reply(move |peer| peer.try_notify("event", id).unwrap());
        async move { Ok(id) }
    };
    Router::new().method("subscribe", subscribe)
}

#[derive(Clone, Default)]
struct Subscriptions {
    open: Arc<Mutex<HashSet<usize>>>,
    handled: Arc<AtomicUsize>,
    strange: Arc<AtomicUsize>,
}

impl Subscriptions {
    fn router(&self) -> Router {
        let this = self.clone();
        Router::new().method_sync("event", move |_, id: usize| {
            if !this.open.lock().unwrap().remove(&id) {
                this.strange.fetch_add(1, Ordering::SeqCst);
            }
            this.handled.fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
    }

    fn subscribe(&self, peer: &Peer) -> Call<usize> {
        let open = Arc::clone(&self.open);
        let call = peer.call::<usize>("subscribe", ());
        call.on_reply(move |id| open.lock().unwrap().extend(id.as_ref().ok()))
    }

    async fn check(&self, rounds: usize) {
        let all = async {
            while self.handled.load(Ordering::SeqCst) < rounds {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(60), all).await.expect("events are missing");
        assert_eq!(self.strange.load(Ordering::SeqCst), 0, "events before their subscription was known");
    }
}

async fn run(peer: Peer, subscriptions: &Subscriptions) {
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (peer, subscriptions) = (peer.clone(), subscriptions.clone());
            tokio::spawn(async move {
                for _ in 0..ROUNDS {
                    subscriptions.subscribe(&peer).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    subscriptions.check(TASKS * ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hook_sees_the_answer_first_on_many_threads() {
    let subscriptions = Subscriptions::default();
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, server()));
    let peer = sabir::connect(near, subscriptions.router()).await.unwrap();
    run(peer, &subscriptions).await;
}

#[tokio::test]
async fn a_hook_sees_the_answer_first_on_one_thread() {
    let subscriptions = Subscriptions::default();
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, server()));
    let peer = sabir::connect(near, subscriptions.router()).await.unwrap();
    run(peer, &subscriptions).await;
}

/// A handler that awaits its call needs no hook: it is polled by the connection itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_sees_the_answer_first_on_many_threads() {
    let subscriptions = Subscriptions::default();
    let open = Arc::clone(&subscriptions.open);
    let asks = move |ctx: Ctx, ()| {
        let open = Arc::clone(&open);
        async move {
            for _ in 0..ROUNDS {
                let id = ctx.peer().call::<usize>("subscribe", ()).await?;
                open.lock().unwrap().insert(id);
            }
            Ok(())
        }
    };
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, subscriptions.router().method("ask", asks)));
    let peer = sabir::connect(near, server()).await.unwrap();
    peer.call::<()>("ask", ()).await.unwrap();
    subscriptions.check(ROUNDS).await;
}

#[cfg(unix)]
#[test]
fn a_hook_sees_the_answer_first_without_a_runtime() {
    use std::os::unix::net::UnixStream;

    use sabir::blocking::{self, Streams};

    let subscriptions = Subscriptions::default();
    let (near, far) = UnixStream::pair().unwrap();
    let streams = |stream: UnixStream| Streams::new(stream.try_clone().unwrap(), stream);
    std::thread::spawn(move || blocking::serve(streams(far), server()));
    let peer = blocking::connect(streams(near), subscriptions.router()).unwrap();
    for _ in 0..ROUNDS {
        blocking::wait(subscriptions.subscribe(peer.as_async())).unwrap().unwrap();
    }
    assert!(peer.shutdown(Duration::from_secs(60)).is_some());
    assert_eq!(subscriptions.strange.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_hook_runs_once_however_the_call_ends_unless_it_is_given_up() {
    let (near, far) = transport::memory();
    let router = server()
        .method("hang", |_, ()| std::future::pending::<sabir::Result<()>>())
        .method("text", |_, ()| async { Ok("text") });
    let serving = tokio::spawn(sabir::serve(far, router));
    let peer = sabir::connect(near, Router::new()).await.unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let hook = |seen: &Arc<Mutex<Vec<String>>>| {
        let seen = Arc::clone(seen);
        move |outcome: &Result<usize, CallError>| seen.lock().unwrap().push(format!("{outcome:?}"))
    };
    let call = |method: &'static str| peer.call::<usize>(method, ());
    let take = || std::mem::take(&mut *seen.lock().unwrap());

    assert_eq!(call("subscribe").on_reply(hook(&seen)).await, Ok(0));
    assert_eq!(take(), ["Ok(0)"]);
    let error = call("unknown").on_reply(hook(&seen)).await.unwrap_err();
    assert_eq!(take(), [format!("Err({error:?})")]);
    let error = call("text").on_reply(hook(&seen)).await.unwrap_err();
    assert_eq!(take(), [format!("Err({error:?})")]);
    let late = call("hang").timeout(Duration::from_millis(5)).on_reply(hook(&seen)).await;
    assert_eq!((late, take()), (Err(CallError::TimedOut), vec!["Err(TimedOut)".to_owned()]));

    let cancelled = call("hang").on_reply(hook(&seen));
    cancelled.cancel();
    assert_eq!(cancelled.await, Err(CallError::Cancelled));
    drop(call("subscribe").on_reply(hook(&seen)));
    assert!(take().is_empty());

    // A hook that panics harms nobody.
    assert_eq!(call("subscribe").on_reply(|_| panic!("of no concern")).await, Ok(1));
    let mut batch = peer.batch();
    let batched = batch.call::<usize>("subscribe", ()).on_reply(hook(&seen));
    batch.send().unwrap();
    assert_eq!((batched.await, take()), (Ok(2), vec!["Ok(2)".to_owned()]));

    let lost = call("hang").on_reply(hook(&seen));
    let waiting = tokio::spawn(lost);
    tokio::task::yield_now().await;
    serving.abort();
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(take(), [format!("Err({error:?})")]);
}
