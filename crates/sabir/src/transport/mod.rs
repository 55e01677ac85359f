//! What a connection runs over.
//!
//! | made by | runs over |
//! |---|---|
//! | [`stdio`] | the process's standard input and output |
//! | [`child`] | a process that is started for it |
//! | [`tcp`], [`unix`] | a socket that is connected to |
//! | [`url`] | whatever the URL names |
//! | [`memory`] | the other half of a pair, for tests |
//! | [`streams`] | anything that reads and writes |
//!
//! Each knows both framings. What is made here speaks lines unless told otherwise; servers made by
//! [`listen`](crate::listen) find out what the peer speaks.

#[cfg(unix)]
pub(crate) mod child;
#[cfg(unix)]
pub(crate) mod fd;
pub(crate) mod net;
#[cfg(unix)]
pub(crate) mod stdio;
mod url;

use std::any::Any;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

#[cfg(unix)]
pub use child::{Child, Stderr, child};
pub use net::tcp;
#[cfg(unix)]
pub use net::unix;
use sabir_proto::{Config, Framing, Report};
#[cfg(unix)]
pub use stdio::{Stdio, stdio};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use url::Dial;
pub use url::url;

use crate::engine::OnReport;
#[cfg(feature = "http")]
use crate::link::{Link, Messages};
use crate::port::Port;
use crate::settings::config_setters;

/// A stream that goes both ways.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wire {
    /// To the peer.
    Sent,
    /// From the peer.
    Received,
}

pub(crate) type Tap = Box<dyn FnMut(Wire, &[u8]) + Send>;

/// The stream of a connection, opened.
pub(crate) struct Io<S = Box<dyn Duplex>> {
    pub(crate) stream: S,
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
    /// Something was written since the last flush.
    pub(crate) unflushed: bool,
    /// The input has ended, and the transport is asked why.
    pub(crate) ending: bool,
}

impl Io {
    /// Two streams that go one way each.
    pub(crate) fn new(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Io::over(Box::new(tokio::io::join(read, write)))
    }
}

impl<S> Io<S> {
    pub(crate) fn over(stream: S) -> Self {
        Io {
            stream,
            epitaph: None,
            tap: None,
            process: None,
            heeds_signals: false,
            _keep: Box::new(()),
            unflushed: false,
            ending: false,
        }
    }
}

/// What a transport is once it is opened.
pub(crate) enum Way {
    Bytes(Io),
    #[cfg(feature = "http")]
    Messages(Box<dyn Link>),
}

type Opening = Pin<Box<dyn Future<Output = io::Result<Way>> + Send>>;

/// A connection's own part of a transport, ready to run.
pub(crate) struct Opened {
    pub(crate) port: Box<dyn Port>,
    pub(crate) config: Config,
    pub(crate) on_report: Option<OnReport>,
    pub(crate) grace: Duration,
    /// See [`Io`].
    pub(crate) heeds_signals: bool,
    pub(crate) process: Option<watch::Receiver<bool>>,
}

/// What a connection runs over, and how it speaks there.
pub struct Transport {
    open: Box<dyn FnOnce(Dial) -> Opening + Send>,
    pub(crate) dial: Dial,
    pub(crate) config: Config,
    pub(crate) on_report: Option<OnReport>,
    tap: Option<Tap>,
    pub(crate) grace: Duration,
}

impl Transport {
    pub(crate) fn new(open: impl FnOnce() -> io::Result<Io> + Send + 'static) -> Self {
        Transport::dialled(move |_| Box::pin(async move { open().map(Way::Bytes) }))
    }

    /// A transport that takes its time to open, and wants to know how.
    pub(crate) fn dialled(open: impl FnOnce(Dial) -> Opening + Send + 'static) -> Self {
        let config = Config { framing: Some(Framing::Lines), seed: seed(), ..Config::default() };
        Transport {
            open: Box::new(open),
            dial: Dial::default(),
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

    pub(crate) async fn open(self) -> io::Result<Opened> {
        let Transport { open, dial, config, on_report, tap, grace } = self;
        Ok(match open(dial).await? {
            Way::Bytes(io) => {
                let (heeds_signals, process) = (io.heeds_signals, io.process.clone());
                let port = Box::new(Io { tap, ..io });
                Opened { port, config, on_report, grace, heeds_signals, process }
            }
            #[cfg(feature = "http")]
            Way::Messages(link) => Opened {
                port: Box::new(Messages::new(link, tap)),
                config: Config { framing: Some(Framing::Whole), ..config },
                on_report,
                grace,
                heeds_signals: false,
                process: None,
            },
        })
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
    let half = |stream: tokio::io::DuplexStream| {
        Transport::new(move || Ok(Io::over(Box::new(stream) as Box<dyn Duplex>)))
    };
    (half(a), half(b))
}

/// A number that the peer cannot guess.
pub(crate) fn seed() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
