//! The command lines of `sabir replay`, `sabir mock` and `sabir diff`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::units::duration;
use super::{CONNECTION, ClientFraming, MetricsArgs, OUTPUT, ServeTlsArgs, TelemetryArgs, WireArgs};
use crate::mock::Fault;
use crate::recorded::ignore::IgnoreRule;

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
sabir replay [OPTIONS] FILE TARGET
       sabir replay [OPTIONS] FILE -- COMMAND [WORD]...
       sabir replay [OPTIONS] --server FILE",
    after_help = "\
FILE holds captured traffic, as `sabir tap --record` writes it; - is standard input. Its client's side is played to
TARGET: each message is sent when the answers have come that came before it, and the answers are compared with the
recorded ones. What the server asks is answered as the client has answered it. With --server it is the other way round:
the server's side is played to a client, on standard streams or at --listen URL, and what the client asks is compared.

RULE is a path such as $.result.time, $.result.items[*].id or $..time, or the name of a method or a tool, which may end
in *.

Exit codes: 0 same, 1 different, 2 usage, 3 cannot read, connect or start, 4 an answer did not come in time,
5 the connection was closed too early.

Examples:
  sabir replay session.jrl -- my-mcp-server
  sabir replay session.jrl https://example.org/mcp --ignore '$.result.time' --junit > replay.xml
  sabir replay session.jrl tcp://127.0.0.1:4000 --speed 10 --record again.jrl
  sabir replay --server session.jrl --listen http://127.0.0.1:9000/mcp"
)]
pub(crate) struct ReplayArgs {
    /// The recording
    pub(crate) file: OsString,
    /// The target, unless a command is given after --
    #[arg(value_name = "TARGET", hide = true)]
    pub(crate) target: Option<String>,
    /// A program to start, and to use over its standard input and output
    #[arg(last = true, value_name = "COMMAND", hide = true, conflicts_with = "target")]
    pub(crate) command: Vec<OsString>,
    /// Play the server's side, for a client
    #[arg(long, conflicts_with_all = ["target", "command"])]
    pub(crate) server: bool,
    /// Serve at tcp://HOST:PORT, http://HOST:PORT/PATH, unix:PATH or nats://HOST/SERVICE, not on stdin and stdout; with a certificate tls://, https://
    #[arg(long, value_name = "URL", requires = "server", help_heading = CONNECTION)]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) tls: ServeTlsArgs,
    /// When messages are sent
    #[arg(long, value_enum, value_name = "HOW", default_value = "answers")]
    pub(crate) pace: Pace,
    /// At the recorded pace, but so many times as fast
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    pub(crate) speed: Option<f64>,
    /// Do not compare this; may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) ignore: Vec<IgnoreRule>,
    /// Notifications must come in the recorded order
    #[arg(long)]
    pub(crate) strict_order: bool,
    /// Write what is said now to a new capture
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) record: Option<PathBuf>,
    /// Print one JSON object per comparison
    #[arg(long, group = "format", help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Print a JUnit report, with a test for each comparison
    #[arg(long, group = "format", help_heading = OUTPUT)]
    pub(crate) junit: bool,
    #[command(flatten)]
    pub(crate) wire: WireArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pace {
    /// As fast as answers come
    Answers,
    /// As it was recorded
    Recorded,
}

