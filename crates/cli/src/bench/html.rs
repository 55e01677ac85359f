//! A report as a page of HTML: one file, without scripts, and with nothing from elsewhere.

use std::fmt::Write;

use super::chart::{self, Series, Ticks, Unit};
use super::report::{Figures, Report, Round, Step};
use super::text::{count, ms, plural, warnings};
use sabir_model::markup::html;

const STYLE: &str = include_str!("report.css");

/// Rows of each table.
const MOST_ROWS: usize = 100;

pub(super) fn page(report: &Report) -> String {
    let mut body = String::new();
    let title = format!("{} {}", report.target, report.methods.join(", "));
    head(&mut body, report, &title);
    for (number, round) in report.rounds.iter().enumerate() {
        if report.rounds.len() > 1 {
            let _ = write!(body, "<h2>Round {} of {}</h2>", number + 1, report.rounds.len());
        }
        one(&mut body, report, round);
    }
    options(&mut body, report);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n{body}</body>\n</html>\n",
        html(&title)
    )
}

fn head(body: &mut String, report: &Report, title: &str) {
    let config = &report.config;
    let how = match (&config.rate, config.concurrency) {
        (Some(rate), _) => format!("open loop, {} calls/s", html(rate)),
        (_, open) => format!("closed loop, {} open", open.unwrap_or_default()),
    };
    let _ = writeln!(
        body,
        "<header><h1><code>{}</code></h1><p>{how} · {} · {} · {}</p></header>",
        html(title),
        plural(config.connections as u64, "connection"),
        html(&report.protocol),
        html(&report.program),
    );
    for warning in warnings(report) {
        let _ = writeln!(body, "<p class=\"warning\">{}</p>", html(&warning));
    }
}

fn one(body: &mut String, report: &Report, round: &Round) {
    body.push_str("<div class=\"tiles\">");
    let errors = if round.errors > 0 { "tile bad" } else { "tile" };
    let time = |value: f64| if round.ok > 0 { format!("{} ms", ms(value)) } else { "-".to_owned() };
    for (class, name, value) in [
        ("tile", "calls/s", count(round.rate_answered.round() as u64)),
        ("tile", "p50", time(round.latency_ms.p50)),
        ("tile", "p99", time(round.latency_ms.p99)),
        ("tile", "answered", count(round.ok)),
        (errors, "errors", count(round.errors)),
    ] {
        let _ = write!(body, "<div class=\"{class}\"><b>{value}</b><span>{name}</span></div>");
    }
    body.push_str("</div>\n");
    body.push_str(&spectrum(report, round));
    over_time(body, round);
    if round.steps.len() > 1 {
        body.push_str(&knee(&round.steps));
    }
    figures(body, report, round);
    tables(body, round);
}

/// Latencies by the part of calls that were faster, the last thousandths as wide as the first half.
fn spectrum(report: &Report, round: &Round) -> String {
    // 0.9 is one third of the way to 0.999.
    let place = |quantile: f64| (-(1.0 - quantile).max(1e-5).log10() / 5.0).min(1.0);
    let points = |of: fn(&super::report::Point) -> f64| {
        let shown = round.spectrum.iter().filter(|point| point.quantile < 1.0);
        shown.map(|point| (place(point.quantile), of(point))).collect()
    };
    let mut series = vec![Series { name: "latency", class: "a", points: points(|point| point.latency_ms) }];
    if report.is_open() {
        series.push(Series { name: "service", class: "b", points: points(|point| point.service_ms) });
    }
    let ticks: Ticks =
        [(0.0, "0"), (0.5, "50"), (0.9, "90"), (0.99, "99"), (0.999, "99.9"), (0.9999, "99.99")]
            .into_iter()
            .map(|(quantile, label)| (place(quantile), format!("{label} %")))
            .collect();
    chart::lines("Latency by percentile", Unit::Millis, &ticks, &series)
}

