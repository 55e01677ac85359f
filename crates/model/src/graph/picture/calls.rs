//! Who called what: callers on the left, what they called on the right, and what was called in the course of what.

use std::collections::BTreeMap;

use crate::graph::picture::{Svg, number, rows, shortened, text, time};
use crate::graph::query::{QueryError, Stop};
use crate::graph::store::Graph;

/// Things that are called, and callers, that are drawn.
const MOST: usize = 60;
const ROW: usize = 52;
const TOP: usize = 24;
const LEFT: usize = 20;
const BOX: usize = 230;
const RIGHT: usize = 560;
const WIDTH: usize = RIGHT + BOX + 190;

const CALLS: &str = "
SELECT ?caller ?name ?method ?tool ?host (COUNT(?r) AS ?calls) (SUM(?bad) AS ?failed) (SUM(?took) AS ?ms) (SUM(?answer) AS ?answers) {
  ?r a jrpc:Request ; jrpc:hasMethod ?method .
  OPTIONAL { ?r prov:wasAttributedTo ?caller OPTIONAL { ?caller mcp:hasName ?name } }
  OPTIONAL { ?r mcp:executesTool ?t . ?t mcp:hasName ?tool OPTIONAL { ?h mcp:exposesTool ?t ; mcp:hasName ?host } }
  OPTIONAL { ?a rpcx:answers ?r FILTER NOT EXISTS { ?a rpcx:isRepeated true } OPTIONAL { ?a rpcx:durationMs ?duration } OPTIONAL { ?a mcpx:outcome ?outcome } OPTIONAL { ?a jrpc:hasError ?error } }
  BIND (COALESCE(?duration, 0) AS ?took)
  BIND (IF(BOUND(?duration), 1, 0) AS ?answer)
  BIND (IF(BOUND(?error) || (BOUND(?outcome) && ?outcome = mcpx:ToolFailed), 1, 0) AS ?bad)
}
GROUP BY ?caller ?name ?method ?tool ?host
ORDER BY DESC(?calls) ?method ?tool
LIMIT 61";

const DURING: &str = "
SELECT ?method ?tool ?innerMethod ?innerTool (COUNT(?inner) AS ?times) {
  ?inner rpcx:calledDuring|mcpx:askedDuring ?outer ; jrpc:hasMethod ?innerMethod .
  ?outer jrpc:hasMethod ?method .
  OPTIONAL { ?outer mcp:executesTool/mcp:hasName ?tool }
  OPTIONAL { ?inner mcp:executesTool/mcp:hasName ?innerTool }
}
GROUP BY ?method ?tool ?innerMethod ?innerTool
ORDER BY DESC(?times) LIMIT 60";

pub(super) fn draw(graph: &Graph, stop: &Stop) -> Result<String, QueryError> {
    let calls = rows(graph, CALLS, stop)?;
    let mut callers: BTreeMap<String, usize> = BTreeMap::new();
    let mut called: Vec<(String, String)> = Vec::new();
    let mut edges: BTreeMap<(usize, usize), [f64; 4]> = BTreeMap::new();
    for row in calls.rows.iter().take(MOST) {
        let name = match (text(row, 1), text(row, 0)) {
            (name, _) if !name.is_empty() => name,
            (_, iri) if !iri.is_empty() => iri.rsplit('#').next().unwrap_or_default().to_owned(),
            _ => "somebody".to_owned(),
        };
        let (what, host) = (what(&text(row, 2), &text(row, 3)), text(row, 4));
        let next = callers.len();
        let from = *callers.entry(name).or_insert(next);
        let to = called.iter().position(|(known, _)| *known == what).unwrap_or_else(|| {
            called.push((what, host));
            called.len() - 1
        });
        // One line for each pair, whatever the number of sessions.
        let edge: &mut [f64; 4] = edges.entry((from, to)).or_default();
        for (sum, column) in edge.iter_mut().zip(5..) {
            *sum += number(row, column).unwrap_or(0.0);
        }
    }
    let y = |at: usize| TOP + at * ROW + 18;
    let mut svg = Svg::new(WIDTH);
    for ((from, to), [_, failed, ..]) in &edges {
        svg.line([LEFT + BOX, y(*from), RIGHT, y(*to)], if *failed > 0.0 { "failed" } else { "" }, true);
    }
    // Labels come after all lines. Several callers of one target have theirs one above the other.
    let mut at_target = vec![0; called.len()];
    for ((_, to), [count, failed, total, answers]) in edges {
        let mut label = format!("{count}×");
        if answers >= 1.0 {
            label += &format!(" {}", time(total / answers));
        }
        if failed > 0.0 {
            label += &format!(", {failed} failed");
        }
        let bad = if failed > 0.0 { "small bad" } else { "small" };
        let above = at_target[to];
        at_target[to] += 1;
        svg.label(RIGHT - 12, (y(to) + 4).saturating_sub(14 * above), bad, &label);
    }
    for (name, at) in &callers {
        svg.rect([LEFT, y(*at) - 18, BOX, 36]);
        svg.text(LEFT + BOX / 2, y(*at) + 5, "middle", "", &shortened(name, 30));
    }
    for (at, (name, host)) in called.iter().enumerate() {
        svg.rect([RIGHT, y(at) - 18, BOX, 36]);
        svg.text(
            RIGHT + BOX / 2,
            y(at) + if host.is_empty() { 5 } else { 0 },
            "middle",
            "",
            &shortened(name, 30),
        );
        if !host.is_empty() {
            svg.text(RIGHT + BOX / 2, y(at) + 14, "middle", "small", &shortened(host, 30));
        }
    }
    for row in &rows(graph, DURING, stop)?.rows {
        let place = |name: String| called.iter().position(|(known, _)| *known == name);
        let outer = place(what(&text(row, 0), &text(row, 1)));
        let inner = place(what(&text(row, 2), &text(row, 3)));
        let (Some(outer), Some(inner)) = (outer, inner) else { continue };
        let (x, bend) = (RIGHT + BOX, RIGHT + BOX + 40 + 12 * outer.abs_diff(inner).min(6));
        svg.body += &format!(
            "<path d=\"M{x} {} C{bend} {} {bend} {} {x} {}\" marker-end=\"url(#arrow)\"/>\n",
            y(outer) - 6,
            y(outer) - 6,
            y(inner) + 6,
            y(inner) + 6,
        );
        let middle = (y(outer) + y(inner)) / 2;
        svg.text(bend - 4, middle + 4, "start", "small", &format!("{}× in its course", text(row, 4)));
    }
    let mut height = y(callers.len().max(called.len())) + 10;
    if calls.rows.len() > MOST {
        svg.text(LEFT, height, "start", "small", &format!("only the {MOST} most frequent are shown"));
        height += ROW / 2;
    }
    Ok(svg.finish(height, "who called what: how often, and how long it took on average"))
}

fn what(method: &str, tool: &str) -> String {
    if tool.is_empty() { method.to_owned() } else { format!("tool {tool}") }
}
