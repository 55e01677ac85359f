//! The command lines of `sabir tap` and `sabir view`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use sabir_model::capture::RedactRule;
use sabir_model::rules::Profile;

use super::units::{duration, size};
use super::{CONNECTION, MetricsArgs, OUTPUT, ServeTlsArgs, TapCommand, TelemetryArgs, WebArgs};

#[derive(Debug, Default, clap::Args)]
#[command(
    override_usage = "\
sabir tap [OPTIONS] -- COMMAND [WORD]...
       sabir tap [OPTIONS] --listen URL TARGET
       sabir tap [OPTIONS] --make-shim FILE -- COMMAND [WORD]...
       sabir tap wrap NAME
       sabir tap unwrap NAME",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    after_help = "\
Put it before the command of a server, in the configuration of the program that starts it: it runs the command in the
same folder and environment, and passes on everything between the two, bytes first and unchanged. What goes by is
copied, and recorded or shown. If that fails or falls behind, the traffic does not notice; what is missing from the
record is written there as a gap.

`sabir tap wrap NAME` does that for a server that is configured for Claude, Cursor, VS Code, Zed, Helix or Codex, and
`unwrap` undoes it. Where only the path of a program can be set, --make-shim writes a script to name there.

With --listen it accepts connections and passes each on to TARGET: tcp://, tls:// and unix: to any of them, http(s)://
and ws(s):// to any of those. Point the client at URL instead. If TARGET is nats://HOST/SERVICE, each line of a client
of tcp://, tls:// or unix: is a message to the service, and all of a connection go to one worker.

FILTER is a list of words, which must all apply. `sabir help filters` explains them. It says what is printed and what
the page shows first; a record always has everything, so that calls keep their answers and other filters can follow.

Rows are printed on standard error: standard output belongs to the command. Where there can be no page, for lack of a
folder for example, a line there says so and the command runs all the same. A file that cannot be opened for --record
is a mistake in the command line, and ends the tap before the command is started.

Exit codes: those of the command; 2 usage, 3 cannot start the command, listen or open the file.

Examples:
  sabir tap --record session.jrl -- my-mcp-server
  sabir tap --view -- my-mcp-server
  sabir tap --print --filter 'status:error ms>250' -- clangd
  sabir tap --record s.jrl --redact 'token|password' --redact '$.params.key' -- my-server
  sabir tap --print --check -- my-mcp-server
  sabir tap wrap files --record /tmp/files.jrl
  sabir tap --record /tmp/clangd.jrl --make-shim ~/bin/clangd-tapped -- clangd
  sabir tap --print --listen http://127.0.0.1:9000/mcp https://example.org/mcp
  sabir tap --record s.jrl --listen tcp://127.0.0.1:0 unix:/tmp/server.sock
  sabir tap --otlp http://127.0.0.1:4318 --metrics 9464 -- my-mcp-server"
)]
pub(crate) struct TapArgs {
    #[command(subcommand)]
    pub(crate) does: Option<TapCommand>,
    /// The target, with --listen
    #[arg(value_name = "TARGET", hide = true, requires = "listen")]
    pub(crate) target: Option<String>,
    /// The program to start
    #[arg(last = true, value_name = "COMMAND", hide = true, required_unless_present = "listen")]
    pub(crate) command: Vec<OsString>,
    /// Accept connections at tcp://HOST:PORT, http://HOST:PORT/PATH or unix:PATH; with a certificate tls:// and https://
    #[arg(long, value_name = "URL", requires = "target", conflicts_with = "command", help_heading = CONNECTION)]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) tls: ServeTlsArgs,
    #[command(flatten)]
    pub(crate) web: WebArgs,
    /// Add the tokens of `sabir auth login` to requests without credentials, and log in first where there are none
    #[arg(long, requires = "listen", help_heading = CONNECTION)]
    pub(crate) login: bool,
    /// Write a script that runs this tap, and passes its arguments on to the command
    #[arg(long, value_name = "FILE", requires = "command", conflicts_with = "listen")]
    pub(crate) make_shim: Option<PathBuf>,
    /// Write what goes by to a file, behind what is there already; another tap's file is not touched: a number is added
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Serve a page that shows what goes by, to this machine alone; its address is printed on standard error
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) view: bool,
    /// The page is what was asked for: without it there is nothing to do
    #[arg(skip)]
    pub(crate) needs_page: bool,
    /// Let the page change messages and send them again, on the connection that they were recorded on
    #[arg(long, requires = "view", help_heading = OUTPUT)]
    pub(crate) allow_send: bool,
    /// Print what goes by, a row for each message
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) print: bool,
    /// Print only rows that match, such as 'method:tools/call status:error', and begin the page with this filter
    #[arg(long, value_name = "FILTER", help_heading = OUTPUT)]
    pub(crate) filter: Option<String>,
    /// Check what goes by against the rules of the protocol, and print what breaks them
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) check: bool,
    /// The protocol to check against, which is also recorded [default: that which the first message shows]
    #[arg(long)]
    pub(crate) profile: Option<Profile>,
    /// Replace values in the record and in rows: of members whose name matches, or at a path such as $.params.key
    #[arg(long, value_name = "REGEX|PATH")]
    pub(crate) redact: Vec<RedactRule>,
    /// Start a new file when it has this size, such as 100MB; nine older ones are kept, as NAME.1.jrl to NAME.9.jrl
    #[arg(long, value_name = "SIZE", requires = "record", value_parser = size)]
    pub(crate) rotate: Option<usize>,
    /// Start a new file when it is this old, such as 1h; those before it are kept in the same way
    #[arg(long, value_name = "TIME", requires = "record", value_parser = duration)]
    pub(crate) rotate_after: Option<Duration>,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
