//! The documentation as Markdown.

use std::fmt::Write;

use crate::blocks::docs::Part;

pub(super) fn page(parts: &[Part]) -> String {
    let mut out = String::new();
    for part in parts {
        let _ = match part {
            Part::Heading(level, text) => write!(out, "{} {text}\n\n", "#".repeat(*level)),
            Part::Paragraph(text) => write!(out, "{text}\n\n"),
            Part::Code(language, code) => write!(out, "```{language}\n{code}```\n\n"),
            Part::Table(head, rows) => table(&mut out, head, rows),
            Part::Tree(classes) => tree(&mut out, classes),
        };
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn table(out: &mut String, head: &[&str], rows: &[Vec<String>]) -> std::fmt::Result {
    writeln!(out, "| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()))?;
    for row in rows {
        let cells: Vec<_> = row.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    writeln!(out)
}

fn tree(out: &mut String, classes: &[(String, Option<String>)]) -> std::fmt::Result {
    let name = |class: &str| class.replace(':', "_");
    writeln!(out, "```mermaid\nclassDiagram")?;
    for (class, above) in classes {
        match above {
            Some(above) => writeln!(out, "  {} <|-- {}", name(above), name(class))?,
            None => writeln!(out, "  class {}", name(class))?,
        }
    }
    write!(out, "```\n\n")
}
