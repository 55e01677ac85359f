//! A connection to a live peer on which anything can be sent, also what is not a message.

mod post;
mod posts;
mod socket;
mod sse;
mod stream;
mod text;

use std::io;

use post::Post;
pub(crate) use post::streams;
pub(crate) use posts::{Posted, Posts};
use sabir::Undelivered;
use sabir_model::rules::{Profile, Revision};
use socket::Socket;
use sse::Sse;
use stream::Stream;

use crate::detect::Watch;
use crate::exit::Failure;
use crate::peer::PeerOptions;
use crate::print::Printer;
use crate::target::Target;

/// A peer, and how to talk to it.
pub(crate) struct WireTarget {
    pub(crate) peer: PeerOptions,
    pub(crate) profile: Profile,
    /// Shows failures of HTTP, if there is a trace.
    pub(crate) printer: Option<Printer>,
    pub(crate) watch: Watch,
}

impl WireTarget {
    pub(crate) async fn open(&self) -> Result<Wire, Failure> {
        let unreachable = |error: sabir::Error| self.peer.unreachable(&error);
        match &self.peer.target {
            Target::Url(url) if url.scheme().is_http() && self.has_one_stream() => {
                let opened = Sse::open(url, self).await.map_err(sabir::Error::from);
                opened.map(|sse| Wire::Sse(Box::new(sse))).map_err(unreachable)
            }
            Target::Url(url) if url.scheme().is_http() => {
                let opened = Post::open(url, self).await.map_err(sabir::Error::from);
                opened.map(|post| Wire::Post(Box::new(post))).map_err(unreachable)
            }
            Target::Url(url) if url.scheme().is_websocket() => {
                let opened = Socket::open(url, &self.peer).await;
                opened.map(|socket| Wire::Socket(Box::new(socket)))
            }
            target => {
                let transport = target.open(self.peer.framing, self.printer.as_ref()).map_err(unreachable)?;
                let streams = self.peer.web.apply(transport).into_streams().await;
                let stream = Stream::new(streams.map_err(unreachable)?, &self.peer, &self.watch);
                Ok(Wire::Stream(Box::new(stream)))
            }
        }
    }

    /// Whether all messages of the server come over one stream of HTTP.
    pub(crate) fn has_one_stream(&self) -> bool {
        self.profile == Profile::Mcp(Some(Revision::V2024_11_05))
    }

    fn is_stateless(&self) -> bool {
        self.profile == Profile::Mcp(Some(Revision::V2026_07_28))
    }
}

/// What came next.
pub(crate) enum Got {
    Message(Vec<u8>),
    /// A message was skipped because of its size.
    TooLarge {
        limit: usize,
    },
    /// What was posted over HTTP was answered without a message. This is why the answer is not one; its status may
    /// be a success.
    Nothing(Undelivered),
    /// The connection has ended, or the peer speaks another protocol.
    End,
}

/// An open connection: what is sent goes out byte for byte, and what comes is cut into messages.
pub(crate) enum Wire {
    Stream(Box<Stream>),
    Post(Box<Post>),
    Sse(Box<Sse>),
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
            Wire::Sse(sse) => sse.send(text).await,
            Wire::Socket(socket) => socket.send(text).await,
        }
    }

    /// Sends a notification without waiting for what was posted before.
    pub(crate) async fn send_now(&mut self, text: &str) -> io::Result<()> {
        match self {
            Wire::Post(post) => post.post_aside(text).await,
            other => other.send(text).await,
        }
    }

    /// Whether a cancel has to be sent. Over HTTP without a session, closing the connection cancels.
    pub(crate) fn takes_cancels(&self) -> bool {
        match self {
            Wire::Post(post) => post.has_session(),
            Wire::Stream(_) | Wire::Sse(_) | Wire::Socket(_) => true,
        }
    }

    pub(crate) async fn next(&mut self) -> Got {
        match self {
            Wire::Stream(stream) => stream.next().await,
            Wire::Post(post) => post.next().await,
            Wire::Sse(sse) => sse.next().await,
            Wire::Socket(socket) => socket.next().await,
        }
    }

    /// The status of the last answer over HTTP.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Wire::Post(post) => post.status(),
            Wire::Sse(sse) => sse.status(),
            Wire::Stream(_) | Wire::Socket(_) => None,
        }
    }

    /// What the last status over HTTP says, if it was not a success. There may be a message all the same.
    pub(crate) fn refusal(&self) -> Option<&Undelivered> {
        match self {
            Wire::Post(post) => post.refusal(),
            Wire::Sse(sse) => sse.refusal(),
            Wire::Stream(_) | Wire::Socket(_) => None,
        }
    }

    /// Why the last message has no answer, if the wire knows it.
    pub(crate) fn failure(&self, peer: &PeerOptions) -> Option<Failure> {
        match self {
            Wire::Post(post) => post.undelivered().map(|undelivered| peer.undelivered(undelivered)),
            Wire::Stream(stream) => stream.mismatch().map(|protocol| peer.speaks(protocol)),
            Wire::Sse(_) | Wire::Socket(_) => None,
        }
    }

    /// How the program ended, if one was started and has ended.
    pub(crate) async fn exit_reason(&mut self) -> Option<String> {
        match self {
            Wire::Stream(stream) => stream.exit_reason().await,
            _ => None,
        }
    }

    /// Whether something was posted over HTTP whose answer is not complete.
    pub(crate) fn is_posting(&self) -> bool {
        matches!(self, Wire::Post(post) if post.is_posting())
    }

    /// Whether nothing more can come until something is sent.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self, Wire::Post(post) if !post.is_posting())
    }

    /// Closes the connection in order, and waits for a program to end.
    pub(crate) async fn close(self) {
        match self {
            Wire::Post(post) => post.close().await,
            Wire::Stream(stream) => stream.close().await,
            // Closing the stream ends the session.
            Wire::Sse(_) => {}
            Wire::Socket(socket) => socket.close().await,
        }
    }
}
