//! Sends what waits in the queue to the collector, in a thread of its own: requests of OTLP over HTTP, in JSON.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use sabir::internal::lock;
use tokio::time::{Instant, timeout};

use super::metrics::{Labels, Metric, Metrics};
use super::otlp;
use super::queue::Queue;
use super::settings::Settings;
use crate::print::Printer;
use crate::web::{Web, dial};

/// How long spans and logs wait for others, unless a request is full before.
const DELAY: Duration = Duration::from_secs(1);

/// How often metrics are sent.
const METRICS: Duration = Duration::from_secs(10);

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(5);

/// How often a request is sent, and how long to wait before it is sent again: twice as long each time.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// The longest that a collector may ask us to wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What is read of an answer.
const ANSWER: usize = 64 << 10;

/// What a collector is not asked twice for.
enum Refused {
    /// It may take it later.
    Later {
        why: String,
        after: Option<Duration>,
    },
    Never(String),
}

pub(super) struct Exporter {
    pub(super) settings: Settings,
    pub(super) queue: Arc<Queue>,
    pub(super) metrics: Arc<Metrics>,
    /// Why the last request failed, to be told at the end.
    pub(super) problem: Arc<Mutex<Option<String>>>,
    pub(super) printer: Printer,
}

impl Exporter {
    /// Sends until the queue is closed, and then what is left of it.
    pub(super) async fn run(self) {
        let mut next_metrics = Instant::now() + METRICS;
        loop {
            if !self.queue.is_closed() && !self.queue.is_full() {
                let _ = timeout(DELAY, self.queue.wake.notified()).await;
            }
            let is_last = self.queue.is_closed();
            self.send_waiting().await;
            if is_last || Instant::now() >= next_metrics {
                next_metrics = Instant::now() + METRICS;
                self.send_metrics().await;
            }
            if is_last {
                return;
            }
        }
    }

    async fn send_waiting(&self) {
        loop {
            let (spans, logs) = (self.queue.take_spans(), self.queue.take_logs());
            if spans.is_empty() && logs.is_empty() {
                return;
            }
            if !spans.is_empty() {
                let body = otlp::traces(&self.settings.resource, &spans);
                self.send("traces", "rejectedSpans", body, spans.len() as u64).await;
            }
            if !logs.is_empty() {
                let body = otlp::logs(&self.settings.resource, &logs);
                self.send("logs", "rejectedLogRecords", body, logs.len() as u64).await;
            }
        }
    }

    async fn send_metrics(&self) {
        let counts = self.queue.counts();
        if counts.dropped + counts.failed > 0 {
            for (reason, count) in [("dropped", counts.dropped), ("failed", counts.failed)] {
                let labels: Labels = vec![("reason", reason.into())];
                self.metrics.set(Metric::Lost, labels, i64::try_from(count).unwrap_or(i64::MAX));
            }
        }
        if let Some(body) = otlp::metrics(&self.settings.resource, &self.metrics, SystemTime::now()) {
            self.send("metrics", "rejectedDataPoints", body, 0).await;
        }
    }

    /// Sends one request, several times if need be. `count` is what is lost with it.
    async fn send(&self, signal: &str, rejected: &str, body: String, count: u64) {
        let body = Bytes::from(body);
        let mut pause = PAUSE;
        for attempt in 1..=ATTEMPTS {
            let posted = timeout(REQUEST, self.post(signal, body.clone())).await;
            let why = match posted.unwrap_or_else(|_| Err(later("it did not answer in time"))) {
                Ok(answer) => {
                    let lost = rejected_count(&answer, rejected).min(count);
                    self.queue.settled(count - lost, lost);
                    return;
                }
                Err(Refused::Never(why)) => {
                    self.failed(count, why);
                    return;
                }
                Err(Refused::Later { why, after }) => {
                    pause = after.unwrap_or(pause).min(LONGEST_PAUSE);
                    why
                }
            };
            // At the end, nobody waits for a collector that is away.
            if attempt == ATTEMPTS || self.queue.is_closed() || self.pauses(pause).await {
                self.failed(count, why);
                return;
            }
            pause *= 2;
        }
    }

    /// Waits; whether the program has ended meanwhile.
    async fn pauses(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        while !self.queue.is_closed() {
            // Woken by requests that are full, too.
            if tokio::time::timeout_at(until, self.queue.wake.notified()).await.is_err() {
                return false;
            }
        }
        true
    }

    fn failed(&self, count: u64, why: String) {
        self.queue.settled(0, count);
        let mut problem = lock(&self.problem);
        // Whoever serves for long would learn of it too late.
        if problem.is_none() && !self.queue.is_closed() {
            let collector = &self.settings.collector;
            self.printer.note(&format!("cannot send telemetry to {collector}: {why}; the traffic goes on"));
        }
        *problem = Some(why);
    }

    async fn post(&self, signal: &str, body: Bytes) -> Result<Bytes, Refused> {
        let collector = &self.settings.collector;
        let unreachable = |error: &dyn std::fmt::Display| later(&error.to_string());
        let (stream, _) =
            dial(collector, &Web::default()).await.map_err(|error: io::Error| unreachable(&error))?;
        let (mut sender, connection) =
            handshake(TokioIo::new(stream)).await.map_err(|error| unreachable(&error))?;
        let driving = tokio::spawn(connection);
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}/v1/{signal}", self.settings.path))
            .header(HOST, collector.authority())
            .header(CONTENT_TYPE, "application/json")
            .header(CONNECTION, "close");
        for (name, value) in &self.settings.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(body)).map_err(|error| Refused::Never(error.to_string()))?;
        let answered = async {
            let response = sender.send_request(request).await.map_err(|error| unreachable(&error))?;
            let (head, body) = response.into_parts();
            if !head.status.is_success() {
                let after = head.headers.get(RETRY_AFTER).and_then(|after| after.to_str().ok()?.parse().ok());
                return Err(refusal(head.status, after));
            }
            let body = Limited::new(body, ANSWER).collect().await;
            Ok(body.map(http_body_util::Collected::to_bytes).unwrap_or_default())
        };
        let answered = answered.await;
        driving.abort();
        answered
    }
}

fn later(why: &str) -> Refused {
    Refused::Later { why: why.to_owned(), after: None }
}

/// By OTLP's rules only these are worth another try.
fn refusal(status: StatusCode, after: Option<u64>) -> Refused {
    let why = format!("it answered HTTP {}", status.as_str());
    match status.as_u16() {
        429 | 502 | 503 | 504 => Refused::Later { why, after: after.map(Duration::from_secs) },
        _ => Refused::Never(why),
    }
}

/// How many of what was sent the collector did not take. 64-bit numbers are strings in OTLP, or should be.
fn rejected_count(answer: &[u8], member: &str) -> u64 {
    let answer: serde_json::Value = serde_json::from_slice(answer).unwrap_or_default();
    let count = &answer["partialSuccess"][member];
    count.as_u64().or_else(|| count.as_str()?.parse().ok()).unwrap_or_default()
}