fn over_time(body: &mut String, round: &Round) {
    let end = round.samples.last().map_or(0.0, |sample| sample.start_ms + sample.length_ms);
    if round.samples.len() < 2 || end <= 0.0 {
        return;
    }
    let points = |of: &dyn Fn(&super::report::Sample) -> f64| {
        let middle = |sample: &super::report::Sample| (sample.start_ms + sample.length_ms / 2.0) / end;
        round.samples.iter().map(|sample| (middle(sample), of(sample))).collect::<Vec<_>>()
    };
    let per_second = |number: u64, length: f64| number as f64 * 1e3 / length.max(1e-3);
    let ticks: Ticks = (0..=4)
        .map(|part| (f64::from(part) / 4.0, format!("{:.1} s", end / 1e3 * f64::from(part) / 4.0)))
        .collect();
    body.push_str(&chart::lines(
        "Calls a second over time",
        Unit::Number,
        &ticks,
        &[
            Series { name: "sent", class: "b", points: points(&|s| per_second(s.sent, s.length_ms)) },
            Series { name: "answered", class: "a", points: points(&|s| per_second(s.ok, s.length_ms)) },
            Series { name: "errors", class: "c", points: points(&|s| per_second(s.errors, s.length_ms)) },
        ],
    ));
    body.push_str(&chart::lines(
        "Latency over time",
        Unit::Millis,
        &ticks,
        &[
            Series { name: "max", class: "c", points: points(&|s| s.max_ms) },
            Series { name: "p99", class: "b", points: points(&|s| s.p99_ms) },
            Series { name: "p50", class: "a", points: points(&|s| s.p50_ms) },
        ],
    ));
}

/// Latencies by the rate that was asked for.
fn knee(steps: &[Step]) -> String {
    let last = (steps.len() - 1).max(1) as f64;
    let points = |of: fn(&Figures) -> f64| {
        steps.iter().enumerate().map(|(at, step)| (at as f64 / last, of(&step.latency_ms))).collect()
    };
    let every = steps.len().div_ceil(8);
    let ticks: Ticks = steps
        .iter()
        .enumerate()
        .step_by(every)
        .map(|(at, step)| (at as f64 / last, html(&step.label)))
        .collect();
    let series = [
        Series { name: "p99", class: "b", points: points(|figures| figures.p99) },
        Series { name: "p50", class: "a", points: points(|figures| figures.p50) },
    ];
    chart::lines("Latency by rate", Unit::Millis, &ticks, &series)
}

/// Cells of a row. Without a call that was answered there is nothing to show.
fn cells(body: &mut String, figures: &Figures, answered: u64) {
    let Figures { mean, p50, p90, p99, p999, max } = *figures;
    for value in [mean, p50, p90, p99, p999, max] {
        let _ = match answered {
            0 => write!(body, "<td>-</td>"),
            _ => write!(body, "<td>{}</td>", ms(value)),
        };
    }
}

const QUANTILES: &str = "<th>mean</th><th>p50</th><th>p90</th><th>p99</th><th>p99.9</th><th>max</th>";

fn figures(body: &mut String, report: &Report, round: &Round) {
    let _ = write!(body, "<table><thead><tr><th>ms</th>{QUANTILES}</tr></thead><tbody>");
    let mut rows = vec![("latency", &round.latency_ms)];
    if report.is_open() {
        rows.push(("service", &round.service_ms));
        rows.push(("late", &round.late_ms));
    }
    for (name, figures) in rows {
        let _ = write!(body, "<tr><td>{name}</td>");
        cells(body, figures, round.ok);
        body.push_str("</tr>");
    }
    body.push_str("</tbody></table>\n");
}

