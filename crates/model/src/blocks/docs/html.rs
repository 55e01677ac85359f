//! The documentation as a page of HTML that needs no other file and runs no script.

use std::fmt::Write;

use crate::blocks::docs::{Part, svg};
use crate::markup::xml;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1f;background:#fff}\
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;border-bottom:1px solid #ddd;padding:.25rem .75rem .25rem 0}\
code,pre{font:14px/1.45 ui-monospace,monospace}pre{background:#f5f5f7;padding:.75rem;overflow:auto;border-radius:4px}\
nav ul{columns:2;list-style:none;padding:0}svg text{font:13px ui-monospace,monospace;fill:currentColor}svg line{stroke:#999}svg .life{stroke:#ccc}\
@media (prefers-color-scheme:dark){body{color:#e6e6ea;background:#16161a}pre{background:#222228}td,th{border-color:#3a3a42}a{color:#8ab4ff}}";

pub(super) fn page(parts: &[Part]) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>The model</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    );
    let mut contents = String::from("<nav>\n<ul>\n");
    let mut body = String::new();
    let mut number = 0;
    for part in parts {
        let _ = match part {
            Part::Heading(level, text) => {
                number += 1;
                if *level == 2 {
                    let _ = writeln!(contents, "<li><a href=\"#h{number}\">{}</a></li>", inline(text));
                }
                writeln!(body, "<h{level} id=\"h{number}\">{}</h{level}>", inline(text))
            }
            Part::Paragraph(text) => writeln!(body, "<p>{}</p>", inline(text)),
            Part::Code(_, code) => writeln!(body, "<pre>{}</pre>", xml(code)),
            Part::Table(head, rows) => table(&mut body, head, rows),
            Part::Tree(classes) => svg::tree(&mut body, classes),
            Part::Links(links) => svg::links(&mut body, links),
            Part::Session(steps) => svg::session(&mut body, steps),
        };
    }
    contents.push_str("</ul>\n</nav>\n");
    out.push_str(&contents);
    out.push_str(&body);
    out.push_str("</body>\n</html>\n");
    out
}

/// Text whose backticks stand around code.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (i, piece) in text.split('`').enumerate() {
        match i % 2 {
            0 => out.push_str(&xml(piece)),
            _ => out.extend(["<code>", &xml(piece), "</code>"]),
        }
    }
    out
}

fn table(out: &mut String, head: &[&str], rows: &[Vec<String>]) -> std::fmt::Result {
    let head: String = head.iter().map(|cell| format!("<th>{}</th>", inline(cell))).collect();
    writeln!(out, "<table>\n<tr>{head}</tr>")?;
    for row in rows {
        let cells: String = row.iter().map(|cell| format!("<td>{}</td>", inline(cell))).collect();
        writeln!(out, "<tr>{cells}</tr>")?;
    }
    writeln!(out, "</table>")
}
