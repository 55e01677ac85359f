//! Calls through NATS beside bare requests of NATS, with one, two and three workers: processes of their own, in turn.
//! Then what large messages cost, and how long it takes until a caller knows that its worker or the server is gone.
//!
//! Run with `bench/run nats`; `ONLY=sabir bench/run nats` measures only those whose names contain the word. It needs
//! `nats-server`, in the PATH or as the variable NATS_SERVER. It prints the tables and the goals, and writes
//! `results/nats.json` and `results/nats.svg`. It fails if a call is not answered.

mod failures;
mod processes;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use processes::{Nats, load, worker};
use sabir_bench::Kind::{Floor, Ours};
use sabir_bench::{
    Bars, Goal, Kind, Metric, PLACEMENTS, Placement, Program, Sample, Table, measure_all, metric, report,
};

const ROUNDS: usize = 5;

/// Calls that are open at a time.
const OPEN: &str = "64";

/// How long each run takes, in milliseconds.
const MILLIS: &str = "1000";

/// The text of a large call, which comes back.
const LARGE: &str = "3000000";

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Small,
    Large,
}

struct Side {
    program: Program,
    workers: usize,
    what: What,
    /// The server takes messages of so many bytes.
    max_payload: usize,
}

const MIB: usize = 1 << 20;

const fn side(
    name: &'static str,
    command: &'static [&'static str],
    kind: Kind,
    workers: usize,
    what: What,
    max_payload: usize,
) -> Side {
    Side { program: Program { name, command, kind }, workers, what, max_payload }
}

const RAW: &[&str] = &[processes::LOAD, "raw"];
const OURS: &[&str] = &[processes::LOAD, "sabir"];

const SIDES: &[Side] = &[
    side("raw, 1 worker", RAW, Floor, 1, What::Small, MIB),
    side("sabir, 1 worker", OURS, Ours, 1, What::Small, MIB),
    side("raw, 2 workers", RAW, Floor, 2, What::Small, MIB),
    side("sabir, 2 workers", OURS, Ours, 2, What::Small, MIB),
    side("raw, 3 workers", RAW, Floor, 3, What::Small, MIB),
    side("sabir, 3 workers", OURS, Ours, 3, What::Small, MIB),
    side("raw, one message", RAW, Floor, 1, What::Large, 8 * MIB),
    side("sabir, one message", OURS, Ours, 1, What::Large, 8 * MIB),
    side("sabir, parts of 1 MiB", OURS, Ours, 1, What::Large, MIB),
];

/// The order of `METRICS`.
#[derive(Clone, Copy)]
enum By {
    Rate,
    P50,
    Single,
    Caller,
    Workers,
    Server,
}

const METRICS: [Metric; 6] = [
    metric("calls_per_s", "calls/s", 0, true),
    metric("p50_us", "p50 µs", 0, false),
    metric("single_p50_us", "1: p50 µs", 1, false),
    metric("caller_cpu_us", "caller µs", 2, false),
    metric("workers_cpu_us", "workers µs", 2, false),
    metric("server_cpu_us", "server µs", 2, false),
];

fn main() -> io::Result<ExitCode> {
    let rows = measure_all(ROUNDS, SIDES, |side| &side.program, measure);
    println!(
        "The best of {ROUNDS} rounds, with {OPEN} calls open; `1:` with one. µs of a process: its CPU time for a call."
    );
    let table = |what: What, title: &str| Table {
        title: title.to_owned(),
        metrics: &METRICS,
        lines: rows
            .iter()
            .filter(|row| row.server.what == what && row.placement == PLACEMENTS[0])
            .map(sabir_bench::Row::line)
            .collect(),
    };
    let small = table(What::Small, "Small calls, not pinned");
    let large = table(What::Large, "Echoes of 3 MB, 4 open, not pinned");
    let share = |ours: &str, raw: &str| {
        let of = |name: &str| small.value_of(name, By::Rate as usize);
        Some(100.0 * of(ours)? / of(raw)?)
    };
    let goals = vec![
        Goal::at_least(80.0, "1 worker, % of raw calls/s", share("sabir, 1 worker", "raw, 1 worker")),
        Goal::at_least(80.0, "2 workers, % of raw calls/s", share("sabir, 2 workers", "raw, 2 workers")),
        Goal::at_least(80.0, "3 workers, % of raw calls/s", share("sabir, 3 workers", "raw, 3 workers")),
    ];
    let tables = [(small, goals), (large, Vec::new())];
    let bars =
        Bars { title: "Calls a second through NATS".to_owned(), table: &tables[0].0, by: By::Rate as usize };
    let code = report("nats", &tables, &[bars])?;
    if std::env::var_os("ONLY").is_none() {
        failures::measure()?;
    }
    Ok(code)
}

fn measure(side: &Side, placement: Placement) -> io::Result<Sample> {
    let mut sample = Sample::default();
    if placement != PLACEMENTS[0] {
        return Ok(sample);
    }
    let kind = side.program.command[1];
    let nats = Nats::start(side.max_payload)?;
    let workers = (0..side.workers).map(|_| worker(kind, &nats.url)).collect::<io::Result<Vec<_>>>()?;
    let cpu = || -> io::Result<(Duration, Duration)> {
        let workers = workers.iter().map(sabir_bench::Process::cpu).sum::<io::Result<Duration>>()?;
        Ok((workers, nats.process.cpu()?))
    };
    let mut set = |by: By, value: f64| sample.set(by as usize, value);
    let size: &[&str] = if side.what == What::Large { &[LARGE] } else { &[] };
    let open = if side.what == What::Large { "4" } else { OPEN };
    let before = cpu()?;
    let many = load(kind, &nats.url, &[&[open, MILLIS], size].concat())?;
    let after = cpu()?;
    // The warm-up costs as much for a call as the rest.
    let calls = many.all_calls;
    set(By::Rate, many.calls_per_s);
    set(By::P50, many.p50_us);
    set(By::Caller, many.cpu_us);
    set(By::Workers, (after.0 - before.0).as_secs_f64() * 1e6 / calls);
    set(By::Server, (after.1 - before.1).as_secs_f64() * 1e6 / calls);
    set(By::Single, load(kind, &nats.url, &[&["1", "300"], size].concat())?.p50_us);
    Ok(sample)
}
