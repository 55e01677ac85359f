//! The documentation as Markdown.

use std::fmt::Write;

use crate::blocks::docs::Part;
use crate::blocks::docs::session::Step;
use crate::blocks::docs::vocabulary::Link;

pub(super) fn page(parts: &[Part]) -> String {
    let mut out = String::new();
    for part in parts {
        let _ = match part {
            Part::Heading(level, text) => write!(out, "{} {text}\n\n", "#".repeat(*level)),
            Part::Paragraph(text) => write!(out, "{text}\n\n"),
            Part::Code(language, code) => write!(out, "```{language}\n{code}```\n\n"),
            Part::Table(head, rows) => table(&mut out, head, rows),
            Part::Tree(classes) => tree(&mut out, classes),
            Part::Links(all) => links(&mut out, all),
            Part::Session(steps) => session(&mut out, steps),
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
    writeln!(out, "```mermaid\nclassDiagram")?;
    for (class, above) in classes {
        match above {
            Some(above) => writeln!(out, "  {} <|-- {}", name(above), name(class))?,
            None => writeln!(out, "  class {}", name(class))?,
        }
    }
    write!(out, "```\n\n")
}

fn links(out: &mut String, links: &[Link]) -> std::fmt::Result {
    writeln!(out, "```mermaid\nclassDiagram")?;
    for Link { from, property, to } in links {
        for to in to {
            // A colon would end the label's name.
            writeln!(out, "  {} --> {} : {}", name(from), name(to), name(property))?;
        }
    }
    write!(out, "```\n\n")
}

fn session(out: &mut String, steps: &[Step]) -> std::fmt::Result {
    writeln!(out, "```mermaid\nsequenceDiagram\n  participant client\n  participant server")?;
    for step in steps {
        let (from, to) = if step.to_server { ("client", "server") } else { ("server", "client") };
        let arrow = if step.is_answer { "-->>" } else { "->>" };
        // Words of Mermaid: a semicolon or a hash would end the text.
        let text = step.text.replace([';', '#'], " ");
        writeln!(out, "  {from}{arrow}{to}: {text}")?;
    }
    write!(out, "```\n\n")
}

/// Of a class or a property, as Mermaid takes it.
fn name(term: &str) -> String {
    term.replace(':', "_")
}
