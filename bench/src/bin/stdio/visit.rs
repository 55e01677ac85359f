//! One visit to a server: started, checked, measured in every way it supports, stopped.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::child;
use crate::cores::Placement;
use crate::messages::{BATCH, Ring, echoed, sum};
use crate::servers::{Kind, Server, Speaks};

/// How long each kind of load lasts.
const TIME: Duration = Duration::from_millis(200);
const PINGS: usize = 5_000;
const CHECKED: usize = 64;

pub(crate) struct Metric {
    /// In the JSON report.
    pub(crate) key: &'static str,
    /// In the table.
    pub(crate) title: &'static str,
    pub(crate) decimals: usize,
    pub(crate) more_is_better: bool,
}

/// The order of `METRICS`.
#[derive(Clone, Copy)]
pub(crate) enum By {
    Add,
    Cpu,
    OwnCpu,
    P50,
    P99,
    Echo1K,
    Echo64K,
    Echo1M,
    Batch,
    Memory,
    Start,
}

const fn metric(key: &'static str, title: &'static str, decimals: usize, more_is_better: bool) -> Metric {
    Metric { key, title, decimals, more_is_better }
}

pub(crate) const METRICS: [Metric; 11] = [
    metric("add_per_s", "add/s", 0, true),
    metric("cpu_us", "CPU µs", 2, false),
    // Not the server's: it shows where the load generator is the limit.
    metric("generator_cpu_us", "gen µs", 2, false),
    metric("p50_us", "p50 µs", 1, false),
    metric("p99_us", "p99 µs", 1, false),
    metric("echo_1k_mb_per_s", "1 KiB", 0, true),
    metric("echo_64k_mb_per_s", "64 KiB", 0, true),
    metric("echo_1m_mb_per_s", "1 MiB", 0, true),
    metric("batch_calls_per_s", "batched/s", 0, true),
    metric("peak_rss_mib", "RSS MiB", 1, false),
    metric("start_ms", "start ms", 1, false),
];

/// A value for each metric, none where the server has no such thing.
#[derive(Clone, Default)]
pub(crate) struct Sample([Option<f64>; METRICS.len()]);

impl Sample {
    pub(crate) fn get(&self, by: usize) -> Option<f64> {
        self.0[by]
    }

    fn set(&mut self, by: By, value: f64) {
        self.0[by as usize] = Some(value);
    }

    pub(crate) fn median(samples: &[Sample]) -> Sample {
        let mut median = Sample::default();
        for (by, cell) in median.0.iter_mut().enumerate() {
            let mut values: Vec<f64> = samples.iter().filter_map(|sample| sample.0[by]).collect();
            values.sort_by(f64::total_cmp);
            *cell = values.get(values.len() / 2).copied();
        }
        median
    }
}

pub(crate) fn visit(server: &Server, placement: Placement) -> io::Result<Sample> {
    let started = Instant::now();
    let mut child = child::Server::start(server.command, server.speaks.counter())?;
    match measure(server, &mut child, started, placement) {
        Ok(sample) => child.stop().map(|()| sample),
        Err(e) => {
            child.abandon();
            Err(e)
        }
    }
}

fn measure(
    server: &Server,
    child: &mut child::Server,
    started: Instant,
    placement: Placement,
) -> io::Result<Sample> {
    let (speaks, mut sample) = (server.speaks, Sample::default());
    // The floor would answer the notification too.
    if let Some((request, notification)) = speaks.handshake().filter(|_| server.kind != Kind::Floor) {
        child.ask(&request, 1)?;
        child.send(&notification)?;
    }
    child.ask(&speaks.add(1), 1)?;
    sample.set(By::Start, started.elapsed().as_secs_f64() * 1e3);
    check(server, child)?;

    let _placed = placement.apply(child)?;
    let load = child.pipelined(&Ring::new(|id| speaks.add(id)), TIME)?;
    let messages = load.messages as f64;
    sample.set(By::Add, messages / load.time.as_secs_f64());
    sample.set(By::Cpu, load.server_cpu.as_secs_f64() * 1e6 / messages);
    sample.set(By::OwnCpu, load.own_cpu.as_secs_f64() * 1e6 / messages);

    let requests: Vec<Vec<u8>> = (0..PINGS).map(|id| speaks.add(id)).collect();
    let mut times = child.ping_pong(&requests, TIME)?;
    times.sort();
    let percentile = |p: usize| times[(times.len() - 1) * p / 100].as_secs_f64() * 1e6;
    sample.set(By::P50, percentile(50));
    sample.set(By::P99, percentile(99));

    if speaks != Speaks::Mcp {
        for (by, size) in [(By::Echo1K, 1 << 10), (By::Echo64K, 1 << 16), (By::Echo1M, 1 << 20)] {
            let load = child.pipelined(&Ring::new(|id| speaks.echo(id, size)), TIME)?;
            let megabytes = load.messages as f64 * size as f64 / 1e6;
            sample.set(by, megabytes / load.time.as_secs_f64());
        }
    }
    if server.batches {
        let load = child.pipelined(&Ring::new(|i| speaks.batch(i * BATCH)), TIME)?;
        sample.set(By::Batch, load.messages as f64 * BATCH as f64 / load.time.as_secs_f64());
    }
    sample.set(By::Memory, child.peak_memory()?);
    Ok(sample)
}

/// A sample of every kind of answer is looked at before any is timed. The answers may come in any order.
fn check(server: &Server, child: &mut child::Server) -> io::Result<()> {
    if server.kind == Kind::Floor {
        return Ok(());
    }
    let speaks = server.speaks;
    let adds: Vec<u8> = (0..CHECKED).flat_map(|id| speaks.add(id)).collect();
    check_sums(server, &child.ask(&adds, CHECKED)?, CHECKED)?;
    if server.batches {
        match child.ask(&speaks.batch(0), 1)?.pop() {
            Some(Value::Array(answers)) => check_sums(server, &answers, BATCH)?,
            other => return Err(wrong("a batch", &json!(other))),
        }
    }
    if speaks != Speaks::Mcp {
        for size in [1 << 10, 1 << 16, 1 << 20] {
            let answer = child.ask(&speaks.echo(7, size), 1)?.remove(0);
            if answer["id"] != 7 || answer["result"] != echoed(size) {
                return Err(wrong("an echo", &answer));
            }
        }
    }
    Ok(())
}

fn check_sums(server: &Server, answers: &[Value], count: usize) -> io::Result<()> {
    let mut answers: Vec<&Value> = answers.iter().collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    if answers.len() != count {
        return Err(io::Error::other(format!("{} answers to {count} calls", answers.len())));
    }
    match answers.iter().enumerate().find(|(id, answer)| !server.speaks.added(*id, answer)) {
        None => Ok(()),
        Some((id, answer)) => Err(wrong(&format!("the sum {} for id {id}", sum(id)), answer)),
    }
}

fn wrong(wanted: &str, came: &Value) -> io::Error {
    let came: String = came.to_string().chars().take(200).collect();
    io::Error::other(format!("expected {wanted}, came {came}"))
}
