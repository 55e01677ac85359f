//! Measures a server once, by itself or behind the tap.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sabir_bench::{
    Counter, Metric, Placement, Process, Ring, Sample, StreamServer, add, echoed, metric, percentile,
    start_listening, sum, wrong,
};
use serde_json::json;

use crate::page::Page;
use crate::servers::{FILE, SABIR, Server, VIEW, Way};

/// How long each kind of load lasts. Many short ones find a calm moment sooner than a few long ones.
const TIME: Duration = Duration::from_millis(100);
/// How long small calls last: so long that the tap cannot put off its work, for its queue would be full.
const LONG_TIME: Duration = Duration::from_millis(600);
/// Bytes that may be unanswered: as much as a pipe holds.
const WINDOW: usize = 64 * 1024;
const PINGS: usize = 3_000;
const CHECKED: usize = 64;
const LARGE: usize = 1 << 20;
/// The tap has done all that it will when it has taken hardly any time for this long.
const SETTLED: Duration = Duration::from_millis(20);

/// The order of `METRICS`.
#[derive(Clone, Copy)]
pub(crate) enum By {
    Add,
    Cpu,
    P50,
    P99,
    Echo64K,
    OneWay,
    OneWayCpu,
    Recorded,
    Memory,
}

pub(crate) const METRICS: [Metric; 9] = [
    metric("add_per_s", "add/s", 0, true),
    metric("cpu_us", "CPU µs", 2, false),
    metric("p50_us", "p50 µs", 1, false),
    metric("p99_us", "p99 µs", 1, false),
    metric("echo_64k_mb_per_s", "64 KiB", 0, true),
    metric("one_way_mb_per_s", "1 MiB", 0, true),
    metric("one_way_cpu_ms", "CPU ms/GB", 0, false),
    metric("recorded_percent", "recorded %", 1, true),
    metric("peak_rss_mib", "RSS MiB", 1, false),
];

/// What is measured, with what has to live as long.
struct Setup {
    stream: StreamServer,
    /// The server behind a tap on a socket.
    _behind: Option<Process>,
    record: Option<PathBuf>,
    page: Option<Page>,
}

pub(crate) fn measure(server: &Server, placement: Placement) -> io::Result<Sample> {
    let record = std::env::temp_dir().join(format!("sabir-bench-{}.jrl", std::process::id()));
    let sample = start(server, &record).and_then(|setup| measure_loads(server, setup, placement));
    match fs::remove_file(&record) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => sample,
    }
}

fn start(server: &Server, record: &Path) -> io::Result<Setup> {
    let record_text = record.to_string_lossy();
    let options: Option<Vec<&str>> = server
        .options
        .map(|options| options.iter().map(|word| if *word == FILE { &*record_text } else { word }).collect());
    let is_recorded = server.options.is_some_and(|options| options.contains(&FILE));
    let record = is_recorded.then(|| record.to_owned());
    let (command, counter) = (server.program.command, Counter::new(false));
    let (stream, behind) = match (server.way, options) {
        (Way::Pipes, None) => (StreamServer::start(command, counter)?, None),
        (Way::Pipes, Some(options)) => {
            let words = [&[SABIR, "tap"], &options[..], &["--"], command].concat();
            (StreamServer::start(&words, counter)?, None)
        }
        (Way::Tcp, None) => {
            let (process, url) = start_listening(command, "serving on ")?;
            (StreamServer::connect(process, &url, counter)?, None)
        }
        (Way::Tcp, Some(options)) => {
            let (behind, target) = start_listening(command, "serving on ")?;
            let listen = ["--listen", "tcp://127.0.0.1:0", target.as_str()];
            let words = [&[SABIR, "tap"], &options[..], &listen].concat();
            let (process, url) = start_listening(&words, "listening at ")?;
            (StreamServer::connect(process, &url, counter)?, Some(behind))
        }
    };
    let is_viewed = server.options.is_some_and(|options| options.contains(&VIEW));
    let page = is_viewed.then(|| Page::open(stream.process.id())).transpose()?;
    Ok(Setup { stream, _behind: behind, record, page })
}

