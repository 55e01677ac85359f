//! A comparison as a page of HTML: one file, without scripts, and with nothing from elsewhere.

use std::fmt::Write;
use std::time::Duration;

use crate::json::is_terminal_control;
use crate::replay::report::{Row, Sides, Verdict, summary};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;\
color:#1a1a1a;background:#fff}h1{font-size:1.3rem}table{border-collapse:collapse;width:100%}\
th,td{text-align:left;vertical-align:top;padding:.35rem .7rem;border-bottom:1px solid #ddd}\
td.time{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\
code,del,ins{font-family:ui-monospace,monospace;font-size:.9em;overflow-wrap:anywhere}\
del{background:#ffe3e3;color:#8a1010}ins{background:#e0f5e3;color:#0f5a1f;text-decoration:none}\
.verdict{white-space:nowrap;font-weight:600}.same{color:#2b7a3a}.different,.no-answer{color:#b01818}\
.missing,.extra,.not-sent{color:#8a5a00}\
@media (prefers-color-scheme:dark){body{background:#161616;color:#e4e4e4}th,td{border-color:#333}\
del{background:#4a1c1c;color:#ffc9c9}ins{background:#143d1e;color:#bff0c8}.same{color:#7fd08f}\
.different,.no-answer{color:#ff8f8f}.missing,.extra,.not-sent{color:#e8b75c}}";

pub(super) fn page(rows: &[Row], sides: Sides, a: &str, b: &str) -> String {
    let mut body = String::new();
    for row in rows {
        let name = row.verdict.name();
        let _ = write!(
            body,
            "<tr><td class=\"verdict {}\">{name}</td><td><code>{}</code>",
            name.replace(' ', "-"),
            escaped(&row.name)
        );
        if let Some(note) = &row.note {
            let _ = write!(body, "<br>{}", escaped(note));
        }
        for found in &row.differences {
            let _ = write!(body, "<br><code>{}</code>", escaped(&found.path));
            if let Some(was) = &found.was {
                let _ = write!(body, " <del>{}</del>", escaped(was));
            }
            if let Some(now) = &found.now {
                let _ = write!(body, " <ins>{}</ins>", escaped(now));
            }
        }
        let time = |time: Option<Duration>| {
            time.map_or_else(String::new, |time| format!("{:.1} ms", time.as_secs_f64() * 1000.0))
        };
        let _ = writeln!(
            body,
            "</td><td class=\"time\">{}</td><td class=\"time\">{}</td></tr>",
            time(row.was),
            time(row.now)
        );
    }
    let is_same = rows.iter().all(|row| row.verdict == Verdict::Same);
    let title = if is_same { "Same" } else { "Different" };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}: {a} and {b}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}: {summary}</h1>\n\
         <p>{old} is <code>{a}</code>, {new} is <code>{b}</code>.</p>\n\
         <table>\n<thead><tr><th></th><th>what</th><th>{old}</th><th>{new}</th></tr></thead>\n\
         <tbody>\n{body}</tbody>\n</table>\n</body>\n</html>\n",
        a = escaped(a),
        b = escaped(b),
        old = sides.old,
        new = sides.new,
        summary = summary(rows),
    )
}

/// Text that is nothing but text in a page, and shows what is invisible.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_terminal_control(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::compare::Difference;

    #[test]
    fn hostile_text_is_text() {
        let hostile = "<script>alert(1)</script>\"'&\u{1b}[2J\u{202e}";
        let differences = vec![Difference {
            path: hostile.to_owned(),
            was: Some(hostile.to_owned()),
            now: Some(hostile.to_owned()),
        }];
        let note = Some(hostile.to_owned());
        let row = Row { differences, note, ..Row::new(hostile.to_owned(), Verdict::Different) };
        let page = page(&[row], Sides { old: "A", new: "B" }, hostile, hostile);
        assert!(!page.contains("<script") && !page.contains(['\u{1b}', '\u{202e}']), "{page}");
        assert_eq!(page.matches("&lt;script&gt;").count(), 9);
    }
}
