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

/// Messages are counted by session first, so that names are looked up for what was counted and not for each message. A caller
/// that is not known is `rdf:nil` meanwhile: a variable without a value would match all names.
const CALLS: &str = "
SELECT ?who ?host ?method ?tool (SUM(?calls) AS ?all) (SUM(?bad) AS ?failed) (SUM(?took) AS ?ms) (SUM(?answered) AS ?answers) {
  { SELECT ?session ?from ?method ?tool (COUNT(?r) AS ?calls) (SUM(?isBad) AS ?bad) (SUM(?duration) AS ?took) (COUNT(?duration) AS ?answered) {
    ?r a jrpc:Request ; jrpc:hasMethod ?method ; rpcx:session ?session .
    OPTIONAL { ?r prov:wasAttributedTo ?caller }
    OPTIONAL { ?r mcp:executesTool/mcp:hasName ?tool }
    OPTIONAL { ?a rpcx:answers ?r FILTER NOT EXISTS { ?a rpcx:isRepeated true } OPTIONAL { ?a rpcx:durationMs ?duration } OPTIONAL { ?a mcpx:outcome ?outcome } OPTIONAL { ?a jrpc:hasError ?error } }
    BIND (IF(BOUND(?error) || (BOUND(?outcome) && ?outcome = mcpx:ToolFailed), 1, 0) AS ?isBad)
    BIND (COALESCE(?caller, rdf:nil) AS ?from)
  } GROUP BY ?session ?from ?method ?tool }
  OPTIONAL { ?from mcp:hasName ?name }
  OPTIONAL { ?session prov:wasAssociatedWith ?other . ?other mcp:hasName ?host FILTER (?from != rdf:nil && ?other != ?from) }
  BIND (COALESCE(?name, IF(?from = rdf:nil, \"somebody\", REPLACE(STR(?from), \"^.*#\", \"\"))) AS ?who)
}
GROUP BY ?who ?host ?method ?tool
ORDER BY DESC(?all) ?method ?tool ?who ?host
LIMIT 61";

const DURING: &str = "
SELECT ?method ?tool ?host ?innerMethod ?innerTool ?innerHost (SUM(?n) AS ?times) {
  { SELECT ?session ?by ?method ?tool ?innerSession ?innerBy ?innerMethod ?innerTool (COUNT(?inner) AS ?n) {
    ?inner rpcx:calledDuring|mcpx:askedDuring ?outer ; jrpc:hasMethod ?innerMethod ; rpcx:session ?innerSession .
    ?outer jrpc:hasMethod ?method ; rpcx:session ?session .
    OPTIONAL { ?outer prov:wasAttributedTo ?by }
    OPTIONAL { ?inner prov:wasAttributedTo ?innerBy }
    OPTIONAL { ?outer mcp:executesTool/mcp:hasName ?tool }
    OPTIONAL { ?inner mcp:executesTool/mcp:hasName ?innerTool }
  } GROUP BY ?session ?by ?method ?tool ?innerSession ?innerBy ?innerMethod ?innerTool }
  OPTIONAL { ?session prov:wasAssociatedWith ?to . ?to mcp:hasName ?host FILTER (BOUND(?by) && ?to != ?by) }
  OPTIONAL { ?innerSession prov:wasAssociatedWith ?innerTo . ?innerTo mcp:hasName ?innerHost FILTER (BOUND(?innerBy) && ?innerTo != ?innerBy) }
}
GROUP BY ?method ?tool ?host ?innerMethod ?innerTool ?innerHost
ORDER BY DESC(?times) ?method ?innerMethod LIMIT 60";

/// What is called: a method or a tool, and whose.
#[derive(PartialEq)]
struct Target {
    what: String,
    host: String,
}

impl Target {
    fn of(method: &str, tool: &str, host: String) -> Target {
        let what = if tool.is_empty() { method.to_owned() } else { format!("tool {tool}") };
        Target { what, host }
    }
}

pub(super) fn draw(graph: &Graph, stop: &Stop) -> Result<String, QueryError> {
    let calls = rows(graph, CALLS, stop)?;
    let mut callers: BTreeMap<String, usize> = BTreeMap::new();
    let mut called: Vec<Target> = Vec::new();
    let mut edges: BTreeMap<(usize, usize), [f64; 4]> = BTreeMap::new();
    for row in calls.rows.iter().take(MOST) {
        let next = callers.len();
        let from = *callers.entry(text(row, 0)).or_insert(next);
        let target = Target::of(&text(row, 2), &text(row, 3), text(row, 1));
        let to = called.iter().position(|known| *known == target).unwrap_or_else(|| {
            called.push(target);
            called.len() - 1
        });
        edges.insert((from, to), [4, 5, 6, 7].map(|column| number(row, column).unwrap_or(0.0)));
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
    for (at, Target { what: name, host }) in called.iter().enumerate() {
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
        let place = |target: Target| called.iter().position(|known| *known == target);
        let outer = place(Target::of(&text(row, 0), &text(row, 1), text(row, 2)));
        let inner = place(Target::of(&text(row, 3), &text(row, 4), text(row, 5)));
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
        svg.text(bend - 4, middle + 4, "start", "small", &format!("{}× in its course", text(row, 6)));
    }
    let mut height = y(callers.len().max(called.len())) + 10;
    if calls.rows.len() > MOST {
        svg.text(LEFT, height, "start", "small", &format!("only the {MOST} most frequent are shown"));
        height += ROW / 2;
    }
    Ok(svg.finish(height, "who called what: how often, and how long it took on average"))
}
