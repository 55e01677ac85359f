//! What a run tells a collector or Prometheus: metrics of all calls while they are made, and one span for each round.
//!
//! Calls have no spans of their own. The generator makes millions of them, and what it sends must stay as it is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use sabir_load::{Class, Measured, OTHERS, Progress, Times};

use crate::telemetry::{Attributes, Labels, Metric, Metrics, OTHER, Place, Span, SpanKind, Started, Value};

/// How often metrics are brought up to date. Counting the times of all methods takes some hundred microseconds, in which the
/// generator sends nothing.
const EVERY: Duration = Duration::from_secs(1);

/// What the rounds so far came to. A collector wants totals that never fall. Of times only the counts that it is told are
/// kept: a histogram of the generator is a hundred kilobytes, and this is made anew each second.
#[derive(Default)]
struct Totals {
    methods: BTreeMap<String, Buckets>,
    late: Option<Buckets>,
    errors: BTreeMap<Cow<'static, str>, u64>,
    bytes: (u64, u64),
}

/// How many times lie between the bounds of a metric, and their sum in seconds.
#[derive(Clone, Default)]
struct Buckets {
    counts: Vec<u64>,
    sum: f64,
}

impl Buckets {
    fn add(&mut self, times: &Times, bounds: &[u64]) {
        self.counts.resize(bounds.len() + 1, 0);
        self.counts.iter_mut().zip(times.counts(bounds)).for_each(|(sum, count)| *sum += count);
        self.sum += times.mean() * times.count() as f64 / 1e9;
    }
}

pub(super) struct Export {
    to: &'static Started,
    before: Totals,
    next: Duration,
    round: Option<(Place, SystemTime)>,
}

impl Export {
    pub(super) fn new(to: &'static Started) -> Export {
        Export { to, before: Totals::default(), next: EVERY, round: None }
    }

    pub(super) fn begin_round(&mut self) {
        self.next = EVERY;
        self.round = Some((self.to.place(None), SystemTime::now()));
    }

    pub(super) fn show(&mut self, progress: &Progress<'_>) {
        if progress.elapsed >= self.next {
            self.next = progress.elapsed + EVERY;
            let metrics = self.to.metrics();
            metrics.set(Metric::Inflight, direction("sent"), progress.in_flight as i64);
            self.before.with(progress.so_far).tell(metrics);
        }
    }

    pub(super) fn end_round(&mut self, measured: &Measured) {
        self.before = self.before.with(measured);
        let metrics = self.to.metrics();
        metrics.set(Metric::Inflight, direction("sent"), 0);
        self.before.tell(metrics);
        if let Some((place, start)) = self.round.take() {
            self.to.span(span(place, start, measured));
        }
    }
}

impl Totals {
    /// These and what one more round came to.
    fn with(&self, measured: &Measured) -> Totals {
        let mut all = Totals {
            methods: self.methods.clone(),
            late: self.late.clone(),
            errors: self.errors.clone(),
            bytes: (self.bytes.0 + measured.bytes.0, self.bytes.1 + measured.bytes.1),
        };
        let (call_bounds, late_bounds) = (Metric::ClientCall.bounds(), Metric::BenchLate.bounds());
        for method in &measured.methods {
            let name = if method.name == OTHERS { OTHER } else { &method.name };
            all.methods.entry(name.to_owned()).or_default().add(&method.latency, &call_bounds);
        }
        // In a closed loop nothing is due before it is sent.
        for step in measured.steps.iter().filter(|step| step.asked.is_some() && step.late.count() > 0) {
            all.late.get_or_insert_default().add(&step.late, &late_bounds);
        }
        for error in &measured.errors {
            *all.errors.entry(error_type(error.class)).or_default() += error.count;
        }
        all
    }

    fn tell(&self, metrics: &Metrics) {
        let times = |metric, labels, times: &Buckets| {
            metrics.set_times(metric, labels, times.counts.clone(), times.sum);
        };
        for (method, latency) in &self.methods {
            let labels =
                vec![("rpc.system.name", "jsonrpc".into()), ("rpc.method", Cow::Owned(method.clone()))];
            times(Metric::ClientCall, labels, latency);
        }
        if let Some(late) = &self.late {
            times(Metric::BenchLate, Labels::new(), late);
        }
        for (error_type, count) in &self.errors {
            metrics.set(Metric::BenchErrors, vec![("error.type", error_type.clone())], whole(*count));
        }
        // Sessions of the library do not tell.
        if self.bytes.0 > 0 {
            metrics.set(Metric::Bytes, direction("sent"), whole(self.bytes.0));
            metrics.set(Metric::Bytes, direction("received"), whole(self.bytes.1));
        }
    }
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn direction(which: &'static str) -> Labels {
    vec![("direction", which.into())]
}

/// The code of an error, or what else went wrong.
fn error_type(class: Class) -> Cow<'static, str> {
    match class {
        Class::Rpc(code) => code.to_string().into(),
        class => class.name().into(),
    }
}

fn span(place: Place, start: SystemTime, measured: &Measured) -> Span {
    let total = measured.total();
    let mut attributes = Attributes::default();
    let numbers = [
        ("sabir.bench.sent", total.sent),
        ("sabir.bench.ok", total.ok),
        ("sabir.bench.errors", total.errors),
        ("sabir.bench.p50_ns", total.latency.quantile(0.5)),
        ("sabir.bench.p99_ns", total.latency.quantile(0.99)),
        ("sabir.bench.max_ns", total.latency.max()),
    ];
    for (name, number) in numbers {
        attributes.set(name, Value::Number(whole(number)));
    }
    if let Some(error) = measured.errors.first() {
        attributes.text("error.type", &error_type(error.class));
    }
    Span {
        place,
        name: "sabir bench".to_owned(),
        kind: SpanKind::Internal,
        start,
        end: SystemTime::now(),
        is_error: measured.ended_by.is_some() || total.ok == 0,
        attributes,
    }
}

#[cfg(test)]
mod tests {
    use sabir_load::{ErrorTally, MethodTally};

    use super::*;

    #[test]
    fn totals_grow_over_rounds() {
        let mut latency = Times::new();
        [1_000_000, 7_000_000].into_iter().for_each(|nanos| latency.record(nanos));
        let method = MethodTally { name: "add".to_owned(), latency, ..MethodTally::default() };
        let error = |class| ErrorTally { class, count: 3, example: String::new() };
        let round = Measured {
            methods: vec![method],
            errors: vec![error(Class::Rpc(-32000)), error(Class::Timeout)],
            bytes: (10, 20),
            ..Measured::default()
        };
        let all = Totals::default().with(&round).with(&round);
        let add = &all.methods["add"];
        assert_eq!((&add.counts[..3], add.counts.iter().sum::<u64>()), (&[2, 2, 0][..], 4));
        assert!((add.sum - 0.016).abs() < 1e-4, "{}", add.sum);
        assert_eq!(
            all.errors.iter().map(|(kind, n)| (&**kind, *n)).collect::<Vec<_>>(),
            [("-32000", 6), ("timeout", 6)]
        );
        assert_eq!(all.bytes, (20, 40));
    }

    #[test]
    fn methods_without_a_row_have_the_label_of_all_others() {
        let method = |name: &str| MethodTally { name: name.to_owned(), ..MethodTally::default() };
        let round = Measured { methods: vec![method("add"), method(OTHERS)], ..Measured::default() };
        let all = Totals::default().with(&round);
        assert_eq!(all.methods.keys().map(String::as_str).collect::<Vec<_>>(), [OTHER, "add"]);
    }
}
