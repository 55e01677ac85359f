//! Starts the user's browser. The URL comes from a server: it is one argument of a program, and never goes through a shell.

use std::process::Stdio;

use crate::platform::browser;

/// Whether a browser was started.
pub(crate) fn open(url: &str) -> bool {
    // Nothing that a program could take for an option, or for a file.
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return false;
    }
    let Some(mut command) = browser() else { return false };
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
