//! The user's browser, as the authorization code flow needs it: something that opens a URL and learns where the browser was
//! sent back to.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::auth::encoding::{has_state, query_value};

/// Bytes of the head of the browser's request.
const HEAD: usize = 16 * 1024;
/// How long one connection may take to send it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections that are served at once.
const MOST_CALLERS: usize = 128;
/// How long the user may take.
const USER_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Where the browser is sent back to.
const PATH: &str = "/callback";

/// What a [`UserAgent`] returns.
pub type Visit<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;

/// Shows the user a page of the authorization server.
pub trait UserAgent: Send + Sync + 'static {
    /// The URL that the browser will be sent back to. It is asked for before each visit, and registered.
    fn redirect_uri(&self) -> Visit<'_>;
    /// Opens a URL, waits for the user, and returns the URL that the browser was sent back to.
    fn visit<'a>(&'a self, url: &'a str) -> Visit<'a>;
}

/// The user's browser on this machine: a listener at `http://127.0.0.1:PORT/callback` waits for it to come back.
///
/// It listens from the first time that a user has to log in. What opens the URL is a function: it may start a browser, or
/// print the URL for a user who has one elsewhere. The URL comes from a server: never pass it to a shell.
pub struct LoopbackBrowser {
    open: Box<dyn Fn(&str) + Send + Sync>,
    port: u16,
    listener: Mutex<Option<TcpListener>>,
    timeout: Duration,
}

impl LoopbackBrowser {
    /// Opens URLs by a function.
    pub fn new(open: impl Fn(&str) + Send + Sync + 'static) -> Self {
        LoopbackBrowser { open: Box::new(open), port: 0, listener: Mutex::default(), timeout: USER_TIMEOUT }
    }

    /// Listens at this port, for clients that are registered with it. Without it the system chooses one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// How long the user may take. 5 minutes.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    async fn bound(&self) -> Result<String, String> {
        let mut listener = self.listener.lock().await;
        let failed = |error: std::io::Error| format!("cannot listen for the browser to come back: {error}");
        let bound = match listener.as_ref() {
            Some(bound) => bound,
            None => listener.insert(TcpListener::bind(("127.0.0.1", self.port)).await.map_err(failed)?),
        };
        let port = bound.local_addr().map_err(failed)?.port();
        Ok(format!("http://127.0.0.1:{port}{PATH}"))
    }

    async fn wait(&self, url: &str) -> Result<String, String> {
        let here = self.bound().await?;
        let listener = self.listener.lock().await;
        let listener = listener.as_ref().ok_or("nothing listens for the browser")?;
        let state = url.split_once('?').and_then(|(_, query)| query_value(query, "state"));
        (self.open)(url);
        let coming = async {
            // Side by side: browsers open connections that they do not use, and so may strangers.
            let mut callers = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept(), if callers.len() < MOST_CALLERS => {
                        let (stream, _) = accepted.map_err(|error| error.to_string())?;
                        let state = state.clone();
                        callers.spawn(async move { returned(stream, state.as_deref()).await });
                    }
                    Some(came) = callers.join_next() => {
                        if let Ok(Some(query)) = came {
                            return Ok(format!("{here}?{query}"));
                        }
                    }
                }
            }
        };
        timeout(self.timeout, coming)
            .await
            .unwrap_or_else(|_| Err(format!("nobody logged in within {} s", self.timeout.as_secs())))
    }
}

impl UserAgent for LoopbackBrowser {
    fn redirect_uri(&self) -> Visit<'_> {
        Box::pin(self.bound())
    }

    fn visit<'a>(&'a self, url: &'a str) -> Visit<'a> {
        Box::pin(self.wait(url))
    }
}

/// The query that a browser came back with. Others may call, too: without the state of this login they are sent away.
async fn returned(mut stream: TcpStream, state: Option<&str>) -> Option<String> {
    let mut head = Vec::new();
    let reading = async {
        while head.len() < HEAD && !head.windows(4).any(|end| end == b"\r\n\r\n") {
            if stream.read_buf(&mut head).await.ok()? == 0 {
                return None;
            }
        }
        Some(())
    };
    timeout(HEAD_TIMEOUT, reading).await.ok()??;
    let line = std::str::from_utf8(head.split(|byte| *byte == b'\r').next()?).ok()?;
    let target = line.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
    let query = target.and_then(|target| target.strip_prefix(PATH)?.strip_prefix('?')).map(str::to_owned);
    let query = query.filter(|query| state.is_some_and(|state| has_state(query, state)));
    let (status, text) = match &query {
        Some(query) if query_value(query, "error").is_some() => {
            ("200 OK", "The login failed. You can close this page.")
        }
        // Whether it is good shows when the code is exchanged: the program says so.
        Some(_) => ("200 OK", "You can close this page, and go back to the program."),
        None => ("404 Not Found", "There is nothing here."),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>{text}</title><p>{text}");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'\r\n\r\n{page}",
        page.len()
    );
    let _ = timeout(HEAD_TIMEOUT, stream.write_all(answer.as_bytes())).await;
    let _ = stream.shutdown().await;
    query
}

impl fmt::Debug for LoopbackBrowser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopbackBrowser").field("port", &self.port).finish_non_exhaustive()
    }
}
