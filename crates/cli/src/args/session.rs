//! Options of a session: what the peer speaks, what it is answered, and how long to listen to it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, TypedValueParser};

use super::units::{duration, size};
use super::{CONNECTION, ClientFraming, OUTPUT, WebArgs};
use crate::session::Protocol;

/// Reads a [`Protocol`]. Shells complete its names.
#[derive(Debug, Clone)]
pub(super) struct ProtocolParser;

impl TypedValueParser for ProtocolParser {
    type Value = Protocol;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Protocol, clap::Error> {
        (|text: &str| text.parse::<Protocol>()).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Protocol::NAMES.into_iter().map(PossibleValue::new)))
    }
}

// A connection that speaks a protocol. Not a doc comment: clap would show it as the command's own.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    pub(crate) wire: WireArgs,
    /// What the peer speaks: mcp, mcp@REVISION, lsp, eth or plain [default: detected]
    #[arg(
        long = "as",
        value_name = "PROTOCOL",
        value_parser = ProtocolParser,
        hide_possible_values = true,
        help_heading = CONNECTION
    )]
    pub(crate) protocol: Option<Protocol>,
    /// Show the messages on the wire, as a transcript on standard error
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) trace: bool,
}

// What the server is answered.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AnswerArgs {
    /// Answer a question of the server, as METHOD=JSON or METHOD=@FILE; may be repeated
    #[arg(long = "answer", value_name = "ANSWER")]
    pub(crate) answers: Vec<String>,
}

// A connection to a target, whatever is said on it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WireArgs {
    /// How long to wait, such as 500ms, 30s or 2m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration, help_heading = CONNECTION)]
    pub(crate) timeout: Duration,
    /// The largest message to accept, such as 500kB, 64MiB or 1GiB
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = size, help_heading = CONNECTION)]
    pub(crate) max_size: usize,
    /// Message framing [default: lines; headers for a language server; of a recording, its own]
    #[arg(long, value_enum, value_name = "HOW", help_heading = CONNECTION)]
    pub(crate) framing: Option<ClientFraming>,
    #[command(flatten)]
    pub(crate) web: WebArgs,
}

// How long to stay.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct FollowArgs {
    /// Stay after the answer, and print what the server says
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) follow: bool,
    /// Stay for this long at the most, such as 5s
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = OUTPUT)]
    pub(crate) wait: Option<Duration>,
    /// Stay until the server sends this notification
    #[arg(long, value_name = "METHOD", help_heading = OUTPUT)]
    pub(crate) until: Option<String>,
}

impl FollowArgs {
    /// Whether anything is asked for.
    pub(crate) fn is_set(&self) -> bool {
        self.follow || self.wait.is_some() || self.until.is_some()
    }
}

// Where the result goes.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ResultArgs {
    /// Print only a part of the result, by a jq path such as .tools[].name
    #[arg(long, value_name = "PATH", conflicts_with = "json", help_heading = OUTPUT)]
    pub(crate) pick: Option<String>,
    /// Write the result to a file: text as it is, images and other binary content decoded
    #[arg(short = 'o', long, value_name = "FILE", conflicts_with = "json", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
sabir subscribe [OPTIONS] TARGET METHOD [ARG]...
       sabir subscribe [OPTIONS] METHOD [ARG]... -- COMMAND [WORD]...
       sabir subscribe [OPTIONS] TARGET",
    after_help = "\
TARGET and ARG are those of `sabir call`. What comes is printed as it comes, one JSON value per line. At the end, the
server is told: by Ctrl-C, by --count or by --wait. --timeout is for the answer to METHOD.

METHOD is one of
  eth_subscribe newHeads        Ethereum: any NAMESPACE_subscribe
  accountSubscribe KEY          Solana: any …Subscribe
  chain_subscribeNewHeads       Substrate and jsonrpsee: any …_subscribe…, …_follow, …_submitAndWatch
  rpc.on EVENT                  rpc-websockets
  resources/subscribe uri=URI   MCP up to 2025-11-25
  subscriptions/listen          MCP from 2026-07-28
Without a METHOD, or with another one, every notification is printed, as method and params: aria2's, for instance.

Examples:
  sabir subscribe ws://127.0.0.1:8545 eth_subscribe newHeads --count 3
  sabir subscribe ws://127.0.0.1:6800/jsonrpc
  sabir subscribe ws://127.0.0.1:9944 chain_subscribeNewHeads --unsubscribe chain_unsubscribeNewHeads"
)]
pub(crate) struct SubscribeArgs {
    /// The target, unless a command is given after --; the method; its arguments
    #[arg(value_name = "TARGET METHOD ARG", hide = true, allow_negative_numbers = true)]
    pub(crate) words: Vec<String>,
    /// A program to start, and to use over its standard input and output
    #[arg(last = true, value_name = "COMMAND", hide = true)]
    pub(crate) command: Vec<OsString>,
    /// All params: JSON, @FILE, or - for standard input
    #[arg(short = 'd', long = "data", value_name = "JSON")]
    pub(crate) data: Option<OsString>,
    /// End after this many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// End after this time, such as 5s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) wait: Option<Duration>,
    /// The method that ends the subscription [default: derived from METHOD]
    #[arg(long, value_name = "METHOD")]
    pub(crate) unsubscribe: Option<String>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    /// Print one JSON object per event: method, params or result, ms, target
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}
