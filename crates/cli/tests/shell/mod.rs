//! Runs a command as a user would type it, with the program under test on the path.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// No command takes a second; one that hangs is ended, and fails its test.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder of its own to run in.
pub(crate) struct Shell {
    folder: PathBuf,
}

pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit: i32,
}

impl Shell {
    pub(crate) fn new(name: &str) -> Self {
        // Tests of one process run side by side, and each removes its folder.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Shell { folder }
    }

    pub(crate) fn run(&self, command: &str) -> Run {
        let program = Path::new(env!("CARGO_BIN_EXE_sabir")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let mut child = Command::new("sh")
            .args(["-c", command])
            .env("PATH", path)
            // Nothing that the user has saved or configured.
            .env("HOME", &self.folder)
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("SABIR_TEST_TOKEN")
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = read(child.stdout.take().unwrap());
        let stderr = read(child.stderr.take().unwrap());
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > PATIENCE {
                child.kill().unwrap();
                panic!("this hangs: {command}");
            }
            thread::sleep(Duration::from_millis(2));
        };
        Run {
            stdout: settled(&stdout.join().unwrap()),
            stderr: settled(&stderr.join().unwrap()),
            exit: status.code().unwrap_or(-1),
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn read(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// How long things took is different each time.
fn settled(text: &str) -> String {
    let mut parts = text.split("\"ms\":");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("\"ms\":0");
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'));
    }
    out
}
