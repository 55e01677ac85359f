//! What to read from and write to.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::process::Command;

use sabir_proto::{Config, Framing};

use crate::runtime::blocking::platform::{self, Stream};
use crate::runtime::blocking::process::Process;
use crate::runtime::config::config_setters;
use crate::transport::seed;

/// What a connection runs over, and how it speaks there.
#[derive(Debug)]
pub struct Streams {
    pub(crate) input: Stream,
    pub(crate) output: Stream,
    pub(crate) config: Config,
    pub(crate) process: Option<Process>,
}

impl Streams {
    /// Anything with a descriptor that can be read and written: sockets, pipes, the streams of a process. On Windows
    /// these are handles and sockets.
    pub fn new(input: impl Into<Stream>, output: impl Into<Stream>) -> Self {
        let config = Config { framing: Some(Framing::Lines), seed: seed(), ..Config::default() };
        Streams { input: input.into(), output: output.into(), config, process: None }
    }

    config_setters!();
}

/// Standard input and output, with the output guarded as in [`transport::stdio`](crate::transport::stdio).
///
/// # Panics
/// If the process has no standard input or output.
pub fn stdio() -> Streams {
    match platform::stdio() {
        Ok((input, output)) => Streams::new(input, output),
        Err(error) => panic!("no standard input and output: {error}"),
    }
}

/// Connects to a TCP address.
pub fn tcp(address: impl ToSocketAddrs) -> io::Result<Streams> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(Streams::new(stream.try_clone()?, stream))
}

/// Starts a process and talks to it over its standard input and output; its standard error is ours. It is
/// ended with the connection: its input is closed, and what it still prints is read and dropped. After two seconds
/// its process group gets SIGTERM, on Windows Ctrl-Break, and after two more it is killed. It is also killed if this
/// process dies.
pub fn child(command: Command) -> io::Result<Streams> {
    let (input, output, process) = Process::start(command)?;
    Ok(Streams { process: Some(process), ..Streams::new(input, output) })
}