fn tables(body: &mut String, round: &Round) {
    if round.steps.len() > 1 {
        let _ = write!(
            body,
            "<table><thead><tr><th>asked/s</th><th>answered/s</th><th>errors</th>{QUANTILES}</tr></thead><tbody>"
        );
        for step in &round.steps {
            let _ = write!(
                body,
                "<tr><td>{}</td><td>{}</td><td>{}</td>",
                html(&step.label),
                count(step.rate_answered.round() as u64),
                count(step.errors)
            );
            cells(body, &step.latency_ms, step.ok);
            body.push_str("</tr>");
        }
        body.push_str("</tbody></table>\n");
    }
    if round.methods.len() > 1 {
        let _ = write!(
            body,
            "<table><thead><tr><th>method</th><th>calls</th><th>errors</th>{QUANTILES}</tr></thead><tbody>"
        );
        for method in round.methods.iter().take(MOST_ROWS) {
            let _ = write!(
                body,
                "<tr><td><code>{}</code></td><td>{}</td><td>{}</td>",
                html(&method.name),
                count(method.sent),
                count(method.errors)
            );
            cells(body, &method.latency_ms, method.ok);
            body.push_str("</tr>");
        }
        body.push_str("</tbody></table>\n");
    }
    if !round.error_classes.is_empty() {
        body.push_str("<table class=\"errors\"><thead><tr><th>error</th><th>count</th><th>such as</th></tr></thead><tbody>");
        for error in round.error_classes.iter().take(MOST_ROWS) {
            let code = error.code.map_or(String::new(), |code| format!(" {code}"));
            let _ = write!(
                body,
                "<tr><td>{}{code}</td><td>{}</td><td class=\"text\">{}</td></tr>",
                html(&error.class),
                count(error.count),
                html(&error.example)
            );
        }
        body.push_str("</tbody></table>\n");
    }
}

fn options(body: &mut String, report: &Report) {
    let (config, environment) = (&report.config, &report.environment);
    let time = |time: f64| format!("{} s", time / 1e3);
    let rows = [
        ("batch", config.batch.to_string()),
        ("warm-up", time(config.warmup_ms)),
        ("duration", config.duration_ms.map_or("-".to_owned(), time)),
        ("count", config.count.map_or("-".to_owned(), count)),
        ("timeout", time(config.timeout_ms)),
        ("grace", time(config.grace_ms)),
        (
            "machine",
            format!("{} {}, {}", environment.os, environment.arch, plural(environment.cpus as u64, "CPU")),
        ),
    ];
    body.push_str("<dl>");
    for (name, value) in rows {
        let _ = write!(body, "<div><dt>{name}</dt><dd>{}</dd></div>", html(&value));
    }
    body.push_str("</dl>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_answer_there_are_no_times() {
        let mut report: Report =
            serde_json::from_str(include_str!("../../tests/data/bench/report.json")).expect("a report");
        report.rounds.truncate(1);
        assert!(!page(&report).contains("<b>-</b><span>p50</span>"));
        report.rounds[0].ok = 0;
        let page = page(&report);
        assert!(
            page.contains("<b>-</b><span>p50</span>") && page.contains("<b>-</b><span>p99</span>"),
            "{page}"
        );
    }

    /// A report with names and messages of a server that means harm.
    #[test]
    fn hostile_text_is_text_and_nothing_comes_from_elsewhere() {
        let hostile = "<script>alert(1)</script>\"'&\u{1b}[2J\u{202e}";
        let report: Report =
            serde_json::from_str(include_str!("../../tests/data/bench/report.json")).expect("a report");
        let mut report = Report { target: hostile.to_owned(), methods: vec![hostile.to_owned()], ..report };
        report.config.rate = Some(hostile.to_owned());
        for round in &mut report.rounds {
            round.until_broken = Some(hostile.to_owned());
            round.methods.iter_mut().for_each(|row| row.name = hostile.to_owned());
            round.steps.iter_mut().for_each(|row| row.label = hostile.to_owned());
            round.error_classes.iter_mut().for_each(|row| {
                (row.class, row.example) = (hostile.to_owned(), hostile.to_owned());
            });
        }
        let page = page(&report);
        assert!(!page.contains("<script") && !page.contains(['\u{1b}', '\u{202e}']), "{page}");
        assert!(page.matches("&lt;script&gt;").count() > 8, "{page}");
        assert!(
            !["src=", "href=", "url(", "http", "@import"].iter().any(|from| page.contains(from)),
            "{page}"
        );
    }
}
