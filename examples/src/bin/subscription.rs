//! A subscription: the client asks once, and the server sends notifications until the client has enough.
//!
//! Run with `cargo run -q -p sabir-examples --bin subscription`. Both sides run in this process.

use std::collections::HashMap;
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sabir::{Ctx, Router, transport};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

#[derive(Serialize, Deserialize)]
struct Tick {
    subscription: u64,
    count: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The subscriptions of one connection. They end with it.
#[derive(Default)]
struct Subscriptions {
    next: AtomicU64,
    running: Mutex<HashMap<u64, JoinHandle<()>>>,
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        lock(&self.running).values().for_each(JoinHandle::abort);
    }
}

async fn subscribe(ctx: Ctx, every_ms: u64) -> sabir::Result<u64> {
    let mine = ctx.peer().extension::<Subscriptions>();
    let subscription = mine.next.fetch_add(1, Ordering::Relaxed);
    // The ticks start behind the answer, so the client knows the id before the first one comes.
    ctx.after_reply(move |peer| {
        let task = tokio::spawn(async move {
            for count in 1.. {
                tokio::time::sleep(Duration::from_millis(every_ms)).await;
                // Waits while the client leaves too much unread; fails once the connection has ended.
                if peer.notify("tick", Tick { subscription, count }).await.is_err() {
                    break;
                }
            }
        });
        lock(&mine.running).insert(subscription, task);
    });
    Ok(subscription)
}

async fn unsubscribe(ctx: Ctx, subscription: u64) -> sabir::Result<bool> {
    let mine = ctx.peer().extension::<Subscriptions>();
    let task = lock(&mine.running).remove(&subscription);
    Ok(task.inspect(JoinHandle::abort).is_some())
}

/// Where the client sends the events of each subscription.
type Receivers = Arc<Mutex<HashMap<u64, mpsc::UnboundedSender<u64>>>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (ours, theirs) = transport::memory();
    let server = Router::new().method("subscribe", subscribe).method("unsubscribe", unsubscribe);
    tokio::spawn(sabir::serve(theirs, server));

    let receivers = Receivers::default();
    let known = Arc::clone(&receivers);
    let client = Router::new().method("tick", move |_, tick: Tick| {
        let known = Arc::clone(&known);
        async move {
            if let Some(receiver) = lock(&known).get(&tick.subscription) {
                let _ = receiver.send(tick.count);
            }
            Ok(())
        }
    });
    let peer = sabir::connect(ours, client).await?;

    let (send, mut ticks) = mpsc::unbounded_channel();
    // `on_reply` runs before anything behind the answer is handled: no tick is missed.
    let subscription: u64 = peer
        .call("subscribe", [10])
        .on_reply(move |answer: &Result<u64, _>| {
            if let Ok(id) = answer {
                lock(&receivers).insert(*id, send);
            }
        })
        .await?;
    for _ in 0..3 {
        eprintln!("tick {}", ticks.recv().await.ok_or("the server has gone")?);
    }
    let stopped: bool = peer.call("unsubscribe", [subscription]).await?;
    eprintln!("stopped: {stopped}");
    Ok(())
}
