//! `sabir bench compare`: two runs beside each other.

use std::path::Path;

use serde_json::json;

use super::rank::{FEWEST, median, p_value};
use super::report::{FORMAT, Report, Round};
use super::text::{count, ms};
use crate::args::BenchCompareArgs;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::layout::Table;
use crate::paint::Paint;
use crate::print::Printer;

/// Below this, a difference counts.
const SIGNIFICANT: f64 = 0.05;

/// A figure that is compared.
struct Metric {
    name: &'static str,
    of: fn(&Round) -> f64,
    more_is_better: bool,
    /// Of calls that were answered: without any, there is no such figure.
    is_time: bool,
}

const fn time(name: &'static str, of: fn(&Round) -> f64) -> Metric {
    Metric { name, of, more_is_better: false, is_time: true }
}

const METRICS: [Metric; 7] = [
    Metric { name: "calls/s", of: |round| round.rate_answered, more_is_better: true, is_time: false },
    time("mean ms", |round| round.latency_ms.mean),
    time("p50 ms", |round| round.latency_ms.p50),
    time("p90 ms", |round| round.latency_ms.p90),
    time("p99 ms", |round| round.latency_ms.p99),
    time("p99.9 ms", |round| round.latency_ms.p999),
    Metric { name: "errors %", of: errors, more_is_better: false, is_time: false },
];

fn errors(round: &Round) -> f64 {
    100.0 * round.errors as f64 / (round.ok + round.errors).max(1) as f64
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Better,
    Worse,
    /// It may be chance, or does not matter.
    Same,
    /// Too few rounds to say anything.
    Unknown,
    /// No call was answered in one of the runs.
    Nothing,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Same => "no difference shown",
            Verdict::Unknown => "too few rounds to tell",
            Verdict::Nothing => "nothing to compare",
        }
    }
}

/// A figure of both runs.
struct Compared {
    metric: &'static Metric,
    a: Option<f64>,
    b: Option<f64>,
    /// By how many per cent B is above A; `None` if A is 0.
    change: Option<f64>,
    p: Option<f64>,
    verdict: Verdict,
}

pub(super) fn run(args: &BenchCompareArgs, printer: &Printer) -> Result<Exit, Failure> {
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    for difference in differences(&a, &b) {
        printer.note(&format!("measured differently: {difference}"));
    }
    let compared = compare(&a, &b, args.tolerance);
    match args.json {
        true => {
            for row in &compared {
                let line = json!({
                    "figure": row.metric.name,
                    "a": row.a,
                    "b": row.b,
                    "change_percent": row.change,
                    "p": row.p,
                    "verdict": row.verdict.name(),
                });
                printer.json(&line.to_string())?;
            }
        }
        false => {
            let mut table = Table::new(&["", "A", "B", "change", "p", ""]);
            for row in &compared {
                let shown = |value: Option<f64>| match (value, row.metric.name) {
                    (None, _) => "-".to_owned(),
                    (Some(value), "calls/s") => count(value.round() as u64),
                    (Some(value), _) => ms(value),
                };
                let paint = match row.verdict {
                    Verdict::Better => Some(Paint::Came),
                    Verdict::Worse => Some(Paint::Error),
                    Verdict::Same | Verdict::Unknown | Verdict::Nothing => None,
                };
                table.row([
                    (Some(Paint::Key), row.metric.name.to_owned()),
                    (None, shown(row.a)),
                    (None, shown(row.b)),
                    (None, row.change.map_or("-".to_owned(), |change| format!("{change:+.1} %"))),
                    (None, row.p.map_or("-".to_owned(), |p| format!("{p:.3}"))),
                    (paint, row.verdict.name().to_owned()),
                ]);
            }
            printer.page(&table.text(printer.layout()))?;
            if compared.iter().any(|row| row.verdict == Verdict::Unknown) {
                printer.hint(&format!("measure at least {FEWEST} times: --rounds 5"));
            }
        }
    }
    for (name, report) in [("A", &a), ("B", &b)] {
        if let Some(failed) = report.rounds.iter().position(|round| round.ok == 0) {
            let what = format!("{name} is a run that failed: no call succeeded in round {}", failed + 1);
            return Err(Failure::new(Exit::Error, what));
        }
    }
    Ok(match compared.iter().any(|row| row.verdict == Verdict::Worse) {
        true => Exit::Error,
        false => Exit::Ok,
    })
}

fn read(path: &Path) -> Result<Report, Failure> {
    let wrong = |what: &dyn std::fmt::Display| {
        Failure::new(Exit::Connect, format_args!("cannot read `{}`: {what}", path.display()))
            .hint("it is what `sabir bench --json` prints")
    };
    let bytes = files::read(path, files::LARGEST_DOCUMENT).map_err(|error| wrong(&error))?;
    let report: Report = serde_json::from_slice(&bytes).map_err(|error| match error.is_data() {
        true => wrong(&"it is not what a run came to"),
        false => wrong(&format_args!("it is not JSON: {error}")),
    })?;
    match report {
        report if report.sabir_bench != FORMAT => {
            Err(wrong(&format_args!("its format is {}, and not {FORMAT}", report.sabir_bench)))
        }
        report if report.rounds.is_empty() => Err(wrong(&"it has no rounds")),
        report => Ok(report),
    }
}

/// Options that are not the same. What is measured should be the only difference.
fn differences(a: &Report, b: &Report) -> Vec<String> {
    let shown = |report: &Report| {
        let config = &report.config;
        [
            ("loop", config.r#loop.clone()),
            ("rate", config.rate.clone().unwrap_or_default()),
            ("concurrency", config.concurrency.map_or(String::new(), |number| number.to_string())),
            ("connections", config.connections.to_string()),
            ("batch", config.batch.to_string()),
            ("methods", report.methods.join(", ")),
            ("cpus", report.environment.cpus.to_string()),
            ("optimized", report.environment.optimized.to_string()),
        ]
    };
    let pairs = shown(a).into_iter().zip(shown(b));
    let differ = pairs.filter(|((_, a), (_, b))| a != b);
    differ.map(|((name, a), (_, b))| format!("{name} is `{a}` in A and `{b}` in B")).collect()
}

fn compare(a: &Report, b: &Report, tolerance: f64) -> Vec<Compared> {
    METRICS
        .iter()
        .map(|metric| {
            let values = |report: &Report| {
                let rounds = report.rounds.iter().filter(|round| round.ok > 0 || !metric.is_time);
                rounds.map(metric.of).collect::<Vec<f64>>()
            };
            let (a, b) = (values(a), values(b));
            if a.is_empty() || b.is_empty() {
                let of = |values: &[f64]| (!values.is_empty()).then(|| median(values));
                let (a, b, verdict) = (of(&a), of(&b), Verdict::Nothing);
                return Compared { metric, a, b, change: None, p: None, verdict };
            }
            let p = p_value(&a, &b);
            let (a, b) = (median(&a), median(&b));
            let change = (a != 0.0).then(|| 100.0 * (b - a) / a);
            let matters = change.is_none_or(|change| change.abs() > tolerance) && a != b;
            let verdict = match p {
                None if a == b => Verdict::Same,
                None => Verdict::Unknown,
                Some(p) if p >= SIGNIFICANT || !matters => Verdict::Same,
                Some(_) if (b > a) == metric.more_is_better => Verdict::Better,
                Some(_) => Verdict::Worse,
            };
            Compared { metric, a: Some(a), b: Some(b), change, p, verdict }
        })
        .collect()
}
