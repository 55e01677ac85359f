//! `sabir completions`: prints the completion script of a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::exit::{Exit, Failure};
use crate::print::Printer;

pub(crate) fn run(shell: Shell, printer: &Printer) -> Result<Exit, Failure> {
    // Into memory first: clap_complete panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "sabir", &mut script);
    let script = String::from_utf8_lossy(&script);
    printer.data(&format!("{script}{}", methods(shell)))?;
    Ok(Exit::Ok)
}

/// Methods are completed by asking the target, in the shells whose scripts can be added to.
fn methods(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => include_str!("completions/methods.bash"),
        Shell::Fish => include_str!("completions/methods.fish"),
        Shell::Zsh => include_str!("completions/methods.zsh"),
        _ => "",
    }
}
