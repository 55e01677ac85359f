//! Shows long text page by page, with the program that the user prefers.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::layout::width;
use crate::platform;

/// Whether the text does not fit on a terminal of this size, with a line for the next prompt.
pub(crate) fn is_longer(text: &str, columns: usize, rows: usize) -> bool {
    let mut lines = 0;
    text.lines().any(|line| {
        lines += width(&plain(line)).max(1).div_ceil(columns.max(1));
        lines >= rows
    })
}

/// Shows the text, and waits until it was read. Returns whether a pager was started.
pub(crate) fn show(text: &str) -> bool {
    let Some(mut command) = pager() else { return false };
    let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // A reader who has seen enough closes it.
        let _ = input.write_all(text.as_bytes());
    }
    let _ = child.wait();
    true
}

/// `$PAGER`, or `less`. `None` if the variable is empty or `cat`.
fn pager() -> Option<Command> {
    let words = match std::env::var("PAGER") {
        Ok(text) => platform::split(&text)?,
        Err(_) => vec!["less".to_owned()],
    };
    let (name, arguments) = words.split_first().filter(|(name, _)| *name != "cat")?;
    let mut command = Command::new(platform::program(name));
    command.args(arguments);
    // It passes colours on, ends by itself at the end of a short text, and leaves the text on the screen.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    Some(command)
}

/// The text without colours.
fn plain(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once('m').map_or(part, |(_, text)| text));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_not_paged() {
        for (text, columns, rows, longer) in [
            ("a\nb\n", 80, 24, false),
            ("a\nb\nc", 80, 3, true),
            ("a\nb", 80, 3, false),
            ("abcdefghij", 4, 3, true),
            ("\x1b[34mab\x1b[0m", 4, 2, false),
        ] {
            assert_eq!(is_longer(text, columns, rows), longer, "{text:?}");
        }
    }
}
