//! Metrics as text for Prometheus, in its own format or in that of OpenMetrics.

use std::fmt::Write;

use super::metrics::{Description, Kind, Labels, Metrics, Number};

/// The formats of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Prometheus,
    OpenMetrics,
}

impl Format {
    /// By what the reader accepts.
    pub(super) fn accepted(accept: &str) -> Self {
        match accept.contains("application/openmetrics-text") {
            true => Format::OpenMetrics,
            false => Format::Prometheus,
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// All metrics.
pub(super) fn text(metrics: &Metrics, format: Format) -> String {
    let mut out = String::new();
    for (description, family) in metrics.snapshot() {
        let name = name(description);
        let kind = match description.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        };
        // In OpenMetrics a counter is described without the suffix of its samples.
        let total = if description.kind == Kind::Counter { "_total" } else { "" };
        let described = if format == Format::Prometheus { total } else { "" };
        let _ = writeln!(out, "# HELP {name}{described} {}", description.help);
        let _ = writeln!(out, "# TYPE {name}{described} {kind}");
        if let (Format::OpenMetrics, Kind::Histogram(_)) = (format, description.kind) {
            let _ = writeln!(out, "# UNIT {name} seconds");
        }
        for (labels, number) in &family {
            match (number, description.kind) {
                (Number::Histogram { buckets, sum }, Kind::Histogram(bounds)) => {
                    histogram(&mut out, &name, labels, bounds, buckets, *sum);
                }
                (Number::Whole(whole), _) => {
                    let _ = writeln!(out, "{name}{total}{} {whole}", shown(labels, None));
                }
                (Number::Histogram { .. }, _) => {}
            }
        }
    }
    if format == Format::OpenMetrics {
        out.push_str("# EOF\n");
    }
    out
}

fn histogram(out: &mut String, name: &str, labels: &Labels, bounds: &[f64], buckets: &[u64], sum: f64) {
    let mut count = 0;
    let ends = bounds.iter().map(|bound| format!("{bound:?}")).chain(["+Inf".to_owned()]);
    for (end, bucket) in ends.zip(buckets) {
        count += bucket;
        let _ = writeln!(out, "{name}_bucket{} {count}", shown(labels, Some(&end)));
    }
    let labels = shown(labels, None);
    let _ = writeln!(out, "{name}_sum{labels} {sum}");
    let _ = writeln!(out, "{name}_count{labels} {count}");
}

/// A name by the rules of Prometheus, with its unit.
fn name(description: &Description) -> String {
    let unit = if description.unit == "s" { "_seconds" } else { "" };
    format!("{}{unit}", description.name.replace('.', "_"))
}

fn shown(labels: &Labels, end: Option<&str>) -> String {
    let own = labels.iter().map(|(name, value)| (name.replace('.', "_"), value.as_ref()));
    let all: Vec<_> = own
        .chain(end.map(|end| ("le".to_owned(), end)))
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::telemetry::metrics::Metric;

    #[test]
    fn values_are_escaped_and_buckets_add_up() {
        let metrics = Metrics::default();
        let labels = || vec![("rpc.method", "a\"b\\c\nd".into())];
        metrics.record(Metric::ServerCall, labels(), Duration::from_millis(1));
        metrics.record(Metric::ServerCall, labels(), Duration::from_secs(60));
        metrics.add(Metric::Notifications, vec![("direction", "received".into())], 2);
        let text_of = |format| text(&metrics, format);
        let plain = text_of(Format::Prometheus);
        let label = r#"rpc_method="a\"b\\c\nd""#;
        for line in [
            "# TYPE rpc_server_call_duration_seconds histogram".to_owned(),
            format!("rpc_server_call_duration_seconds_bucket{{{label},le=\"0.005\"}} 1"),
            format!("rpc_server_call_duration_seconds_bucket{{{label},le=\"10.0\"}} 1"),
            format!("rpc_server_call_duration_seconds_bucket{{{label},le=\"+Inf\"}} 2"),
            format!("rpc_server_call_duration_seconds_count{{{label}}} 2"),
            "# TYPE jsonrpc_notifications_total counter".to_owned(),
            "jsonrpc_notifications_total{direction=\"received\"} 2".to_owned(),
        ] {
            assert!(plain.lines().any(|found| found == line), "{line} is not in\n{plain}");
        }
        let open = text_of(Format::OpenMetrics);
        assert!(
            open.ends_with("\n# EOF\n") && open.contains("# TYPE jsonrpc_notifications counter\n"),
            "{open}"
        );
        assert!(open.contains("# UNIT rpc_server_call_duration_seconds seconds\n"), "{open}");
    }
}
