//! The figures of a run, as they are printed, saved and compared.

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use sabir_load::{Measured, Pace, StepTally, Times};
use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::trial::Trial;
use super::{html, text};
use crate::exit::{Exit, Failure};
use crate::print::Printer;

/// The version of the format.
pub(super) const FORMAT: u32 = 1;

/// Parts of all latencies that are kept for charts.
const SPECTRUM: [f64; 18] = [
    0.0, 0.1, 0.25, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999,
    1.0,
];

/// Several runs with the same options.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) sabir_bench: u32,
    pub(super) program: String,
    pub(super) target: String,
    pub(super) methods: Vec<String>,
    pub(super) protocol: String,
    /// Seconds since 1970.
    pub(super) started: u64,
    pub(super) config: Config,
    pub(super) environment: Environment,
    pub(super) rounds: Vec<Round>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Config {
    /// `open` or `closed`.
    pub(super) r#loop: String,
    pub(super) rate: Option<String>,
    pub(super) concurrency: Option<usize>,
    pub(super) connections: usize,
    pub(super) batch: usize,
    pub(super) warmup_ms: f64,
    pub(super) duration_ms: Option<f64>,
    pub(super) count: Option<u64>,
    pub(super) timeout_ms: f64,
    pub(super) grace_ms: f64,
    pub(super) max_in_flight: Option<usize>,
    pub(super) until: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Environment {
    pub(super) os: String,
    pub(super) arch: String,
    pub(super) cpus: usize,
    /// Whether the program was compiled to be fast.
    pub(super) optimized: bool,
}

/// Times in milliseconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) mean: f64,
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    #[serde(rename = "p99.9")]
    pub(super) p999: f64,
    pub(super) max: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) rate_asked: Option<f64>,
    pub(super) label: String,
    pub(super) seconds: f64,
    pub(super) rate_sent: f64,
    pub(super) rate_answered: f64,
    pub(super) sent: u64,
    pub(super) ok: u64,
    pub(super) errors: u64,
    pub(super) latency_ms: Figures,
    pub(super) service_ms: Figures,
    pub(super) late_ms: Figures,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) sent: u64,
    pub(super) ok: u64,
    pub(super) errors: u64,
    pub(super) latency_ms: Figures,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ErrorRow {
    pub(super) class: String,
    pub(super) code: Option<i64>,
    pub(super) count: u64,
    pub(super) example: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Sample {
    pub(super) start_ms: f64,
    pub(super) length_ms: f64,
    pub(super) sent: u64,
    pub(super) ok: u64,
    pub(super) errors: u64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) max_ms: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Point {
    pub(super) quantile: f64,
    pub(super) latency_ms: f64,
    pub(super) service_ms: f64,
}

/// One run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Round {
    pub(super) seconds: f64,
    pub(super) sent: u64,
    pub(super) ok: u64,
    pub(super) errors: u64,
    pub(super) rate_sent: f64,
    pub(super) rate_answered: f64,
    /// None where the library keeps the wire to itself, as in sessions of MCP and behind NATS.
    pub(super) bytes_out: Option<u64>,
    pub(super) bytes_in: Option<u64>,
    pub(super) latency_ms: Figures,
    pub(super) service_ms: Figures,
    pub(super) late_ms: Figures,
    pub(super) error_latency_ms: Figures,
    pub(super) waited: u64,
    pub(super) longest_wait_ms: f64,
    pub(super) warmup_calls: u64,
    pub(super) questions: u64,
    pub(super) notifications: u64,
    pub(super) late_answers: u64,
    pub(super) strays: u64,
    pub(super) reconnects: u64,
    pub(super) cut_off: u64,
    pub(super) until_broken: Option<String>,
    pub(super) ended_by: Option<String>,
    pub(super) steps: Vec<Step>,
    pub(super) methods: Vec<Row>,
    pub(super) error_classes: Vec<ErrorRow>,
    pub(super) spectrum: Vec<Point>,
    pub(super) samples: Vec<Sample>,
}

impl Report {
    pub(super) fn new(plan: &Plan, trial: &Trial) -> Report {
        let load = &plan.load;
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        let (kind, rate, concurrency) = match &load.pace {
            Pace::Open(rate) => ("open", Some(rate.to_string()), None),
            Pace::Closed(concurrency) => ("closed", None, Some(*concurrency)),
        };
        let is_open = rate.is_some();
        let has_end = matches!(&load.pace, Pace::Open(rate) if rate.length().is_some());
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut methods: Vec<String> = plan.entries.iter().map(|entry| entry.name.clone()).collect();
        let mut known = HashSet::new();
        methods.retain(|method| known.insert(method.clone()));
        methods.truncate(100);
        Report {
            sabir_bench: FORMAT,
            program: concat!("sabir ", env!("CARGO_PKG_VERSION")).to_owned(),
            target: plan.peer.target.to_string(),
            methods,
            protocol: trial.protocol.to_string(),
            started: since.as_secs(),
            config: Config {
                r#loop: kind.to_owned(),
                rate,
                concurrency,
                connections: plan.connections,
                batch: load.batch,
                warmup_ms: ms(load.warmup),
                duration_ms: load.duration.filter(|_| !has_end).map(ms),
                count: load.count,
                timeout_ms: ms(load.timeout),
                grace_ms: ms(load.grace),
                max_in_flight: is_open.then_some(load.max_in_flight),
                until: load.until.as_ref().map(ToString::to_string),
            },
            environment: Environment {
                os: std::env::consts::OS.to_owned(),
                arch: std::env::consts::ARCH.to_owned(),
                cpus: std::thread::available_parallelism().map_or(1, usize::from),
                optimized: !cfg!(debug_assertions),
            },
            rounds: Vec::new(),
        }
    }

