//! A server as it runs: its process, and the channel to it.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::rc::Rc;

use sabir_bench::{Process, start_listening};

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
        let words = server.program.command;
        match server.by {
            By::Socket => {
                let (process, url) = start_listening(words, "serving on ")?;
                Ok(Service { process, server, channel: Channel::Address(address(&url)?) })
            }
            By::Pipes => {
                let mut command = Command::new(words[0]);
                command.args(&words[1..]);
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

/// From the URL that it says it is serving on.
fn address(url: &str) -> io::Result<SocketAddr> {
    let address = url.split_once("://").map_or(url, |(_, rest)| rest).trim_end_matches('/');
    address.parse().map_err(|e| io::Error::other(format!("`{url}`: {e}")))
}