sabir view [OPTIONS] FILE...
       sabir view [OPTIONS] --live
       sabir view [OPTIONS] TARGET
       sabir view [OPTIONS] -- COMMAND [WORD]...
       sabir view
       sabir view --print [OPTIONS] FILE
       sabir view --export FILE [OPTIONS] FILE...
       sabir view --mcp FILE...",
    after_help = "\
FILE holds captured traffic: a capture, messages, a transcript or a dump, as for `sabir check`. Several are shown
together, by the time of day. The page is served to this machine alone, and shows what is added to a capture.

With --live it shows what all taps record that were started with `sabir tap --view`, before or after. Without anything
it lists the pages of those taps. A TARGET or a command gets a tap in front of it, with the page.

FILTER is a list of words, which must all apply. `sabir help filters` explains them.

Examples:
  sabir view session.jrl
  sabir view gateway.jrl store.jrl
  sabir view --live
  sabir view http://127.0.0.1:4000/mcp
  sabir view --print session.jrl --filter 'status:pending'
  sabir view --print session.jrl --filter 'tool:search ms>1000' --follow
  sabir view --export issue.jrl --filter 'status:error' --redact 'token|password' session.jrl
  sabir view --mcp session.jrl"
)]
pub(crate) struct ViewArgs {
    /// The files, or the target
    #[arg(value_name = "FILE", hide = true)]
    pub(crate) words: Vec<OsString>,
    /// A program to start, with a tap in front of it
    #[arg(last = true, value_name = "COMMAND", hide = true, conflicts_with_all = ["words", "live", "print", "mcp"])]
    pub(crate) command: Vec<OsString>,
    /// Show what all taps with a page record, those that are yet to start included
    #[arg(long, conflicts_with_all = ["words", "print", "mcp"])]
    pub(crate) live: bool,
    /// The port of the page [default: any that is free]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true, conflicts_with_all = ["print", "mcp"])]
    pub(crate) port: u16,
    /// Let the page change messages and send them again, to the target or the command
    #[arg(long, conflicts_with_all = ["live", "print", "mcp"])]
    pub(crate) allow_send: bool,
    #[command(flatten)]
    pub(crate) web: WebArgs,
    /// Serve the page of a tap that has ended, as it says on standard input
    #[arg(long, hide = true, exclusive = true)]
    pub(crate) take_over: bool,
    /// Print a row for each message instead
    #[arg(long, requires = "words", group = "rows", help_heading = OUTPUT)]
    pub(crate) print: bool,
    /// Print or export only rows that match, such as 'method:tools/call status:error'
    #[arg(long, value_name = "FILTER", requires = "rows", help_heading = OUTPUT)]
    pub(crate) filter: Option<String>,
    /// Wait for more, and print that, too
    #[arg(long, requires = "print", help_heading = OUTPUT)]
    pub(crate) follow: bool,
    /// Write rows to a new file instead: NAME.jrl is a capture, NAME.rpc a transcript, NAME.har HAR
    #[arg(long, value_name = "FILE", requires = "words", group = "rows", conflicts_with_all = ["live", "mcp", "port"], help_heading = OUTPUT)]
    pub(crate) export: Option<PathBuf>,
    /// Replace values in what is exported: of members whose name matches, or at a path such as $.params.key
    #[arg(long, value_name = "REGEX|PATH", requires = "export", help_heading = OUTPUT)]
    pub(crate) redact: Vec<RedactRule>,
    /// Be an MCP server whose tools list, search, show, count and check the messages
    #[arg(long, requires = "words", conflicts_with = "print")]
    pub(crate) mcp: bool,
}
