//! What `sabir check` takes.

use std::ffi::OsString;
use std::path::PathBuf;

use sabir_model::rules::Profile;

use super::{OUTPUT, WireArgs};

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
sabir check [OPTIONS] FILE
       sabir check [OPTIONS] TARGET
       sabir check [OPTIONS] -- COMMAND [WORD]...",
    after_help = "\
FILE holds captured traffic; - is standard input. Its first line decides which of these it is:
  a capture           Sabir's own format, {\"jrl\":1} and a line for each message
  messages            one JSON message per line
  a transcript        lines that begin with > and <
  a dump              messages behind Content-Length headers, as language servers write them

TARGET is one of those of `sabir call`, or a command after --. It is sent calls of methods that cannot exist, and
invalid messages, and the answers are checked. --timeout is for all of that together.

PROFILE is jsonrpc, mcp, mcp@REVISION, lsp, a2a, eth or lenient. By default it is that of the capture's header,
lsp for a dump, and jsonrpc for every other file. A language server is known by its name; any other target is
asked whether it speaks MCP, or LSP if it uses Content-Length headers, and is checked as what it says.

Exit codes: 0 no errors or warnings, 1 some, 2 usage, 3 cannot read or connect, 4 timeout, 5 no usable answer. If
standard output is closed early, as by `| head`, the rest is still checked for the exit code.

Examples:
  sabir check session.jrl
  sabir check log.ndjson --profile mcp@2025-06-18 --allow RPC024
  sabir check session.rpc --sarif > check.sarif
  sabir check session.jrl --openrpc openrpc.json
  sabir check -- clangd --log=error
  sabir check --save session.rpc -- my-mcp-server
  sabir check https://example.org/mcp --profile mcp -H 'Authorization: Bearer ${TOKEN}'
  sabir explain RPC021"
)]
pub(crate) struct CheckArgs {
    /// The file or the target
    #[arg(value_name = "FILE|TARGET", hide = true)]
    pub(crate) what: Option<OsString>,
    /// A program to start, and to use over its standard input and output
    #[arg(last = true, value_name = "COMMAND", hide = true, conflicts_with = "what")]
    pub(crate) command: Vec<OsString>,
    /// The protocol to check against
    #[arg(long)]
    pub(crate) profile: Option<Profile>,
    /// Check params and results against this OpenRPC document [default: the schemas in the traffic]
    #[cfg(feature = "schemas")]
    #[arg(long, value_name = "FILE")]
    pub(crate) openrpc: Option<PathBuf>,
    /// Params of the calls that are made to a target, for one that wants credentials there: JSON, @FILE, or - for standard
    /// input
    #[arg(short = 'd', long, value_name = "JSON")]
    pub(crate) data: Option<OsString>,
    /// Report violations of these rules as errors
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) deny: Vec<String>,
    /// Ignore violations of these rules
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// Print one JSON object per finding
    #[arg(long, group = "format", help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Print a SARIF 2.1.0 log, for code scanning
    #[arg(long, group = "format", help_heading = OUTPUT)]
    pub(crate) sarif: bool,
    /// Print a JUnit report, with a test for each rule
    #[arg(long, group = "format", help_heading = OUTPUT)]
    pub(crate) junit: bool,
    /// Write what was said to a target into a file, as a transcript; findings name its lines
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) save: Option<PathBuf>,
    /// Findings to show for each rule; all are counted
    #[arg(long, value_name = "COUNT", default_value_t = 100, help_heading = OUTPUT)]
    pub(crate) most: u64,
    #[command(flatten)]
    pub(crate) wire: WireArgs,
}
