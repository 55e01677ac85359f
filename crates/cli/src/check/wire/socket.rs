//! A WebSocket: what is sent is one text message, whatever it holds.

use std::io;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::StatusCode;
use sabir::transport::{Streams, Url};
use tokio::io::{AsyncRead, AsyncWrite, Join};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::{Got, post};
use crate::web::Web;

/// How long the peer may take to be told that this is the end.
const GOODBYE: Duration = Duration::from_millis(500);

type Stream = Join<Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>>;

pub(crate) struct Socket {
    stream: WebSocketStream<Stream>,
    max_size: usize,
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
    pub(super) async fn open(url: &Url, web: &Web, max_size: usize) -> Result<Socket, NoSocket> {
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        let Streams { read, write, .. } = post::streams(url, web).await?;
        let mut request = url.as_str().into_client_request().map_err(|error| invalid(error.to_string()))?;
        for (name, value) in web.headers() {
            let name: hyper::header::HeaderName =
                name.parse().map_err(|_| invalid(format!("`{name}` is not the name of a header")))?;
            let value = value
                .parse()
                .map_err(|_| invalid("the value of a header has control characters".to_owned()))?;
            request.headers_mut().insert(name, value);
        }
        let config =
            WebSocketConfig::default().max_message_size(Some(max_size)).max_frame_size(Some(max_size));
        match client_async_with_config(request, tokio::io::join(read, write), Some(config)).await {
            Ok((stream, _)) => Ok(Socket { stream, max_size }),
            Err(Error::Http(response)) => Err(NoSocket::Status(response.status())),
            Err(error) => Err(io::Error::other(error).into()),
        }
    }

    pub(super) async fn send(&mut self, text: &str) -> io::Result<()> {
        self.stream.send(Message::text(text)).await.map_err(io::Error::other)
    }

    pub(super) async fn next(&mut self) -> Got {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => return Got::Message(text.as_bytes().to_vec()),
                Some(Ok(Message::Binary(bytes))) => return Got::Message(bytes.to_vec()),
                Some(Err(Error::Capacity(_))) => return Got::TooLarge { limit: self.max_size },
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Got::End,
                Some(Ok(_)) => {}
            }
        }
    }

    pub(super) async fn close(mut self) {
        let _ = tokio::time::timeout(GOODBYE, self.stream.close(None)).await;
    }
}
