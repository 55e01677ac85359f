//! What a router reports, as metrics and as events of the log.

use std::borrow::Cow;
use std::sync::Arc;

use sabir::{CallEnd, Observed, Router, Side};
use sabir_mcp::{McpOperation, McpServer};

use super::known::KnownNames;
use super::metrics::{Labels, Metric, Metrics, OTHER};

/// What events of the log are about.
const TARGET: &str = "sabir::rpc";

/// Measures what goes through a router. `mcp` is whether its connections are sessions of MCP, whose calls have metrics of
/// their own.
pub(super) fn router(router: Router, metrics: Arc<Metrics>, mcp: bool) -> Router {
    let names = KnownNames::default();
    router.observe(move |event| {
        measure(&metrics, event, mcp, &names);
        log(event);
    })
}

pub(super) fn mcp_server(server: McpServer, metrics: Arc<Metrics>) -> McpServer {
    server.observe(move |operation| measure_mcp(&metrics, operation))
}

/// The labels of a call.
pub(crate) fn call_labels(method: &str, end: CallEnd) -> Labels {
    let mut labels: Labels =
        vec![("rpc.system.name", "jsonrpc".into()), ("rpc.method", method.to_owned().into())];
    if let CallEnd::Error(code) = end {
        labels.push(("rpc.response.status_code", code.0.to_string().into()));
    }
    if let Some(error_type) = end.error_type() {
        labels.push(("error.type", error_type.into()));
    }
    labels
}

pub(crate) fn measure_mcp(metrics: &Metrics, operation: &McpOperation<'_>) {
    let metric = match operation.side {
        Side::Ours => Metric::ClientOperation,
        Side::Theirs => Metric::ServerOperation,
    };
    let labels = mcp_labels(
        operation.method,
        operation.target.filter(|_| operation.method == "tools/call"),
        operation.revision.map(|revision| revision.to_string()),
        operation.error_type,
    );
    metrics.record(metric, labels, operation.took);
}

/// The labels of a request of MCP.
pub(crate) fn mcp_labels(
    method: &str,
    tool: Option<&str>,
    revision: Option<String>,
    error_type: Option<&str>,
) -> Labels {
    let owned = |text: &str| Cow::Owned(text.to_owned());
    let mut labels: Labels = vec![("mcp.method.name", owned(method))];
    labels.extend(tool.map(|tool| ("gen_ai.tool.name", owned(tool))));
    labels.extend(revision.map(|revision| ("mcp.protocol.version", revision.into())));
    labels.extend(error_type.map(|error_type| ("error.type", owned(error_type))));
    labels
}

fn direction(side: Side) -> Labels {
    vec![("direction", if side == Side::Ours { "sent" } else { "received" }.into())]
}

fn measure(metrics: &Metrics, event: &Observed<'_>, mcp: bool, names: &KnownNames) {
    match *event {
        Observed::Opened => metrics.add(Metric::Connections, Labels::new(), 1),
        Observed::Closed { took, .. } => {
            metrics.add(Metric::Connections, Labels::new(), -1);
            if mcp {
                metrics.record(Metric::ServerSession, Labels::new(), took);
            }
        }
        Observed::CallStarted { side, .. } => metrics.add(Metric::Inflight, direction(side), 1),
        Observed::CallEnded { side, method, known, end, took } => {
            metrics.add(Metric::Inflight, direction(side), -1);
            let known = known || names.learn(method, end == CallEnd::Result);
            let method = if known { method } else { OTHER };
            let metric = match side {
                Side::Theirs if mcp => return,
                Side::Theirs => Metric::ServerCall,
                Side::Ours => Metric::ClientCall,
            };
            metrics.record(metric, call_labels(method, end), took);
        }
        Observed::Notification { side, .. } => metrics.add(Metric::Notifications, direction(side), 1),
        Observed::Bytes { side, count } => {
            metrics.add(Metric::Bytes, direction(side), i64::try_from(count).unwrap_or(i64::MAX));
        }
        Observed::Report(report) => {
            metrics.add(Metric::Invalid, vec![("reason", report.kind().into())], 1);
        }
        _ => {}
    }
}

fn log(event: &Observed<'_>) {
    match *event {
        Observed::Opened => tracing::info!(target: TARGET, "connection opened"),
        Observed::Closed { cause, took } => {
            tracing::info!(target: TARGET, %cause, ms = ms(took), "connection closed");
        }
        Observed::CallEnded { side, method, end, took, .. } => {
            let (by, error) = (if side == Side::Ours { "us" } else { "peer" }, end.error_type());
            tracing::debug!(target: TARGET, method, by, error, ms = ms(took), "call ended");
        }
        Observed::Notification { side, method } => {
            let by = if side == Side::Ours { "us" } else { "peer" };
            tracing::debug!(target: TARGET, method, by, "notification");
        }
        Observed::Report(report) => {
            tracing::warn!(target: TARGET, reason = report.kind(), "{report}");
        }
        _ => {}
    }
}

fn ms(took: std::time::Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
