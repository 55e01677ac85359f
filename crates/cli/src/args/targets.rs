//! The command line of `sabir targets`.

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A name can be used wherever a TARGET can. They come from your own file, from the sabir.toml of the project, and from
what is configured for Claude, Cursor, VS Code, Zed and Codex. `sabir help targets` shows how a file is written.

Examples:
  sabir targets
  sabir call wallet eth_blockNumber       call a saved target
  sabir list cursor/files                 where two programs use one name")]
pub(crate) struct TargetsArgs {
    /// Print one JSON object per target: name, target, as, source, file
    #[arg(long)]
    pub(crate) json: bool,
}
