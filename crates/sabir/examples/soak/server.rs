//! The server, as a process of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sabir::{Connections, Http, RawJson, Router, Sessions};

/// Where a server can be attacked: without sessions, where small POSTs have a path of their own, and with them.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) plain: SocketAddr,
    pub(crate) sessions: SocketAddr,
}

fn router() -> Router {
    Router::new()
        .method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) })
        .method_raw("echo", |_, params| async move { Ok(params.unwrap_or(RawJson::NULL)) })
        .method("big", |_, bytes: usize| async move { Ok("x".repeat(bytes)) })
        .method("sleep", |_, ms: u64| async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(ms)
        })
        .method("work", |_, (): ()| async {
            let start = std::time::Instant::now();
            while start.elapsed() < Duration::from_millis(2) {}
            Ok(())
        })
        .method("initialize", |_, (): ()| async { Ok("ready") })
}

/// Serves everything at two ports, until it is killed.
pub(crate) async fn serve() {
    // As by default, but for a soak test that has little time.
    let connections = Connections {
        evict_after: Duration::from_millis(500),
        idle: Duration::from_secs(2),
        ..Connections::default()
    };
    let sessions = Sessions { stateless: &["none"], ..Sessions::opened_by("initialize") };
    for http in [Http::new(), Http::new().sessions(sessions)] {
        let server = sabir::listen("tcp://127.0.0.1:0", router()).connections(connections).http(http);
        let server = server.await.unwrap();
        println!("{}", server.url());
        tokio::spawn(server.run());
    }
    std::future::pending().await
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
    pub(crate) target: Target,
}

impl Process {
    pub(crate) fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.arg("serve").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut address = || lines.next().unwrap().unwrap().strip_prefix("tcp://").unwrap().parse().unwrap();
        let target = Target { plain: address(), sessions: address() };
        Process { child, target }
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
