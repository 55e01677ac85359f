//! The result of a replay: a table for people, an object per row, or a JUnit report.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::json::escape_controls;
use crate::layout::{Layout, Table};
use crate::paint::Paint;
use crate::recorded::compare::Difference;
use sabir_model::markup::xml;

/// What came of something that was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Same,
    Different,
    /// It was recorded, and did not come.
    Missing,
    /// It came, and was not recorded.
    Extra,
    NoAnswer,
    NotSent,
    /// There is nothing to compare it with.
    NotRecorded,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub(crate) fn is_fine(self) -> bool {
        matches!(self, Verdict::Same | Verdict::NotRecorded)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Different => "different",
            Verdict::Missing => "missing",
            Verdict::Extra => "extra",
            Verdict::NoAnswer => "no answer",
            Verdict::NotSent => "not sent",
            Verdict::NotRecorded => "not recorded",
        }
    }

    fn paint(self) -> Paint {
        match self {
            Verdict::Same => Paint::String,
            Verdict::Different | Verdict::NoAnswer => Paint::Error,
            Verdict::Missing | Verdict::Extra => Paint::Warning,
            Verdict::NotSent | Verdict::NotRecorded => Paint::Why,
        }
    }
}

/// One thing that was compared.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    pub(crate) differences: Vec<Difference>,
    pub(crate) note: Option<String>,
    pub(crate) was: Option<Duration>,
    pub(crate) now: Option<Duration>,
}

impl Row {
    pub(crate) fn new(name: String, verdict: Verdict) -> Self {
        Row { name, verdict, differences: Vec::new(), note: None, was: None, now: None }
    }

    pub(crate) fn compared(name: String, differences: Vec<Difference>) -> Self {
        let verdict = if differences.is_empty() { Verdict::Same } else { Verdict::Different };
        Row { differences, ..Row::new(name, verdict) }
    }

    fn to_json(&self, sides: Sides) -> Value {
        let ms =
            |time: Option<Duration>| time.map(|time| json!({"ms": (time.as_secs_f64() * 1e6).round() / 1e3}));
        let Sides { old, new } = sides;
        json!({
            "what": self.name,
            "verdict": self.verdict.name(),
            "differences": self.differences.iter().map(Difference::to_json).collect::<Vec<_>>(),
            "note": self.note,
            old: ms(self.was),
            new: ms(self.now),
        })
    }
}

/// What the two that are compared are called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sides {
    pub(crate) old: &'static str,
    pub(crate) new: &'static str,
}

/// The rows as a table. Equal rows that follow each other are one.
pub(crate) fn table(rows: &[Row], sides: Sides, layout: Layout) -> String {
    let mut out = String::new();
    let mut table = Table::bare();
    let groups = rows.chunk_by(|a, b| {
        a.verdict == Verdict::Same && b.verdict == Verdict::Same && a.name == b.name && b.note.is_none()
    });
    for group in groups {
        let row = &group[0];
        let name = match group.len() {
            1 => row.name.clone(),
            count => format!("{} ({count} times)", row.name),
        };
        let mut cells = vec![(Some(row.verdict.paint()), row.verdict.name().to_owned()), (None, name)];
        // Times are different each time: they are for people.
        if layout.columns.is_some() {
            let total = |time: fn(&Row) -> Option<Duration>| {
                let times: Vec<Duration> = group.iter().filter_map(time).collect();
                match times.is_empty() {
                    true => String::new(),
                    false => milliseconds(times.iter().sum::<Duration>() / times.len() as u32),
                }
            };
            let (was, now) = (total(|row| row.was), total(|row| row.now));
            if !was.is_empty() || !now.is_empty() {
                cells.push((Some(Paint::Why), format!("{} {was}, {} {now}", sides.old, sides.new)));
            }
        }
        table.row(cells);
        let details = row.note.iter().cloned();
        let details = details.chain(row.differences.iter().map(|found| found.told(sides.old, sides.new)));
        let details: Vec<String> = details.filter(|line| !line.is_empty()).collect();
        if !details.is_empty() {
            out.push_str(&table.text(layout));
            table = Table::bare();
            for line in details {
                for line in layout.lines(&crate::json::escape_controls(&line), 4) {
                    let _ = writeln!(out, "    {line}");
                }
            }
        }
    }
    out.push_str(&table.text(layout));
    out
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// `3 compared: 2 same, 1 different`.
pub(crate) fn summary(rows: &[Row]) -> String {
    let kinds = [
        Verdict::Same,
        Verdict::Different,
        Verdict::Missing,
        Verdict::Extra,
        Verdict::NoAnswer,
        Verdict::NotSent,
        Verdict::NotRecorded,
    ];
    let counts = kinds.iter().filter_map(|kind| {
        let count = rows.iter().filter(|row| row.verdict == *kind).count();
        (count > 0).then(|| format!("{count} {}", kind.name()))
    });
    match rows.len() {
        0 => "nothing to compare".to_owned(),
        _ => counts.collect::<Vec<_>>().join(", "),
    }
}

pub(crate) fn json_lines(rows: &[Row], sides: Sides) -> impl Iterator<Item = String> + '_ {
    rows.iter().map(move |row| escape_controls(&row.to_json(sides).to_string()).into_owned())
}

/// One test for each row.
pub(crate) fn junit(rows: &[Row], suite: &str, sides: Sides) -> String {
    let mut cases = String::new();
    let (mut failures, mut skipped) = (0, 0);
    for (at, row) in rows.iter().enumerate() {
        let name = xml(&format!("{} {}", at + 1, row.name));
        let _ = write!(cases, "    <testcase classname=\"{}\" name=\"{name}\"", xml(suite));
        if let Some(time) = row.now {
            let _ = write!(cases, " time=\"{:.6}\"", time.as_secs_f64());
        }
        if row.verdict == Verdict::Same {
            cases.push_str("/>\n");
            continue;
        }
        if row.verdict == Verdict::NotRecorded {
            skipped += 1;
            let _ =
                writeln!(cases, ">\n      <skipped message=\"{}\"/>\n    </testcase>", row.verdict.name());
            continue;
        }
        failures += 1;
        let told: Vec<String> =
            row.differences.iter().map(|found| found.told(sides.old, sides.new)).collect();
        let first = told.first().or(row.note.as_ref()).map_or(row.verdict.name(), String::as_str);
        let text = row.note.iter().chain(&told).map(|line| format!("{line}\n")).collect::<String>();
        let _ = writeln!(
            cases,
            ">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>",
            row.verdict.name(),
            xml(first),
            xml(&text)
        );
    }
    let counts =
        format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"", rows.len());
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  \
         <testsuite name=\"{}\" {counts}>\n{cases}  </testsuite>\n</testsuites>\n",
        xml(suite)
    )
}
