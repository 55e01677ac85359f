//! Calls through NATS beside bare requests of NATS: how many in a second, and how long one takes.
//!
//!     nats-server -a 127.0.0.1 -p 4333 &
//!     cargo run --release -p sabir --features nats --example nats_load -- nats://127.0.0.1:4333
//!
//! Callers and workers are tasks of this process, each with its own connection. What is measured is a call with a small
//! answer; the bare request carries the same bytes.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use sabir::{Peer, Router};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Calls that are open at a time, and how long each run takes.
const AT_ONCE: usize = 64;
const RUN: Duration = Duration::from_secs(3);

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":3}"#;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let host = std::env::args().nth(1).unwrap_or_else(|| "nats://127.0.0.1:4222".to_owned());
    report("workers", "calls/s", "p50 µs", "raw calls/s", "raw p50 µs", "share");
    for workers in 1..=3 {
        let name = format!("load{workers}");
        let mut stoppers = Vec::new();
        for _ in 0..workers {
            let router = Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) });
            let server = sabir::listen(format!("{host}/{name}"), router).await?;
            stoppers.push(server.stopper());
            tokio::spawn(server.run());
            let client = async_nats::connect(&host).await?;
            let mut requests = client.queue_subscribe(format!("raw.{workers}"), "q".to_owned()).await?;
            client.flush().await?;
            tokio::spawn(async move {
                while let Some(request) = requests.next().await {
                    if let Some(reply) = request.reply {
                        let _ = client.publish(reply, ANSWER.into()).await;
                    }
                }
            });
        }
        let peer = sabir::connect(format!("{host}/{name}"), Router::new()).await?;
        let client = async_nats::connect(&host).await?;
        // In turns, so that what else the machine does is shared by both.
        let (mut ours, mut raw) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            ours.extend(run(|| call(peer.clone())).await?);
            raw.extend(run(|| request(client.clone(), format!("raw.{workers}"))).await?);
        }
        let (ours, raw) = (figures(&mut ours), figures(&mut raw));
        let share = format!("{:.0} %", 100.0 * ours.0 / raw.0);
        let [a, b, c, d] = [ours.0, ours.1, raw.0, raw.1].map(|figure| format!("{figure:.0}"));
        report(&workers.to_string(), &a, &b, &c, &d, &share);
        stoppers.iter().for_each(sabir::Stopper::stop);
    }
    Ok(())
}

async fn call(peer: Peer) -> Result<(), Failure> {
    let sum: i64 = peer.call("add", (1, 2)).await?;
    if sum == 3 { Ok(()) } else { Err("a wrong sum".into()) }
}

async fn request(client: async_nats::Client, subject: String) -> Result<(), Failure> {
    let answer = client.request(subject, REQUEST.into()).await?;
    if answer.payload == ANSWER { Ok(()) } else { Err("a wrong answer".into()) }
}

/// Keeps calls open for a while: how long each of them took.
async fn run<F>(call: impl Fn() -> F) -> Result<Vec<Duration>, Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let end = Instant::now() + RUN;
    let callers = (0..AT_ONCE).map(|_| async {
        let mut took = Vec::new();
        while Instant::now() < end {
            let start = Instant::now();
            call().await?;
            took.push(start.elapsed());
        }
        Ok::<_, Failure>(took)
    });
    Ok(futures_util::future::try_join_all(callers).await?.concat())
}

/// Calls in a second, and the median of how long they took in microseconds.
fn figures(took: &mut [Duration]) -> (f64, f64) {
    took.sort_unstable();
    (took.len() as f64 / (3.0 * RUN.as_secs_f64()), took[took.len() / 2].as_secs_f64() * 1e6)
}

#[expect(clippy::print_stdout, reason = "it is a program")]
fn report(workers: &str, calls: &str, median: &str, raw: &str, raw_median: &str, share: &str) {
    println!("{workers:>8} {calls:>9} {median:>8} {raw:>12} {raw_median:>11} {share:>6}");
}