    /// Writes the page, if one is wanted.
    pub(super) fn write_page(&self, plan: &Plan) -> Result<(), Failure> {
        let Some(path) = &plan.html else { return Ok(()) };
        std::fs::write(path, html::page(self)).map_err(|error| unwritable(path, &error))
    }

    /// Prints it.
    pub(super) fn tell(&self, plan: &Plan, printer: &Printer) -> Result<(), Failure> {
        match plan.json {
            true => {
                let text = serde_json::to_string(self)
                    .map_err(|error| Failure::new(Exit::Error, format_args!("no JSON: {error}")))?;
                printer.json(&text)?;
            }
            false => {
                printer.page(&text::page(self, printer.painter()))?;
                text::warnings(self).iter().for_each(|warning| printer.note(warning));
            }
        }
        Ok(())
    }

    /// The last round: what is shown if there is one only.
    pub(super) fn last(&self) -> Option<&Round> {
        self.rounds.last()
    }

    pub(super) fn is_open(&self) -> bool {
        self.config.r#loop == "open"
    }
}

/// Says before the load that there will be no page. What an earlier run has written stays until there is another one.
pub(super) fn check_page(plan: &Plan) -> Result<(), Failure> {
    let Some(path) = &plan.html else { return Ok(()) };
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map(drop).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::file(format_args!("cannot write `{}`: {error}", path.display()))
}

impl Figures {
    fn new(times: &Times) -> Figures {
        let ms = |nanos: u64| nanos as f64 / 1e6;
        Figures {
            mean: times.mean() / 1e6,
            p50: ms(times.quantile(0.5)),
            p90: ms(times.quantile(0.9)),
            p99: ms(times.quantile(0.99)),
            p999: ms(times.quantile(0.999)),
            max: ms(times.max()),
        }
    }
}

fn seconds(step: &StepTally) -> f64 {
    step.end.saturating_sub(step.start) as f64 / 1e9
}

impl Round {
    pub(super) fn new(measured: &Measured) -> Round {
        let total = measured.total();
        let time = seconds(&total);
        let per_second = |count: u64, time: f64| if time > 0.0 { count as f64 / time } else { 0.0 };
        let ms = |nanos: u64| nanos as f64 / 1e6;
        let step = |step: &StepTally| Step {
            rate_asked: step.asked,
            label: step.label.clone(),
            seconds: seconds(step),
            rate_sent: per_second(step.sent, seconds(step)),
            rate_answered: per_second(step.ok, seconds(step)),
            sent: step.sent,
            ok: step.ok,
            errors: step.errors,
            latency_ms: Figures::new(&step.latency),
            service_ms: Figures::new(&step.service),
            late_ms: Figures::new(&step.late),
        };
        let point = |part: &f64| Point {
            quantile: *part,
            latency_ms: ms(total.latency.quantile(*part)),
            service_ms: ms(total.service.quantile(*part)),
        };
        Round {
            seconds: time,
            sent: total.sent,
            ok: total.ok,
            errors: total.errors,
            rate_sent: per_second(total.sent, time),
            rate_answered: per_second(total.ok, time),
            bytes_out: (measured.bytes.0 > 0).then_some(measured.bytes.0),
            bytes_in: (measured.bytes.0 > 0).then_some(measured.bytes.1),
            latency_ms: Figures::new(&total.latency),
            service_ms: Figures::new(&total.service),
            late_ms: Figures::new(&total.late),
            error_latency_ms: Figures::new(&measured.error_latency),
            waited: measured.waits.count,
            longest_wait_ms: ms(measured.waits.longest),
            warmup_calls: measured.warmup_calls,
            questions: measured.questions,
            notifications: measured.notifications,
            late_answers: measured.late_answers,
            strays: measured.strays,
            reconnects: measured.reconnects,
            cut_off: measured.cut_off,
            until_broken: measured.broken.clone(),
            ended_by: measured.ended_by.clone(),
            steps: measured.steps.iter().map(step).collect(),
            methods: measured
                .methods
                .iter()
                .map(|row| Row {
                    name: row.name.clone(),
                    sent: row.sent,
                    ok: row.ok,
                    errors: row.errors,
                    latency_ms: Figures::new(&row.latency),
                })
                .collect(),
            error_classes: measured
                .errors
                .iter()
                .map(|error| ErrorRow {
                    class: error.class.name().to_owned(),
                    code: match error.class {
                        sabir_load::Class::Rpc(code) => Some(code),
                        _ => None,
                    },
                    count: error.count,
                    example: error.example.clone(),
                })
                .collect(),
            spectrum: SPECTRUM.iter().map(point).collect(),
            samples: measured
                .samples
                .iter()
                .map(|sample| Sample {
                    start_ms: ms(sample.start),
                    length_ms: ms(sample.length),
                    sent: sample.sent,
                    ok: sample.ok,
                    errors: sample.errors,
                    p50_ms: ms(sample.p50),
                    p99_ms: ms(sample.p99),
                    max_ms: ms(sample.max),
                })
                .collect(),
        }
    }
}
