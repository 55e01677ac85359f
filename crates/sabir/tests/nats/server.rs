//! Servers of NATS, each with its own ports, that end with the test.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The program, which `interop/run` sets.
fn program() -> String {
    std::env::var("NATS_SERVER").expect("NATS_SERVER must name the program nats-server: see interop/run")
}

/// A port that nobody has.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(crate) struct NatsServer {
    process: Child,
    pub(crate) port: u16,
    args: Vec<String>,
    config: Option<PathBuf>,
}

impl NatsServer {
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(args: &[&str]) -> Self {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Self::spawn(free_port(), args, None)
    }

    /// With the text of a configuration file.
    pub(crate) fn configured(text: &str) -> Self {
        let port = free_port();
        let path = std::env::temp_dir().join(format!("sabir-nats-{}-{port}.conf", std::process::id()));
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        let args = vec!["-c".to_owned(), path.to_str().unwrap().to_owned()];
        Self::spawn(port, args, Some(path))
    }

    fn spawn(port: u16, args: Vec<String>, config: Option<PathBuf>) -> Self {
        let process = run(port, &args);
        NatsServer { process, port, args, config }
    }

    pub(crate) fn url(&self, service: &str) -> String {
        format!("nats://127.0.0.1:{}/{service}", self.port)
    }

    /// Kills it without a word.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts it again at the same port.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.process = run(self.port, &self.args);
    }

    /// Starts it again with other options.
    pub(crate) fn restart_with(&mut self, args: &[&str]) {
        self.args = args.iter().map(|arg| (*arg).to_owned()).collect();
        self.restart();
    }

    /// How many clients it has.
    pub(crate) fn clients(&self) -> u64 {
        self.monitored("/connz")["num_connections"].as_u64().unwrap()
    }

    /// Whether it knows both other servers of its cluster, and says so to its clients.
    fn knows_the_others(&self) -> bool {
        let routes = self.monitored("/routez");
        let known: HashSet<_> =
            routes["routes"].as_array().unwrap().iter().map(|route| &route["remote_id"]).collect();
        known.len() == 2
            && self.monitored("/varz")["connect_urls"].as_array().is_some_and(|urls| urls.len() == 3)
    }

    /// What its monitoring (`-m`) says, which it has in a cluster.
    fn monitored(&self, path: &str) -> serde_json::Value {
        let at = self.args.iter().position(|arg| arg == "-m").expect("it has monitoring");
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", self.args[at + 1])).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
        if let Some(path) = &self.config {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn run(port: u16, args: &[String]) -> Child {
    let process = Command::new(program())
        .args(["-a", "127.0.0.1", "-p", &port.to_string()])
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("nats-server starts");
    let deadline = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "nats-server does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    process
}

/// Three servers that know each other.
pub(crate) fn cluster() -> [NatsServer; 3] {
    let routes: [u16; 3] = std::array::from_fn(|_| free_port());
    let all = routes.map(|port| format!("nats://127.0.0.1:{port}")).join(",");
    let nodes = routes.map(|port| {
        let own = format!("nats://127.0.0.1:{port}");
        let monitor = free_port().to_string();
        NatsServer::with(&["--cluster_name", "t", "--cluster", &own, "--routes", &all, "-m", &monitor])
    });
    let deadline = Instant::now() + Duration::from_secs(20);
    while !nodes.iter().all(NatsServer::knows_the_others) {
        assert!(Instant::now() < deadline, "the servers do not find each other");
        std::thread::sleep(Duration::from_millis(10));
    }
    nodes
}
