//! A process that is started for the connection, and ended with it.

use std::io;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, BufReader, ReadBuf};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

use super::network::Network;
use super::process_group::{self, ProcessGroup, Signal};
use super::{ByteTransport, Transport};
use crate::Error;

/// How long a process that closed its output may take to exit, before that counts as a plain end.
const EXIT_AFTER_CLOSE: Duration = Duration::from_millis(500);

/// How long output may still come from what a process has left behind.
const OPEN_AFTER_EXIT: Duration = Duration::from_millis(500);

/// A line of standard error that is longer is handed on in pieces.
const LONGEST_LINE: u64 = 64 * 1024;

/// Starts a process and talks to it over its standard input and output.
///
/// Its standard error is passed on to ours; see [`Child::stderr`]. When the connection ends, the process is
/// ended too, with all that it started: its input is closed, and what it still prints is read and dropped. After
/// [`Child::exit_timeout`] its process group gets SIGTERM, and after as long again SIGKILL. It is also killed if this
/// process dies.
///
/// On Windows the process is in a job object. In the place of SIGTERM it gets Ctrl-Break, if this process has a
/// console; in the place of SIGKILL the job is terminated.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use sabir::{Router, transport};
/// use std::process::Command;
///
/// let peer = sabir::connect(transport::child(Command::new("adder"))?, Router::new()).await?;
/// let sum: i64 = peer.call("add", (1, 2)).await?;
/// # Ok(())
/// # }
/// ```
pub fn child(command: impl Into<Command>) -> Result<Transport, Error> {
    Child::new(command).spawn()
}

/// What becomes of the lines that a process prints on standard error. They are always read.
#[non_exhaustive]
pub enum Stderr {
    /// They go to our own standard error.
    Inherit,
    /// They are dropped.
    Discard,
    /// The function gets each line.
    Lines(Box<dyn FnMut(String) + Send>),
}

impl std::fmt::Debug for Stderr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stderr::Inherit => "Inherit",
            Stderr::Discard => "Discard",
            Stderr::Lines(_) => "Lines",
        })
    }
}

/// A process to be started, for those who want more than [`child`] does by itself.
#[derive(Debug)]
pub struct Child {
    command: Command,
    stderr: Stderr,
    exit_timeout: Duration,
}

impl Child {
    /// Runs this command, when it is spawned.
    pub fn new(command: impl Into<Command>) -> Self {
        Child { command: command.into(), stderr: Stderr::Inherit, exit_timeout: Duration::from_secs(2) }
    }

    /// Sets what becomes of its standard error.
    #[must_use]
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// Sets how long the process may take to exit by itself, and again after SIGTERM or Ctrl-Break. 2 s.
    #[must_use]
    pub fn exit_timeout(mut self, timeout: Duration) -> Self {
        self.exit_timeout = timeout;
        self
    }

    /// Starts it.
    pub fn spawn(self) -> Result<Transport, Error> {
        let program = self.command.as_std().get_program().to_string_lossy().into_owned();
        self.start().map_err(|source| Error::Start { program, source })
    }

    fn start(mut self) -> io::Result<Transport> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        self.command.stderr(match self.stderr {
            Stderr::Inherit => Stdio::inherit(),
            Stderr::Discard => Stdio::null(),
            Stderr::Lines(_) => Stdio::piped(),
        });
        let runtime = Handle::current();
        let mut command = self.command;
        process_group::prepare(command.as_std_mut());
        let start = move || {
            let _entered = runtime.enter();
            command.spawn()
        };
        let (mut process, group) = process_group::spawn(start, tokio::process::Child::id)?;
        let group = Group(Some(group));
        let missing = || io::Error::other("the process has no pipe");
        let read = process.stdout.take().ok_or_else(missing)?;
        let write = process.stdin.take().ok_or_else(missing)?;
        if let (Stderr::Lines(lines), Some(stderr)) = (self.stderr, process.stderr.take()) {
            tokio::spawn(drain(stderr, lines));
        }
        let (exited, exit) = watch::channel(None);
        let (ended, process_ended) = watch::channel(false);
        let (release, released) = watch::channel(());
        tokio::spawn(async move {
            let text = match end(process, &group, self.exit_timeout, released).await {
                Ok(status) => format!("the process ended with {status}"),
                Err(error) => format!("the process ended, {error}"),
            };
            exited.send_replace(Some(text));
            group.end(self.exit_timeout).await;
            ended.send_replace(true);
        });
        let rest = Rest { runtime: Handle::current(), longest: self.exit_timeout * 3 };
        let read = Output { stdout: Some(read), over: Box::pin(over(exit.clone())), rest };
        let write = Input { stdin: write, broken: None, exit: exit.clone() };
        let transport = Transport::new(move || {
            Ok(ByteTransport {
                exit_reason: Some(Box::pin(exit_reason(exit))),
                process: Some(process_ended),
                _keep: Box::new(release),
                ..ByteTransport::new(read, write)
            })
        });
        Ok(transport.over(Network::pipe()))
    }
}

