//! A WebSocket: what is sent is one text message, whatever it holds.

use std::io;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use sabir::http::Response;
use sabir::transport::{FirstBytes, HttpFailure, RawStreams, Step, Url};
use tokio::io::{AsyncRead, AsyncWrite, Join};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::{Got, post};
use crate::detect::Detected;
use crate::exit::{Exit, Failure};
use crate::peer::PeerOptions;

/// How long closing in order may take.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

type Stream = FirstBytes<Join<Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>>>;

pub(crate) struct Socket {
    stream: WebSocketStream<Stream>,
    max_size: usize,
}

impl Socket {
    pub(super) async fn open(url: &Url, peer: &PeerOptions) -> Result<Socket, Failure> {
        let unreachable = |error: io::Error| peer.unreachable(&error.into());
        let invalid = |what: String| Failure::usage(what);
        let RawStreams { read, write, .. } = post::streams(url, &peer.web).await.map_err(unreachable)?;
        // The path of a URL that names none is `/`, also before a query.
        let whole = format!("{}://{}{}", url.scheme().name(), url.authority(), url.path());
        let mut request = whole.into_client_request().map_err(|error| invalid(error.to_string()))?;
        for (name, value) in peer.web.headers() {
            let name: hyper::header::HeaderName =
                name.parse().map_err(|_| invalid(format!("`{name}` is not a valid header name")))?;
            let value = value
                .parse()
                .map_err(|_| invalid("the value of a header has control characters".to_owned()))?;
            request.headers_mut().insert(name, value);
        }
        let max_size = peer.max_size;
        let config =
            WebSocketConfig::default().max_message_size(Some(max_size)).max_frame_size(Some(max_size));
        let (stream, start) = FirstBytes::new(tokio::io::join(read, write));
        let (method, uri) = (request.method(), request.uri());
        peer.web.tell(&Step::Request { method, uri, headers: request.headers() });
        let told = |response: &Response<Option<Vec<u8>>>| {
            let (version, status, headers) = (response.version(), response.status(), response.headers());
            peer.web.tell(&Step::Response { version, status, headers });
        };
        match client_async_with_config(request, stream, Some(config)).await {
            Ok((stream, response)) => {
                told(&response);
                Ok(Socket { stream, max_size })
            }
            Err(Error::Http(response)) => {
                told(&response);
                let (status, headers) = (response.status(), response.headers());
                let body = response.body().as_deref().unwrap_or_default();
                Err(peer.not_a_websocket(&HttpFailure { status, headers, body }))
            }
            Err(error) => Err(match start.bytes() {
                start if !start.is_empty() && !start.starts_with(b"HTTP/") => {
                    peer.speaks(Detected::of(&start))
                }
                _ => Failure::new(Exit::Protocol, format_args!("cannot connect to {url}: {error}")),
            }),
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
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.stream.close(None)).await;
    }
}
