//! What `sabir tap wrap` and `sabir tap unwrap` take.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;

/// `claude` is both of Claude's.
const HOSTS: [&str; 9] =
    ["claude", "claude-desktop", "claude-code", "cursor", "vscode", "zed", "helix", "codex", "neovim"];

#[derive(Debug, clap::Subcommand)]
pub(crate) enum TapCommand {
    /// Put a tap before the command of a server, in the configuration of another program
    Wrap(WrapArgs),
    /// Take the tap away again
    Unwrap(UnwrapArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
NAME is that of the server in the configuration of Claude Desktop, Claude Code, Cursor, VS Code, Zed (context_servers, or
lsp with a binary), Helix or Codex: the user's own files, and those of the project in this folder or above. Its entry is
changed in place; the rest of the file stays as it is, comments too. For Neovim, lines of Lua are printed.

What the file was is kept, and `sabir tap unwrap` brings it back: byte for byte if nobody has changed the file since,
otherwise only the entry.

Examples:
  sabir tap wrap files
  sabir tap wrap files --host cursor --record /tmp/files.jrl
  sabir tap wrap clangd --file ~/.config/zed/settings.json --dry-run
  sabir tap wrap clangd --host neovim")]
pub(crate) struct WrapArgs {
    #[command(flatten)]
    pub(crate) place: WhereArgs,
    /// The file to record to [default: one named after the server, in the folder for sabir's state]
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Show what goes by in a browser; then it is recorded only with --record
    #[arg(long)]
    pub(crate) view: bool,
    /// Print what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sabir tap unwrap files
  sabir tap unwrap files --host cursor --dry-run")]
pub(crate) struct UnwrapArgs {
    #[command(flatten)]
    pub(crate) place: WhereArgs,
    /// Print what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

// Which entry. Not a doc comment: clap would show it as the command's own.
#[derive(Debug, clap::Args)]
pub(crate) struct WhereArgs {
    /// The name of the server
    pub(crate) name: String,
    /// The file that it is configured in [default: searched for]
    #[arg(long, value_name = "FILE", conflicts_with = "host")]
    pub(crate) file: Option<PathBuf>,
    /// The program that it is configured for
    #[arg(long, value_name = "PROGRAM", value_parser = PossibleValuesParser::new(HOSTS))]
    pub(crate) host: Option<String>,
}
