//! Numbers about calls, connections and messages, for Prometheus and for a collector.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Label sets of one metric. What comes beyond is counted under `_OTHER`.
const MOST: usize = 512;

/// What stands for values that nobody knows.
pub(crate) const OTHER: &str = "_OTHER";

/// The boundaries of OpenTelemetry's conventions, in seconds.
const RPC_BOUNDS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
const MCP_BOUNDS: [f64; 14] =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Counter,
    /// Goes up and down.
    Gauge,
    Histogram(&'static [f64]),
}

/// A metric as it is described.
#[derive(Debug)]
pub(super) struct Description {
    /// By OpenTelemetry's rules.
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: Kind,
}

/// Each metric, by its place in [`DESCRIPTIONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metric {
    ServerCall,
    ClientCall,
    ServerOperation,
    ClientOperation,
    ServerSession,
    ClientSession,
    Inflight,
    Notifications,
    Connections,
    Subscriptions,
    SubscriptionsEnded,
    SubscriptionItems,
    Invalid,
    Bytes,
    BenchErrors,
    BenchLate,
    Lost,
}

pub(super) const DESCRIPTIONS: [Description; 17] = [
    Description {
        name: "rpc.server.call.duration",
        unit: "s",
        help: "How long calls of peers took.",
        kind: Kind::Histogram(&RPC_BOUNDS),
    },
    Description {
        name: "rpc.client.call.duration",
        unit: "s",
        help: "How long calls to peers took.",
        kind: Kind::Histogram(&RPC_BOUNDS),
    },
    Description {
        name: "mcp.server.operation.duration",
        unit: "s",
        help: "How long requests of MCP clients took.",
        kind: Kind::Histogram(&MCP_BOUNDS),
    },
    Description {
        name: "mcp.client.operation.duration",
        unit: "s",
        help: "How long requests to MCP servers took.",
        kind: Kind::Histogram(&MCP_BOUNDS),
    },
    Description {
        name: "mcp.server.session.duration",
        unit: "s",
        help: "How long sessions of MCP clients lasted.",
        kind: Kind::Histogram(&MCP_BOUNDS),
    },
    Description {
        name: "mcp.client.session.duration",
        unit: "s",
        help: "How long sessions with MCP servers lasted.",
        kind: Kind::Histogram(&MCP_BOUNDS),
    },
    Description {
        name: "jsonrpc.inflight_requests",
        unit: "{request}",
        help: "Calls without an answer yet.",
        kind: Kind::Gauge,
    },
    Description {
        name: "jsonrpc.notifications",
        unit: "{notification}",
        help: "Notifications.",
        kind: Kind::Counter,
    },
    Description {
        name: "jsonrpc.connections",
        unit: "{connection}",
        help: "Open connections.",
        kind: Kind::Gauge,
    },
    Description {
        name: "jsonrpc.subscriptions",
        unit: "{subscription}",
        help: "Open subscriptions of peers.",
        kind: Kind::Gauge,
    },
    Description {
        name: "jsonrpc.subscriptions_ended",
        unit: "{subscription}",
        help: "Subscriptions of peers that have ended.",
        kind: Kind::Counter,
    },
    Description {
        name: "jsonrpc.subscription_items",
        unit: "{item}",
        help: "Items of subscriptions that have ended, as far as they were sent, and those that were lost.",
        kind: Kind::Counter,
    },
    Description {
        name: "jsonrpc.invalid_messages",
        unit: "{message}",
        help: "Messages that break the protocol, and what else a peer should not have done.",
        kind: Kind::Counter,
    },
    Description {
        name: "jsonrpc.message_bytes",
        unit: "By",
        help: "Bytes of messages with their framing.",
        kind: Kind::Counter,
    },
    Description {
        name: "sabir.bench.errors",
        unit: "{call}",
        help: "Calls of a load that failed.",
        kind: Kind::Counter,
    },
    Description {
        name: "sabir.bench.late",
        unit: "s",
        help: "How long after a call was due the generator came to send it.",
        kind: Kind::Histogram(&RPC_BOUNDS),
    },
    Description {
        name: "sabir.telemetry.lost",
        unit: "{item}",
        help: "Spans and logs that did not reach the collector.",
        kind: Kind::Counter,
    },
];

/// Labels in the order in which they were given; those without a value are left out.
pub(crate) type Labels = Vec<(&'static str, Cow<'static, str>)>;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Number {
    Whole(i64),
    Histogram {
        /// One more than there are bounds.
        buckets: Vec<u64>,
        sum: f64,
    },
}

