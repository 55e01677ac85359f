//! HTTP: requests and responses are passed on as they come, piece by piece. Only what belongs to a connection is changed:
//! `Host`, and the headers that are for one hop. Nothing is compressed, so that the copy can be read.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    SEC_WEBSOCKET_EXTENSIONS, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use sabir_model::capture::{Direction, Event};
use tokio::task::JoinHandle;

use super::ending::Ending;
use super::flushes::{Counted, Flushes};
use super::head;
use super::login::{Login, names_this_machine};
use super::send::Sends;
use super::socket::{End, Socket};
use super::{Listen, relay};
use crate::exit::Failure;
use crate::tap::queue::{Channel, Queue, Stream};
use crate::target::Address;
use crate::web::Web;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// How long a connection may be without a request: longer than servers wait, so that theirs is the decision.
const IDLE: Duration = Duration::from_secs(300);

/// Sessions whose connections are known to belong together.
const SESSIONS: usize = 4096;

/// Headers that are for one hop, besides those that `Connection` names.
const HOP: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("proxy-authenticate"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// What all connections use.
pub(super) struct Proxy {
    pub(super) target: Address,
    /// The path that stands for the target's.
    pub(super) path: String,
    host: HeaderValue,
    /// Only this machine can reach the tap, by no name but its own.
    is_local: bool,
    headers: HeaderMap,
    web: Web,
    queue: Arc<Queue>,
    exchanges: AtomicU64,
    /// The connection that a session began on: in the record it stays that.
    sessions: Mutex<HashMap<HeaderValue, u64>>,
    sends: Option<Arc<Sends>>,
    login: Option<Arc<Login>>,
    ending: Arc<Ending>,
    idle: Duration,
}

type Sent = Either<Copied, Full<Bytes>>;

/// One connection of a client, and the one to the target that goes with it.
struct Pair {
    proxy: Arc<Proxy>,
    connection: u64,
    client: Carrier,
    upstream: tokio::sync::Mutex<Option<Upstream>>,
    /// What carries it on as a WebSocket.
    upgraded: Mutex<Option<JoinHandle<()>>>,
}

/// What a connection of HTTP is carried by.
#[derive(Clone, Default)]
struct Carrier {
    flushes: Arc<Flushes>,
    socket: Option<Socket>,
    /// What was passed on to it was reset, and so is it.
    is_reset: Arc<AtomicBool>,
}

impl Carrier {
    fn of(end: End, is_target: bool) -> (Counted, Self) {
        let carrier = Carrier { socket: end.socket, ..Carrier::default() };
        let flushes = carrier.flushes.clone();
        (Counted { stream: end.stream, flushes, is_target, failed: None }, carrier)
    }

    /// The connection is over.
    async fn end(self) {
        if let Some(socket) = self.socket.filter(|_| self.is_reset.load(Ordering::Relaxed)) {
            socket.reset().await;
        }
    }

    /// What is passed on to it from a body.
    fn copy(&self, body: Incoming, stream: Stream, proxy: &Arc<Proxy>) -> Copied {
        let (to, proxy) = (self.clone(), proxy.clone());
        Copied { body, stream, proxy, flushed: to.flushes.count(), to, failed: None, is_over: false }
    }
}

struct Upstream {
    sender: SendRequest<Copied>,
    carrier: Carrier,
}

impl Proxy {
    pub(super) fn new(listen: &Listen, queue: Arc<Queue>) -> Result<Arc<Self>, Failure> {
        let mut headers = HeaderMap::new();
        for (name, value) in listen.web.headers() {
            let invalid = || Failure::usage(format_args!("`{name}` or its value is not valid in a header"));
            let value = value.parse().map_err(|_| invalid())?;
            headers.insert(name.parse::<HeaderName>().map_err(|_| invalid())?, value);
        }
        let host = HeaderValue::from_str(listen.target.authority());
        Ok(Arc::new(Proxy {
            target: listen.target.clone(),
            path: listen.at.url.path().to_owned(),
            is_local: is_local(listen.at.url.host()),
            host: host.map_err(|_| Failure::usage("the target's host is not valid in a header"))?,
            headers,
            web: listen.web.clone(),
            queue,
            exchanges: AtomicU64::new(1),
            sessions: Mutex::default(),
            sends: listen.sends.clone(),
            login: listen.login.clone(),
            ending: listen.ending.clone(),
            idle: IDLE,
        }))
    }

    /// The head of a request as its client has sent it, with the path that the target sees.
    fn head(&self, request: &Request<Incoming>) -> String {
        let path = target_path(request.uri(), &self.path, self.target.path());
        let path = path.split('?').next().unwrap_or_default();
        head::request(request.method(), path, request.headers())
    }

    /// A client has not waited for this answer, unless the tap ends, which leaves nobody who could wait.
    fn gave_up(&self, answer: Stream) {
        if !self.ending.has_begun() {
            self.queue.gave_up(answer);
        }
    }

    /// The connection that a message belongs to: that of its session, if it has one.
    fn connection(&self, headers: &HeaderMap, own: u64) -> u64 {
        let Some(session) = headers.get(SESSION) else { return own };
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = sessions.get(session) {
            return *connection;
        }
        if sessions.len() >= SESSIONS {
            sessions.clear();
        }
        sessions.insert(session.clone(), own);
        own
    }
}

/// Serves a connection until it ends, also as a WebSocket.
pub(super) async fn serve(client: End, connection: u64, proxy: Arc<Proxy>) {
    let idle = proxy.idle;
    let (upstream, upgraded) = (tokio::sync::Mutex::new(None), Mutex::new(None));
    let (stream, client) = Carrier::of(client, false);
    let pair = Arc::new(Pair { proxy, connection, client: client.clone(), upstream, upgraded });
    let service = service_fn(|request| {
        let pair = pair.clone();
        async move { Ok::<_, Infallible>(pair.forward(request).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        // A response without a date stays without one.
        .auto_date_header(false)
        .preserve_header_case(true)
        .half_close(true)
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let ending = pair.proxy.ending.clone();
    tokio::select! {
        _ = served => {}
        () = ending.wait() => {}
    }
    let upgraded = pair.upgraded.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(upgraded) = upgraded {
        let _ = upgraded.await;
    }
    client.end().await;
}

impl Pair {
    async fn forward(&self, mut request: Request<Incoming>) -> Response<Sent> {
        let proxy = &self.proxy;
        let line = format!("{} {}", request.method(), request.uri().path());
        let records = proxy.queue.is_needed();
        let is_upgrade =
            request.headers().get(UPGRADE).is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket"));
        let exchange = proxy.exchanges.fetch_add(1, Ordering::Relaxed);
        let connection = proxy.connection(request.headers(), self.connection);
        if let Some(sends) = proxy.sends.as_ref().filter(|_| request.method() == Method::POST) {
            sends.remember(connection, request.headers());
        }
        let client = is_upgrade.then(|| hyper::upgrade::on(&mut request));
        let stream = Stream { connection, direction: Direction::ToServer, channel: Channel::Body, exchange };
        let head = (records && !is_upgrade).then(|| proxy.head(&request));
        let answer = stream.answer(connection, Channel::Body);
        let mut waiting = Waiting { proxy, answer, is_over: false };
        let sent = self.send(request, stream, head, is_upgrade).await;
        waiting.is_over = true;
        let (mut response, upstream) = match sent {
            Ok(sent) => sent,
            Err(error) => {
                let text = format!("502 Bad Gateway {line}\ncannot reach the target: {error}");
                proxy.queue.head(answer, text, true);
                proxy.queue.end(answer);
                let mut response =
                    Response::new(Either::Right(Full::from(format!("cannot reach the target: {error}\n"))));
                *response.status_mut() = StatusCode::BAD_GATEWAY;
                return response;
            }
        };
        let connection = proxy.connection(response.headers(), connection);
        let status = response.status();
        if let (StatusCode::SWITCHING_PROTOCOLS, Some(client)) = (status, client) {
            let server = hyper::upgrade::on(&mut response);
            let (queue, of) = (proxy.queue.clone(), relay::frames(connection, exchange));
            queue.event(connection, Event::Open, line);
            let (sends, ending) = (proxy.sends.clone(), proxy.ending.clone());
            let sockets = (self.client.socket.clone(), upstream.socket);
            let upgraded = tokio::spawn(async move {
                let how = match tokio::try_join!(client, server) {
                    Ok((client, server)) => {
                        let client =
                            End { stream: Box::pin(TokioIo::new(client)), socket: sockets.0, ending: None };
                        let server =
                            End { stream: Box::pin(TokioIo::new(server)), socket: sockets.1, ending: None };
                        let both = relay::both(client, server, of, &queue, sends.as_deref());
                        ending.unless(both, of, &queue).await
                    }
                    Err(error) => Err(io::Error::other(error)),
                };
                queue.event(
                    connection,
                    Event::Close,
                    how.err().map_or(String::new(), |error| error.to_string()),
                );
            });
            *self.upgraded.lock().unwrap_or_else(PoisonError::into_inner) = Some(upgraded);
            return response.map(|_| Either::Right(Full::default()));
        }
        let kind = response.headers().get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
        let channel = match kind.get(..17).is_some_and(|kind| kind.eq_ignore_ascii_case(b"text/event-stream"))
        {
            true => Channel::Events,
            false => Channel::Body,
        };
        let stream = stream.answer(connection, channel);
        if records {
            let is_row = status != StatusCode::OK || response.body().size_hint().exact() == Some(0);
            proxy.queue.head(stream, head::response(&line, status, response.headers()), is_row);
        }
        strip(response.headers_mut());
        response.map(|body| Either::Left(self.client.copy(body, stream, proxy)))
    }

    /// Sends a request to the target, and waits for the head of its response.
    async fn send(
        &self,
        mut request: Request<Incoming>,
        stream: Stream,
        head: Option<String>,
        is_upgrade: bool,
    ) -> Result<(Response<Incoming>, Carrier), Box<dyn std::error::Error + Send + Sync>> {
        let proxy = &self.proxy;
        let uri = request.uri();
        let login = proxy.login.as_ref().filter(|_| uri.path() == proxy.path && !is_upgrade);
        *request.uri_mut() = target_path(uri, &proxy.path, proxy.target.path()).parse::<Uri>()?;
        if let Some(login) = login {
            let method = request.method().clone();
            login.authorize(&method, request.headers_mut()).await?;
        }
        let headers = request.headers_mut();
        let upgrade = headers.get(UPGRADE).cloned().filter(|_| is_upgrade);
        strip(headers);
        // Under another name it may be a page of a stranger, whose name leads here: that is for the target to judge.
        if !proxy.is_local || names_this_machine(headers) {
            headers.insert(HOST, proxy.host.clone());
        }
        headers.remove(ACCEPT_ENCODING);
        headers.remove(SEC_WEBSOCKET_EXTENSIONS);
        proxy.headers.iter().for_each(|(name, value)| drop(headers.insert(name, value.clone())));
        if let Some(upgrade) = upgrade {
            headers.insert(UPGRADE, upgrade);
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        }
        let mut upstream = self.upstream.lock().await;
        let mut held = upstream.take();
        if let Some(target) = &mut held
            && target.sender.ready().await.is_err()
        {
            held = None;
        }
        let mut target = match held {
            Some(target) => target,
            None => {
                let (stream, carrier) = Carrier::of(End::dial(&proxy.target, &proxy.web).await?, true);
                let (sender, connection) = handshake(TokioIo::new(stream)).await?;
                let ending = carrier.clone();
                tokio::spawn(async move {
                    let _ = connection.with_upgrades().await;
                    ending.end().await;
                });
                Upstream { sender, carrier }
            }
        };
        let sent = login.map(|_| request.headers().clone());
        if let Some(head) = head {
            proxy.queue.head(stream, head, false);
        }
        let request = request.map(|body| target.carrier.copy(body, stream, proxy));
        let response = target.sender.send_request(request).await?;
        if let (Some(login), Some(sent)) = (login, sent) {
            login.answered(&sent, response.status(), response.headers()).await;
        }
        let carrier = target.carrier.clone();
        *upstream = Some(target);
        Ok((response, carrier))
    }
}

/// A body that is passed on, with a copy of it for the record.
struct Copied {
    body: Incoming,
    stream: Stream,
    proxy: Arc<Proxy>,
    /// Where it is passed on to.
    to: Carrier,
    /// How often that was flushed when the last of it was passed on.
    flushed: u64,
    /// Why there is no more of it, once all before is written.
    failed: Option<hyper::Error>,
    /// All of it was passed on, or it broke.
    is_over: bool,
}

/// A client that waits for an answer. Dropped before that has begun, it has gone away.
struct Waiting<'p> {
    proxy: &'p Proxy,
    answer: Stream,
    is_over: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.proxy.gave_up(self.answer);
            self.proxy.queue.end(self.answer);
        }
    }
}

impl Body for Copied {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.failed.is_none() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Err(error)) => {
                    self.to.is_reset.fetch_or(is_reset(&error), Ordering::Relaxed);
                    (self.failed, self.is_over) = (Some(error), true);
                }
                frame => {
                    self.is_over = frame.is_none();
                    if let Some(Ok(frame)) = &frame {
                        self.flushed = self.to.flushes.count();
                        if let Some(data) = frame.data_ref() {
                            self.proxy.queue.push_copy(self.proxy.queue.ticket(), self.stream, data);
                        }
                    }
                    return Poll::Ready(frame);
                }
            }
        }
        ready!(self.to.flushes.poll_more(self.flushed, cx));
        Poll::Ready(self.failed.take().map(Err))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn is_reset(error: &hyper::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::ConnectionReset)
}

