//! What a connection runs over.
//!
//! | made by | runs over |
//! |---|---|
//! | [`stdio`] | the process's standard input and output |
//! | [`child`] | a process that is started for it |
//! | [`tcp`], [`unix`] | a socket that is connected to |
//! | [`memory`] | the other half of a pair, for tests |
//! | [`streams`] | anything that reads and writes |
//!
//! Each knows both framings. What is made here speaks lines unless told otherwise; servers made by
//! [`listen`](crate::listen) find out what the peer speaks.

#[cfg(unix)]
pub(crate) mod child;
#[cfg(unix)]
pub(crate) mod fd;
mod net;
#[cfg(unix)]
pub(crate) mod stdio;

use std::any::Any;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

#[cfg(unix)]
pub use child::{Child, Stderr, child};
pub use net::tcp;
pub(crate) use net::tcp_stream;
#[cfg(unix)]
pub use net::unix;
#[cfg(unix)]
pub(crate) use net::unix_stream;
use sabir_proto::{Config, Framing, Report};
#[cfg(unix)]
pub use stdio::{Stdio, stdio};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::engine::OnReport;
use crate::settings::config_setters;

type BoxRead = Box<dyn AsyncRead + Send + Unpin>;
type BoxWrite = Box<dyn AsyncWrite + Send + Unpin>;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wire {
    /// To the peer.
    Sent,
    /// From the peer.
    Received,
}

type Tap = Box<dyn FnMut(Wire, &[u8]) + Send>;

/// The streams of a connection, opened.
pub(crate) struct Io {
    pub(crate) read: BoxRead,
    pub(crate) write: BoxWrite,
    /// Says, once the input has ended, whether it ended for a reason.
    pub(crate) epitaph: Option<Pin<Box<dyn Future<Output = Option<String>> + Send>>>,
    /// Ends the connection in good order when the process is asked to stop.
    pub(crate) heeds_signals: bool,
    /// Told of all bytes as they go.
    pub(crate) tap: Option<Tap>,
    /// Becomes true once the process at the other end has ended.
    pub(crate) process: Option<watch::Receiver<bool>>,
    /// Dropped with the streams.
    pub(crate) _keep: Box<dyn Any + Send>,
}

impl Io {
    pub(crate) fn new(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Io {
            read: Box::new(read),
            write: Box::new(write),
            epitaph: None,
            tap: None,
            process: None,
            heeds_signals: false,
            _keep: Box::new(()),
        }
    }
}

/// What a connection runs over, and how it speaks there.
pub struct Transport {
    open: Box<dyn FnOnce() -> io::Result<Io> + Send>,
    pub(crate) config: Config,
    pub(crate) on_report: Option<OnReport>,
    tap: Option<Tap>,
    pub(crate) grace: Duration,
}

impl Transport {
    pub(crate) fn new(open: impl FnOnce() -> io::Result<Io> + Send + 'static) -> Self {
        let config = Config { framing: Some(Framing::Lines), seed: seed(), ..Config::default() };
        Transport {
            open: Box::new(open),
            config,
            on_report: None,
            tap: None,
            grace: Duration::from_millis(1500),
        }
    }

    config_setters!();

    /// Sets how long a connection that is asked to stop may take to finish what is open. 1.5 s.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Is told of everything that the peer does wrong: noise, invalid messages, answers to nothing.
    #[must_use]
    pub fn on_report(mut self, report: impl FnMut(&Report<'_>) + Send + 'static) -> Self {
        self.on_report = Some(Box::new(report));
        self
    }

    /// Is told of all bytes that are sent and received, as they go: for tracing and recording.
    #[must_use]
    pub fn tap(mut self, tap: impl FnMut(Wire, &[u8]) + Send + 'static) -> Self {
        self.tap = Some(Box::new(tap));
        self
    }

    /// Opens it for somebody who speaks over it in a way of their own: no session, no framing, no tap.
    pub fn into_streams(self) -> io::Result<Streams> {
        let Io { read, write, _keep, .. } = (self.open)()?;
        Ok(Streams { read, write, _keep })
    }

    pub(crate) fn open(self) -> io::Result<(Io, Config, Option<OnReport>, Duration)> {
        let io = Io { tap: self.tap, ..(self.open)()? };
        Ok((io, self.config, self.on_report, self.grace))
    }
}

/// The bare streams of a [`Transport`]. What it runs over, such as a started process, ends when this is dropped.
pub struct Streams {
    /// What the peer sends.
    pub read: Box<dyn AsyncRead + Send + Unpin>,
    /// What goes to the peer.
    pub write: Box<dyn AsyncWrite + Send + Unpin>,
    _keep: Box<dyn Any + Send>,
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Streams").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Anything that reads and writes.
pub fn streams(
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) -> Transport {
    Transport::new(move || Ok(Io::new(read, write)))
}

/// Two transports that are connected to each other, for tests and for services in the same process.
pub fn memory() -> (Transport, Transport) {
    let (a, b) = tokio::io::duplex(64 * 1024);
    let half = |stream| {
        let (read, write) = tokio::io::split(stream);
        streams(read, write)
    };
    (half(a), half(b))
}

/// A number that the peer cannot guess.
pub(crate) fn seed() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
