//! Diagrams of the documentation as SVG, in the colours of the page.

use std::fmt::{Result, Write};

use crate::blocks::docs::session::Step;
use crate::blocks::docs::vocabulary::Link;
use crate::markup::xml;

const ROW: usize = 20;

/// Classes below each other, as folders are drawn.
pub(super) fn tree(out: &mut String, classes: &[(String, Option<String>)]) -> Result {
    const STEP: usize = 24;
    let mut rows: Vec<(usize, &str, Option<usize>)> = Vec::new();
    let mut waiting: Vec<_> = classes
        .iter()
        .rev()
        .filter(|(_, above)| above.is_none())
        .map(|(name, _)| (0, name.as_str(), None))
        .collect();
    while let Some((depth, name, above)) = waiting.pop() {
        let at = rows.len();
        rows.push((depth, name, above));
        let below = classes.iter().rev().filter(|(_, above)| above.as_deref() == Some(name));
        waiting.extend(below.filter(|_| depth < 8).map(|(below, _)| (depth + 1, below.as_str(), Some(at))));
    }
    let height = rows.len() * ROW + 8;
    writeln!(out, "<svg role=\"img\" aria-label=\"classes\" width=\"640\" height=\"{height}\">")?;
    for (i, (depth, name, above)) in rows.iter().enumerate() {
        let (x, y) = (depth * STEP + 8, i * ROW + ROW);
        if let Some(above) = above {
            let (from, left) = (above * ROW + ROW + 4, x - STEP + 6);
            writeln!(out, "<line x1=\"{left}\" y1=\"{from}\" x2=\"{left}\" y2=\"{}\"/>", y - 5)?;
            writeln!(out, "<line x1=\"{left}\" y1=\"{0}\" x2=\"{1}\" y2=\"{0}\"/>", y - 5, x - 3)?;
        }
        writeln!(out, "<text x=\"{x}\" y=\"{y}\">{}</text>", xml(name))?;
    }
    writeln!(out, "</svg>")
}

/// Each class on the left, with a line for each of its properties to what the values are.
pub(super) fn links(out: &mut String, links: &[Link]) -> Result {
    const LEFT: usize = 290;
    const RIGHT: usize = 520;
    let height = links.len() * ROW + 8;
    writeln!(
        out,
        "<svg role=\"img\" aria-label=\"properties between classes\" width=\"940\" height=\"{height}\">"
    )?;
    let mut before = "";
    for (i, Link { from, property, to }) in links.iter().enumerate() {
        let (y, line) = (i * ROW + ROW, i * ROW + ROW - 5);
        if before != from {
            writeln!(out, "<text x=\"8\" y=\"{y}\">{}</text>", xml(from))?;
        } else {
            writeln!(out, "<line x1=\"{LEFT}\" y1=\"{}\" x2=\"{LEFT}\" y2=\"{line}\"/>", line - ROW)?;
        }
        before = from;
        writeln!(out, "<line x1=\"{LEFT}\" y1=\"{line}\" x2=\"{}\" y2=\"{line}\"/>", LEFT + 16)?;
        writeln!(out, "<text x=\"{}\" y=\"{y}\">{} \u{2192}</text>", LEFT + 22, xml(property))?;
        writeln!(out, "<text x=\"{RIGHT}\" y=\"{y}\">{}</text>", xml(&to.join(" | ")))?;
    }
    writeln!(out, "</svg>")
}

/// Messages between the two sides, from top to bottom.
pub(super) fn session(out: &mut String, steps: &[Step]) -> Result {
    const CLIENT: usize = 60;
    const SERVER: usize = 560;
    const STEP: usize = 34;
    let height = steps.len() * STEP + 56;
    writeln!(
        out,
        "<svg role=\"img\" aria-label=\"a session\" width=\"640\" height=\"{height}\">\n\
         <defs><marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#999\"/></marker></defs>"
    )?;
    for (x, name) in [(CLIENT, "client"), (SERVER, "server")] {
        writeln!(out, "<text x=\"{x}\" y=\"18\" text-anchor=\"middle\">{name}</text>")?;
        writeln!(out, "<line class=\"life\" x1=\"{x}\" y1=\"26\" x2=\"{x}\" y2=\"{height}\"/>")?;
    }
    for (i, step) in steps.iter().enumerate() {
        let y = i * STEP + 60;
        let (from, to) = if step.to_server { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        let dashes = if step.is_answer { " stroke-dasharray=\"5 3\"" } else { "" };
        let (middle, above) = (CLIENT.midpoint(SERVER), y - 6);
        writeln!(
            out,
            "<text x=\"{middle}\" y=\"{above}\" text-anchor=\"middle\">{}</text>",
            xml(&step.text)
        )?;
        writeln!(
            out,
            "<line x1=\"{from}\" y1=\"{y}\" x2=\"{to}\" y2=\"{y}\"{dashes} marker-end=\"url(#to)\"/>"
        )?;
    }
    writeln!(out, "</svg>")
}
