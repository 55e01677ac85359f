//! Descriptors to read from and write to.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use sabir_proto::{Config, Framing};

use crate::Error;
use crate::runtime::config::config_setters;
use crate::transport::{ConnectError, Scheme, Url};
use crate::transport::fd::duplicate;
use crate::transport::parent_death::{kill_with_parent, spawn};
use crate::transport::seed;
use crate::transport::stdio::{guard, output};

/// What a connection runs over, and how it speaks there.
#[derive(Debug)]
pub struct Streams {
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    pub(crate) config: Config,
    /// Dropped behind the descriptors: the process loses its input first.
    process: Option<Process>,
}

impl Streams {
    /// Any descriptors that can be read and written.
    pub fn new(input: impl Into<OwnedFd>, output: impl Into<OwnedFd>) -> Self {
        let config = Config { framing: Some(Framing::Lines), seed: seed(), ..Config::default() };
        Streams { input: input.into(), output: output.into(), config, process: None }
    }

    config_setters!();

    /// How the process at the other end ended, if there is one and it did.
    pub(crate) fn exit_reason(&mut self) -> Option<String> {
        self.process.as_mut()?.exit_reason()
    }
}

/// Standard input and output, with the output guarded as in [`transport::stdio`](crate::transport::stdio).
///
/// # Panics
/// If the process has no standard input or output.
pub fn stdio() -> Streams {
    let open = || {
        let input = duplicate(rustix::stdio::stdin())?;
        let output = output()?;
        guard(&output)?;
        Ok::<_, io::Error>(Streams::new(input, output))
    };
    open().unwrap_or_else(|error| panic!("no standard input and output: {error}"))
}

/// Connects to a TCP address.
pub fn tcp(address: impl ToSocketAddrs) -> Result<Streams, Error> {
    let connected = TcpStream::connect(address);
    let stream = connected.map_err(|error| ConnectError::socket("the TCP address", error))?;
    stream.set_nodelay(true)?;
    Ok(Streams::new(stream.try_clone()?, stream))
}

/// Connects to a Unix socket.
pub fn unix(path: impl AsRef<Path>) -> Result<Streams, Error> {
    let url = format!("unix:{}", path.as_ref().display());
    let stream = UnixStream::connect(path).map_err(|error| ConnectError::socket(&url, error))?;
    Ok(Streams::new(stream.try_clone()?, stream))
}

/// Connects to a URL: `tcp://HOST:PORT` or `unix:PATH`. The other schemes need
/// [`sabir::connect`](crate::connect).
///
/// ```no_run
/// # fn run() -> Result<(), sabir::Error> {
/// use sabir::{Router, blocking};
///
/// let peer = blocking::connect(blocking::url("tcp://127.0.0.1:4000")?, Router::new())?;
/// let sum: i64 = peer.call("add", (1, 2))?;
/// # Ok(())
/// # }
/// ```
pub fn url(url: &str) -> Result<Streams, Error> {
    let parsed = Url::parse(url)?;
    let failed = |error| ConnectError::socket(url, error);
    match parsed.scheme() {
        Scheme::Tcp => {
            let stream = TcpStream::connect((parsed.host(), parsed.port())).map_err(failed)?;
            stream.set_nodelay(true)?;
            Ok(Streams::new(stream.try_clone()?, stream))
        }
        Scheme::Unix => {
            let stream = UnixStream::connect(parsed.host()).map_err(failed)?;
            Ok(Streams::new(stream.try_clone()?, stream))
        }
        _ => Err(Error::config(format!("`{url}`: without a runtime there are only tcp: and unix: URLs"))),
    }
}

/// Two ends that are connected to each other, for tests and for services in the same process.
pub fn memory() -> Result<(Streams, Streams), Error> {
    let (one, other) = UnixStream::pair()?;
    Ok((Streams::new(one.try_clone()?, one), Streams::new(other.try_clone()?, other)))
}

/// Starts a process and talks to it over its standard input and output; its standard error is ours. It is
/// ended with the connection: its input is closed, after two seconds its process group gets SIGTERM, and
/// after two more SIGKILL. If this process dies before, Linux kills the other one; elsewhere all that it learns
/// is the end of its input.
pub fn child(command: Command) -> Result<Streams, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    start(command).map_err(|source| Error::Start { program, source })
}

fn start(mut command: Command) -> io::Result<Streams> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    kill_with_parent(&mut command);
    let mut child = spawn(move || command.spawn())?;
    let missing = || io::Error::other("the process has no pipe");
    let input = OwnedFd::from(child.stdout.take().ok_or_else(missing)?);
    let output = child.stdin.take().ok_or_else(missing)?;
    let rest = Some(input.try_clone()?);
    Ok(Streams { process: Some(Process { child, rest }), ..Streams::new(input, output) })
}

#[derive(Debug)]
struct Process {
    child: Child,
    /// Its output once more, to be read to its end: many programs crash if they cannot print.
    rest: Option<OwnedFd>,
}

impl Process {
    fn exit_reason(&mut self) -> Option<String> {
        if !self.exits_within(Duration::from_millis(500)) {
            return None;
        }
        self.child.wait().ok().map(|status| format!("the process ended with {status}"))
    }

    fn exits_within(&mut self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= end {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

/// Sees to the end of the process.
impl Drop for Process {
    fn drop(&mut self) {
        if let Some(rest) = self.rest.take() {
            let _ = rustix::io::ioctl_fionbio(&rest, false);
            // It ends with the process.
            thread::spawn(move || std::io::copy(&mut std::fs::File::from(rest), &mut std::io::sink()));
        }
        let group = Pid::from_raw(self.child.id().cast_signed());
        for signal in [Signal::TERM, Signal::KILL] {
            if self.exits_within(Duration::from_secs(2)) {
                break;
            }
            group.map(|group| kill_process_group(group, signal));
        }
        let _ = self.child.wait();
    }
}
