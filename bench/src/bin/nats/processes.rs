//! The processes of a run: a server of NATS, workers, and a caller that reports.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sabir_bench::{Process, start_listening};
use serde_json::Value;

/// Both sides of the calls.
pub(crate) const LOAD: &str = "../target/dist/examples/nats_load";

pub(crate) struct Nats {
    pub(crate) process: Process,
    pub(crate) url: String,
    config: PathBuf,
}

impl Nats {
    /// A server that takes messages of so many bytes.
    pub(crate) fn start(max_payload: usize) -> io::Result<Nats> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let config = std::env::temp_dir().join(format!("sabir-bench-nats-{port}.conf"));
        std::fs::write(&config, format!("max_payload: {max_payload}\n"))?;
        let program = std::env::var_os("NATS_SERVER").unwrap_or_else(|| {
            let debian = "/usr/sbin/nats-server";
            if std::path::Path::new(debian).exists() { debian.into() } else { "nats-server".into() }
        });
        let mut command = Command::new(program);
        command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-c"]).arg(&config);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let (process, ()) = Process::start(&mut command, |_| ())?;
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > deadline {
                return Err(io::Error::other("nats-server does not listen"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(Nats { process, url: format!("nats://127.0.0.1:{port}"), config })
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.config);
    }
}

/// One that serves.
pub(crate) fn worker(kind: &str, url: &str) -> io::Result<Process> {
    Ok(start_listening(&[LOAD, kind, "serve", url], "serving on ")?.0)
}

/// What a caller reports.
pub(crate) struct Report {
    pub(crate) calls_per_s: f64,
    pub(crate) p50_us: f64,
    pub(crate) cpu_us: f64,
    /// With those of the warm-up.
    pub(crate) all_calls: f64,
}

/// A caller that keeps calls open.
pub(crate) fn load(kind: &str, url: &str, numbers: &[&str]) -> io::Result<Report> {
    reported(Command::new(LOAD).args([kind, "load", url]).args(numbers))
}

/// Runs a caller to its end.
pub(crate) fn reported(command: &mut Command) -> io::Result<Report> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let of = |name: &str| {
        report[name].as_f64().ok_or_else(|| io::Error::other(format!("no {name} in the report")))
    };
    Ok(Report {
        calls_per_s: of("calls_per_s")?,
        p50_us: of("p50_us")?,
        cpu_us: of("cpu_us")?,
        all_calls: of("all_calls")?,
    })
}
