//! A client of HTTP/1.1 that knows as little as possible, so that it can send what no client would.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Far more than anything here takes: only what hangs gets that far.
const LONG: Duration = Duration::from_secs(20);

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.expect("it hangs")
}

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
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
        Client { stream: TcpStream::connect(("127.0.0.1", port)).await.unwrap(), buffer: Vec::new() }
    }

    pub(crate) async fn send(&mut self, text: &str) {
        // The server may refuse, and close, before it has everything.
        let _ = self.stream.write_all(text.as_bytes()).await;
    }

    /// Sends a POST as most clients would.
    pub(crate) async fn post(&mut self, headers: &str, body: &str) {
        let length = body.len();
        self.send(&format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
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
        within(self.stream.read_buf(&mut self.buffer)).await.is_ok_and(|count| count > 0)
    }

    /// Everything up to `end`, and past it. What there is, if the connection ends first.
    async fn until(&mut self, end: &str) -> String {
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

    async fn exactly(&mut self, count: usize) -> String {
        while self.buffer.len() < count && self.fill().await {}
        let rest = self.buffer.split_off(count.min(self.buffer.len()));
        String::from_utf8_lossy(&std::mem::replace(&mut self.buffer, rest)).into_owned()
    }

    /// One chunk of a chunked body. Empty at its end.
    pub(crate) async fn chunk(&mut self) -> String {
        let size = self.until("\r\n").await;
        let chunk = self.exactly(usize::from_str_radix(&size, 16).unwrap_or_default()).await;
        self.exactly(2).await;
        chunk
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

    /// Whether the server has closed the connection, and sent nothing more.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && !self.fill().await
    }
}
