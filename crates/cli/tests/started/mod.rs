//! The program, in the background.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

/// A program that is ended with the test, and the lines that it prints.
pub(crate) struct Started {
    pub(crate) child: Child,
    lines: Option<BufReader<ChildStderr>>,
}

impl Started {
    pub(crate) fn new(folder: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sabir"));
        with_settings(&mut command, folder).args(args).current_dir(folder).env("XDG_STATE_HOME", folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = child.stderr.take().map(BufReader::new);
        Started { child, lines }
    }

    /// The next line that has something in it.
    pub(crate) fn line(&mut self, part: &str) -> String {
        let mut line = String::new();
        while !line.contains(part) {
            line.clear();
            assert_ne!(self.lines.as_mut().unwrap().read_line(&mut line).unwrap(), 0, "no line has {part}");
        }
        line
    }

    /// A URL that is told.
    #[allow(dead_code)] // Some test files choose it.
    pub(crate) fn url(&mut self, part: &str) -> String {
        let line = self.line(part);
        let url = line.split_whitespace().find(|word| word.contains("://")).unwrap();
        url.trim_end_matches(',').to_owned()
    }
}

/// Keeps the settings and logins of whoever runs the tests out of them.
pub(crate) fn with_settings<'c>(command: &'c mut Command, folder: &Path) -> &'c mut Command {
    command.env("XDG_CONFIG_HOME", folder).env("APPDATA", folder).env("SABIR_KEYRING", "off")
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
