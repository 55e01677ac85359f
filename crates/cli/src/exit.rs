//! How the program ends: its exit codes, and what it prints when it fails.

use std::fmt;
use std::process::ExitCode;

/// The exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok = 0,
    /// The peer answered with an error, or `check` found errors or warnings.
    Error = 1,
    /// The command line is wrong.
    Usage = 2,
    /// No connection, no program, or a file that cannot be read or written.
    Connect = 3,
    Timeout = 4,
    /// The peer broke the protocol, or closed the connection without an answer.
    Protocol = 5,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// What happened, and what to try next.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// Empty if nothing is to be printed.
    pub(crate) what: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, what: impl fmt::Display) -> Self {
        Failure { exit, what: what.to_string(), hint: None }
    }

    pub(crate) fn usage(what: impl fmt::Display) -> Self {
        Failure::new(Exit::Usage, what)
    }

    /// A file cannot be read, used or written.
    pub(crate) fn file(what: impl fmt::Display) -> Self {
        Failure::new(Exit::Connect, what)
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// With all the hints that there are, in one line.
    #[must_use]
    pub(crate) fn hints(mut self, hints: impl IntoIterator<Item = Option<String>>) -> Self {
        let hints: Vec<String> = hints.into_iter().flatten().collect();
        self.hint = (!hints.is_empty()).then(|| hints.join("; "));
        self
    }
}

/// For what is written to standard output. It is a success if its reader closes it early, as `head` does.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::new(Exit::Ok, ""),
            _ => Failure::new(Exit::Error, format_args!("cannot write to standard output: {error}")),
        }
    }
}
