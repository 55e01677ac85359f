//! What `sabir call` takes.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueEnum;
use sabir::{Dialect, LENIENT, LSP, MCP, PLAIN};

use super::{AnswerArgs, CONNECTION, FollowArgs, OUTPUT, ResultArgs, SessionArgs, TelemetryArgs};

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
sabir call [OPTIONS] TARGET METHOD [ARG]...
       sabir call [OPTIONS] METHOD [ARG]... -- COMMAND [WORD]...
       sabir call [OPTIONS] TARGET --batch FILE
       sabir call [OPTIONS] TARGET -f FILE
       sabir call [OPTIONS] TARGET --raw BYTES",
    after_help = "\
TARGET is one of
  demo:               the demo service, in this process
  stdio:COMMAND…      a program to start, talked to over its standard input and output; its words are split
                      as a shell does, by spaces, quotes and backslashes, but nothing else is expanded:
                      use stdio:\"sh -c '…'\" for pipes and variables; on Windows backslashes are kept
  http://HOST/PATH    an HTTP server that takes each message by itself; https:// with TLS
  ws://HOST/PATH      a WebSocket; wss:// with TLS
  tcp://HOST:PORT     a TCP socket; tls:// with TLS
  nats://HOST/SERVICE a service behind NATS, several servers as HOST,HOST; nats+tls:// with TLS
  unix:PATH           a Unix socket; on Windows pipe:NAME, a named pipe

METHOD is a method; of an MCP server also the name of a tool or a prompt, or the URI of a resource. Of a language
server, methods of a text document take FILE:LINE:COLUMN first, and the file is opened.

A tool of an MCP server that runs as a task is waited for; --timeout is then how long nothing may be heard of it. With
--detach the id of the task is printed instead, for these methods:
  tasks/result ID     waits for the task, answers what it asks, and prints its result
  tasks/get ID        how far it is
  tasks/update ID     answers what it asks now (from --answer or the terminal), and does not wait
  tasks/cancel ID     asks the server to stop it
  tasks/list          all tasks; servers of 2026-07-28 have no list

ARG is one of
  KEY=TEXT            a named argument: a string, or what the schema of the tool or the method wants
  KEY:=JSON           a named argument, any JSON
  JSON                an argument by position
  WORD                the same, a string: whatever is not JSON
  =TEXT, :=JSON       the same, certainly a string or JSON

A batch FILE holds a JSON array of messages, or one message per line: {\"id\", \"method\", \"params\"}. Those
without an id are notifications. It is sent with these ids. Results are printed one per line, in the order of the
file; with --json in the order in which they come.

Examples:
  sabir call demo: add 2 3
  sabir call demo: subtract minuend=42 subtrahend=23
  sabir call https://example.org/rpc add 2 3 -H 'Authorization: Bearer ${TOKEN}'
  sabir call echo message=hi -- my-mcp-server
  sabir call https://example.org/mcp get-sum a=2 b=3
  sabir call https://example.org/mcp render film=1 --detach
  sabir call textDocument/hover main.c:4:10 -- clangd
  sabir call demo: --batch calls.json --json
  sabir call demo: -f steps.rpc"
)]
pub(crate) struct CallArgs {
    /// The target, unless a command is given after --; the method; its arguments
    #[arg(value_name = "TARGET METHOD ARG", hide = true, allow_negative_numbers = true)]
    pub(crate) words: Vec<String>,
    /// A program to start, and to use over its standard input and output
    #[arg(last = true, value_name = "COMMAND", hide = true)]
    pub(crate) command: Vec<OsString>,
    /// All params: JSON, @FILE, or - for standard input
    #[arg(short = 'd', long = "data", value_name = "JSON")]
    pub(crate) data: Option<OsString>,
    /// Send a notification: no answer is expected
    #[arg(long)]
    pub(crate) notify: bool,
    /// Do not wait for a tool that runs as a task: print the id of the task
    #[arg(long, conflicts_with_all = ["notify", "progress", "follow", "wait", "until"])]
    pub(crate) detach: bool,
    /// Send the messages in a file as one batch; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "notify", "data", "detach", "follow", "wait", "until", "pick", "output", "answers",
    ])]
    pub(crate) batch: Option<PathBuf>,
    /// Send exactly these bytes as one message: TEXT, @FILE, or - for standard input
    #[arg(long, value_name = "BYTES", conflicts_with_all = [
        "notify", "data", "detach", "batch", "progress", "until", "follow", "json", "pick", "output", "answers", "dialect",
    ])]
    pub(crate) raw: Option<OsString>,
    /// Play the steps in a file, a transcript: send lines with >, compare what comes with lines with <; - for standard input
    #[arg(
        short = 'f',
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "notify", "data", "detach", "batch", "raw", "progress", "follow", "wait", "until", "json", "pick", "output", "answers",
            "trace", "dialect",
        ]
    )]
    pub(crate) file: Option<PathBuf>,
    /// Protocol rules: what is allowed, and which cancel and progress messages are used [default: lenient]
    #[arg(long, value_enum, value_name = "WHICH", help_heading = CONNECTION)]
    pub(crate) dialect: Option<DialectName>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    #[command(flatten)]
    pub(crate) stay: FollowArgs,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    /// Ask for progress, by a token in the params, which must be named
    #[arg(long, conflicts_with_all = ["notify", "batch"], help_heading = OUTPUT)]
    pub(crate) progress: bool,
    /// Show the steps of the connection and the heads of HTTP on standard error, with their times
    #[arg(short = 'v', long, help_heading = OUTPUT)]
    pub(crate) verbose: bool,
    /// Print one JSON object per event: ok, id, method, result or error, ms, target
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DialectName {
    /// JSON-RPC 2.0 to the letter
    Plain,
    /// The Language Server Protocol
    Lsp,
    /// The Model Context Protocol
    Mcp,
    /// Accepts the deviations of old servers
    Lenient,
}

impl From<DialectName> for Dialect {
    fn from(name: DialectName) -> Self {
        match name {
            DialectName::Plain => PLAIN,
            DialectName::Lsp => LSP,
            DialectName::Mcp => MCP,
            DialectName::Lenient => LENIENT,
        }
    }
}
