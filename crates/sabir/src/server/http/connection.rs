//! Connections of HTTP, handed to hyper and watched over.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use crate::peer::commands::lock;
use crate::server::acceptor::{Door, Hall, Protocols, Visitor};
use crate::server::budget::MemoryBudget;
use crate::server::deadline_timer::Leash;
use crate::server::detect::Speech;
#[cfg(feature = "tls")]
use crate::server::http::caller::PeerCertificates;
use crate::server::http::caller::Whence;
use crate::server::http::fast::connection::{Left, Posts};
use crate::server::http::idle_monitor::{BusyBody, Patience, Watch, Watched};
use crate::server::http::{
    Body, Bound, ConnectionBudget, HeadWatch, HttpService, Smuggled, Speaks, Stay, Stop, Streaming,
};
use crate::server::limiter::Place;
use crate::server::lingering_close::Linger;
use crate::server::prefixed::Prefixed;
use crate::transport::Duplex;

/// The most that the head of a request may have.
const HEAD_BYTES: usize = 32 * 1024;

/// How long a client that is idle may take to hear that the connection ends.
const GOODBYE: Duration = Duration::from_secs(1);

/// What is read at once, of a body too.
const BUFFER: usize = 64 * 1024;

impl Door {
    /// The service behind the door, if HTTP is spoken there.
    pub(crate) fn http_service(&self, memory: &Arc<MemoryBudget>) -> Option<HttpService> {
        let Protocols { http, websocket, .. } = self.protocols;
        if !http && !websocket {
            return None;
        }
        let mut settings = self.http.clone().path(self.path.clone());
        settings.speaks = Speaks { http, websocket };
        settings.name_host(self.host.as_deref());
        let bound = if self.local { Bound::Loopback } else { Bound::Open };
        let stop = Stop::new(self.stop.clone(), self.grace);
        let memory = Arc::clone(memory);
        Some(HttpService::bound(Arc::clone(&self.routes), settings, self.config, bound, stop, memory))
    }
}

impl Hall {
    /// How long a peer may take nothing of what is to be sent.
    pub(crate) fn stall(&self) -> Duration {
        self.config.limits.stall.unwrap_or(self.connections.idle)
    }

    /// Serves a connection of HTTP of which something was read already.
    pub(crate) async fn serve_http<S: Duplex + 'static>(
        &self,
        speech: Speech,
        first: Vec<u8>,
        stream: S,
        visitor: Visitor,
        leash: Leash,
    ) {
        let Some(service) = &self.http else { return };
        let Visitor { place, address, .. } = visitor;
        let whence = Whence {
            address,
            #[cfg(feature = "tls")]
            certificates: visitor.certificates.map(PeerCertificates).map(Arc::new),
        };
        let budget = self.memory.child(self.connection_bytes);
        let left = if speech == Speech::Http1 && service.takes_plain() {
            let mut posts =
                Posts::new(self, service, (first, stream), whence.clone(), leash, Arc::clone(&budget));
            let end = poll_fn(|cx| posts.poll(cx)).await;
            match posts.left(end) {
                Some(left) => left,
                None => return,
            }
        } else {
            Left { read: first, stream, begun: None }
        };
        let stream = Prefixed::new(left.read, left.stream);
        let answers = Answers {
            service: service.clone(),
            begun: Arc::new(Mutex::new(left.begun)),
            whence,
            place,
            watch: Watch::new(speech == Speech::Http2),
            smuggled: Smuggled::default(),
            budget: ConnectionBudget(budget),
        };
        // This future is large, and only those who need it are to have it.
        Box::pin(self.serve_by_hyper(speech, stream, answers)).await;
    }

    async fn serve_by_hyper<S: Duplex + 'static>(&self, speech: Speech, stream: S, answers: Answers) {
        let patience =
            Patience { head: self.connections.head, idle: self.connections.idle, stall: self.stall() };
        let watch = Arc::clone(&answers.watch);
        let heads = HeadWatch::new(answers.smuggled.clone());
        let linger = Linger::default();
        let io = TokioIo::new(Watched { stream, watch: Arc::clone(&watch), heads, linger });
        let answer = service_fn(move |request| {
            let answers = answers.clone();
            async move { Ok::<_, Infallible>(answers.answer(request).await) }
        });
        let mut stop = self.stop.clone();
        let stopped = async { drop(stop.wait_for(|stop| *stop).await) };
        // The two kinds of connection share no trait, only what is done with them.
        macro_rules! run {
            ($connection:expr) => {{
                let mut connection = pin!($connection);
                let mut over = pin!(watch.over(patience));
                tokio::select! {
                    _ = connection.as_mut() => return,
                    () = &mut over => {
                        // An idle client is told, so that it sends no request that nobody will read.
                        if watch.is_idle() {
                            connection.as_mut().graceful_shutdown();
                            let _ = tokio::time::timeout(GOODBYE, connection).await;
                        }
                        return;
                    }
                    () = stopped => connection.as_mut().graceful_shutdown(),
                }
                // What is open may finish, and then a little longer: the service answers what it has given up.
                let _ = tokio::time::timeout(self.grace + self.grace, connection).await;
            }};
        }
        match speech {
            Speech::Http2 => run!({
                hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .timer(TokioTimer::new())
                    .max_concurrent_streams(self.connections.streams)
                    .max_header_list_size(HEAD_BYTES as u32)
                    .serve_connection(io, answer)
            }),
            _ => run!({
                hyper::server::conn::http1::Builder::new()
                    .max_buf_size(BUFFER)
                    .max_header_size(HEAD_BYTES)
                    .header_read_timeout(None)
                    .serve_connection(io, answer)
                    .with_upgrades()
            }),
        }
    }
}

#[derive(Clone)]
struct Answers {
    service: HttpService,
    /// The answer to the first request, if that has begun.
    begun: Arc<Mutex<Option<Streaming>>>,
    whence: Whence,
    place: Arc<Place>,
    watch: Arc<Watch>,
    smuggled: Smuggled,
    budget: ConnectionBudget,
}

impl Answers {
    async fn answer(self, mut request: Request<Incoming>) -> Response<BusyBody<Body>> {
        let busy = self.watch.begin();
        let version = request.version();
        let begun = lock(&self.begun).take();
        if let Some(begun) = begun {
            // It has been read already.
            let _ = request.into_body().collect().await;
            return begun.response.await.map(|body| BusyBody::new(body, busy, version));
        }
        request.extensions_mut().insert(self.smuggled);
        request.extensions_mut().insert(self.budget);
        if request.headers().contains_key(header::UPGRADE) {
            request.extensions_mut().insert(Stay(self.place as _));
        }
        self.whence.tell(request.extensions_mut());
        self.service.handle(request).await.map(|body| BusyBody::new(body, busy, version))
    }
}
