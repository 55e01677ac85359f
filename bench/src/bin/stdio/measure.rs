//! Measures a server once: starts it, checks it, measures everything it supports, and stops it.

use std::io;
use std::time::{Duration, Instant};

use sabir_bench::{
    Kind, Metric, Placement, Ring, Sample, StreamServer, echoed, metric, percentile, sum, wrong,
};
use serde_json::{Value, json};

use crate::messages::BATCH;
use crate::servers::Server;

/// How long each kind of load lasts. Many short ones find a calm moment sooner than a few long ones.
const TIME: Duration = Duration::from_millis(100);
/// Bytes that may be unanswered: as much as a pipe holds.
const WINDOW: usize = 64 * 1024;
const PINGS: usize = 5_000;
const CHECKED: usize = 64;

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

pub(crate) fn measure(server: &Server, placement: Placement) -> io::Result<Sample> {
    let started = Instant::now();
    let mut child = StreamServer::start(server.program.command, server.speaks.counter())?;
    let sample = measure_loads(server, &mut child, started, placement)?;
    child.stop()?;
    Ok(sample)
}

fn measure_loads(
    server: &Server,
    child: &mut StreamServer,
    started: Instant,
    placement: Placement,
) -> io::Result<Sample> {
    let (speaks, mut sample) = (server.speaks, Sample::default());
    let mut set = |by: By, value| sample.set(by as usize, value);
    // The floor would answer the notification too.
    if let Some((request, notification)) = speaks.handshake().filter(|_| server.program.kind != Kind::Floor) {
        child.ask(&request, 1)?;
        match speaks.unasked() {
            0 => child.send(&notification)?,
            unasked => drop(child.ask(&notification, unasked)?),
        }
    }
    child.ask(&speaks.add(1), 1)?;
    set(By::Start, started.elapsed().as_secs_f64() * 1e3);
    check(server, child)?;

    let _placed = placement.apply(&child.process)?;
    let load = child.pipelined(&Ring::new(WINDOW, |id| speaks.add(id)), TIME)?;
    set(By::Add, load.per_second());
    set(By::Cpu, load.cpu());
    set(By::OwnCpu, load.own_cpu());

    let requests: Vec<Vec<u8>> = (0..PINGS).map(|id| speaks.add(id)).collect();
    let mut times = child.ping_pong(&requests, TIME)?;
    times.sort();
    set(By::P50, percentile(&times, 50));
    set(By::P99, percentile(&times, 99));

    if speaks.echoes() {
        for (by, size) in [(By::Echo1K, 1 << 10), (By::Echo64K, 1 << 16), (By::Echo1M, 1 << 20)] {
            let load = child.pipelined(&Ring::new(WINDOW, |id| speaks.echo(id, size)), TIME)?;
            set(by, load.per_second() * size as f64 / 1e6);
        }
    }
    if server.batches {
        let load = child.pipelined(&Ring::new(WINDOW, |i| speaks.batch(i * BATCH)), TIME)?;
        set(By::Batch, load.per_second() * BATCH as f64);
    }
    set(By::Memory, child.process.peak_memory()? / f64::from(1 << 20));
    Ok(sample)
}

/// A sample of every kind of answer is looked at before any is timed. The answers may come in any order.
fn check(server: &Server, child: &mut StreamServer) -> io::Result<()> {
    if server.program.kind == Kind::Floor {
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
    if speaks.echoes() {
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
