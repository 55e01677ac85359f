//! Runs a command, and passes its standard streams on.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use sabir::transport::ProcessGroup;
use sabir_model::capture::{Direction, Event};

use super::inject::Pipes;
use super::platform;
use super::queue::{BUFFER, Channel, Queue, Stream};
use crate::exit::{Exit, Failure};
use crate::platform::program;

/// How long what a process leaves behind may take to end when it is asked to.
const LEFT_BEHIND: Duration = Duration::from_secs(1);

/// How long output may still come once all processes have ended.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// The connection between the client and the command.
pub(super) const CONNECTION: u64 = 1;

/// A command that runs, with the threads that carry its streams.
pub(super) struct Running {
    child: Child,
    group: ProcessGroup,
    /// Says that a stream of output has ended.
    ended: Receiver<()>,
    outputs: usize,
}

/// Starts the command, which is `shown` in the record. Its standard error is copied, too, if `with_stderr`.
/// `inject` carries them if the page may send.
pub(super) fn start(
    words: &[OsString],
    shown: String,
    with_stderr: bool,
    queue: &Arc<Queue>,
    inject: Option<&Arc<Pipes>>,
) -> Result<Running, Failure> {
    let name = words[0].to_str().map(|name| OsString::from(program(name)));
    let mut command = Command::new(name.unwrap_or_else(|| words[0].clone()));
    command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(if with_stderr { Stdio::piped() } else { Stdio::inherit() });
    let failed = |error: &io::Error| {
        let name = words[0].to_string_lossy();
        Failure::new(Exit::Connect, format_args!("cannot start {name}: {error}"))
            .hint(crate::problem::start_hint(error))
    };
    let forward = platform::forward_signals().map_err(|error| failed(&error))?;
    let (mut child, group) = ProcessGroup::spawn(command).map_err(|error| failed(&error))?;
    forward(child.id());
    queue.event(CONNECTION, Event::Open, shown);
    let (end, ended) = channel();
    let stream = |direction, channel| Stream { connection: CONNECTION, direction, channel, exchange: 0 };
    let mut outputs = 0;
    let carried = (|| {
        if let Some(stdin) = child.stdin.take() {
            let input = platform::standard_input()?;
            platform::widen(&input);
            platform::widen(&stdin);
            let queue = queue.clone();
            let to_server = stream(Direction::ToServer, Channel::Stream);
            let inject = inject.cloned();
            thread("input", move || match inject {
                Some(inject) => inject.carry_in(input, stdin, to_server),
                None => carry(input, stdin, to_server, &queue, "the command no longer reads"),
            })?;
        }
        if let Some(stdout) = child.stdout.take() {
            let (queue, end) = (queue.clone(), end.clone());
            let output = platform::standard_output()?;
            platform::widen(&stdout);
            platform::widen(&output);
            let to_client = stream(Direction::ToClient, Channel::Stream);
            outputs += 1;
            let inject = inject.cloned();
            thread("output", move || {
                match inject {
                    Some(inject) => inject.carry_out(stdout, output, to_client),
                    None => carry(stdout, output, to_client, &queue, "the client no longer reads"),
                }
                let _ = end.send(());
            })?;
        }
        if let Some(stderr) = child.stderr.take() {
            let (queue, end) = (queue.clone(), end);
            let from_server = stream(Direction::ToClient, Channel::Stderr);
            outputs += 1;
            thread("errors", move || {
                carry(stderr, io::stderr(), from_server, &queue, "standard error is closed");
                let _ = end.send(());
            })?;
        }
        Ok(())
    })();
    if let Err(error) = carried {
        group.kill();
        return Err(failed(&error));
    }
    Ok(Running { child, group, ended, outputs })
}

impl Running {
    /// Waits for the command, and ends what it leaves behind.
    pub(super) fn finish(mut self, queue: &Queue) -> io::Result<ExitStatus> {
        let status = self.child.wait()?;
        if !self.group.is_empty() {
            self.group.terminate();
            let deadline = Instant::now() + LEFT_BEHIND;
            while !self.group.is_empty() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            self.group.kill();
        }
        let deadline = Instant::now() + LAST_OUTPUT;
        for _ in 0..self.outputs {
            let _ = self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        }
        queue.event(CONNECTION, Event::Exit, platform::told(status));
        Ok(status)
    }
}

fn thread(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map(drop)
}

/// Passes bytes on as they come, and a copy of them to the queue. If the other side reads no more, neither does this:
/// whoever writes learns of it as if nobody were in between.
fn carry(mut from: impl Read, mut to: impl Write, stream: Stream, queue: &Queue, unread: &str) {
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let ticket = queue.ticket();
        let written = to.write_all(&buffer[..count]);
        queue.push(ticket, stream, &mut buffer, count);
        if written.is_err() {
            queue.event(stream.connection, Event::Mark, unread);
            break;
        }
    }
    drop((from, to));
    queue.end(stream);
}
