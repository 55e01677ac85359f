//! The program `sabir`: JSON-RPC 2.0 on the command line. The library exists for the program, its tests and its fuzz
//! targets.

mod args;
mod auth;
mod bench;
mod call;
mod check;
mod complete;
mod completions;
mod demo;
mod describe;
mod detect;
mod diff;
mod discovery;
mod exit;
mod expect;
mod explain;
mod files;
mod filter;
mod generate;
#[cfg(feature = "graph")]
mod graph;
mod help;
mod json;
mod layout;
mod list;
mod listener;
mod loopback;
mod mock;
mod model;
mod nats;
mod new;
mod pager;
mod paint;
mod peer;
mod platform;
mod print;
mod problem;
mod recorded;
mod replay;
mod rotated;
mod row;
mod serve;
mod session;
mod shell;
mod stop;
mod subscribe;
mod suggest;
mod tap;
mod target;
mod targets;
mod telemetry;
mod tour;
mod trace;
mod values;
mod variables;
mod verbose;
mod view;
mod web;
mod yaml;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

pub use args::Language;
use args::{Args, Command};
use clap::FromArgMatches;
use clap::error::ContextKind;
use exit::{Exit, Failure};
pub use generate::client;
use print::Printer;

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    let columns = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    let commands = help::commands(columns.map(|(columns, _)| columns.0.into()));
    let parsed = commands.try_get_matches().and_then(|matches| Args::from_arg_matches(&matches));
    let args = parsed.unwrap_or_else(|mut error| {
        // Its tip to put `--` before an unknown option is wrong here: `--` starts a command.
        error.remove(ContextKind::Suggested);
        let printed = error.print().and_then(|()| std::io::stdout().flush());
        // What goes to standard error has nowhere else to go.
        if let (Err(failed), false) = (printed, error.use_stderr()) {
            let failure = Failure::from(failed);
            Printer::new(false).failure(&failure);
            std::process::exit(failure.exit as i32);
        }
        std::process::exit(error.exit_code())
    });
    let printer = Printer::new(!args.no_pager);
    let exit = run(args.command, &printer).or_else(|failure| run_logged_in(failure, &printer));
    let exit = exit.unwrap_or_else(|failure| {
        printer.failure(&failure);
        failure.exit
    });
    exit.into()
}

/// Lets a user log in to the server that has refused the command, and runs it again.
fn run_logged_in(failure: Failure, printer: &Printer) -> Result<Exit, Failure> {
    let Some(wanted) = auth::wanted().filter(|_| auth::has_user()) else { return Err(failure) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(auth::log_in_for(&wanted, printer))?;
    let matches = help::commands(None).try_get_matches().and_then(|matches| Args::from_arg_matches(&matches));
    match matches {
        Ok(args) => run(args.command, printer),
        Err(_) => Err(failure),
    }
}

fn run(command: Command, printer: &Printer) -> Result<Exit, Failure> {
    // One thread is enough: a connection is one task.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Error, format_args!("cannot start: {error}")))?;
    let exit = runtime.block_on(async {
        if command.talks() {
            stop::watch(printer)
                .map_err(|error| Failure::new(Exit::Error, format_args!("cannot start: {error}")))?;
        }
        match command {
            Command::Tour => tour::run(printer).await,
            Command::Auth(args) => auth::run(args, printer).await,
            Command::Demo(args) => demo::run(args, printer).await,
            Command::Call(args) => call::run(args, printer).await,
            Command::Shell(args) => shell::run(args, printer).await,
            Command::Subscribe(args) => subscribe::run(args, printer).await,
            #[cfg(feature = "graph")]
            Command::Graph(args) => graph::run(&args, printer),
            Command::Model(args) => model::run(&args, printer),
            Command::Check(args) => check::run(args, printer).await,
            Command::Explain { rule, json } => explain::run(rule.as_deref(), json, printer),
            Command::Bench(args) => bench::run(*args, printer).await,
            Command::Tap(args) => tap::run(args, printer).await,
            Command::View(args) => view::run(args, printer).await,
            Command::Replay(args) => replay::run(args, printer).await,
            Command::Mock(args) => mock::run(args, printer).await,
            Command::Diff(args) => diff::run(args, printer).await,
            Command::List(args) => list::run(args, printer).await,
            Command::Describe(args) => describe::run(args, printer).await,
            Command::New(args) => new::run(&args, printer),
            Command::Targets(args) => targets::run(&args, printer),
            Command::Generate(args) => generate::run(args, printer).await,
            Command::CompleteMethods(args) => complete::run(args, printer).await,
            Command::Man(args) => help::man(&args, printer),
            Command::Help { topic } => help::run(&topic, printer),
            Command::Completions { shell } => completions::run(shell, printer),
        }
    });
    // A pending read of a terminal or a file must not delay the exit.
    runtime.shutdown_background();
    exit
}
