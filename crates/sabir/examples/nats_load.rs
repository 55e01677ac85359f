//! Calls through NATS, and bare requests of NATS with the same bytes: the two halves of each, for `bench/run nats`.
//!
//!     nats-server -a 127.0.0.1 -p 4333 &
//!     nats_load sabir serve nats://127.0.0.1:4333 &
//!     nats_load sabir load nats://127.0.0.1:4333 64 1000
//!
//! The last one keeps 64 calls open for 1,000 ms and prints a line of JSON. A third number is the size of a text that the
//! worker sends back. `wait` makes one call that is never answered, and ends when that has failed.

use std::cell::Cell;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use sabir::{Peer, Router};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const SERVICE: &str = "load";

/// Before anything is counted.
const WARM_UP: Duration = Duration::from_millis(300);

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":3}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    match *words {
        ["sabir", "serve", host] => serve(host).await,
        ["raw", "serve", host] => serve_raw(host).await,
        ["sabir", "wait", host] => wait(host).await,
        ["sabir", "missing", host, count] => missing(host, count.parse()?).await,
        [kind @ ("sabir" | "raw"), "load", host, ref numbers @ ..] => {
            let numbers = numbers.iter().map(|number| number.parse()).collect::<Result<Vec<u64>, _>>()?;
            let [open, millis, ref rest @ ..] = numbers[..] else {
                return Err("how many, and how long?".into());
            };
            let text = "x".repeat(rest.first().map_or(0, |bytes| *bytes as usize));
            let load = Load { open, time: Duration::from_millis(millis) };
            let measured = match kind {
                "sabir" => {
                    let peer = sabir::connect(format!("{host}/{SERVICE}"), Router::new()).await?;
                    load.run(|| call(&peer, &text)).await?
                }
                _ => {
                    let client = async_nats::connect(host).await?;
                    load.run(|| request(&client, &text)).await?
                }
            };
            report(measured, load.time);
            Ok(())
        }
        _ => Err("usage: nats_load sabir|raw serve|load|wait|missing URL [NUMBER…]".into()),
    }
}

#[expect(clippy::print_stderr, reason = "it is a program")]
fn serving(host: &str) {
    eprintln!("serving on {host}");
}

async fn serve(host: &str) -> Result<(), Failure> {
    let router = Router::new()
        .method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) })
        .method("echo", |_, (text,): (String,)| async move { Ok(text) })
        .method("wait", |_, ()| std::future::pending::<sabir::Result<()>>());
    let server = sabir::listen(format!("{host}/{SERVICE}"), router).await?;
    serving(host);
    Ok(server.run().await?)
}

async fn serve_raw(host: &str) -> Result<(), Failure> {
    let client = async_nats::connect(host).await?;
    let mut requests = client.queue_subscribe("raw", "q".to_owned()).await?;
    client.flush().await?;
    serving(host);
    while let Some(request) = requests.next().await {
        let Some(reply) = request.reply else { continue };
        // What is large comes back.
        let answer = if request.payload.len() > 1000 { request.payload } else { ANSWER.into() };
        client.publish(reply, answer).await?;
    }
    Ok(())
}

async fn call(peer: &Peer, text: &str) -> Result<(), Failure> {
    let is_right = match text {
        "" => peer.call::<i64>("add", (1, 2)).await? == 3,
        text => peer.call::<String>("echo", (text,)).await?.len() == text.len(),
    };
    if is_right { Ok(()) } else { Err("a wrong answer".into()) }
}

async fn request(client: &async_nats::Client, text: &str) -> Result<(), Failure> {
    let is_right = match text {
        "" => client.request("raw", REQUEST.into()).await?.payload == ANSWER,
        text => client.request("raw", text.to_owned().into()).await?.payload.len() == text.len(),
    };
    if is_right { Ok(()) } else { Err("a wrong answer".into()) }
}

/// A call that ends when its worker, or the server, is gone.
async fn wait(host: &str) -> Result<(), Failure> {
    let peer = sabir::connect(format!("{host}/{SERVICE}"), Router::new()).await?;
    serving(host);
    match peer.call::<()>("wait", ()).await {
        Ok(()) => Err("it was answered".into()),
        Err(error) => {
            line(&error.to_string());
            Ok(())
        }
    }
}

/// Calls to a service that has no worker.
async fn missing(host: &str, count: usize) -> Result<(), Failure> {
    let peer = sabir::connect(format!("{host}/nobody"), Router::new()).await?;
    let (began, mut took) = (Instant::now(), Vec::new());
    for _ in 0..count {
        let start = Instant::now();
        if peer.call::<()>("add", (1, 2)).await.is_ok() {
            return Err("somebody has answered".into());
        }
        took.push(start.elapsed());
    }
    let all_calls = took.len();
    report(Measured { took, all_calls, cpu: Duration::ZERO }, began.elapsed());
    Ok(())
}

struct Measured {
    /// How long each call took.
    took: Vec<Duration>,
    /// How many there were, with those of the warm-up.
    all_calls: usize,
    /// The time of the processor that this process has used.
    cpu: Duration,
}

struct Load {
    open: u64,
    time: Duration,
}

impl Load {
    /// Keeps calls open for a while.
    async fn run<F>(&self, call: impl Fn() -> F) -> Result<Measured, Failure>
    where
        F: Future<Output = Result<(), Failure>>,
    {
        let begin = Instant::now() + WARM_UP;
        let end = begin + self.time;
        let all_calls = Cell::new(0);
        let callers = (0..self.open).map(|_| async {
            let mut took = Vec::new();
            loop {
                let start = Instant::now();
                if start >= end {
                    return Ok::<_, Failure>(took);
                }
                call().await?;
                all_calls.set(all_calls.get() + 1);
                if start >= begin {
                    took.push(start.elapsed());
                }
            }
        });
        let at_begin = async {
            tokio::time::sleep_until(begin.into()).await;
            cpu()
        };
        let (took, before) = tokio::join!(futures_util::future::try_join_all(callers), at_begin);
        let cpu = cpu().saturating_sub(before);
        Ok(Measured { took: took?.concat(), all_calls: all_calls.get(), cpu })
    }
}

/// Of this process, so far. `schedstat` counts nanoseconds.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

fn report(measured: Measured, time: Duration) {
    let Measured { mut took, all_calls, cpu } = measured;
    took.sort_unstable();
    let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
    let at = |part: usize| took.get((took.len().saturating_sub(1)) * part / 100).copied().map_or(0.0, micros);
    let count = took.len() as f64;
    let (rate, cpu) = (count / time.as_secs_f64(), micros(cpu) / count);
    line(&format!(
        "{{\"calls_per_s\":{rate:.0},\"p50_us\":{:.1},\"p99_us\":{:.1},\"cpu_us\":{cpu:.2},\"all_calls\":{all_calls}}}",
        at(50),
        at(99)
    ));
}

#[expect(clippy::print_stdout, reason = "it is a program")]
fn line(text: &str) {
    println!("{text}");
}
