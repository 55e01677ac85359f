//! What to read from and write to.

use std::net::{Ipv4Addr, TcpListener, TcpStream, ToSocketAddrs};
use std::process::Command;

use sabir_proto::{Config, Framing};

use crate::Error;
use crate::runtime::blocking::platform::{self, Stream};
use crate::runtime::blocking::process::Process;
use crate::runtime::config::config_setters;
use crate::transport::{ConnectError, Scheme, Url, local, seed, socket};

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
pub fn tcp(address: impl ToSocketAddrs) -> Result<Streams, Error> {
    let connected = TcpStream::connect(address);
    let stream = connected.map_err(|error| ConnectError::socket("the TCP address", error))?;
    over_tcp(stream)
}

/// Connects to a URL: `tcp://HOST:PORT`, `unix:PATH`, on Windows `pipe:NAME`. The other schemes need
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
    if let Some(address) = local::address(url).map_err(Error::config)? {
        #[cfg(unix)]
        return platform::unix(address);
        #[cfg(windows)]
        return platform::pipe(address);
    }
    let parsed = Url::parse(url)?;
    if parsed.scheme() != Scheme::Tcp {
        return Err(Error::config(format!("`{url}` needs a runtime: connect to it by `sabir::connect`")));
    }
    let stream = TcpStream::connect((parsed.host(), parsed.port()))
        .map_err(|error| ConnectError::socket(url, error))?;
    over_tcp(stream)
}

/// Two ends that are connected to each other, for tests and for services in the same process. They are sockets.
pub fn memory() -> Result<(Streams, Streams), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let one = TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (other, address) = listener.accept()?;
        // Others can connect, too.
        if address == one.local_addr()? {
            return Ok((over_tcp(one)?, over_tcp(other)?));
        }
    }
}

fn over_tcp(stream: TcpStream) -> Result<Streams, Error> {
    socket::prepare(&stream)?;
    Ok(Streams::new(stream.try_clone()?, stream))
}

/// Starts a process and talks to it over its standard input and output; its standard error is ours. It is
/// ended with the connection: its input is closed, and what it still prints is read and dropped. After two seconds
/// its process group gets SIGTERM, on Windows Ctrl-Break, and after two more it is killed. It is also killed if this
/// process dies.
pub fn child(command: Command) -> Result<Streams, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let started = Process::start(command);
    let (input, output, process) = started.map_err(|source| Error::Start { program, source })?;
    Ok(Streams { process: Some(process), ..Streams::new(input, output) })
}
