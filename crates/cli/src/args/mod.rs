//! The command line. What it means is decided by each command.

mod check;
mod graph;
mod help;
mod session;
mod targets;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use check::CheckArgs;
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
#[cfg(feature = "graph")]
pub(crate) use graph::GraphArgs;
pub(crate) use graph::{Draft, ModelArgs, ModelPart};
pub(crate) use help::ManArgs;
use sabir::{Dialect, Framing, LENIENT, LSP, MCP, PLAIN};
use session::ProtocolParser;
pub(crate) use session::{FollowArgs, ResultArgs, SessionArgs, SubscribeArgs};
pub(crate) use targets::TargetsArgs;

use crate::session::Protocol;

/// Groups of options.
const CONNECTION: &str = "Connection";
const OUTPUT: &str = "Output";

/// JSON-RPC 2.0 on the command line
#[derive(Debug, Parser)]
#[command(
    name = "sabir",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    help_template = help::TEMPLATE,
    after_help = "\
Examples:
  sabir tour                              show the whole protocol
  sabir call demo: add 2 3                call a method of the built-in service
  sabir describe demo: add                show the params and the result of a method
  sabir list -- my-mcp-server             start a program, and list what it offers
  sabir call https://example.org/rpc add 2 3 -H 'Authorization: Bearer ${TOKEN}'
  sabir check -- my-mcp-server            check a program by talking to it
  sabir check session.jrl                 check captured traffic
  sabir generate --lang rust demo:        write a typed client

Output that is longer than the terminal goes through $PAGER; --no-pager turns that off.

Exit codes: 0 ok, 1 the peer answered with an error or `check` found problems, 2 usage, 3 cannot connect or start,
4 timeout, 5 the peer broke the protocol, 130 interrupted."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Do not show long output page by page
    #[arg(long, global = true, hide = true)]
    pub(crate) no_pager: bool,
}

#[derive(Debug, Subcommand)]
// Only the command that is named is set up: a server should start fast.
#[command(defer = true)]
pub(crate) enum Command {
    /// Show the whole protocol, live, as a transcript
    #[command(after_help = "\
Lines with > are sent to the server, lines with < are received from it, lines with # explain. Everything is sent to
the demo service in this process, and the answers shown are those that it gives.")]
    Tour,
    /// Call a method, a tool or a prompt, and print its result
    Call(CallArgs),
    /// Follow a subscription: print what comes, one line each
    Subscribe(SubscribeArgs),
    /// Check captured traffic or a live peer against the rules of the protocol
    Check(CheckArgs),
    /// Explain a rule: why it matters and how to fix a violation
    #[command(after_help = "\
Examples:
  sabir explain                           list all rules
  sabir explain RPC021
  sabir explain mcp013 --json")]
    Explain {
        /// Which rule [default: lists all]
        rule: Option<String>,
        /// Print one JSON object per rule
        #[arg(long)]
        json: bool,
    },
    /// List what a peer offers: methods, tools, resources, prompts
    List(ListArgs),
    /// Describe what a peer offers, or one part of it
    Describe(DescribeArgs),
    /// Write a typed client for what a peer offers
    Generate(GenerateArgs),
    /// List the targets that are saved under a name
    Targets(TargetsArgs),
    /// Serve the demo service
    Demo(DemoArgs),
    /// Convert captured traffic to RDF, or query it with SPARQL
    #[cfg(feature = "graph")]
    Graph(GraphArgs),
    /// Print the formal model of JSON-RPC: schema, context, ontology, shapes, queries
    Model(ModelArgs),
    /// Print a script that completes the command line in a shell
    #[command(after_help = "\
Examples:
  sabir completions bash > ~/.local/share/bash-completion/completions/sabir
  sabir completions fish > ~/.config/fish/completions/sabir.fish")]
    Completions {
        /// For which shell
        shell: Shell,
    },
    /// Print manual pages
    Man(ManArgs),
    /// Print the help of a command, or a topic: targets, values
    Help {
        /// A command, or targets, or values [default: lists the commands]
        topic: Vec<String>,
    },
    /// Print the methods of a target, for the scripts that complete
    #[command(hide = true)]
    CompleteMethods(CompleteArgs),
}

