//! Spans, metrics and logs as OTLP writes them in JSON: ids in hexadecimal, 64-bit numbers and times as strings.

use std::time::SystemTime;

use serde_json::{Value as Json, json};

use super::metrics::{Kind, Labels, Metrics, Number};
use super::span::{Attributes, Log, Span, Value};

/// Sums that never start anew.
const CUMULATIVE: u8 = 2;

pub(super) fn traces(resource: &[(String, String)], spans: &[Span]) -> String {
    let spans: Vec<_> = spans.iter().map(span).collect();
    let all = json!({"resource": described(resource), "scopeSpans": [{"scope": scope(), "spans": spans}]});
    json!({"resourceSpans": [all]}).to_string()
}

pub(super) fn logs(resource: &[(String, String)], logs: &[Log]) -> String {
    let logs: Vec<_> = logs.iter().map(log).collect();
    let all = json!({"resource": described(resource), "scopeLogs": [{"scope": scope(), "logRecords": logs}]});
    json!({"resourceLogs": [all]}).to_string()
}

/// `None` if there are none yet.
pub(super) fn metrics(resource: &[(String, String)], metrics: &Metrics, now: SystemTime) -> Option<String> {
    let (start, now) = (nanos(metrics.start), nanos(now));
    let point = |(labels, number): &(Labels, Number)| {
        let attributes: Vec<_> =
            labels.iter().map(|(name, value)| pair(name, &json!({"stringValue": value}))).collect();
        let mut point = json!({"attributes": attributes, "startTimeUnixNano": start, "timeUnixNano": now});
        match number {
            Number::Whole(whole) => point["asInt"] = whole.to_string().into(),
            Number::Histogram { buckets, sum } => {
                point["count"] = buckets.iter().sum::<u64>().to_string().into();
                point["sum"] = (*sum).into();
                point["bucketCounts"] = buckets.iter().map(u64::to_string).collect();
            }
        }
        point
    };
    let mut all = Vec::new();
    for (description, family) in metrics.snapshot() {
        let mut points: Vec<_> = family.iter().map(point).collect();
        let mut metric =
            json!({"name": description.name, "description": description.help, "unit": description.unit});
        match description.kind {
            Kind::Counter | Kind::Gauge => {
                // What goes up and down is a sum as well: those of several processes can be added.
                let is_monotonic = description.kind == Kind::Counter;
                metric["sum"] = json!({
                    "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": is_monotonic,
                });
            }
            Kind::Histogram(bounds) => {
                points.iter_mut().for_each(|point| point["explicitBounds"] = bounds.to_vec().into());
                metric["histogram"] = json!({"dataPoints": points, "aggregationTemporality": CUMULATIVE});
            }
        }
        all.push(metric);
    }
    let scoped = json!([{"scope": scope(), "metrics": all}]);
    (!all.is_empty()).then(|| {
        json!({"resourceMetrics": [{"resource": described(resource), "scopeMetrics": scoped}]}).to_string()
    })
}

fn scope() -> Json {
    json!({"name": "sabir", "version": env!("CARGO_PKG_VERSION")})
}

fn described(resource: &[(String, String)]) -> Json {
    let attributes: Vec<_> =
        resource.iter().map(|(name, value)| pair(name, &json!({"stringValue": value}))).collect();
    json!({"attributes": attributes})
}

fn pair(name: &str, value: &Json) -> Json {
    json!({"key": name, "value": value})
}

fn attributes(attributes: &Attributes) -> Vec<Json> {
    let one = |(name, value): &(&'static str, Value)| {
        let value = match value {
            Value::Text(text) => json!({"stringValue": text}),
            Value::Number(number) => json!({"intValue": number.to_string()}),
            Value::Bool(value) => json!({"boolValue": value}),
        };
        pair(name, &value)
    };
    attributes.0.iter().map(one).collect()
}

fn span(span: &Span) -> Json {
    let mut written = json!({
        "traceId": format!("{:032x}", span.place.trace),
        "spanId": format!("{:016x}", span.place.span),
        "name": span.name,
        "kind": span.kind as u8,
        "startTimeUnixNano": nanos(span.start),
        "endTimeUnixNano": nanos(span.end.max(span.start)),
        "attributes": attributes(&span.attributes),
        "status": {"code": if span.is_error { 2 } else { 0 }},
        "flags": u8::from(span.place.is_sampled),
    });
    if let Some(parent) = span.place.parent {
        written["parentSpanId"] = format!("{parent:016x}").into();
    }
    written
}

fn log(log: &Log) -> Json {
    let severity = match log.level {
        tracing::Level::ERROR => 17,
        tracing::Level::WARN => 13,
        tracing::Level::INFO => 9,
        tracing::Level::DEBUG => 5,
        tracing::Level::TRACE => 1,
    };
    let mut attributes = attributes(&log.attributes);
    attributes.push(pair("log.target", &json!({"stringValue": log.target})));
    let mut written = json!({
        "timeUnixNano": nanos(log.time),
        "observedTimeUnixNano": nanos(log.time),
        "severityNumber": severity,
        "severityText": log.level.as_str(),
        "body": {"stringValue": log.message},
        "attributes": attributes,
    });
    if let Some((trace, span)) = log.within {
        written["traceId"] = format!("{trace:032x}").into();
        written["spanId"] = format!("{span:016x}").into();
    }
    written
}

fn nanos(time: SystemTime) -> String {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}
