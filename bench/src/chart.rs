//! Bar charts as SVG that reads on light and on dark.

use std::fmt::Write;

use crate::report::{Kind, Table};

const LABELS: f64 = 190.0;
const BARS: f64 = 480.0;
const NUMBERS: f64 = 90.0;
const LINE: f64 = 24.0;

/// One metric of a table.
pub struct Bars<'a> {
    pub title: String,
    pub table: &'a Table<'a>,
    pub by: usize,
}

pub(crate) fn svg(charts: &[Bars<'_>]) -> String {
    let (mut body, mut y) = (String::new(), 0.0);
    for Bars { title, table, by } in charts {
        let lines = table.lines.iter();
        let measured: Vec<_> = lines.filter_map(|line| Some((line, table.value(line, *by)?))).collect();
        let most = measured.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        y += LINE;
        let _ = writeln!(body, r#"<text class="title" x="0" y="{y}">{title}</text>"#);
        for (line, value) in measured {
            y += LINE;
            let class = match line.kind {
                Kind::Ours => "ours",
                Kind::Floor => "floor",
                _ => "peer",
            };
            let width = (value / most * BARS).max(1.0);
            let _ = writeln!(
                body,
                r#"<text class="end" x="{}" y="{y}">{}</text><rect class="{class}" x="{LABELS}" y="{}" width="{width:.1}" height="16"/><text x="{:.1}" y="{y}">{}</text>"#,
                LABELS - 8.0,
                line.name,
                y - 13.0,
                LABELS + width + 6.0,
                thousands(value),
            );
        }
        y += LINE;
    }
    let width = LABELS + BARS + NUMBERS;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {y}\" width=\"{width}\" height=\"{y}\">\n{STYLE}\n{body}</svg>\n"
    )
}

fn thousands(value: f64) -> String {
    let (k, suffix) =
        if value >= 1e4 { ((value / 1e3).round() as u64, "k") } else { (value.round() as u64, "") };
    if k >= 1000 { format!("{},{:03}{suffix}", k / 1000, k % 1000) } else { format!("{k}{suffix}") }
}

const STYLE: &str = "<style>
text { font: 13px sans-serif; fill: #24292f }
.title { font-weight: bold }
.end { text-anchor: end }
.ours { fill: #d9730d } .floor { fill: #b6bcc3 } .peer { fill: #4a7fb5 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .floor { fill: #6e7681 } }
</style>";
