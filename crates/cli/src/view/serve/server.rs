//! Serves the page, on a thread of its own: whatever the program does meanwhile.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use super::api::Api;
use super::files::FILES;
use super::guard::{Guard, secure};
use super::strangers::Strangers;
use crate::view::capture::{Captures, Given};
use crate::view::take_over::{self, Will};

pub(super) type Body = BoxBody<Bytes, Infallible>;

/// Bytes of a request that are read, and connections with the token at the same time.
const LONGEST: usize = 4 << 20;
const CONNECTIONS: usize = 64;

/// How long pages may take to hear the end.
const LAST_NEWS: Duration = Duration::from_millis(400);

/// Sends a message on a connection, and gives what is answered.
pub(crate) type Sender = Arc<dyn Fn(u64, String) -> Sending + Send + Sync>;
type Sending = Pin<Box<dyn Future<Output = Result<Sent, String>> + Send>>;

/// A message that was sent, and its answer, if it has one.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) answer: Option<String>,
    pub(crate) took: Duration,
}

/// A page that is being served.
pub(crate) struct Page {
    /// Where to open it. It has the token.
    pub(crate) address: String,
    captures: Arc<Captures>,
    following: Arc<AtomicUsize>,
    port: u16,
    token: String,
}

/// How a page is served.
#[derive(Default)]
pub(in crate::view) struct Served {
    /// 0 is any that is free.
    pub(in crate::view) port: u16,
    /// Another one each time, if there is none.
    pub(in crate::view) token: Option<String>,
    pub(in crate::view) send: Option<Sender>,
    /// The file that somebody wanted a tap to write.
    pub(in crate::view) record: Option<String>,
}

impl Page {
    /// Begins to read and to serve.
    pub(in crate::view) fn serve(given: Given, served: Served) -> io::Result<Page> {
        let Served { port, token, send, record } = served;
        let listener = std::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        listener.set_nonblocking(true)?;
        let at = listener.local_addr()?;
        let captures = Captures::open(given)?;
        let guard = Guard::new(at.port(), token)?;
        let token = guard.token.clone();
        let address = format!("http://{at}/#t={}", guard.token);
        let following = Arc::new(AtomicUsize::new(0));
        let api = Api { captures: captures.clone(), following: following.clone(), send, record };
        let (strangers, known) = (Strangers::default(), AtomicUsize::new(0));
        let site = Arc::new(Site { api, guard, strangers, known });
        // An export is always ready to go on: between two of its parts, the others are asked whether they want something.
        let runtime = tokio::runtime::Builder::new_current_thread().event_interval(1).enable_all().build()?;
        std::thread::Builder::new()
            .name("view".to_owned())
            .spawn(move || runtime.block_on(accept(listener, site)))?;
        Ok(Page { address, captures, following, port: at.port(), token })
    }

    /// Where to open it with a filter in use.
    pub(crate) fn address_for(&self, filter: Option<&str>) -> String {
        let filter: String = filter.into_iter().flat_map(str::bytes).map(written).collect();
        match filter.is_empty() {
            true => self.address.clone(),
            false => format!("{}&filter={filter}", self.address),
        }
    }

    /// Whether somebody looks at it.
    pub(in crate::view) fn is_followed(&self) -> bool {
        self.following.load(Ordering::SeqCst) > 0
    }

    /// The end of a tap, which has recorded to `path`. If somebody looks at the page, another process goes on with it.
    pub(crate) fn leave(self, path: &Path, name: String, is_temporary: bool) {
        let (port, token, path) = (self.port, self.token.clone(), path.to_owned());
        let will = Will { port, token, path, name, is_temporary };
        if self.is_followed() && will.leave().is_ok() {
            self.captures.end();
            return;
        }
        self.finish();
        if is_temporary {
            take_over::remove(&will.path);
        }
    }

    /// Whoever looks at the page gets to see the last rows.
    pub(in crate::view) fn finish(self) {
        let deadline = Instant::now() + LAST_NEWS;
        while self.is_followed() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.captures.end();
    }
}

/// A byte of a value in a fragment.
fn written(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b':' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    }
}

async fn accept(listener: std::net::TcpListener, site: Arc<Site>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let mut number = 0;
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        number += 1;
        let client = Arc::new(Client { number, site: site.clone(), is_known: AtomicBool::new(false) });
        let connection = tokio::spawn(async move {
            let service = service_fn(move |request| {
                let client = client.clone();
                async move { Ok::<_, Infallible>(client.answer(request).await) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(30));
            // A page that goes away in the middle is not an error.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        });
        site.strangers.add(number, connection.abort_handle());
    }
}

struct Site {
    api: Api,
    guard: Guard,
    strangers: Strangers,
    /// Connections with the token.
    known: AtomicUsize,
}

/// Who asks on a connection.
struct Client {
    number: u64,
    site: Arc<Site>,
    /// It has shown the token.
    is_known: AtomicBool,
}

impl Client {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let site = &self.site;
        let path = request.uri().path();
        let mut response = match site.guard.admit(request.method(), path, request.headers()) {
            Err((status, why)) => refused(status, why),
            Ok(()) if site.guard.knows(request.headers()) && !self.has_room() => {
                refused(StatusCode::SERVICE_UNAVAILABLE, "too many connections")
            }
            Ok(()) => site.route(request).await,
        };
        secure(response.headers_mut());
        response
    }

    /// Whether another connection with the token may stay.
    fn has_room(&self) -> bool {
        if self.is_known.load(Ordering::Relaxed) {
            return true;
        }
        if self.site.known.load(Ordering::Relaxed) >= CONNECTIONS {
            return false;
        }
        self.site.known.fetch_add(1, Ordering::Relaxed);
        self.is_known.store(true, Ordering::Relaxed);
        self.site.strangers.know(self.number);
        true
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if self.is_known.load(Ordering::Relaxed) {
            self.site.known.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Site {
    async fn route(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let Some(path) = path.strip_prefix("/api/") else { return file(request.method(), &path) };
        match *request.method() {
            Method::GET => self.api.get(path, request.uri().query().unwrap_or_default()).await,
            Method::POST => {
                let kind = request.headers().get(CONTENT_TYPE);
                if kind.is_none_or(|kind| kind != "application/json") {
                    return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be application/json");
                }
                match Limited::new(request.into_body(), LONGEST).collect().await {
                    Ok(body) => self.api.post(path, &body.to_bytes()).await,
                    Err(_) => refused(StatusCode::PAYLOAD_TOO_LARGE, "the request is too long"),
                }
            }
            _ => refused(StatusCode::METHOD_NOT_ALLOWED, "GET or POST"),
        }
    }
}

fn file(method: &Method, path: &str) -> Response<Body> {
    if method != Method::GET {
        return refused(StatusCode::METHOD_NOT_ALLOWED, "GET");
    }
    match FILES.iter().find(|file| file.path == path) {
        Some(file) => respond(StatusCode::OK, file.kind, Full::new(Bytes::from_static(file.content)).boxed()),
        None => refused(StatusCode::NOT_FOUND, "there is no such page"),
    }
}

pub(super) fn respond(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(super) fn refused(status: StatusCode, why: impl Into<String>) -> Response<Body> {
    respond(status, "text/plain; charset=utf-8", Full::new(Bytes::from(why.into())).boxed())
}