impl Command {
    /// Whether it waits for a peer, and so has a time limit, and an end in order when it is interrupted.
    pub(crate) fn talks(&self) -> bool {
        matches!(
            self,
            Command::Call(_)
                | Command::Subscribe(_)
                | Command::Check(_)
                | Command::List(_)
                | Command::Describe(_)
                | Command::Generate(_)
                | Command::CompleteMethods(_)
        )
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompleteArgs {
    pub(crate) target: String,
    /// What the names begin with
    #[arg(default_value = "", allow_hyphen_values = true)]
    pub(crate) prefix: String,
}

// Options for HTTP, WebSocket and TLS. Not a doc comment: clap would show it as the command's own.
#[derive(Debug, clap::Args)]
pub(crate) struct WebArgs {
    /// A header for http(s):// and ws(s)://, as NAME: VALUE; ${NAME} is replaced by the environment variable
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = CONNECTION)]
    pub(crate) headers: Vec<String>,
    /// Trust this root certificate (PEM) instead of those of the system
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", help_heading = CONNECTION)]
    pub(crate) cacert: Option<PathBuf>,
    /// Do not verify the certificate: anyone in between can read and change everything
    #[arg(long, help_heading = CONNECTION)]
    pub(crate) insecure: bool,
}

// The peer to describe.
#[derive(Debug, clap::Args)]
pub(crate) struct PeerArgs {
    /// The target, unless a command is given after --
    #[arg(value_name = "TARGET", hide = true)]
    pub(crate) words: Vec<OsString>,
    /// A program to start, and to use over its standard input and output
    #[arg(last = true, value_name = "COMMAND", hide = true)]
    pub(crate) command: Vec<OsString>,
    /// How long to wait, such as 500ms, 30s or 2m
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration, help_heading = CONNECTION)]
    pub(crate) timeout: Duration,
    /// The largest answer to accept, such as 500kB, 64MiB or 1GiB
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = size, help_heading = CONNECTION)]
    pub(crate) max_size: usize,
    /// Message framing [default: lines; headers for a language server]
    #[arg(long, value_enum, value_name = "HOW", help_heading = CONNECTION)]
    pub(crate) framing: Option<ClientFraming>,
    /// What the peer speaks: mcp, mcp@REVISION, lsp, eth or plain [default: found out]
    #[arg(
        long = "as",
        value_name = "PROTOCOL",
        value_parser = ProtocolParser,
        hide_possible_values = true,
        help_heading = CONNECTION
    )]
    pub(crate) protocol: Option<Protocol>,
    #[command(flatten)]
    pub(crate) web: WebArgs,
    /// Show the messages on the wire, as a transcript on standard error
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) trace: bool,
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
sabir list [OPTIONS] TARGET
       sabir list [OPTIONS] -- COMMAND [WORD]...",
    after_help = "\
TARGET is one of `sabir help targets`, or an OpenRPC file in JSON or YAML. A peer is asked with rpc.discover, then
with system.listMethods, then as an MCP server, as a language server if it uses Content-Length headers, and as a node
of Ethereum or Solana.

Examples:
  sabir list demo:
  sabir list openrpc.json
  sabir list --json -- my-mcp-server
  sabir list --as lsp -- clangd
  sabir list wallet                       a saved target"
)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Print one JSON object per method: name, summary, deprecated, notification
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
sabir describe [OPTIONS] TARGET [METHOD]
       sabir describe [OPTIONS] [METHOD] -- COMMAND [WORD]...",
    after_help = "\
TARGET is one of `sabir help targets`, or an OpenRPC file in JSON or YAML.

Examples:
  sabir describe demo:
  sabir describe demo: add
  sabir describe demo: --openrpc > openrpc.json
  sabir describe openrpc.yaml --markdown > API.md
  sabir describe demo: --yaml > openrpc.yaml"
)]
pub(crate) struct DescribeArgs {
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// Print it as JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Print the whole as an OpenRPC document
    #[arg(long, conflicts_with = "json", help_heading = OUTPUT)]
    pub(crate) openrpc: bool,
    /// Print the whole as an OpenRPC document in YAML
    #[arg(long, conflicts_with_all = ["json", "openrpc"], help_heading = OUTPUT)]
    pub(crate) yaml: bool,
    /// Print it as Markdown
    #[arg(long, conflicts_with_all = ["json", "openrpc", "yaml"], help_heading = OUTPUT)]
    pub(crate) markdown: bool,
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
sabir generate [OPTIONS] --lang LANGUAGE TARGET
       sabir generate [OPTIONS] --lang LANGUAGE -- COMMAND [WORD]...",
    after_help = "\
TARGET is one of `sabir help targets`, or an OpenRPC file in JSON or YAML. The client is one file, formatted as
rustfmt, prettier or ruff would, and says in its first lines how it is used. For an MCP server it calls the tools.

Examples:
  sabir generate --lang typescript demo: > demo.ts
  sabir generate --lang python openrpc.json --name Wallet > wallet.py
  sabir generate --lang rust tcp://127.0.0.1:4000 -o src/client.rs
  sabir generate --lang python -o tools.py -- my-mcp-server"
)]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
    /// The language of the client
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub(crate) lang: Language,
    /// The name of the client's type [default: made from the title of the service]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Write to a file instead of standard output
    #[arg(short = 'o', long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: Option<std::path::PathBuf>,
}

