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
use crate::target::{Target, status_hint};
use crate::web::Web;

/// How a peer is reached.
pub(super) struct Way {
    pub(super) target: Target,
    pub(super) framing: Framing,
    pub(super) web: Web,
    pub(super) profile: Profile,
}

impl Way {
    pub(super) async fn open(&self) -> Result<Wire, Failure> {
        let unreachable = |error: io::Error| self.target.unreachable(&error);
        match &self.target {
            Target::Web(url) if url.starts_with("http") => {
                let stateless = self.profile == Profile::Mcp(Some(Revision::V2026_07_28));
                Post::open(url, &self.web, stateless).await.map(Wire::Post).map_err(unreachable)
            }
            Target::Web(url) if url.starts_with("ws") => {
                Socket::open(url, &self.web).await.map(Wire::Socket).map_err(|why| match why {
                    NoSocket::Io(error) => unreachable(error),
                    NoSocket::Status(status) => {
                        let what =
                            format_args!("cannot connect to {url}: HTTP {status} instead of a WebSocket");
                        Failure::new(Exit::Connect, what).hint(status_hint(status.as_u16()))
                    }
                })
            }
            target => {
                let streams = self.web.apply(target.open(self.framing)?).into_streams().await;
                Ok(Wire::Stream(Stream::new(streams.map_err(unreachable)?, self.framing)))
            }
        }
    }
}

/// An open way: what is sent goes out byte for byte, what comes is cut into messages.
pub(super) enum Wire {
    Stream(Stream),
    Post(Post),
    Socket(Socket),
}

impl Wire {
    pub(super) async fn send(&mut self, text: &str) -> io::Result<()> {
        match self {
            Wire::Stream(stream) => stream.send(text).await,
            Wire::Post(post) => {
                post.send(text);
                Ok(())
            }
            Wire::Socket(socket) => socket.send(text).await,
        }
    }

    /// The next message, or `None` if the peer has gone.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        match self {
            Wire::Stream(stream) => stream.next().await,
            Wire::Post(post) => post.next().await,
            Wire::Socket(socket) => socket.next().await,
        }
    }

    /// The status of the last answer over HTTP.
    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Wire::Post(post) => post.status(),
            _ => None,
        }
    }

    /// Says goodbye, where there is a way to.
    pub(super) async fn close(&mut self) {
        if let Wire::Post(post) = self {
            post.close().await;
        }
    }
}
