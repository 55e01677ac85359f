//! `--metrics`: serves the metrics to Prometheus.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::metrics::Metrics;
use super::prometheus::{self, Format};

/// Scrapes at the same time. Others wait to be accepted.
const CONNECTIONS: usize = 16;

/// How long one may take, and how long a connection may be silent.
const LONGEST: Duration = Duration::from_secs(10);

/// How long to wait when no connection can be accepted.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn serve(listener: TcpListener, metrics: Arc<Metrics>) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let metrics = Arc::clone(&metrics);
        tokio::spawn(async move {
            let answer =
                service_fn(|request| std::future::ready(Ok::<_, Infallible>(answer(&metrics, &request))));
            let serving = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(LONGEST)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), answer);
            let _ = tokio::time::timeout(LONGEST, serving).await;
            drop(permit);
        });
    }
}

fn answer(metrics: &Metrics, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
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