fn speed(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('x').unwrap_or(text);
    match number.parse::<f64>() {
        Ok(factor) if (1e-6..=1e9).contains(&factor) => Ok(factor),
        _ => Err("write a number, such as 10 or 0.5".to_owned()),
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
FILE is one of
  a capture           or other captured traffic: a call is answered as it was, by method and params. Calls that are equal
                      get the recorded answers in order, and the last one again and again. If no params are equal,
                      those count that differ in the fewest members, and standard error says so
  an OpenRPC file     in JSON or YAML: calls are answered with values that are made from the schemas of the results
  an MCP description  `sabir describe --json -- SERVER`, or the result of tools/list: the same for tools

What could not be answered is told on standard error, and makes the exit code 1.

FAULT is KIND [PROBABILITY] [after COUNT] [on METHOD_OR_TOOL]
  delay TIME          answer later, as in 'delay 2s 10%'
  drop                never answer
  error [CODE]        answer with an error, -32603 or this code
  garbage             answer with something that is not JSON
  close               close the connection instead of an answer, as in 'close after 5'
Several can be given; the first that applies to a call is used.

Exit codes: 0 ok, 1 something could not be answered, 2 usage, 3 cannot read or listen.

Examples:
  sabir mock session.jrl
  sabir mock session.jrl --listen http://127.0.0.1:9000/mcp --latency recorded
  sabir mock openrpc.json --listen tcp://127.0.0.1:4000
  sabir mock session.jrl --fault 'delay 2s 10%' --fault 'garbage 1% on tools/call' --seed 7")]
pub(crate) struct MockArgs {
    /// What to answer from
    pub(crate) file: OsString,
    /// Serve at tcp://HOST:PORT, http://HOST:PORT/PATH, unix:PATH or nats://HOST/SERVICE, not on stdin and stdout; with a certificate tls://, https://
    #[arg(long, value_name = "URL", help_heading = CONNECTION)]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) tls: ServeTlsArgs,
    /// Message framing [default: as recorded, or whichever the client uses at --listen]
    #[arg(long, value_enum, value_name = "HOW", help_heading = CONNECTION)]
    pub(crate) framing: Option<ClientFraming>,
    /// How long answers take: recorded, or a time such as 50ms [default: none]
    #[arg(long, value_name = "TIME", value_parser = latency)]
    pub(crate) latency: Option<Latency>,
    /// What goes wrong; may be repeated
    #[arg(long = "fault", value_name = "FAULT", num_args = 1..)]
    pub(crate) faults: Vec<Fault>,
    /// Faults and made-up values are the same each time for the same number
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Latency {
    Recorded,
    Time(Duration),
}

fn latency(text: &str) -> Result<Latency, String> {
    match text {
        "recorded" => Ok(Latency::Recorded),
        time => duration(time).map(Latency::Time),
    }
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
sabir diff [OPTIONS] FILE FILE
       sabir diff [OPTIONS] TARGET TARGET",
    after_help = "\
Two files of captured traffic: calls are aligned by method and order, and their params, results and errors are compared,
and so are notifications, and the order of calls. Two targets, or OpenRPC files: what they offer is compared, methods,
tools and their schemas; with --calls FILE the calls of a recording are made to both, and the answers compared.

RULE is a path such as $.result.time, $.result.items[*].id or $..time, or the name of a method or a tool, which may end
in *.

Exit codes: 0 same, 1 different, 2 usage, 3 cannot read, connect or start, 4 timeout, 5 no usable answer.

Examples:
  sabir diff before.jrl after.jrl --ignore '$.result.time'
  sabir diff before.jrl after.jrl --slower 2 --html > diff.html
  sabir diff 'stdio:my-server' 'stdio:my-server --next'
  sabir diff http://127.0.0.1:8080 http://127.0.0.1:8081 --calls session.jrl"
)]
pub(crate) struct DiffArgs {
    /// One file or target
    pub(crate) a: OsString,
    /// The other
    pub(crate) b: OsString,
    /// Make the calls of this recording to both targets
    #[arg(long, value_name = "FILE")]
    pub(crate) calls: Option<OsString>,
    /// Do not compare this; may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) ignore: Vec<IgnoreRule>,
    /// Notifications, and what the server asks, must come in the same order
    #[arg(long)]
    pub(crate) strict_order: bool,
    /// A method that takes so many times as long is different [default: times are only shown]
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    pub(crate) slower: Option<f64>,
    /// Print one JSON object per comparison
    #[arg(long, group = "format", help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Print a page of HTML
    #[arg(long, group = "format", help_heading = OUTPUT)]
    pub(crate) html: bool,
    #[command(flatten)]
    pub(crate) wire: WireArgs,
}
