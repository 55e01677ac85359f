//! A server as it runs: its process, and the channel to it.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::{ChildStderr, Command, Stdio};
use std::rc::Rc;
use std::thread;

use sabir_bench::Process;

use crate::connection::Connection;
use crate::servers::{By, Server};

pub(crate) struct Service {
    pub(crate) process: Process,
    server: &'static Server,
    channel: Channel,
}

enum Channel {
    Address(SocketAddr),
    /// There is but one connection.
    Pipes {
        input: Rc<File>,
        output: Rc<File>,
    },
}

impl Service {
    pub(crate) fn start(server: &'static Server) -> io::Result<Service> {
        let mut command = Command::new(server.program.command[0]);
        command.args(&server.program.command[1..]);
        match server.by {
            By::Socket => {
                command.stdin(Stdio::null()).stderr(Stdio::piped());
                let (process, stderr) = Process::start(&mut command, |child| child.stderr.take())?;
                let stderr = stderr.ok_or(io::ErrorKind::BrokenPipe)?;
                Ok(Service { process, server, channel: Channel::Address(address(stderr)?) })
            }
            By::Pipes => {
                command.stdin(Stdio::piped()).stdout(Stdio::piped());
                let (process, pipes) =
                    Process::start(&mut command, |child| (child.stdin.take(), child.stdout.take()))?;
                let (Some(input), Some(output)) = pipes else { return Err(io::ErrorKind::BrokenPipe.into()) };
                let (input, output) = (OwnedFd::from(input).into(), OwnedFd::from(output).into());
                let channel = Channel::Pipes { input: Rc::new(input), output: Rc::new(output) };
                Ok(Service { process, server, channel })
            }
        }
    }

    pub(crate) fn connect(&self) -> io::Result<Connection> {
        match &self.channel {
            Channel::Address(address) => Connection::open(*address, self.server.speaks),
            Channel::Pipes { input, output } => {
                Ok(Connection::new(input.clone(), output.clone(), self.server.speaks))
            }
        }
    }
}

/// From the line `serving on URL`. What else it says is shown.
fn address(stderr: ChildStderr) -> io::Result<SocketAddr> {
    let mut lines = BufReader::new(stderr).lines();
    for line in &mut lines {
        let line = line?;
        let Some(url) = line.strip_prefix("serving on ") else {
            eprintln!("{line}");
            continue;
        };
        let address = url.split_once("://").map_or(url, |(_, rest)| rest).trim_end_matches('/');
        let address = address.parse().map_err(|e| io::Error::other(format!("`{url}`: {e}")))?;
        // A server that writes more must not stop for it.
        thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        return Ok(address);
    }
    Err(io::Error::other("it ended without a line `serving on URL`"))
}
