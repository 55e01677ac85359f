//! A server that plays a script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// Far more than anything here takes: only what hangs gets that far.
const LONG: Duration = Duration::from_secs(20);

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.expect("it hangs")
}

/// What to do with one request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends this and goes on with the connection.
    Send(Vec<u8>),
    /// Sends this and closes.
    Last(Vec<u8>),
    /// Sends this and then nothing, but keeps the connection.
    Hold(Vec<u8>),
    /// Sends the first, and then the second again and again.
    Flood(Vec<u8>, Vec<u8>),
    /// Sends the first, and then a byte of the second now and then, without end.
    Trickle(Vec<u8>, u8),
}

/// One request, as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: String,
    pub(crate) connection: usize,
}

impl Seen {
    /// The value of a header, or nothing.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn method(&self) -> &str {
        self.head.split(' ').next().unwrap()
    }
}

/// A server, the requests that it saw, and what it does.
#[derive(Clone)]
pub(crate) struct Script {
    pub(crate) address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    closed: Arc<Mutex<Vec<usize>>>,
    changed: Arc<Notify>,
}

type Play = Arc<dyn Fn(&Seen) -> Act + Send + Sync>;

impl Script {
    /// Does one thing after the other, whichever requests come; after the last, 500.
    pub(crate) async fn play(acts: impl IntoIterator<Item = Act>) -> Script {
        let acts = Mutex::new(acts.into_iter().collect::<VecDeque<_>>());
        Script::answer(move |_| {
            acts.lock().unwrap().pop_front().unwrap_or_else(|| status("500 Internal Server Error", ""))
        })
        .await
    }

    /// Does what the function says for a request.
    pub(crate) async fn answer(play: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Script {
        Script::over(play, |stream| async move { Some(stream) }).await
    }

    /// The same, with something around each connection.
    pub(crate) async fn over<S, F>(
        play: impl Fn(&Seen) -> Act + Send + Sync + 'static,
        wrap: impl Fn(tokio::net::TcpStream) -> F + Send + Sync + 'static,
    ) -> Script
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
        F: Future<Output = Option<S>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let script = Script {
            address: listener.local_addr().unwrap().to_string(),
            seen: Arc::default(),
            closed: Arc::default(),
            changed: Arc::default(),
        };
        let this = script.clone();
        let play: Play = Arc::new(play);
        tokio::spawn(async move {
            for connection in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                let (this, play, stream) = (this.clone(), Arc::clone(&play), wrap(stream));
                tokio::spawn(async move {
                    if let Some(stream) = stream.await {
                        this.serve(stream, &*play, connection).await;
                    }
                    this.closed.lock().unwrap().push(connection);
                    this.changed.notify_waiters();
                });
            }
        });
        script
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/rpc", self.address)
    }

    /// Waits for so many requests, and returns all that came.
    pub(crate) async fn seen(&self, count: usize) -> Vec<Seen> {
        self.until(|| {
            let seen = self.seen.lock().unwrap();
            (seen.len() >= count).then(|| seen.clone())
        })
        .await
    }

    /// Waits until a connection is closed from the other side.
    pub(crate) async fn closed(&self, connection: usize) {
        self.until(|| self.closed.lock().unwrap().contains(&connection).then_some(())).await;
    }

    async fn until<T>(&self, holds: impl Fn() -> Option<T>) -> T {
        within(async {
            loop {
                let changed = self.changed.notified();
                let mut changed = std::pin::pin!(changed);
                changed.as_mut().enable();
                if let Some(found) = holds() {
                    return found;
                }
                changed.await;
            }
        })
        .await
    }

    async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        mut stream: S,
        play: &(dyn Fn(&Seen) -> Act + Send + Sync),
        connection: usize,
    ) {
        let mut unread = Vec::new();
        while let Some((head, body)) = request(&mut stream, &mut unread).await {
            let seen = Seen { head, body, connection };
            self.seen.lock().unwrap().push(seen.clone());
            self.changed.notify_waiters();
            match play(&seen) {
                Act::Send(bytes) => stream.write_all(&bytes).await.unwrap(),
                Act::Last(bytes) => return drop(stream.write_all(&bytes).await),
                Act::Hold(bytes) => {
                    let _ = stream.write_all(&bytes).await;
                    let _ = stream.flush().await;
                    while stream.read(&mut [0; 1024]).await.is_ok_and(|count| count > 0) {}
                    return;
                }
                Act::Flood(first, again) => {
                    let _ = stream.write_all(&first).await;
                    while stream.write_all(&again).await.is_ok() {}
                }
                Act::Trickle(first, byte) => {
                    let _ = stream.write_all(&first).await;
                    while stream.write_all(&[byte]).await.is_ok() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                }
            }
            let _ = stream.flush().await;
        }
    }
}

/// The head and the body of a request.
async fn request(stream: &mut (impl AsyncRead + Unpin), unread: &mut Vec<u8>) -> Option<(String, String)> {
    let end = loop {
        if let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(unread).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(unread[..end].to_vec()).unwrap();
    let lower = head.to_ascii_lowercase();
    let length = lower
        .split("content-length: ")
        .nth(1)
        .map_or(0, |rest| rest.split("\r\n").next().unwrap().parse::<usize>().unwrap());
    while unread.len() < end + length {
        if stream.read_buf(unread).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8(unread[end..end + length].to_vec()).unwrap();
    unread.drain(..end + length);
    Some((head, body))
}

/// An answer with a status, some headers, and a body of known length.
pub(crate) fn full(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

pub(crate) fn status(status: &str, headers: &str) -> Act {
    Act::Send(full(status, headers, ""))
}

pub(crate) fn json(body: &str) -> Act {
    Act::Send(full("200 OK", "content-type: application/json\r\n", body))
}

/// The head of a stream of events, and its first events. It ends with the connection.
pub(crate) fn events(headers: &str, events: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{headers}\r\n{events}").into_bytes()
}

/// The answer `3` to the call in a request.
pub(crate) fn three(seen: &Seen) -> String {
    let id = seen.body.split("\"id\":").nth(1).unwrap().split([',', '}']).next().unwrap();
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":3}}")
}
