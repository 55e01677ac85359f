//! What a router reports, as metrics and as events of the log.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use sabir::{CallEnd, Observed, Router, Side, SinkEnd};
use sabir_mcp::{McpOperation, McpRevision, McpServer};

use super::is_time_up;
use super::known::KnownNames;
use super::metrics::{Labels, Metric, Metrics, OTHER};
use super::session_spans::{FindProtocol, HANDSHAKE, mcp_revision};
use crate::session::Protocol;

/// What events of the log are about.
const TARGET: &str = "sabir::rpc";

/// Whose calls a router observes. Those of MCP have metrics of their own.
pub(super) enum Speaks {
    /// Of callers that are served.
    Served,
    /// Of clients of MCP that are served: each connection is a session.
    ServedMcp,
    /// Ours, in a session whose protocol is found out.
    Session(FindProtocol),
}

/// Measures what goes through a router.
pub(super) fn router(router: Router, metrics: Arc<Metrics>, speaks: Speaks) -> Router {
    let names = KnownNames::default();
    router.observe(move |event| {
        measure(&metrics, event, &speaks, &names);
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
    let error_type = match operation.error_type {
        Some("cancelled") if operation.side == Side::Ours && is_time_up() => Some("timeout"),
        error_type => error_type,
    };
    let labels = mcp_labels(
        operation.method,
        operation.target.filter(|_| operation.method == "tools/call"),
        operation.revision.map(|revision| revision.to_string()),
        error_type,
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

fn measure(metrics: &Metrics, event: &Observed<'_>, speaks: &Speaks, names: &KnownNames) {
    match *event {
        Observed::Opened => metrics.add(Metric::Connections, Labels::new(), 1),
        Observed::Closed { took, .. } => {
            metrics.add(Metric::Connections, Labels::new(), -1);
            match speaks {
                Speaks::Served => {}
                Speaks::ServedMcp => metrics.record(Metric::ServerSession, Labels::new(), took),
                Speaks::Session(protocol) => {
                    if let Some(Protocol::Mcp(revision)) = protocol() {
                        metrics.record(Metric::ClientSession, session_labels(revision), took);
                    }
                }
            }
        }
        Observed::CallStarted { side, .. } => metrics.add(Metric::Inflight, direction(side), 1),
        Observed::CallEnded { side, method, known, end, took } => {
            metrics.add(Metric::Inflight, direction(side), -1);
            let end = match end {
                CallEnd::Cancelled if side == Side::Ours && is_time_up() => CallEnd::TimedOut,
                end => end,
            };
            let known = known || names.learn(method, end == CallEnd::Result);
            let method = if known { method } else { OTHER };
            let revision = match speaks {
                Speaks::Served => None,
                Speaks::ServedMcp => Some(None),
                Speaks::Session(protocol) => mcp_revision(protocol(), method),
            };
            let (metric, labels) = match (side, revision) {
                (Side::Theirs, None) => (Metric::ServerCall, call_labels(method, end)),
                (Side::Ours, None) => (Metric::ClientCall, call_labels(method, end)),
                // Whoever is a server or a client of MCP reports its requests, but not those with which a session begins.
                (Side::Theirs, Some(_)) if matches!(speaks, Speaks::ServedMcp) => return,
                (Side::Ours, Some(_))
                    if matches!(speaks, Speaks::Session(_)) && !HANDSHAKE.contains(&method) =>
                {
                    return;
                }
                (side, Some(revision)) => {
                    let metric =
                        if side == Side::Ours { Metric::ClientOperation } else { Metric::ServerOperation };
                    let revision = revision.map(|revision| revision.to_string());
                    (metric, mcp_labels(method, None, revision, end.error_type().as_deref()))
                }
            };
            metrics.record(metric, labels, took);
        }
        Observed::Subscribed { .. } => metrics.add(Metric::Subscriptions, Labels::new(), 1),
        Observed::SubscriptionEnded { end, sent, lost, .. } => {
            metrics.add(Metric::Subscriptions, Labels::new(), -1);
            metrics.add(Metric::SubscriptionsEnded, vec![("reason", end_reason(end).into())], 1);
            for (outcome, count) in
                [("sent", sent), ("lost", lost)].into_iter().filter(|(_, count)| *count > 0)
            {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                metrics.add(Metric::SubscriptionItems, vec![("outcome", outcome.into())], count);
            }
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

fn session_labels(revision: Option<McpRevision>) -> Labels {
    revision.map(|revision| ("mcp.protocol.version", revision.to_string().into())).into_iter().collect()
}

/// Why a subscription of the peer has ended, in a word.
fn end_reason(end: Option<SinkEnd>) -> &'static str {
    match end {
        None => "finished",
        Some(SinkEnd::Unsubscribed) => "unsubscribed",
        Some(SinkEnd::Lagged) => "lagged",
        Some(SinkEnd::Disconnected) => "disconnected",
        Some(_) => OTHER,
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
        Observed::Subscribed { method } => tracing::debug!(target: TARGET, method, "subscribed"),
        Observed::SubscriptionEnded { method, end, sent, lost } => {
            let reason = end_reason(end);
            tracing::debug!(target: TARGET, method, reason, sent, lost, "subscription ended");
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

fn ms(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
