//! A way to a live peer on which anything can be sent, even what is no message.

mod post;
mod socket;
mod stream;

use std::io;

use post::Post;
use sabir::Framing;
use sabir_model::rules::{Profile, Revision};
use socket::{NoSocket, Socket};
use stream::Stream;

use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::target::{Target, status_hint};
use crate::web::Web;

/// How a peer is reached.
pub(crate) struct WireTarget {
    pub(crate) target: Target,
    pub(crate) framing: Framing,
    pub(crate) web: Web,
    pub(crate) profile: Profile,
    /// The largest message that is taken.
    pub(crate) max_size: usize,
    /// Shows failures of HTTP, if the wire is to be shown.
    pub(crate) printer: Option<Printer>,
}

impl WireTarget {
    pub(crate) async fn open(&self) -> Result<Wire, Failure> {
        let unreachable = |error: io::Error| self.target.unreachable(&error.into());
        match &self.target {
            Target::Url(url) if url.scheme().is_http() => {
                Post::open(url, self).await.map(|post| Wire::Post(Box::new(post))).map_err(unreachable)
            }
            Target::Url(url) if url.scheme().is_websocket() => {
                let opened = Socket::open(url, &self.web, self.max_size).await;
                opened.map(|socket| Wire::Socket(Box::new(socket))).map_err(|why| match why {
                    NoSocket::Io(error) => unreachable(error),
                    NoSocket::Status(status) => {
                        let what = format!("cannot connect to {url}: HTTP {status} instead of a WebSocket");
                        Failure::new(Exit::Connect, what).hint(status_hint(status.as_u16()))
                    }
                })
            }
            target => {
                let transport = target.open(self.framing, self.printer.as_ref())?;
                let streams = self.web.apply(transport).into_streams().await;
                let streams = streams.map_err(|error| self.target.unreachable(&error))?;
                Ok(Wire::Stream(Stream::new(streams, self.framing, self.max_size)))
            }
        }
    }

    fn is_stateless(&self) -> bool {
        self.profile == Profile::Mcp(Some(Revision::V2026_07_28))
    }
}

/// What came next.
pub(crate) enum Got {
    Message(Vec<u8>),
    /// A message was skipped for its size.
    TooLarge {
        limit: usize,
    },
    /// What was posted over HTTP was answered with this status, and without a message.
    Nothing {
        status: u16,
    },
    /// The peer has gone.
    End,
}

/// An open way: what is sent goes out byte for byte, what comes is cut into messages.
pub(crate) enum Wire {
    Stream(Stream),
    Post(Box<Post>),
    Socket(Box<Socket>),
}

impl Wire {
    pub(crate) async fn send(&mut self, text: &str) -> io::Result<()> {
        match self {
            Wire::Stream(stream) => stream.send(text).await,
            Wire::Post(post) => {
                post.send(text);
                Ok(())
            }
            Wire::Socket(socket) => socket.send(text).await,
        }
    }

    pub(crate) async fn next(&mut self) -> Got {
        match self {
            Wire::Stream(stream) => stream.next().await,
            Wire::Post(post) => post.next().await,
            Wire::Socket(socket) => socket.next().await,
        }
    }

    /// The status of the last answer over HTTP.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Wire::Post(post) => post.status(),
            _ => None,
        }
    }

    /// Whether something was posted over HTTP whose answer has not come to its end.
    pub(crate) fn is_posting(&self) -> bool {
        matches!(self, Wire::Post(post) if post.is_posting())
    }

    /// Whether nothing more can come until something is sent.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self, Wire::Post(post) if !post.is_posting())
    }

    /// Says goodbye, where there is a way to, and waits for a program to end.
    pub(crate) async fn close(self) {
        match self {
            Wire::Post(post) => post.close().await,
            Wire::Stream(stream) => stream.close().await,
            Wire::Socket(socket) => socket.close().await,
        }
    }
}
