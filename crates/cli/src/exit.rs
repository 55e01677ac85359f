//! How the program ends: its exit codes, and what it says if it did not do what was asked.

use std::fmt;
use std::process::ExitCode;

/// The exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok = 0,
    /// The peer answered with an error, or something was not as it should be.
    Error = 1,
    /// What was typed makes no sense.
    Usage = 2,
    /// There is nobody to talk to.
    Connect = 3,
    Timeout = 4,
    /// The peer broke the protocol, or left in the middle of it.
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
    /// Empty if there is nobody left to tell.
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

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }
}

/// For what is written to standard output. A reader that has seen enough is a success.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::new(Exit::Ok, ""),
            _ => Failure::new(Exit::Error, format_args!("cannot write to standard output: {error}")),
        }
    }
}
