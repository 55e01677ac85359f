//! The figures of a run for people: tables of text.

use std::fmt::Write;

use sabir_load::Class;

use super::report::{Figures, Report, Round};
use crate::json::escape_controls;
use crate::paint::{Paint, Painter};

/// Rows of methods and errors that are printed.
const MOST_ROWS: usize = 20;

pub(super) fn page(report: &Report, painter: Painter) -> String {
    let mut out = String::new();
    heading(&mut out, report, painter);
    for (number, round) in report.rounds.iter().enumerate() {
        if report.rounds.len() > 1 {
            let _ = writeln!(out, "\nround {} of {}", number + 1, report.rounds.len());
        }
        one(&mut out, report, round);
    }
    out
}

fn heading(out: &mut String, report: &Report, painter: Painter) {
    let config = &report.config;
    let methods = match &report.methods[..] {
        [one] => one.clone(),
        many => format!("{} methods", many.len()),
    };
    painter.paint(out, Paint::Key, &escape_controls(&format!("{} {methods}", report.target)));
    let connections = match config.connections {
        1 => "1 connection".to_owned(),
        many => format!("{many} connections"),
    };
    let batches = if config.batch > 1 { format!(", batches of {}", config.batch) } else { String::new() };
    let _ = match (&config.rate, config.concurrency) {
        (Some(rate), _) => writeln!(out, "\nopen loop, {rate} calls/s, {connections}{batches}"),
        (_, concurrency) => {
            let open = concurrency.unwrap_or_default();
            writeln!(out, "\nclosed loop, {open} open, {connections}{batches}")
        }
    };
}

fn one(out: &mut String, report: &Report, round: &Round) {
    let unsent = round.error_classes.iter().find(|error| error.class == Class::Unsent.name());
    // They are errors and no calls: the numbers would seem not to add up.
    let unsent = unsent.map_or(String::new(), |unsent| format!(" ({} not sent)", count(unsent.count)));
    let _ = writeln!(
        out,
        "\n{} in {:.2} s, {} answered, {}{unsent}: {} calls/s",
        plural(round.sent, "call"),
        round.seconds,
        count(round.ok),
        plural(round.errors, "error"),
        count(round.rate_answered.round() as u64),
    );
    let mut rows = vec![figures_row("latency", round.ok, &round.latency_ms)];
    if report.is_open() {
        rows.push(figures_row("service", round.ok, &round.service_ms));
        rows.push(figures_row("late", round.sent, &round.late_ms));
    }
    if round.error_classes.iter().any(|error| error.class == "rpc") {
        rows.push(figures_row("errors", round.errors, &round.error_latency_ms));
    }
    table(out, &["ms", "mean", "p50", "p90", "p99", "p99.9", "max"], &rows);
    if round.steps.len() > 1 {
        let rows: Vec<Vec<String>> = round
            .steps
            .iter()
            .map(|step| {
                let mut row = vec![step.label.clone(), count(step.rate_answered.round() as u64)];
                row.push(count(step.errors));
                let latency = &step.latency_ms;
                row.extend([latency.p50, latency.p99, latency.max].map(|value| answered(step.ok, value)));
                row
            })
            .collect();
        table(out, &["asked/s", "answered/s", "errors", "p50 ms", "p99 ms", "max ms"], &rows);
    }
    if round.methods.len() > 1 {
        let rows: Vec<Vec<String>> = round
            .methods
            .iter()
            .take(MOST_ROWS)
            .map(|method| {
                let mut row = vec![shortened(&method.name), count(method.sent), count(method.errors)];
                let latency = &method.latency_ms;
                row.extend([latency.p50, latency.p99, latency.max].map(|value| answered(method.ok, value)));
                row
            })
            .collect();
        table(out, &["method", "calls", "errors", "p50 ms", "p99 ms", "max ms"], &rows);
    }
    if !round.error_classes.is_empty() {
        out.push('\n');
        for error in round.error_classes.iter().take(MOST_ROWS) {
            let code = error.code.map_or(String::new(), |code| format!(" {code}"));
            let example = escape_controls(&error.example);
            let _ = writeln!(out, "{} × {}{code}: {example}", count(error.count), error.class);
        }
    }
}

