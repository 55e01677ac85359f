//! What `sabir bench` takes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use sabir_load::{Limit, Rate};

use super::units::{duration, some_duration};
use super::{AnswerArgs, MetricsArgs, OUTPUT, SessionArgs, TelemetryArgs};

const LOAD: &str = "Load";

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
sabir bench [OPTIONS] TARGET METHOD [ARG]...
       sabir bench [OPTIONS] METHOD [ARG]... -- COMMAND [WORD]...
       sabir bench [OPTIONS] TARGET --mix FILE
       sabir bench compare A.json B.json",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "\
TARGET, METHOD and ARG are those of `sabir call`. One call is made first, on a connection of its own: it shows what the
server speaks, and that the method exists.

With --rate, the clock decides when a call is sent (open loop). A call is due at its time, and its latency counts from
then, also if it could not be sent at once: a server that stalls shows in p99.
  --rate 500               500 calls a second
  --rate 100..2000/30s     from 100 to 2,000 a second, evenly, within 30 s
  --rate 100,200,400@10s   each for 10 s
With --concurrency, the server decides: so many calls are open, and the next is sent when one is answered (closed loop).
That shows what a server can do, but understates how long users wait: a server that stalls is not asked meanwhile.

A mix FILE has a line for each call, its weight first, such as `80 add 2 3`; or it is a recording (.jrl, .rpc), whose
client's calls and notifications are sent in their order, again and again.

LIMIT is one of p50>TIME, p99>TIME, p99.9>TIME, mean>TIME, max>TIME, errors>N, errors>N%, rate<N.

Exit codes: 0 measured, 1 a limit of --fail was broken or no call succeeded, and those of `sabir help`.

Examples:
  sabir bench demo: add 2 3
  sabir bench --rate 500 --duration 30s http://127.0.0.1:8000/rpc add 2 3
  sabir bench --rate 1000 --fail 'p99>50ms' --fail 'errors>0' ws://127.0.0.1:8000/ add 2 3
  sabir bench --rate 100..20k/60s --until 'p99>20ms' --html knee.html tcp://127.0.0.1:4000 add 2 3
  sabir bench --concurrency 100 add 2 3 -- my-server
  sabir bench --rounds 5 --json demo: add 2 3 > before.json
  sabir bench compare before.json after.json"
)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) does: Option<BenchCommand>,
    #[command(flatten)]
    pub(crate) run: BenchRunArgs,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum BenchCommand {
    /// Compare two runs, and say which differences are more than chance
    Compare(BenchCompareArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchRunArgs {
    /// The target, unless a command is given after --; the method; its arguments
    #[arg(value_name = "TARGET METHOD ARG", hide = true, allow_negative_numbers = true)]
    pub(crate) words: Vec<String>,
    /// A program to start, and to use over its standard input and output
    #[arg(last = true, value_name = "COMMAND", hide = true)]
    pub(crate) command: Vec<OsString>,
    /// All params: JSON, @FILE, or - for standard input
    #[arg(short = 'd', long = "data", value_name = "JSON", conflicts_with = "mix")]
    pub(crate) data: Option<OsString>,
    /// The calls to make, by weight, or a recording; - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) mix: Option<OsString>,
    /// Send notifications: a call is done when the system has taken it, over HTTP when it was accepted
    #[arg(long, conflicts_with_all = ["mix", "expect"])]
    pub(crate) notify: bool,
    /// Open loop: calls a second, such as 500, 20k, 100..2000/30s or 100,200,400@10s
    #[arg(long, value_name = "RATE", help_heading = LOAD)]
    pub(crate) rate: Option<Rate>,
    /// Closed loop: so many calls are open [default: 10, unless there is a --rate]
    #[arg(long, value_name = "N", conflicts_with = "rate", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = LOAD)]
    pub(crate) concurrency: Option<u32>,
    /// For how long [default: 10s, unless there is a --count or the rate has an end]
    #[arg(long, value_name = "TIME", value_parser = some_duration, help_heading = LOAD)]
    pub(crate) duration: Option<Duration>,
    /// How many calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = LOAD)]
    pub(crate) count: Option<u64>,
    /// Time at the start that does not count [default: 1s; none with --count]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = LOAD)]
    pub(crate) warmup: Option<Duration>,
    /// How many connections, or processes of COMMAND [default: 1; over HTTP as many as calls are open, or 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = LOAD)]
    pub(crate) connections: Option<u32>,
    /// Calls in one batch
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = LOAD)]
    pub(crate) batch: u32,
    /// Calls that may be open with --rate; more wait, and the wait counts
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "rate", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = LOAD)]
    pub(crate) max_in_flight: u32,
    /// How long to wait for answers at the end
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration, help_heading = LOAD)]
    pub(crate) grace: Duration,
    /// Measure so many times, for `sabir bench compare`
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100), help_heading = LOAD)]
    pub(crate) rounds: u32,
    /// End when a second breaks this limit, such as 'p99>50ms'
    #[arg(long, value_name = "LIMIT", help_heading = LOAD)]
    pub(crate) until: Option<Limit>,
    /// Fail if the run breaks this limit, such as 'p99>50ms' or 'errors>0'; may be repeated
    #[arg(long, value_name = "LIMIT")]
    pub(crate) fail: Vec<Limit>,
    /// What every result must be
    #[arg(long, value_name = "JSON")]
    pub(crate) expect: Option<String>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    /// Print all figures as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Write a report with charts, one file that needs nothing else
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A and B are what `sabir bench --json` has printed, best with --rounds 5 or more. Rounds are what is compared: the calls of
one round share what happened meanwhile, so that a million of them say little about chance. The test is that of Mann and
Whitney, exact, two-sided, which assumes nothing about how figures are distributed. With p below 0.05 a difference counts;
that needs at least four rounds on each side.

Exit codes: 0 nothing is worse, 1 something is worse, 3 a file cannot be read.

Examples:
  sabir bench compare before.json after.json
  sabir bench compare before.json after.json --tolerance 5")]
pub(crate) struct BenchCompareArgs {
    /// The run before
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// The run after
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    /// A difference of so many per cent does not matter
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    pub(crate) tolerance: f64,
    /// Print one JSON object per figure
    #[arg(long)]
    pub(crate) json: bool,
}
