//! `sabir bench` as a user runs it: how much it can drive, and how late it is, against floors and against the demo.
//!
//! Run with `bench/run load`; `ONLY=pipe bench/run load` measures only those whose names contain the word. It prints the
//! table and the goals, and writes `results/load.json` and `results/load.svg`. It fails if a call is not answered.

use std::io;
use std::process::{Command, ExitCode};

use sabir_bench::Kind::{Floor, Ours};
use sabir_bench::{
    Bars, Goal, Kind, Metric, PLACEMENTS, Placement, Program, Sample, Table, measure_all, metric, report,
    start_listening,
};
use serde_json::Value;

const ROUNDS: usize = 5;

const SABIR: &str = "../target/dist/sabir";

/// Calls a second of the open loop: far from what any of them can do.
const RATE: &str = "5000";

struct Server {
    program: Program,
    /// The scheme of its URL; nothing for its own pipes.
    scheme: Option<&'static str>,
    /// Calls that are open in the closed loop.
    open: &'static str,
}

const fn server(
    name: &'static str,
    command: &'static [&'static str],
    kind: Kind,
    scheme: Option<&'static str>,
    open: &'static str,
) -> Server {
    Server { program: Program { name, command, kind }, scheme, open }
}

const DEMO: &[&str] = &[SABIR, "demo", "--listen", "tcp://127.0.0.1:0"];

const SERVERS: &[Server] = &[
    server("floor, pipe", &["peers/target/release/floor", "ids"], Floor, None, "1000"),
    server("sabir demo, pipe", &[SABIR, "demo"], Ours, None, "1000"),
    server("floor, TCP", &["peers/target/release/floor_net", "lines", "ids"], Floor, Some("tcp"), "1000"),
    server("sabir demo, TCP", DEMO, Ours, Some("tcp"), "1000"),
    server("floor, HTTP", &["peers/target/release/floor_net", "http", "ids"], Floor, Some("http"), "64"),
    server("sabir demo, HTTP", DEMO, Ours, Some("http"), "64"),
    server("sabir demo, WebSocket", DEMO, Ours, Some("ws"), "1000"),
];

/// The order of `METRICS`.
#[derive(Clone, Copy)]
enum By {
    Rate,
    P50,
    P99,
    Late,
}

const METRICS: [Metric; 4] = [
    metric("calls_per_s", "calls/s", 0, true),
    metric("open_p50_us", "p50 µs", 1, false),
    metric("open_p99_us", "p99 µs", 1, false),
    metric("open_late_p99_us", "late p99 µs", 1, false),
];

fn main() -> io::Result<ExitCode> {
    let rows = measure_all(ROUNDS, SERVERS, |server| &server.program, measure);
    println!(
        "The best of {ROUNDS} rounds. calls/s: closed loop; p50, p99 and late: open loop, {RATE} calls/s."
    );
    // The generator is a process of its own, and goes where the system puts it: there is one placement.
    let table = Table {
        title: "sabir bench, not pinned".to_owned(),
        metrics: &METRICS,
        lines: rows.iter().filter(|row| row.placement == PLACEMENTS[0]).map(sabir_bench::Row::line).collect(),
    };
    let of = |name: &str| table.value_of(name, By::Rate as usize);
    let goals = vec![
        Goal::at_least(1e6, "over one pipe, calls/s", of("sabir demo, pipe")),
        Goal::at_least(2e5, "over HTTP, posts/s", of("sabir demo, HTTP")),
    ];
    let tables = [(table, goals)];
    let bars =
        Bars { title: "Calls a second, closed loop".to_owned(), table: &tables[0].0, by: By::Rate as usize };
    report("load", &tables, &[bars])
}

fn measure(server: &Server, placement: Placement) -> io::Result<Sample> {
    let mut sample = Sample::default();
    if placement != PLACEMENTS[0] {
        return Ok(sample);
    }
    let mut set = |by: By, value: f64| sample.set(by as usize, value);
    let closed = run(server, &["--concurrency", server.open, "--warmup", "200ms", "--duration", "1s"])?;
    set(By::Rate, figure(&closed, "/rate_answered")?);
    let open = run(server, &["--rate", RATE, "--warmup", "200ms", "--duration", "1s"])?;
    set(By::P50, figure(&open, "/latency_ms/p50")? * 1e3);
    set(By::P99, figure(&open, "/latency_ms/p99")? * 1e3);
    set(By::Late, figure(&open, "/late_ms/p99")? * 1e3);
    Ok(sample)
}

/// The round that the program reports. Every call must have been answered.
fn run(server: &Server, options: &[&str]) -> io::Result<Value> {
    let mut bench = Command::new(SABIR);
    bench.args(["bench", "--json", "--fail", "errors>0"]).args(options);
    // It ends with this scope.
    let mut listening = None;
    match server.scheme {
        Some(scheme) => {
            let (process, url) = start_listening(server.program.command, "serving on ")?;
            let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
            bench.arg(format!("{scheme}://{rest}")).args(["add", "2", "3"]);
            listening = Some(process);
        }
        None => {
            bench.args(["add", "2", "3", "--"]).args(server.program.command);
        }
    }
    let output = bench.output()?;
    drop(listening);
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let report: Value = serde_json::from_slice(&output.stdout)?;
    Ok(report["rounds"][0].clone())
}

fn figure(round: &Value, path: &str) -> io::Result<f64> {
    round.pointer(path).and_then(Value::as_f64).ok_or_else(|| io::Error::other(format!("no {path}")))
}