/// Waits for the process, and ends it once the connection is gone.
async fn end(
    mut process: tokio::process::Child,
    group: &Group,
    exit_timeout: Duration,
    mut released: watch::Receiver<()>,
) -> io::Result<ExitStatus> {
    tokio::select! {
        status = process.wait() => return status,
        // The connection is gone, and with it the process's input.
        _ = released.changed() => {}
    }
    for signal in [Signal::Terminate, Signal::Kill] {
        if let Ok(status) = timeout(exit_timeout, process.wait()).await {
            return status;
        }
        group.signal(signal);
    }
    process.wait().await
}

/// The process and all that it started. Killed if the runtime goes away, which leaves no time to wait.
struct Group(Option<ProcessGroup>);

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(group) = &self.0 {
            group.signal(signal);
        }
    }

    /// Ends what the process leaves behind: it has lost its purpose.
    async fn end(mut self, exit_timeout: Duration) {
        let is_empty = |group: &Group| group.0.as_ref().is_none_or(ProcessGroup::is_empty);
        self.signal(Signal::Terminate);
        let emptied = async {
            while !is_empty(&self) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if timeout(exit_timeout, emptied).await.is_ok() {
            // The number may be another's from now on.
            self.0 = None;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::Kill);
    }
}

/// The output of the process. It is over soon after the process is, even if something that was left behind
/// holds it open.
///
/// When the connection lets go of it, the process may still have something to say, and many crash if they cannot: what
/// comes is read, and dropped, until the process has ended.
struct Output {
    stdout: Option<ChildStdout>,
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
    rest: Rest,
}

struct Rest {
    runtime: Handle,
    /// By then the process has ended: it was killed.
    longest: Duration,
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(mut stdout) = self.stdout.take() {
            let longest = self.rest.longest;
            let reading = async move {
                let drained = async {
                    let _ = tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await;
                };
                let _ = timeout(longest, drained).await;
            };
            self.rest.runtime.spawn(reading);
        }
    }
}

async fn over(mut exit: watch::Receiver<Option<String>>) {
    let _ = exit.wait_for(Option::is_some).await;
    tokio::time::sleep(OPEN_AFTER_EXIT).await;
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(stdout) = &mut self.stdout else { return Poll::Ready(Ok(())) };
        match Pin::new(stdout).poll_read(cx, buffer) {
            Poll::Pending => self.over.as_mut().poll(cx).map(Ok),
            read => read,
        }
    }
}

/// The input of the process. Once that is closed, what the process still has to say, and how it ends, comes
/// before the news.
struct Input {
    stdin: ChildStdin,
    broken: Option<Pin<Box<dyn Future<Output = io::Error> + Send>>>,
    exit: watch::Receiver<Option<String>>,
}

impl Input {
    fn unless_broken<T>(
        &mut self,
        cx: &mut Context<'_>,
        act: impl FnOnce(Pin<&mut ChildStdin>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let broken = match &mut self.broken {
            Some(broken) => broken,
            none => match act(Pin::new(&mut self.stdin), cx) {
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                    none.insert(Box::pin(broken(self.exit.clone())))
                }
                done => return done,
            },
        };
        let error = std::task::ready!(broken.as_mut().poll(cx));
        // The next attempt finds the pipe closed again.
        self.broken = None;
        Poll::Ready(Err(error))
    }
}

async fn broken(exit: watch::Receiver<Option<String>>) -> io::Error {
    tokio::time::sleep(EXIT_AFTER_CLOSE).await;
    match &*exit.borrow() {
        Some(text) => io::Error::new(io::ErrorKind::BrokenPipe, text.clone()),
        None => io::ErrorKind::BrokenPipe.into(),
    }
}

impl AsyncWrite for Input {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.unless_broken(cx, |stdin, cx| stdin.poll_write(cx, bytes))
    }

    /// On Windows a thread writes, and what became of it is only known here.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_broken(cx, |stdin, cx| stdin.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdin).poll_shutdown(cx)
    }
}

/// How the process ended, if it did.
async fn exit_reason(mut exit: watch::Receiver<Option<String>>) -> Option<String> {
    let exited = timeout(EXIT_AFTER_CLOSE, exit.wait_for(Option::is_some)).await;
    exited.ok()?.ok()?.clone()
}

async fn drain(stderr: ChildStderr, mut lines: Box<dyn FnMut(String) + Send>) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    while matches!((&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line).await, Ok(count) if count > 0)
    {
        let text = String::from_utf8_lossy(&line);
        lines(text.trim_end_matches(['\n', '\r']).to_owned());
        line.clear();
    }
}