/// However it ends.
impl Drop for Copied {
    fn drop(&mut self) {
        let is_whole = self.is_over || self.body.is_end_stream();
        if self.stream.direction == Direction::ToClient && !is_whole {
            self.proxy.gave_up(self.stream);
        }
        self.proxy.queue.end(self.stream);
    }
}

/// The path to ask the target for: its own in the place of the tap's, with what is asked besides.
fn target_path(asked: &Uri, own: &str, target: &str) -> String {
    match asked.query() {
        _ if asked.path() != own => asked.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        None => target.to_owned(),
        Some(query) => format!("{target}{}{query}", if target.contains('?') { '&' } else { '?' }),
    }
}

/// Whether a listener at this host is for this machine alone.
fn is_local(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || bare.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Takes out what is for one hop. A length beside the chunks is not that of the body.
fn strip(headers: &mut HeaderMap) {
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    named.iter().chain(&HOP).for_each(|name| drop(headers.remove(name)));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_connection_without_a_request_is_closed() {
        let target = crate::target::Target::parse("http://127.0.0.1:1/").ok().unwrap();
        let listen = Listen::new("http://127.0.0.1:0/", target.into(), None, Web::default()).ok().unwrap();
        let mut proxy = Proxy::new(&listen, Arc::new(Queue::new(std::time::Instant::now()))).ok().unwrap();
        Arc::get_mut(&mut proxy).unwrap().idle = Duration::from_millis(20);
        let request = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
        for said in ["", "GET / HTTP/1.1\r\nhost: x\r\n", request] {
            let (mut near, far) = tokio::io::duplex(4096);
            let serving = tokio::spawn(serve(End::other(Box::pin(far)), 1, proxy.clone()));
            near.write_all(said.as_bytes()).await.unwrap();
            let mut came = String::new();
            near.read_to_string(&mut came).await.unwrap();
            // Nobody listens at the target; what was asked is answered all the same.
            assert_eq!(came.starts_with("HTTP/1.1 502 "), said == request, "{came}");
            serving.await.unwrap();
        }
    }

    #[test]
    fn the_path_of_the_target_takes_the_place_of_the_taps() {
        for (asked, target, want) in [
            ("/mcp", "/real/mcp", "/real/mcp"),
            ("/mcp?x=1", "/real/mcp", "/real/mcp?x=1"),
            ("/mcp?x=1", "/real?key=2", "/real?key=2&x=1"),
            ("/other?x=1", "/real", "/other?x=1"),
        ] {
            assert_eq!(target_path(&asked.parse().unwrap(), "/mcp", target), want);
        }
    }
}
