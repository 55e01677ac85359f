//! What `sabir shell` takes.

use std::ffi::OsString;

use super::{AnswerArgs, OUTPUT, SessionArgs};

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
sabir shell [OPTIONS] TARGET
       sabir shell [OPTIONS] -- COMMAND [WORD]...",
    after_help = "\
TARGET is one of `sabir help targets`. Each line is a call, METHOD [ARG]…, with the arguments of `sabir help values`, or a
message in JSON. JSON needs no quotes around it, and may go over several lines. Tab completes the names that the peer
offers, and their params; .help lists what else can be typed. Without a terminal, lines come from standard input, and the
exit code is 1 if one of them failed. --timeout is for each answer.

Examples:
  sabir shell demo:
  sabir shell wallet                      a saved target
  sabir shell -- my-mcp-server
  sabir shell --as lsp -- my-language-server
  printf '%s\\n' 'add 2 3' 'echo {\"a\": [1, 2]}' | sabir shell demo:"
)]
pub(crate) struct ShellArgs {
    /// The target, unless a command is given after --
    #[arg(value_name = "TARGET", hide = true)]
    pub(crate) words: Vec<String>,
    /// A program to start, and to use over its standard input and output
    #[arg(last = true, value_name = "COMMAND", hide = true)]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    /// Show the steps of the connection and the heads of HTTP on standard error, with their times
    #[arg(short = 'v', long, help_heading = OUTPUT)]
    pub(crate) verbose: bool,
}
