//! The command line. What it means is decided by each command.

mod auth;
mod bench;
mod call;
mod check;
mod demo;
mod graph;
mod help;
mod new;
mod protection;
mod replay;
mod serve_tls;
mod session;
mod shell;
mod tap;
mod targets;
mod telemetry;
mod units;
mod wrap;

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) use auth::{AuthArgs, AuthCommand, LoginArgs};
pub(crate) use bench::{BenchArgs, BenchCommand, BenchCompareArgs, BenchRunArgs};
pub(crate) use call::CallArgs;
pub(crate) use check::CheckArgs;
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
pub(crate) use demo::DemoArgs;
#[cfg(feature = "graph")]
pub(crate) use graph::GraphArgs;
pub(crate) use graph::{Draft, ModelArgs, ModelPart};
pub(crate) use help::ManArgs;
pub(crate) use new::{NewArgs, Project};
pub(crate) use protection::ProtectionArgs;
pub(crate) use replay::{DiffArgs, Latency, MockArgs, Pace, ReplayArgs};
use sabir::Framing;
pub(crate) use serve_tls::ServeTlsArgs;
pub(crate) use session::{AnswerArgs, FollowArgs, ResultArgs, SessionArgs, SubscribeArgs, WireArgs};
pub(crate) use shell::ShellArgs;
pub(crate) use tap::{TapArgs, ViewArgs};
pub(crate) use targets::TargetsArgs;
pub(crate) use telemetry::{LogFormat, MetricsArgs, TelemetryArgs};
pub(crate) use units::LARGEST_SIZE;
pub(crate) use units::duration as parse_duration;
pub(crate) use wrap::{TapCommand, UnwrapArgs, WhereArgs, WrapArgs};

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
  sabir replay session.jrl -- my-server   play captured traffic again, and compare the answers
  sabir generate --lang rust demo:        write a typed client

Output that is longer than the terminal goes through $PAGER; --no-pager turns that off.

Exit codes: 0 ok, 1 the peer answered with an error, or problems or differences were found, 2 usage,
3 cannot read, write, connect or start, 4 timeout, 5 the peer broke the protocol, 130 interrupted."
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
    /// Make many calls in one session, typed line by line
    Shell(ShellArgs),
    /// Follow a subscription: print what comes, one line each
    Subscribe(SubscribeArgs),
    /// Send calls at a rate, or as fast as they are answered, and measure
    Bench(Box<BenchArgs>),
    /// Check captured traffic or a live peer against the rules of the protocol
    Check(CheckArgs),
    /// Record or show what goes over the wire between a client and its server
    Tap(TapArgs),
    /// Show captured traffic
    View(ViewArgs),
    /// Play a recording again, and compare the answers
    Replay(ReplayArgs),
    /// Serve recorded answers, or made-up ones
    Mock(MockArgs),
    /// Compare two recordings, or two servers
    Diff(DiffArgs),
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
    /// Write a small project to begin with
    New(NewArgs),
    /// List the targets that are saved under a name
    Targets(TargetsArgs),
    /// Log in to servers that want tokens, and out again
    Auth(AuthArgs),
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
    /// Print the help of a command, or a topic: targets, values, filters
    Help {
        /// A command, or targets, or values, or filters [default: lists the commands]
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
            Command::Bench(_)
                | Command::Call(_)
                | Command::Shell(_)
                | Command::Subscribe(_)
                | Command::Check(_)
                | Command::Diff(_)
                | Command::List(_)
                | Command::Describe(_)
                | Command::Generate(_)
                | Command::CompleteMethods(_)
        ) || matches!(self, Command::Replay(args) if !args.server)
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
#[derive(Debug, Clone, Default, clap::Args)]
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
    #[command(flatten)]
    pub(crate) session: SessionArgs,
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
    /// Print one JSON object per method: name, summary, deprecated, notification, kind, uri
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
    /// For Python 3.11: synchronous, without dependencies; for an MCP server async, over a session of yours
    Python,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ClientFraming {
    /// One message per line
    Lines,
    /// Content-Length headers before each message, as in LSP
    Headers,
}

impl From<ClientFraming> for Framing {
    fn from(framing: ClientFraming) -> Self {
        match framing {
            ClientFraming::Lines => Framing::Lines,
            ClientFraming::Headers => Framing::Headers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_holds_together() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }
}
