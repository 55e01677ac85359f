//! The server, as a process of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sabir::{Http, RawJson, Router, Sessions};

/// Serves everything at one port, until it is killed.
pub(crate) async fn serve() {
    let router = Router::new()
        .method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) })
        .method_raw("echo", |_, params| async move { Ok(params.unwrap_or(RawJson::NULL)) })
        .method("big", |_, bytes: usize| async move { Ok("x".repeat(bytes)) })
        .method("sleep", |_, ms: u64| async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(ms)
        })
        .method("initialize", |_, (): ()| async { Ok("ready") });
    let sessions = Sessions { stateless: &["none"], ..Sessions::opened_by("initialize") };
    let server = sabir::listen("tcp://127.0.0.1:0", router).await.unwrap();
    let server = server.http(Http::new().sessions(sessions));
    println!("{}", server.url());
    server.run().await.unwrap();
}

/// Thousands of connections need as many descriptors. Windows has no such limit.
#[cfg(not(unix))]
pub(crate) fn raise_descriptor_limit() {}

/// Thousands of connections need as many descriptors.
#[cfg(unix)]
pub(crate) fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// A server process. Killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    pub(crate) fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.arg("serve").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("tcp://").unwrap().parse().unwrap();
        Process { child, address }
    }

    /// The most memory that it has had, in MiB. Linux tells.
    pub(crate) fn peak_memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
