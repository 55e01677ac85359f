//! `--metrics`: serves the metrics to Prometheus.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HOST};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::metrics::Metrics;
use super::prometheus::{self, Format};
use crate::loopback::is_here;

/// Scrapes at the same time. One more ends the oldest: a scrape takes milliseconds, so that one only keeps a place.
const CONNECTIONS: usize = 16;

/// How long one may take, and how long a connection may be silent.
const LONGEST: Duration = Duration::from_secs(10);

/// How long to wait when no connection can be accepted.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn serve(listener: TcpListener, metrics: Arc<Metrics>) {
    // A page that a browser shows must not read what is served to this machine alone.
    let only_here = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        open.retain(|task| !task.is_finished());
        if open.len() >= CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        let metrics = Arc::clone(&metrics);
        let task = tokio::spawn(async move {
            let answer = service_fn(|request| {
                std::future::ready(Ok::<_, Infallible>(answer(&metrics, &request, only_here)))
            });
            let serving = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(LONGEST)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), answer);
            let _ = tokio::time::timeout(LONGEST, serving).await;
        });
        open.push_back(task.abort_handle());
    }
}

fn answer(metrics: &Metrics, request: &Request<Incoming>, only_here: bool) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    if only_here && !host.is_none_or(|host| is_here(host, None)) {
        *response.status_mut() = StatusCode::FORBIDDEN;
        *response.body_mut() = Full::from("metrics of a loopback address are served to this machine alone\n");
        return response;
    }
    if request.uri().path() != "/metrics" {
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        response.headers_mut().insert(ALLOW, hyper::header::HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let format = Format::accepted(accept);
    let content_type = hyper::header::HeaderValue::from_static(format.content_type());
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    *response.body_mut() = Full::from(prometheus::text(metrics, format));
    response
}
