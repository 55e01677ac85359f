//! Sends messages of the page over HTTP, through the tap itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::tap::inject::with_own_id;
use crate::view::{Sender, Sent};

/// Bytes of an answer, and how long it is waited for.
const LONGEST: usize = 64 << 20;
const PATIENCE: Duration = Duration::from_secs(30);

/// `at` is where the tap listens.
pub(super) fn over_http(at: Arc<OnceLock<String>>) -> Sender {
    let next = Arc::new(AtomicU64::new(1));
    Arc::new(move |_, text| {
        let (at, number) = (at.clone(), next.fetch_add(1, Ordering::Relaxed));
        Box::pin(async move {
            let start = Instant::now();
            let (message, id) = with_own_id(&text, number)?;
            let at = at.get().ok_or("the tap does not listen yet")?;
            let answer = tokio::time::timeout(PATIENCE, post(at, message)).await;
            let answer = answer.map_err(|_| format!("there was no answer in {} s", PATIENCE.as_secs()))??;
            Ok(Sent { answer: id.map(|_| answer), took: start.elapsed() })
        })
    })
}

async fn post(at: &str, message: String) -> Result<String, String> {
    let rest = at.strip_prefix("http://").ok_or("the tap does not speak HTTP")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let stream = TcpStream::connect(host).await.map_err(|error| told(&error))?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| told(&error))?;
    tokio::spawn(connection);
    let request = Request::post(format!("/{path}"))
        .header(HOST, host)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(Full::new(Bytes::from(message)))
        .map_err(|error| told(&error))?;
    let response = sender.send_request(request).await.map_err(|error| told(&error))?;
    let (status, is_stream) = (
        response.status(),
        response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")),
    );
    let body = Limited::new(response.into_body(), LONGEST).collect().await.map_err(|error| told(&error))?;
    let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    if !status.is_success() {
        return Err(format!("HTTP {status}: {}", text.chars().take(200).collect::<String>()));
    }
    // Of a stream, the last event is the answer.
    let last = text.lines().rev().find_map(|line| line.strip_prefix("data:")).filter(|_| is_stream);
    Ok(last.map_or(text.clone(), |last| last.trim().to_owned()))
}
