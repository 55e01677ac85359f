//! `sabir completions`: what a shell needs to know to complete the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::exit::{Exit, Failure};
use crate::print::Printer;

pub(crate) fn run(shell: Shell, printer: &Printer) -> Result<Exit, Failure> {
    // Into memory first: clap_complete panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "sabir", &mut script);
    printer.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
