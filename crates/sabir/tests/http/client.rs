//! A client of HTTP/1.1 that knows as little as possible, so that it can send what no client would.

#![allow(dead_code)] // Each test uses some of it.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// Far more than anything here takes: only what hangs gets that far.
const LONG: Duration = Duration::from_secs(20);

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.expect("it hangs")
}

/// A connection, with TLS or without.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

pub(crate) struct Client {
    pub(crate) stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    ended: bool,
}

/// A head, and what is known of the body from it.
pub(crate) struct Head {
    pub(crate) text: String,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.text.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub(crate) fn status(&self) -> u16 {
        self.text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
    }
}

impl Client {
    pub(crate) async fn connect(port: u16) -> Self {
        let stream = within(TcpStream::connect(("127.0.0.1", port))).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Client::over(stream)
    }

    pub(crate) fn over(stream: impl Stream + 'static) -> Self {
        Client { stream: Box::new(stream), buffer: Vec::new(), ended: false }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // The server may refuse, and close, before it has everything.
        let _ = self.stream.write_all(bytes.as_ref()).await;
        let _ = self.stream.flush().await;
    }

    /// Sends a POST as most clients would.
    pub(crate) async fn post(&mut self, headers: &str, body: &str) {
        self.post_accepting("application/json, text/event-stream", headers, body).await;
    }

    pub(crate) async fn post_accepting(&mut self, accept: &str, headers: &str, body: &str) {
        let length = body.len();
        self.send(format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: {accept}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        ))
        .await;
    }

    pub(crate) async fn get(&mut self, headers: &str) {
        self.send(&format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{headers}\r\n"
        ))
        .await;
    }

    /// Reads more. Whether there was any.
    async fn fill(&mut self) -> bool {
        self.ended |= !within(self.stream.read_buf(&mut self.buffer)).await.is_ok_and(|count| count > 0);
        !self.ended
    }

    /// Whether the end of the connection was come upon.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Everything up to `end`, and past it. What there is, if the connection ends first.
    pub(crate) async fn until(&mut self, end: &str) -> String {
        loop {
            let found = self.buffer.windows(end.len()).position(|window| window == end.as_bytes());
            if let Some(at) = found {
                let rest = self.buffer.split_off(at + end.len());
                let text = std::mem::replace(&mut self.buffer, rest);
                return String::from_utf8_lossy(&text[..at]).into_owned();
            }
            if !self.fill().await {
                return String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned();
            }
        }
    }

    pub(crate) async fn head(&mut self) -> Head {
        let text = self.until("\r\n\r\n").await;
        let lines = text.split("\r\n").filter(|line| !line.to_ascii_lowercase().starts_with("date:"));
        Head { text: lines.collect::<Vec<_>>().join("\n") }
    }

    /// So many bytes. What there is, if the connection ends first.
    pub(crate) async fn bytes(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() < count && self.fill().await {}
        let rest = self.buffer.split_off(count.min(self.buffer.len()));
        std::mem::replace(&mut self.buffer, rest)
    }

    async fn exactly(&mut self, count: usize) -> String {
        String::from_utf8_lossy(&self.bytes(count).await).into_owned()
    }

    /// Everything until the connection ends.
    pub(crate) async fn rest(&mut self) -> String {
        self.exactly(usize::MAX).await
    }

    /// One chunk of a chunked body. Empty at its end.
    pub(crate) async fn chunk(&mut self) -> String {
        let size = self.until("\r\n").await;
        let chunk = self.exactly(usize::from_str_radix(&size, 16).unwrap_or_default()).await;
        self.exactly(2).await;
        chunk
    }

    /// The status and the body of the next answer.
    pub(crate) async fn answer(&mut self) -> (u16, String) {
        let head = self.head().await;
        (head.status(), self.body(&head).await)
    }

    /// The body that belongs to this head.
    pub(crate) async fn body(&mut self, head: &Head) -> String {
        if let Some(length) = head.header("content-length") {
            return self.exactly(length.parse().unwrap()).await;
        }
        let mut body = String::new();
        if head.header("transfer-encoding").is_some() {
            loop {
                match self.chunk().await {
                    chunk if chunk.is_empty() => break,
                    chunk => body.push_str(&chunk),
                }
            }
        }
        body
    }

    /// Waits for the end of the connection, whatever comes before.
    pub(crate) async fn ends(&mut self) {
        while self.fill().await {}
    }

    /// Whether the server has closed the connection, and sent nothing more.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && !self.fill().await
    }
}