fn measure_loads(server: &Server, setup: Setup, placement: Placement) -> io::Result<Sample> {
    let Setup { mut stream, _behind, record, page } = setup;
    let mut sample = Sample::default();
    let mut set = |by: By, value| sample.set(by as usize, value);
    let call = |id| format!("{}\n", add(id)).into_bytes();
    check(&mut stream)?;
    let _placed = placement.apply_to(&stream.process, _behind.as_ref())?;

    let before = settled(&stream.process)?;
    let load = stream.pipelined(&Ring::new(WINDOW, call), LONG_TIME)?;
    set(By::Add, load.per_second());
    // With what it does afterwards.
    let cpu = settled(&stream.process)?.saturating_sub(before);
    set(By::Cpu, cpu.as_secs_f64() * 1e6 / load.messages as f64);
    if let Some(record) = &record {
        let recorded = recorded(record)? as f64;
        set(By::Recorded, recorded * 100.0 / (2 * (load.messages + CHECKED as u64)) as f64);
    }

    let requests: Vec<Vec<u8>> = (0..PINGS).map(call).collect();
    let mut times = stream.ping_pong(&requests, TIME)?;
    times.sort();
    set(By::P50, percentile(&times, 50));
    set(By::P99, percentile(&times, 99));

    let echo = |id, size| {
        let params = echoed(size);
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"echo\",\"params\":{params}}}\n").into_bytes()
    };
    let size = 1 << 16;
    let load = stream.pipelined(&Ring::new(WINDOW, |id| echo(id, size)), TIME)?;
    set(By::Echo64K, load.per_second() * size as f64 / 1e6);

    let params = echoed(LARGE);
    let message = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":{params}}}\n");
    let before = settled(&stream.process)?;
    let (count, time) = stream.one_way(message.as_bytes(), &call(1), TIME)?;
    let megabytes = (count * message.len() as u64) as f64 / 1e6;
    set(By::OneWay, megabytes / time.as_secs_f64());
    let cpu = settled(&stream.process)?.saturating_sub(before);
    set(By::OneWayCpu, cpu.as_secs_f64() * 1e6 / megabytes);

    set(By::Memory, stream.process.peak_memory()? / f64::from(1 << 20));
    // Else the tap would leave its page to another process.
    drop(page);
    match server.way {
        Way::Pipes => stream.stop()?,
        // It listens until it is killed.
        Way::Tcp => drop(stream),
    }
    Ok(sample)
}

/// Answers are looked at before any is timed.
fn check(stream: &mut StreamServer) -> io::Result<()> {
    let calls: Vec<u8> = (0..CHECKED).flat_map(|id| format!("{}\n", add(id)).into_bytes()).collect();
    let mut answers = stream.ask(&calls, CHECKED)?;
    answers.sort_by_key(|answer| answer["id"].as_u64());
    match answers.iter().enumerate().find(|(id, answer)| answer["result"] != json!(sum(*id))) {
        None => Ok(()),
        Some((id, answer)) => Err(wrong(&format!("the sum {} for id {id}", sum(id)), answer)),
    }
}

/// The CPU time of a process once it has nothing left to do.
fn settled(process: &Process) -> io::Result<Duration> {
    let mut cpu = process.cpu()?;
    loop {
        std::thread::sleep(SETTLED);
        let now = process.cpu()?;
        if now.saturating_sub(cpu) < SETTLED / 20 {
            return Ok(now);
        }
        cpu = now;
    }
}

/// Messages in a record.
fn recorded(path: &Path) -> io::Result<usize> {
    let mut lines = BufReader::new(fs::File::open(path)?);
    let (mut line, mut count) = (Vec::new(), 0);
    while lines.read_until(b'\n', &mut line)? > 0 {
        count += usize::from(memchr::memmem::find(&line, b",\"msg\":").is_some());
        line.clear();
    }
    Ok(count)
}
