//! Pictures of a session, as SVG: what was sent in its order, and who called what how often. Both have a limit: a picture of
//! a million messages shows nobody anything. They look facts up by themselves: the query engine would keep a row for each
//! message, to throw most of them away.

mod calls;
mod sequence;

use crate::graph::query::{QueryError, Stop};
use crate::graph::store::Graph;
use crate::markup::xml;

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Picture {
    /// Messages between the two sides of each session, from top to bottom.
    Sequence,
    /// Who called what, how often and how long it took, and what was called in the course of what.
    Calls,
}

/// Draws a graph.
pub fn picture(graph: &Graph, what: Picture, stop: &Stop) -> Result<String, QueryError> {
    match what {
        Picture::Sequence => sequence::draw(graph, stop),
        Picture::Calls => calls::draw(graph, stop),
    }
}

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#1b1b1f}.small{font-size:11px;fill:#666;paint-order:stroke;stroke:#fff;stroke-width:3px}.bad{fill:#b3261e}\
line,path{stroke:#555;fill:none}.failed{stroke:#b3261e}.answer{stroke-dasharray:5 3}.life{stroke:#ccc}\
rect{fill:#f3f3f6;stroke:#999}";

/// A picture that is being drawn.
struct Svg {
    body: String,
    width: usize,
}

impl Svg {
    fn new(width: usize) -> Svg {
        Svg { body: String::new(), width }
    }

    fn text(&mut self, x: usize, y: usize, anchor: &str, class: &str, text: &str) {
        let text = xml(text);
        self.body +=
            &format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>\n");
    }

    /// As much of a text as there is room for; the pointer shows all of it.
    fn short(&mut self, x: usize, y: usize, class: &str, text: &str, most: usize) {
        let short = shortened(text, most);
        if short == text {
            return self.text(x, y, "middle", class, text);
        }
        let (short, all) = (xml(&short), xml(&shortened(text, 500)));
        self.body += &format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" class=\"{class}\"><title>{all}</title>{short}</text>\n"
        );
    }

    /// Text that ends at a place, on white: lines are behind it.
    fn label(&mut self, x: usize, y: usize, class: &str, text: &str) {
        let width = text.chars().count() * 6 + 6;
        let left = x.saturating_sub(width);
        self.body += &format!(
            "<rect x=\"{left}\" y=\"{}\" width=\"{}\" height=\"14\" style=\"fill:#fff;stroke:none\"/>\n",
            y.saturating_sub(11),
            width + 2
        );
        self.text(x, y, "end", class, text);
    }

    fn line(&mut self, [x1, y1, x2, y2]: [usize; 4], class: &str, arrow: bool) {
        let arrow = if arrow { " marker-end=\"url(#arrow)\"" } else { "" };
        self.body +=
            &format!("<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" class=\"{class}\"{arrow}/>\n");
    }

    fn rect(&mut self, [x, y, width, height]: [usize; 4]) {
        self.body += &format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\"/>\n");
    }

    fn finish(self, height: usize, title: &str) -> String {
        let Svg { body, width } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
             <title>{}</title>\n<style>{STYLE}</style>\n\
             <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
             <path d=\"M0 0L8 4L0 8z\" style=\"fill:#555;stroke:none\"/></marker></defs>\n\
             <rect x=\"0\" y=\"0\" width=\"{width}\" height=\"{height}\" style=\"fill:#fff;stroke:none\"/>\n{body}</svg>\n",
            xml(title)
        )
    }
}

/// As much of a text as there is room for.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// Milliseconds, as a fact has them.
fn milliseconds(text: Option<&str>) -> Option<f64> {
    text?.parse().ok()
}

/// Facts that are looked at before it is asked whether to stop.
const STEP: usize = 4096;

/// Each item, unless the picture is stopped meanwhile.
fn for_each<T>(
    items: impl Iterator<Item = T>,
    stop: &Stop,
    mut each: impl FnMut(T),
) -> Result<(), QueryError> {
    for (at, item) in items.enumerate() {
        if at % STEP == 0 {
            stop.check()?;
        }
        each(item);
    }
    Ok(())
}

/// Milliseconds for people.
fn time(ms: f64) -> String {
    match ms {
        ..1.0 => format!("{:.0} µs", ms * 1000.0),
        ..10.0 => format!("{ms:.1} ms"),
        ..10_000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.1} s", ms / 1000.0),
    }
}
