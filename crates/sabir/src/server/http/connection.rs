//! Connections of HTTP, handed to hyper and watched over.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use crate::runtime::turn::next_turn;
use crate::server::acceptor::{PeerInfo, Protocols, ServerConfig, ServerState};
use crate::server::budget::MemoryBudget;
use crate::server::deadline_timer::DeadlineTimer;
use crate::server::detect::Protocol;
use crate::server::http::fast::FirstRequest;
use crate::server::http::fast::connection::{FastConnection, HandOver};
use crate::server::http::idle_monitor::{ActivityMonitor, BusyBody, Timeouts, Watched};
use crate::server::http::peer_address::PeerAddress;
#[cfg(feature = "tls")]
use crate::server::http::peer_address::PeerCertificates;
use crate::server::http::service::Refused;
use crate::server::http::{
    Body, Bound, ConflictingLength, ConnectionBudget, ConnectionGuard, HeadWatch, HttpService, Speaks, Stop,
};
use crate::server::limiter::ConnectionPermit;
use crate::server::lingering_close::LingeringClose;
use crate::server::prefixed::Prefixed;
use crate::sync::lock;
use crate::transport::Duplex;

/// The most that the head of a request may have.
const HEAD_BYTES: usize = 32 * 1024;

/// How long telling an idle client that the connection ends may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// What is read at once, of a body too.
const BUFFER: usize = 64 * 1024;

impl ServerConfig {
    /// The HTTP service of the server, if it serves HTTP.
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

impl ServerState {
    /// How long each step of a connection of HTTP may take.
    fn timeouts(&self, service: &HttpService) -> Timeouts {
        Timeouts {
            head: self.connections.head,
            idle: self.connections.idle,
            body: service.body_deadline(),
            stall: self.config.limits.stall.unwrap_or(self.connections.idle),
            // What is open may finish, and then a little longer: the service answers what it has given up.
            stop: self.grace + self.grace,
        }
    }

    /// Serves a connection of HTTP of which something was read already.
    pub(crate) async fn serve_http<S: Duplex + 'static>(
        &self,
        protocol: Protocol,
        first: Vec<u8>,
        stream: S,
        peer_info: PeerInfo,
        timer: DeadlineTimer,
    ) {
        let Some(service) = &self.http else { return };
        let PeerInfo { permit, address, .. } = peer_info;
        let peer_address = PeerAddress {
            address,
            #[cfg(feature = "tls")]
            certificates: peer_info.certificates.map(PeerCertificates).map(Arc::new),
        };
        let budget = self.memory.child(self.connection_bytes);
        let timeouts = self.timeouts(service);
        let hand_over = if protocol == Protocol::Http1 && service.has_fast_path() {
            let (read, peer_address, budget) = ((first, stream), peer_address.clone(), Arc::clone(&budget));
            let mut connection = FastConnection::new(service, read, peer_address, budget, timeouts, timer);
            poll_fn(|cx| connection.poll(cx)).await;
            let Some(hand_over) = connection.into_hand_over() else { return };
            hand_over
        } else {
            HandOver { read: first, stream, first: None }
        };
        let stream = Prefixed::new(hand_over.read, hand_over.stream);
        let answers = Answers {
            service: service.clone(),
            first: Arc::new(Mutex::new(hand_over.first)),
            peer_address,
            monitor: ActivityMonitor::new(protocol == Protocol::Http2, Arc::clone(&permit.activity)),
            conflicting: ConflictingLength::default(),
            budget: ConnectionBudget(budget),
            permit,
        };
        // This future is large, and only those who need it are to have it.
        Box::pin(self.serve_by_hyper(protocol, stream, answers, timeouts)).await;
    }

    async fn serve_by_hyper<S: Duplex + 'static>(
        &self,
        protocol: Protocol,
        stream: S,
        answers: Answers,
        timeouts: Timeouts,
    ) {
        let monitor = Arc::clone(&answers.monitor);
        let permit = Arc::clone(&answers.permit);
        let heads = HeadWatch::new(answers.conflicting.clone());
        let linger = LingeringClose::default();
        let io = TokioIo::new(Watched { stream, monitor: Arc::clone(&monitor), heads, linger, ended: false });
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
                let mut wait_until_expired = pin!(monitor.wait_until_expired(timeouts));
                tokio::select! {
                    () = poll_fn(|cx| {
                        monitor.begin_turn();
                        connection.as_mut().poll(cx).map(drop)
                    }) => return,
                    () = &mut wait_until_expired => {
                        // An idle client is told, so that it sends no request that nobody will read.
                        if monitor.is_idle() {
                            connection.as_mut().graceful_shutdown();
                            let _ = tokio::time::timeout(CLOSE_TIMEOUT, connection).await;
                        }
                        return;
                    }
                    () = permit.activity.evicted() => {
                        connection.as_mut().graceful_shutdown();
                        let _ = tokio::time::timeout(CLOSE_TIMEOUT, connection).await;
                        return;
                    }
                    () = stopped => connection.as_mut().graceful_shutdown(),
                }
                let _ = tokio::time::timeout(timeouts.stop, connection).await;
            }};
        }
        match protocol {
            Protocol::Http2 => run!({
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
    /// What is known of the first request.
    first: Arc<Mutex<Option<FirstRequest>>>,
    peer_address: PeerAddress,
    permit: Arc<ConnectionPermit>,
    monitor: Arc<ActivityMonitor>,
    conflicting: ConflictingLength,
    budget: ConnectionBudget,
}

impl Answers {
    async fn answer(self, mut request: Request<Incoming>) -> Response<BusyBody<Body>> {
        let busy = self.monitor.begin();
        if self.monitor.is_turn_over() {
            next_turn().await;
        }
        let version = request.version();
        let first = lock(&self.first).take();
        match first {
            Some(FirstRequest::Answered(response)) => {
                return response.await.map(|body| BusyBody::new(body, busy, version));
            }
            Some(FirstRequest::Refused(refusal)) => drop(request.extensions_mut().insert(Refused(refusal))),
            None => {}
        }
        request.extensions_mut().insert(self.conflicting);
        request.extensions_mut().insert(self.budget);
        if request.headers().contains_key(header::UPGRADE) {
            request.extensions_mut().insert(ConnectionGuard(self.permit));
        }
        self.peer_address.tell(request.extensions_mut());
        self.service.handle(request).await.map(|body| BusyBody::new(body, busy, version))
    }
}