/// All metrics of this process.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(super) start: SystemTime,
    families: Mutex<[BTreeMap<Labels, Number>; DESCRIPTIONS.len()]>,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics { start: SystemTime::now(), families: Mutex::default() }
    }
}

impl Metric {
    /// The bounds of a histogram in nanoseconds; none of anything else.
    pub(crate) fn bounds(self) -> Vec<u64> {
        match DESCRIPTIONS[self as usize].kind {
            Kind::Histogram(bounds) => bounds.iter().map(|bound| (bound * 1e9) as u64).collect(),
            Kind::Counter | Kind::Gauge => Vec::new(),
        }
    }
}

impl Metrics {
    /// Adds to a counter or a gauge.
    pub(crate) fn add(&self, metric: Metric, labels: Labels, count: i64) {
        self.change(metric, labels, |number| {
            if let Number::Whole(whole) = number {
                *whole += count;
            }
        });
    }

    /// Sets a counter that is kept elsewhere.
    pub(crate) fn set(&self, metric: Metric, labels: Labels, count: i64) {
        self.change(metric, labels, |number| *number = Number::Whole(count));
    }

    /// Sets a histogram that is kept elsewhere: how many lie between its [bounds](Metric::bounds), and their sum in
    /// seconds.
    pub(crate) fn set_times(&self, metric: Metric, labels: Labels, buckets: Vec<u64>, sum: f64) {
        self.change(metric, labels, |number| *number = Number::Histogram { buckets, sum });
    }

    /// Adds a time to a histogram.
    pub(crate) fn record(&self, metric: Metric, labels: Labels, took: Duration) {
        let Kind::Histogram(bounds) = DESCRIPTIONS[metric as usize].kind else { return };
        let seconds = took.as_secs_f64();
        let at = bounds.partition_point(|bound| *bound < seconds);
        self.change(metric, labels, |number| {
            if let Number::Histogram { buckets, sum } = number {
                buckets[at] += 1;
                *sum += seconds;
            }
        });
    }

    fn change(&self, metric: Metric, labels: Labels, change: impl FnOnce(&mut Number)) {
        let mut families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        let family = &mut families[metric as usize];
        let labels = match family.len() < MOST || family.contains_key(&labels) {
            true => labels,
            false => labels.into_iter().map(|(name, _)| (name, OTHER.into())).collect(),
        };
        change(family.entry(labels).or_insert_with(|| match DESCRIPTIONS[metric as usize].kind {
            Kind::Counter | Kind::Gauge => Number::Whole(0),
            Kind::Histogram(bounds) => Number::Histogram { buckets: vec![0; bounds.len() + 1], sum: 0.0 },
        }));
    }

    /// All metrics that have a value, as they are now.
    pub(super) fn snapshot(&self) -> Vec<(&'static Description, Vec<(Labels, Number)>)> {
        let families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        let copy = |family: &BTreeMap<Labels, Number>| {
            family.iter().map(|(labels, number)| (labels.clone(), number.clone())).collect::<Vec<_>>()
        };
        let all = DESCRIPTIONS.iter().zip(families.iter().map(copy));
        all.filter(|(_, family)| !family.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_cannot_make_up_labels_without_end() {
        let metrics = Metrics::default();
        for number in 0..MOST * 2 {
            let labels = vec![("rpc.method", Cow::Owned(format!("m{number}")))];
            metrics.record(Metric::ServerCall, labels, Duration::from_millis(6));
        }
        let snapshot = metrics.snapshot();
        let [(description, family)] = &*snapshot else { panic!("{snapshot:?}") };
        assert_eq!((description.name, family.len()), ("rpc.server.call.duration", MOST + 1));
        let Number::Histogram { buckets, .. } = &family[0].1 else { panic!("{family:?}") };
        assert_eq!((family[0].0[0].1.as_ref(), buckets[1]), (OTHER, MOST as u64));
    }

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let metrics = Metrics::default();
        for ms in [5, 6, 10_000, 10_001] {
            metrics.record(Metric::ClientCall, Labels::new(), Duration::from_millis(ms));
        }
        let snapshot = metrics.snapshot();
        let Number::Histogram { buckets, .. } = &snapshot[0].1[0].1 else { panic!("{snapshot:?}") };
        assert_eq!((buckets[0], buckets[1], buckets[13], buckets[14]), (1, 1, 1, 1));
    }
}
