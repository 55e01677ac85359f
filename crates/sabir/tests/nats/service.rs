//! The service that is called, in this process or in one of its own.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream;
use sabir::{Connections, Nats, Peer, Router, Server, Stopper, SubscriptionStyle, TraceContext, transport};
use tokio::task::JoinHandle;

pub(crate) const COUNT: SubscriptionStyle =
    SubscriptionStyle::notified("subscribe_count", "count", "unsubscribe_count");

/// What a worker has seen.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) calls: AtomicUsize,
    pub(crate) notes: AtomicUsize,
    pub(crate) slept: AtomicUsize,
    pub(crate) cancelled: AtomicUsize,
    pub(crate) streams: AtomicUsize,
}

#[derive(serde::Deserialize)]
struct Steps {
    count: u64,
}

/// Counts what is dropped.
pub(crate) struct Guard(Arc<Seen>, fn(&Seen) -> &AtomicUsize);

impl Drop for Guard {
    fn drop(&mut self) {
        self.1(&self.0).fetch_add(1, Ordering::SeqCst);
    }
}

pub(crate) fn router(seen: &Arc<Seen>) -> Router {
    let (calls, notes, sleeps, streams) =
        (Arc::clone(seen), Arc::clone(seen), Arc::clone(seen), Arc::clone(seen));
    Router::new()
        .method("add", move |_, (a, b): (i64, i64)| {
            calls.calls.fetch_add(1, Ordering::SeqCst);
            async move { Ok(a + b) }
        })
        .method("echo", |_, (text,): (String,)| async move { Ok(text) })
        .method("repeat", |_, (count,): (usize,)| async move { Ok("x".repeat(count)) })
        .method("pid", |_, ()| async { Ok(std::process::id()) })
        .method("sleep", move |_, (millis,): (u64,)| {
            sleeps.slept.fetch_add(1, Ordering::SeqCst);
            let guard = Guard(Arc::clone(&sleeps), |seen| &seen.cancelled);
            async move {
                tokio::time::sleep(Duration::from_millis(millis)).await;
                std::mem::forget(guard);
                Ok("slept")
            }
        })
        .method("work", |_, (n, millis): (u64, u64)| async move {
            record(n);
            tokio::time::sleep(Duration::from_millis(millis)).await;
            Ok(n)
        })
        .method("steps", |ctx: sabir::Ctx, Steps { count }: Steps| async move {
            for step in 1..=count {
                ctx.progress(step).await;
            }
            Ok(count)
        })
        .method("ask", |ctx: sabir::Ctx, (question,): (String,)| async move {
            Ok(ctx.peer().call::<String>("answer", (question,)).await?)
        })
        .method("trace", |ctx: sabir::Ctx, ()| async move {
            let trace = ctx.trace().map(TraceContext::into_owned);
            Ok(trace.map(|trace| [Some(trace.traceparent), trace.tracestate, trace.baggage]))
        })
        .method("note", move |_, ()| {
            notes.notes.fetch_add(1, Ordering::SeqCst);
            async { Ok(()) }
        })
        .subscription(COUNT, move |_, (count,): (u64,)| {
            let guard = Guard(Arc::clone(&streams), |seen| &seen.streams);
            async move {
                // Without a count it never ends.
                let numbers = stream::unfold((0, guard), move |(next, guard)| async move {
                    if count == 0 && next > 0 {
                        std::future::pending::<()>().await;
                    }
                    (count == 0 || next < count).then_some((next, (next + 1, guard)))
                });
                Ok(numbers)
            }
        })
}

/// Fast enough for tests.
pub(crate) fn options() -> Nats {
    Nats::new()
        .heartbeat(Duration::from_millis(50), Duration::from_millis(200))
        .accept_within(Duration::from_secs(3))
        .ping_every(Duration::from_millis(500))
        .version("1.2.3")
        .description("A service of tests.")
}

/// A worker in this process.
pub(crate) struct Worker {
    pub(crate) seen: Arc<Seen>,
    stopper: Stopper,
    running: JoinHandle<Result<(), sabir::Error>>,
}

impl Worker {
    pub(crate) async fn start(url: &str) -> Worker {
        Self::with(url, options(), Duration::from_secs(5)).await
    }

    pub(crate) async fn with(url: &str, nats: Nats, grace: Duration) -> Worker {
        let seen = Arc::default();
        let server = sabir::listen(url, router(&seen)).nats(nats).grace(grace).await.unwrap();
        Self::run(server, seen)
    }

    pub(crate) fn run(server: Server, seen: Arc<Seen>) -> Worker {
        let stopper = server.stopper();
        Worker { seen, stopper, running: tokio::spawn(server.run()) }
    }

    /// Stops it, and waits for its end.
    pub(crate) async fn stop(self) {
        self.stopper.stop();
        self.running.await.unwrap().unwrap();
    }
}

pub(crate) async fn caller(url: &str) -> Peer {
    caller_with(url, options(), Router::new()).await
}

pub(crate) async fn caller_with(url: &str, nats: Nats, router: Router) -> Peer {
    sabir::connect(transport::url(url).nats(nats), router).await.unwrap()
}

/// A worker in a process of its own, which can be killed.
pub(crate) struct WorkerProcess(Child);

const URL: &str = "SABIR_NATS_WORKER";

/// A file with a line for each call of `work` that began, of all workers.
const RECORD: &str = "SABIR_NATS_RECORD";

/// What it may hold for all of its callers, in bytes.
const BYTES: &str = "SABIR_NATS_BYTES";

fn record(call: u64) {
    let Ok(path) = std::env::var(RECORD) else { return };
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    // One write, which the system does not mix with those of others.
    file.write_all(format!("{call}\n").as_bytes()).unwrap();
}

impl WorkerProcess {
    pub(crate) fn start(url: &str) -> Self {
        Self::spawn(url, &[])
    }

    /// One that writes down which calls it has begun.
    pub(crate) fn recording(url: &str, record: &Path) -> Self {
        Self::spawn(url, &[(RECORD, record.to_str().unwrap())])
    }

    /// One that holds so many bytes at most for all of its callers.
    pub(crate) fn limited(url: &str, bytes: usize) -> Self {
        Self::spawn(url, &[(BYTES, &bytes.to_string())])
    }

    /// What it has taken of memory at most, in bytes.
    pub(crate) fn peak_memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
    }

    fn spawn(url: &str, settings: &[(&str, &str)]) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["service::worker_process", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(URL, url)
            .envs(settings.iter().copied())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        WorkerProcess(child)
    }

    /// Starts one, and waits until it answers.
    pub(crate) async fn ready(url: &str, peer: &Peer) -> Self {
        let process = Self::start(url);
        process.wait(peer).await;
        process
    }

    /// Waits until it answers.
    pub(crate) async fn wait(&self, peer: &Peer) {
        let own = self.0.id();
        until("the worker answers", async || peer.call::<u32>("pid", ()).await.is_ok_and(|pid| pid == own))
            .await;
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Not a test: what runs in such a process.
#[test]
#[ignore = "runs in a process of its own"]
fn worker_process() {
    let Ok(url) = std::env::var(URL) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connections = Connections::default();
        if let Ok(bytes) = std::env::var(BYTES) {
            connections.total_bytes = bytes.parse().unwrap();
        }
        let listening = sabir::listen(url, router(&Arc::default())).nats(options()).connections(connections);
        listening.await.unwrap().run().await.unwrap();
    });
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting)
        .await
        .unwrap_or_else(|_| panic!("not yet: {what}"));
}