/// The language of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Async, on the crate `sabir`
    Rust,
    /// For browsers and Node.js, without dependencies
    Typescript,
    /// Synchronous, for Python 3.11, without dependencies
    Python,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\",\"params\":[2,3]}' | sabir demo
  sabir demo --listen tcp://127.0.0.1:4000
  sabir demo --listen unix:/tmp/demo.sock --framing headers
  sabir demo --mcp
  sabir demo --listen http://127.0.0.1:8080/rpc --bearer secret
  sabir demo --listen https://127.0.0.1:8443 --tls-cert server.pem --tls-key server.key

At tcp:// and unix: one port serves all: JSON-RPC in lines or with Content-Length headers, HTTP/1.1, HTTP/2 and
WebSocket, and with a certificate TLS of each. The first bytes of a connection decide. At http:// and ws:// it
serves HTTP and WebSocket only.

The methods: add, subtract, sum, get_data, echo, sleep, progress, work, tick, ask, fail, panic, notes, the
subscription subscribe_ticks, and the notifications update, notify_hello, notify_sum, log.")]
pub(crate) struct DemoArgs {
    /// Serve a Model Context Protocol server that has one of every feature instead
    #[arg(long)]
    pub(crate) mcp: bool,
    /// Serve a toy chain besides, for clients of Ethereum, Substrate and Solana to follow
    #[arg(long, conflicts_with = "mcp")]
    pub(crate) chain: bool,
    /// Serve at tcp://HOST:PORT, http://HOST:PORT/PATH or unix:PATH (on Windows pipe:NAME), not on stdin and stdout
    #[arg(long, value_name = "URL")]
    pub(crate) listen: Option<String>,
    /// The certificate chain to serve TLS with (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "listen"])]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Require this bearer token over HTTP and WebSocket; other connections are refused
    #[arg(long, value_name = "TOKEN", requires = "listen", value_parser = token)]
    pub(crate) bearer: Option<String>,
    /// Allow calls from pages of this origin, such as https://app.example; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "listen", value_parser = origin)]
    pub(crate) allow_origin: Vec<String>,
    /// Accept requests to this host, such as demo.example; may be repeated
    #[arg(long, value_name = "HOST", requires = "listen", value_parser = host)]
    pub(crate) allow_host: Vec<String>,
    /// Message framing; auto detects it [default: lines, and auto with --listen]
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        hide_default_value = true,
        default_value = "lines",
        default_value_if("listen", clap::builder::ArgPredicate::IsPresent, "auto")
    )]
    pub(crate) framing: ServerFraming,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ServerFraming {
    /// Whichever the peer uses
    Auto,
    /// One message per line
    Lines,
    /// Content-Length headers before each message, as in LSP
    Headers,
}

