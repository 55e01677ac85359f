//! What the program tells about its work: traces, metrics and logs.
//!
//! ```text
//! library, program ──▶ tracing ──▶ subscriber ──▶ standard error
//!                                      │ spans, logs
//!                                      ▼
//! router ──▶ observe ──▶ metrics     queue ──▶ exporter ──▶ collector
//!                           └──────────────────────▲
//!                           └──▶ scrape ──▶ Prometheus
//! ```
//!
//! Nothing to the right of the queue can hold up what is on its left.

mod exporter;
mod filter;
mod ids;
mod known;
mod log;
mod metrics;
mod observe;
mod otlp;
mod prometheus;
mod queue;
mod scrape;
mod session_spans;
mod settings;
mod span;
mod subscriber;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use exporter::Exporter;
pub(crate) use filter::LogFilter;
pub(crate) use known::KnownNames;
use log::LogWriter;
pub(crate) use metrics::{Labels, Metric, Metrics, OTHER};
use observe::Speaks;
pub(crate) use observe::{call_labels, mcp_labels};
use queue::Queue;
use sabir::internal::lock;
use sabir::{Router, TraceContext};
use sabir_mcp::{McpClient, McpServer};
use session_spans::{FindProtocol, SessionSpans};
use settings::Settings;
pub(crate) use span::{Attributes, Place, Span, SpanKind, Value};
use subscriber::Collect;

use crate::args::{MetricsArgs, TelemetryArgs};
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::session::Protocol;

/// How long the last spans may take to reach the collector.
const FLUSH: Duration = Duration::from_secs(2);

/// `tracing` has one subscriber for the process, and so there is one of this.
static STARTED: OnceLock<Started> = OnceLock::new();

/// Whether the command's time is up. Calls that are dropped from then on have timed out: nobody cancels them.
static TIME_IS_UP: AtomicBool = AtomicBool::new(false);

/// Telemetry that somebody wants.
pub(crate) struct Started {
    collect: Collect,
    metrics: Arc<Metrics>,
    queue: Option<Arc<Queue>>,
    /// Whether calls have spans.
    has_spans: bool,
    calls: Calls,
}

/// Telemetry of a command, until it ends.
#[must_use = "what is left is sent by `finish`"]
pub(crate) struct Telemetry {
    exporting: Option<Exporting>,
    logs: Option<LogWriter>,
}

struct Exporting {
    queue: Arc<Queue>,
    collector: String,
    problem: Arc<Mutex<Option<String>>>,
    done: Receiver<()>,
}

/// Who reports the calls of a command's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// Its sessions: each call has a span, and is counted here.
    OfSessions,
    /// The command itself. From its sessions come no spans and no metrics.
    OfCommand,
}

/// Starts what the options and the environment ask for.
pub(crate) fn start(
    command: &str,
    calls: Calls,
    args: &TelemetryArgs,
    metrics: Option<&MetricsArgs>,
    printer: &Printer,
) -> Result<Telemetry, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let settings = Settings::read(command, args, variable)?;
    let filter = match &args.log {
        Some(filter) => Some(filter.clone()),
        None => match ["SABIR_LOG", "RUST_LOG"].into_iter().find_map(|name| Some((name, variable(name)?))) {
            Some((name, text)) => {
                let wrong = |error| Failure::usage(format_args!("{name}: {error}"));
                let filter = if name == "RUST_LOG" { LogFilter::of_others(&text) } else { text.parse() };
                Some(filter.map_err(wrong)?)
            }
            None => None,
        },
    };
    let address = metrics.and_then(|args| args.metrics);
    if settings.is_none() && filter.is_none() && address.is_none() {
        return Ok(Telemetry { exporting: None, logs: None });
    }
    let cannot = |error: std::io::Error| Failure::new(Exit::Error, format_args!("cannot start: {error}"));
    let logs = match &filter {
        Some(_) => Some(LogWriter::start(args.log_format).map_err(cannot)?),
        None => None,
    };
    let queue = settings.as_ref().map(|_| Arc::new(Queue::default()));
    let spans = queue.clone().zip(settings.as_ref().map(|settings| settings.sampler));
    let exported = queue.as_ref().map(|_| filter.clone().unwrap_or_else(LogFilter::own));
    let collect = Collect::new(spans, exported, filter.zip(logs.clone()));
    let metrics = Arc::new(Metrics::default());
    let started = Started {
        collect: collect.clone(),
        metrics: Arc::clone(&metrics),
        has_spans: queue.is_some() || logs.is_some(),
        queue: queue.clone(),
        calls,
    };
    if started.has_spans {
        let _ = tracing::subscriber::set_global_default(collect);
    }
    let _ = STARTED.set(started);
    let listener = match address {
        Some(address) => Some(listen(address, printer)?),
        None => None,
    };
    let problem = Arc::<Mutex<Option<String>>>::default();
    let collector = settings.as_ref().map(|settings| settings.collector.to_string());
    let exporter = settings.zip(queue.clone()).map(|(settings, queue)| Exporter {
        settings,
        queue,
        metrics: Arc::clone(&metrics),
        problem: Arc::clone(&problem),
        printer: printer.clone(),
    });
    let done = run(exporter, listener, metrics).map_err(cannot)?;
    let exporting =
        queue.zip(collector).map(|(queue, collector)| Exporting { queue, collector, problem, done });
    Ok(Telemetry { exporting, logs })
}

