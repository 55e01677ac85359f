//! The command line of `sabir man`, and the list of all commands.

use std::path::PathBuf;

/// The help of the program, with its commands in groups.
#[cfg(feature = "graph")]
pub(crate) const TEMPLATE: &str = concat!(include_str!("help.txt"), "\n{options}{after-help}");
#[cfg(not(feature = "graph"))]
pub(crate) const TEMPLATE: &str = concat!(include_str!("help_without_graph.txt"), "\n{options}{after-help}");

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sabir man | man -l -                    read the page of the program
  sabir man ~/.local/share/man/man1       install the pages of all commands")]
pub(crate) struct ManArgs {
    /// Write the pages of all commands into this folder [default: prints the page of the program]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}