impl ServerFraming {
    pub(crate) fn known(self) -> Option<Framing> {
        match self {
            ServerFraming::Auto => None,
            ServerFraming::Lines => Some(Framing::Lines),
            ServerFraming::Headers => Some(Framing::Headers),
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
sabir call [OPTIONS] TARGET METHOD [ARG]...
       sabir call [OPTIONS] METHOD [ARG]... -- COMMAND [WORD]...
       sabir call [OPTIONS] TARGET --batch FILE
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
  unix:PATH           a Unix socket; on Windows pipe:NAME, a named pipe

METHOD is a method; of an MCP server also the name of a tool or a prompt, or the URI of a resource. Of a language
server, methods of a text document take FILE:LINE:COLUMN first, and the file is opened.

ARG is one of
  KEY=TEXT            a named argument: a string, or what the schema of a tool wants
  KEY:=JSON           a named argument, any JSON
  JSON                an argument by position
  WORD                the same, a string: whatever is not JSON
  =TEXT, :=JSON       the same, certainly a string or JSON

A batch FILE holds a JSON array of messages, or one message per line: {\"id\", \"method\", \"params\"}. Those
without an id are notifications. It is sent with these ids. Results are printed one per line, in the order of the
file; with --json in the order in which they come.

Examples:
  sabir call demo: add 2 3
  sabir call demo: subtract minuend:=42 subtrahend:=23
  sabir call https://example.org/rpc add 2 3 -H 'Authorization: Bearer ${TOKEN}'
  sabir call echo message=hi -- my-mcp-server
  sabir call https://example.org/mcp get-sum a=2 b=3
  sabir call textDocument/hover main.c:4:10 -- clangd
  sabir call demo: --batch calls.json --json"
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
    /// Send the messages in a file as one batch; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["notify", "data", "follow", "wait", "until"])]
    pub(crate) batch: Option<PathBuf>,
    /// Send exactly these bytes as one message: TEXT, @FILE, or - for standard input
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["notify", "data", "batch", "progress", "until", "follow"])]
    pub(crate) raw: Option<OsString>,
    /// How long to wait, such as 500ms, 30s or 2m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration, help_heading = CONNECTION)]
    pub(crate) timeout: Duration,
    /// The largest answer to accept, such as 500kB, 64MiB or 1GiB
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = size, help_heading = CONNECTION)]
    pub(crate) max_size: usize,
    /// Message framing [default: lines; headers for a language server]
    #[arg(long, value_enum, value_name = "HOW", help_heading = CONNECTION)]
    pub(crate) framing: Option<ClientFraming>,
    /// Protocol rules: what is allowed, and which cancel and progress messages are used [default: lenient]
    #[arg(long, value_enum, value_name = "WHICH", help_heading = CONNECTION)]
    pub(crate) dialect: Option<DialectName>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) stay: FollowArgs,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
    #[command(flatten)]
    pub(crate) web: WebArgs,
    /// Ask for progress, by a token in the params, which must be named
    #[arg(long, conflicts_with_all = ["notify", "batch"], help_heading = OUTPUT)]
    pub(crate) progress: bool,
    /// Show the messages on the wire, as a transcript on standard error
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) trace: bool,
    /// Show the steps of the connection and the heads of HTTP on standard error, with their times
    #[arg(short = 'v', long, conflicts_with_all = ["batch", "raw"], help_heading = OUTPUT)]
    pub(crate) verbose: bool,
    /// Print one JSON object per event: ok, id, method, result or error, ms, target
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ClientFraming {
    /// One message per line
    Lines,
    /// Content-Length headers before each message, as in LSP
    Headers,
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

impl From<ClientFraming> for Framing {
    fn from(framing: ClientFraming) -> Self {
        match framing {
            ClientFraming::Lines => Framing::Lines,
            ClientFraming::Headers => Framing::Headers,
        }
    }
}

/// A name or an address, with a port or without.
fn host(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-.:[]".contains(c);
    match text.chars().all(plain) && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[') {
        true => Ok(text.to_owned()),
        false => Err("write it as demo.example or demo.example:8080".to_owned()),
    }
}

fn token(text: &str) -> Result<String, String> {
    match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(text.to_owned()),
        false => Err("a token is not empty, and has only visible ASCII characters".to_owned()),
    }
}

fn origin(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match rest.map(host) {
        Some(Ok(_)) => Ok(text.to_owned()),
        _ => Err("write it as https://app.example, without a path".to_owned()),
    }
}

/// The longest timeout, short enough for every clock.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

fn duration(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[number.len()..] {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "" => return Err("a time needs its unit, such as 500ms, 30s or 2m".to_owned()),
        other => return Err(format!("unknown unit `{other}`: use ms, s, m or h")),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
    Duration::try_from_secs_f64(number * scale)
        .map(|time| time.min(LONGEST))
        .map_err(|error| error.to_string())
}

/// The largest `--max-size`: a message is held in memory a few times.
pub(crate) const LARGEST_SIZE: usize = 1 << 30;

fn size(text: &str) -> Result<usize, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[number.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1000,
        "m" | "mb" => 1000 * 1000,
        "g" | "gb" => 1000 * 1000 * 1000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        other => return Err(format!("unknown unit `{other}`: use kB, MB, GB, KiB, MiB or GiB")),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
    let bytes = number * f64::from(unit);
    match bytes >= 1.0 && bytes <= LARGEST_SIZE as f64 {
        true => Ok(bytes as usize),
        false => Err("a size is between 1 byte and 1 GiB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, want) in [
            ("1", Ok(1)),
            ("500kB", Ok(500_000)),
            ("64MiB", Ok(64 << 20)),
            ("1.5gib", Err("a size is between 1 byte and 1 GiB")),
            ("0", Err("a size is between 1 byte and 1 GiB")),
            ("5 apples", Err("unknown unit `apples`: use kB, MB, GB, KiB, MiB or GiB")),
            ("MiB", Err("`` is not a number")),
        ] {
            assert_eq!(size(text), want.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn the_definition_holds_together() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn times_have_units() {
        for (text, want) in [
            ("500ms", Ok(Duration::from_millis(500))),
            ("1.5s", Ok(Duration::from_millis(1500))),
            ("2m", Ok(Duration::from_secs(120))),
            ("1h", Ok(Duration::from_secs(3600))),
            ("30", Err("a time needs its unit, such as 500ms, 30s or 2m")),
            ("3 weeks", Err("unknown unit `weeks`: use ms, s, m or h")),
            ("s", Err("`` is not a number")),
        ] {
            assert_eq!(duration(text), want.map_err(str::to_owned), "{text}");
        }
        assert!(duration("-1s").is_err());
    }
}