fn listen(address: SocketAddr, printer: &Printer) -> Result<std::net::TcpListener, Failure> {
    let bound = std::net::TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok((listener.local_addr()?, listener))
    });
    let (bound, listener) = bound.map_err(|error| {
        Failure::new(Exit::Connect, format_args!("cannot serve metrics at {address}: {error}"))
            .hint("use another port; port 0 is any free port")
    })?;
    printer.note(&format!("metrics at http://{bound}/metrics"));
    Ok(listener)
}

/// The thread that talks to collectors and to Prometheus.
fn run(
    exporter: Option<Exporter>,
    listener: Option<std::net::TcpListener>,
    metrics: Arc<Metrics>,
) -> std::io::Result<Receiver<()>> {
    let (tell, done) = channel();
    if exporter.is_none() && listener.is_none() {
        return Ok(done);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("telemetry".to_owned()).spawn(move || {
        runtime.block_on(async move {
            let scraping = listener.and_then(|listener| tokio::net::TcpListener::from_std(listener).ok());
            let scraping = scraping.map(|listener| tokio::spawn(scrape::serve(listener, metrics)));
            match (exporter, scraping) {
                (Some(exporter), _) => exporter.run().await,
                (None, Some(scraping)) => drop(scraping.await),
                (None, None) => {}
            }
            let _ = tell.send(());
        });
    })?;
    Ok(done)
}

impl Telemetry {
    /// Sends what is left, for as long as that may take, and says what was lost.
    pub(crate) fn finish(self, printer: &Printer) {
        if let Some(Exporting { queue, collector, problem, done }) = self.exporting {
            queue.close();
            let _ = done.recv_timeout(FLUSH);
            let counts = queue.final_counts();
            let lost = counts.dropped + counts.failed;
            if lost > 0 {
                let why = match (lock(&problem).take(), counts.failed) {
                    (Some(why), 1..) => why,
                    (None, 1..) => "it did not answer in time".to_owned(),
                    _ => "they came too fast".to_owned(),
                };
                printer.note(&format!(
                    "{lost} of {} spans and logs did not reach {collector}: {why} ({} dropped)",
                    lost + counts.sent,
                    counts.dropped,
                ));
            }
        }
        self.logs.iter().for_each(LogWriter::finish);
    }
}

/// The command's time is up, and what it still waits for is about to be dropped.
pub(crate) fn time_is_up() {
    TIME_IS_UP.store(true, Ordering::Relaxed);
}

pub(crate) fn is_time_up() -> bool {
    TIME_IS_UP.load(Ordering::Relaxed)
}

/// What was started, if anything.
pub(crate) fn started() -> Option<&'static Started> {
    STARTED.get()
}

/// A router to be served, with what is wanted to know of its calls. `mcp` is whether it serves MCP, whose requests are
/// measured by [`served_mcp`].
pub(crate) fn served(router: Router, mcp: bool) -> Router {
    let Some(started) = started() else { return router };
    let served = if mcp { Speaks::ServedMcp } else { Speaks::Served };
    let router = observe::router(router, Arc::clone(&started.metrics), served);
    match started.has_spans {
        true if mcp => router.propagate(started.collect.clone()),
        true => router.spans().propagate(started.collect.clone()),
        false => router,
    }
}

/// The same for a server of MCP, before it becomes a router.
pub(crate) fn served_mcp(server: McpServer) -> McpServer {
    let Some(started) = started() else { return server };
    let server = observe::mcp_server(server, Arc::clone(&started.metrics));
    if started.has_spans { server.spans() } else { server }
}

/// The router of a session with a server, whose protocol is found out later.
pub(crate) fn session(
    router: Router,
    protocol: impl Fn() -> Option<Protocol> + Send + Sync + 'static,
) -> Router {
    let Some(started) = started().filter(|started| started.calls == Calls::OfSessions) else { return router };
    let protocol: FindProtocol = Arc::new(protocol);
    let speaks = Speaks::Session(Arc::clone(&protocol));
    let router = observe::router(router, Arc::clone(&started.metrics), speaks);
    match started.has_spans {
        true => router.client_spans(SessionSpans(protocol)).propagate(started.collect.clone()),
        false => router,
    }
}

/// A client of MCP, whose requests are measured.
pub(crate) fn mcp_client(client: McpClient) -> McpClient {
    let Some(started) = started().filter(|started| started.calls == Calls::OfSessions) else { return client };
    let metrics = Arc::clone(&started.metrics);
    client.observe(move |operation| observe::measure_mcp(&metrics, operation))
}

impl Started {
    pub(crate) fn has_spans(&self) -> bool {
        self.has_spans
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The place of a new span, below the one that a peer has sent.
    pub(crate) fn place(&self, parent: Option<&TraceContext<'_>>) -> Place {
        self.collect.place(parent)
    }

    /// A span that has ended.
    pub(crate) fn span(&self, span: Span) {
        if let Some(queue) = self.queue.as_ref().filter(|_| span.place.is_sampled) {
            queue.span(span);
        }
    }
}
