//! Handles of the standard streams, Ctrl-C, and files that are shared for reading only.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// What others may do with a file that is recorded to: read it, and rename it.
const FILE_SHARE_READ: u32 = 1;
const FILE_SHARE_DELETE: u32 = 4;

pub(in crate::tap) fn standard_input() -> io::Result<impl Read + Send + 'static> {
    Ok(io::stdin())
}

pub(in crate::tap) fn standard_output() -> io::Result<impl Write + Send + 'static> {
    Ok(Output)
}

/// What is written goes out at once.
struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the system has sent all that was written to a socket: it does not say.
pub(in crate::tap) fn is_sent(_: &tokio::net::TcpStream) -> Option<bool> {
    None
}

/// The console sends Ctrl-C and Ctrl-Break to whoever is in it; the child is in a group of its own, and ends with the job
/// of this process.
pub(in crate::tap) fn forward_signals() -> io::Result<impl FnOnce(u32)> {
    Ok(|_child| {})
}

/// Pipes have the room that they are made with.
pub(in crate::tap) fn widen<T>(_end: &T) {}

/// Waits until the user asks this process to end.
pub(in crate::tap) async fn asked_to_end() {
    let _ = tokio::signal::ctrl_c().await;
}

/// Ends this process as another has ended.
pub(in crate::tap) fn end_as(status: ExitStatus) -> ! {
    std::process::exit(status.code().unwrap_or(1))
}

/// How a process has ended, for the record.
pub(in crate::tap) fn told(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("code {code}"),
        None => "ended".to_owned(),
    }
}

/// Whether a file cannot be opened because another writes to it.
pub(in crate::tap) fn is_taken(error: &io::Error) -> bool {
    const SHARING_VIOLATION: i32 = 32;
    error.raw_os_error() == Some(SHARING_VIOLATION)
}

/// Another that writes to it could not be opened.
pub(in crate::tap) fn lock(_: &File) -> io::Result<bool> {
    Ok(true)
}

pub(in crate::tap) fn private(options: &mut OpenOptions) {
    options.share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE);
}

/// A script that runs the words of a command, with its own arguments behind them. `None` if a word cannot be written for
/// cmd.exe.
pub(in crate::tap) fn script(words: &[String]) -> Option<String> {
    let quoted = words.iter().map(|word| {
        let fits = !word.contains(['"', '\r', '\n']);
        // A backslash at the end would escape the quote.
        let end = &word[word.trim_end_matches('\\').len()..];
        fits.then(|| format!("\"{}{end}\"", word.replace('%', "%%")))
    });
    let quoted = quoted.collect::<Option<Vec<String>>>()?;
    Some(format!("@{} %*\r\n", quoted.join(" ")))
}

/// Where a script is written: its ending makes it one.
pub(in crate::tap) fn shim_path(path: &Path) -> PathBuf {
    match path.extension().is_some_and(|extension| extension == "cmd" || extension == "bat") {
        true => path.to_owned(),
        false => {
            let mut name = path.as_os_str().to_owned();
            name.push(".cmd");
            PathBuf::from(name)
        }
    }
}

pub(in crate::tap) fn make_executable(_: &File) -> io::Result<()> {
    Ok(())
}
