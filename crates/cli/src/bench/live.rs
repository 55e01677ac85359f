//! How far a run is: one line on a terminal.

use std::time::Duration;

use sabir_load::{Pace, Progress};

use super::plan::Plan;
use super::text::{count, millis};
use crate::print::Printer;

pub(super) struct Line {
    printer: Printer,
    prefix: String,
    end: Option<Duration>,
}

impl Line {
    pub(super) fn new(plan: &Plan, number: u32, printer: &Printer) -> Line {
        let prefix = match plan.rounds {
            1 => String::new(),
            rounds => format!("round {number} of {rounds}, "),
        };
        let length = match &plan.load.pace {
            Pace::Open(rate) => rate.length().or(plan.load.duration),
            Pace::Closed(_) => plan.load.duration,
        };
        Line { printer: printer.clone(), prefix, end: length.map(|length| length + plan.load.warmup) }
    }

    pub(super) fn show(&mut self, progress: &Progress<'_>) {
        let Progress { elapsed, in_flight, so_far } = progress;
        let Some(last) = so_far.samples.last() else { return };
        let seconds = last.length as f64 / 1e9;
        let end = self.end.map_or(String::new(), |end| format!(" of {:.0}", end.as_secs_f64()));
        let errors = match so_far.steps.iter().map(|step| step.errors).sum() {
            0 => String::new(),
            errors => format!(", {} errors", count(errors)),
        };
        self.printer.status(&format!(
            "{}{:.0}{end} s: {} calls/s, p50 {}, p99 {}, {} open{errors}",
            self.prefix,
            elapsed.as_secs_f64(),
            count((last.ok as f64 / seconds.max(1e-9)) as u64),
            millis(last.p50),
            millis(last.p99),
            count(*in_flight as u64),
        ));
    }

    pub(super) fn end(&self) {
        self.printer.end_status();
    }
}
