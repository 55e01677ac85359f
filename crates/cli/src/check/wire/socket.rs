//! A WebSocket: what is sent is one text message, whatever it holds.

use std::io;

use futures_util::{SinkExt, StreamExt};
use hyper::StatusCode;
use sabir::transport::{Streams, Url};
use tokio::io::{AsyncRead, AsyncWrite, Join};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::post;
use crate::web::Web;

type Stream = Join<Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>>;

pub(in crate::check) struct Socket {
    stream: WebSocketStream<Stream>,
}

/// Why there is no WebSocket.
pub(super) enum NoSocket {
    Io(io::Error),
    /// What HTTP says instead.
    Status(StatusCode),
}

impl From<io::Error> for NoSocket {
    fn from(error: io::Error) -> Self {
        NoSocket::Io(error)
    }
}

impl Socket {
    pub(super) async fn open(url: &Url, web: &Web) -> Result<Socket, NoSocket> {
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        let Streams { read, write, .. } = post::streams(url, web).await?;
        let mut request = url.as_str().into_client_request().map_err(|error| invalid(error.to_string()))?;
        for (name, value) in web.headers() {
            let name: hyper::header::HeaderName =
                name.parse().map_err(|_| invalid(format!("`{name}` is no name of a header")))?;
            let value = value
                .parse()
                .map_err(|_| invalid("the value of a header has control characters".to_owned()))?;
            request.headers_mut().insert(name, value);
        }
        match client_async(request, tokio::io::join(read, write)).await {
            Ok((stream, _)) => Ok(Socket { stream }),
            Err(Error::Http(response)) => Err(NoSocket::Status(response.status())),
            Err(error) => Err(io::Error::other(error).into()),
        }
    }

    pub(super) async fn send(&mut self, text: &str) -> io::Result<()> {
        self.stream.send(Message::text(text)).await.map_err(io::Error::other)
    }

    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.stream.next().await?.ok()? {
                Message::Text(text) => return Some(text.as_bytes().to_vec()),
                Message::Binary(bytes) => return Some(bytes.to_vec()),
                Message::Close(_) => return None,
                _ => {}
            }
        }
    }
}