/// The figures of so many calls.
fn figures_row(name: &str, calls: u64, figures: &Figures) -> Vec<String> {
    let Figures { mean, p50, p90, p99, p999, max } = *figures;
    let figures = [mean, p50, p90, p99, p999, max].map(|value| answered(calls, value));
    std::iter::once(name.to_owned()).chain(figures).collect()
}

/// A time of so many calls. Without any, there is none, and it is not zero.
fn answered(calls: u64, value: f64) -> String {
    if calls > 0 { ms(value) } else { "-".to_owned() }
}

/// Columns of numbers, aligned to the right behind the first.
fn table(out: &mut String, titles: &[&str], rows: &[Vec<String>]) {
    let widths: Vec<usize> = (0..titles.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).chain([titles[column].len()]).max().unwrap_or_default()
        })
        .collect();
    out.push('\n');
    let titles: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
    for row in std::iter::once(&titles).chain(rows) {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(out, "{cell:width$}"),
                _ => write!(out, "  {cell:>width$}"),
            };
        }
        out.push('\n');
    }
}

/// What a reader of the figures should know.
pub(super) fn warnings(report: &Report) -> Vec<String> {
    let mut warnings = Vec::new();
    let Some(round) = report.last() else { return warnings };
    if !report.is_open() {
        warnings.push("closed loop: the tail is understated; --rate shows how long users wait".to_owned());
    }
    if report.is_open() && is_behind(round) {
        warnings.push(format!(
            "warning: the generator fell behind: calls were sent up to {} ms late (p99 {} ms), which is in their \
             latency; this machine is too busy, or the rate too high for it",
            ms(round.late_ms.max),
            ms(round.late_ms.p99)
        ));
    }
    if round.waited > 0 {
        warnings.push(format!(
            "{} waited for room, up to {} ms, which is in their latency: --connections and --max-in-flight limit it",
            plural(round.waited, "call"),
            ms(round.longest_wait_ms)
        ));
    }
    if let Some(broken) = &round.until_broken {
        warnings.push(format!("the limit was reached: {broken}"));
    }
    for (number, what, one, many) in [
        (round.strays, "message", "belongs to no open call", "belong to no open call"),
        (round.late_answers, "answer", "came after --timeout", "came after --timeout"),
        (round.reconnects, "connection", "was opened again", "were opened again"),
        (round.questions, "question", "of the server was answered", "of the server were answered"),
        (round.cut_off, "call", "was open at the end", "were open at the end"),
    ] {
        let because = match what {
            "message" => ": the server broke the protocol",
            "connection" => ": the server closed them",
            "call" => ", and not counted",
            _ => "",
        };
        if number > 0 {
            let happened = if number == 1 { one } else { many };
            warnings.push(format!("{} {happened}{because}", plural(number, what)));
        }
    }
    warnings
}

/// Whether our own lateness is a part of the figures that matters.
fn is_behind(round: &Round) -> bool {
    round.late_ms.p99 > 1.0 && round.late_ms.p99 > round.latency_ms.p99 * 0.1
}

fn shortened(name: &str) -> String {
    const LONGEST: usize = 40;
    let name = escape_controls(name);
    match name.chars().count() > LONGEST {
        true => name.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => name.into_owned(),
    }
}

/// So many of something.
pub(super) fn plural(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{} {what}s", count(number)) }
}

/// A number with its thousands apart.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Milliseconds, with three digits or so.
pub(super) fn ms(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

/// Nanoseconds, with their unit.
pub(super) fn millis(nanos: u64) -> String {
    format!("{} ms", ms(nanos as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        for (number, want) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), want);
        }
        for (value, want) in
            [(0.0, "0.000"), (0.0123, "0.012"), (1.234, "1.23"), (12.34, "12.3"), (1234.5, "1234")]
        {
            assert_eq!(ms(value), want);
        }
    }
}
