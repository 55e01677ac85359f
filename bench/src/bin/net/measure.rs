//! Measures a server once: starts it, checks it, applies each kind of load, and starts it again to measure idle connections.

use std::io;
use std::time::{Duration, Instant};

use sabir_bench::{
    Kind, Metric, Placement, Ring, Sample, check_count, cpu_of, metric, percentile, sum, wrong,
};

use crate::connection::Connection;
use crate::load;
use crate::servers::{By as Through, Server};
use crate::service::Service;

/// How long each kind of load lasts. Many short ones find a calm moment sooner than a few long ones.
const TIME: Duration = Duration::from_millis(60);
/// Bytes that may be unanswered when requests are pipelined, over all connections.
const WINDOW: usize = 64 * 1024;
const CONNECTIONS: usize = 32;
const IDLE: usize = 1_000;
const PINGS: usize = 5_000;
const CHECKED: usize = 64;

/// The order of `METRICS`.
#[derive(Clone, Copy)]
pub(crate) enum By {
    Piped,
    PipedCpu,
    PipedOwnCpu,
    PipedMany,
    PipedManyCpu,
    Many,
    ManyCpu,
    ManyOwnCpu,
    P50,
    P99,
    Fresh,
    FreshCpu,
    Idle,
    Memory,
}

pub(crate) const METRICS: [Metric; 14] = [
    metric("pipelined_per_s", "piped/s", 0, true),
    metric("pipelined_cpu_us", "CPU µs", 2, false),
    // Not the server's: it shows where the load generator is the limit.
    metric("pipelined_generator_cpu_us", "gen µs", 2, false),
    metric("pipelined_32_per_s", "piped32/s", 0, true),
    metric("pipelined_32_cpu_us", "CPU µs", 2, false),
    metric("single_32_per_s", "single32/s", 0, true),
    metric("single_32_cpu_us", "CPU µs", 2, false),
    metric("single_32_generator_cpu_us", "gen µs", 2, false),
    metric("p50_us", "p50 µs", 1, false),
    metric("p99_us", "p99 µs", 1, false),
    metric("fresh_per_s", "fresh/s", 0, true),
    metric("fresh_cpu_us", "CPU µs", 1, false),
    metric("idle_bytes", "idle bytes", 0, false),
    metric("peak_rss_mib", "RSS MiB", 1, false),
];

pub(crate) fn measure(server: &'static Server, placement: Placement) -> io::Result<Sample> {
    let mut sample = Sample::default();
    let service = Service::start(server)?;
    check(server, &service)?;
    {
        let _placed = placement.apply(&service.process)?;
        measure_loads(server, &service, &mut sample)?;
    }
    sample.set(By::Memory as usize, service.process.peak_memory()? / f64::from(1 << 20));
    drop(service);
    if server.by == Through::Socket {
        sample.set(By::Idle as usize, idle(server)?);
    }
    Ok(sample)
}

fn measure_loads(server: &Server, service: &Service, sample: &mut Sample) -> io::Result<()> {
    let mut set = |by: By, value| sample.set(by as usize, value);
    let under = |connections: usize, ring: fn(&Connection) -> Ring| {
        let connections = (0..connections).map(|_| service.connect()).collect::<io::Result<_>>()?;
        load::run(&service.process, connections, ring, TIME)
    };

    let mut times = service.connect()?.ping_pong(PINGS, TIME)?;
    times.sort();
    set(By::P50, percentile(&times, 50));
    set(By::P99, percentile(&times, 99));

    if server.by == Through::Socket {
        let (fresh, cpu) = fresh(service)?;
        set(By::Fresh, fresh);
        set(By::FreshCpu, cpu);

        let load = under(CONNECTIONS, |connection| Ring::one_at_a_time(|id| connection.add(id)))?;
        set(By::Many, load.per_second());
        set(By::ManyCpu, load.cpu());
        set(By::ManyOwnCpu, load.own_cpu());
    }
    if !server.speaks.posts() {
        if server.by == Through::Socket {
            let ring = |connection: &Connection| Ring::new(WINDOW / CONNECTIONS, |id| connection.add(id));
            let load = under(CONNECTIONS, ring)?;
            set(By::PipedMany, load.per_second());
            set(By::PipedManyCpu, load.cpu());
        }
        let load = under(1, |connection| Ring::new(WINDOW, |id| connection.add(id)))?;
        set(By::Piped, load.per_second());
        set(By::PipedCpu, load.cpu());
        set(By::PipedOwnCpu, load.own_cpu());
    }
    Ok(())
}

/// A connection for each call: how many in a second, and the server's CPU time for one, in µs.
fn fresh(service: &Service) -> io::Result<(f64, f64)> {
    let before = cpu_of(service.process.id())?;
    let (started, mut count) = (Instant::now(), 0.0);
    while started.elapsed() < TIME {
        service.connect()?.call_once()?;
        count += 1.0;
    }
    let time = started.elapsed();
    let cpu = cpu_of(service.process.id())?.saturating_sub(before);
    Ok((count / time.as_secs_f64(), cpu.as_secs_f64() * 1e6 / count))
}

/// Bytes by which a process that has done nothing else grows with each connection that stays open after
/// one call.
fn idle(server: &'static Server) -> io::Result<f64> {
    let service = Service::start(server)?;
    let open = |count: usize| -> io::Result<Vec<_>> {
        let one = |_| {
            let mut connection = service.connect()?;
            connection.call_once()?;
            connection.answers.release();
            Ok(connection)
        };
        (0..count).map(one).collect()
    };
    // What is loaded with the first few connections is not part of the next.
    let _first = open(CONNECTIONS)?;
    let before = service.process.memory()?;
    let _idle = open(IDLE)?;
    Ok((service.process.memory()? - before) / IDLE as f64)
}

/// Some answers are looked at before any is timed. They may come in any order.
fn check(server: &Server, service: &Service) -> io::Result<()> {
    let mut connection = service.connect()?;
    let requests: Vec<u8> = (0..CHECKED).flat_map(|id| connection.add(id)).collect();
    let mut answers = connection.ask(&requests, CHECKED)?;
    if server.program.kind == Kind::Floor {
        return Ok(());
    }
    answers.sort_by_key(|answer| answer["id"].as_u64());
    check_count(answers.len() as u64, CHECKED as u64)?;
    match answers.iter().enumerate().find(|(id, answer)| !server.speaks.is_sum(*id, answer)) {
        None => Ok(()),
        Some((id, answer)) => Err(wrong(&format!("the sum {} for id {id}", sum(id)), answer)),
    }
}
