//! Who called what: callers on the left, what they called on the right, and what was called in the course of what.

use std::collections::{BTreeMap, HashMap};

use crate::graph::picture::{Svg, number, rows, shortened, text, time};
use crate::graph::query::{QueryError, Stop};
use crate::graph::store::Graph;

/// Pairs of a caller and what it called that are drawn, and as many of what was called in the course of what.
const MOST: usize = 60;
const ROW: usize = 52;
const TOP: usize = 24;
const LEFT: usize = 20;
const BOX: usize = 230;
const RIGHT: usize = 560;
const WIDTH: usize = RIGHT + BOX + 240;

/// Each side of each session by itself: names are looked up once for a side, and not for each message.
const CALLS: &str = "
SELECT ?caller ?method ?tool (COUNT(?r) AS ?calls) (SUM(?bad) AS ?failed) (SUM(?took) AS ?ms) (SUM(?answer) AS ?answers) {
  ?r a jrpc:Request ; jrpc:hasMethod ?method .
  OPTIONAL { ?r prov:wasAttributedTo ?caller }
  OPTIONAL { ?r mcp:executesTool/mcp:hasName ?tool }
  OPTIONAL { ?a rpcx:answers ?r FILTER NOT EXISTS { ?a rpcx:isRepeated true } OPTIONAL { ?a rpcx:durationMs ?duration } OPTIONAL { ?a mcpx:outcome ?outcome } OPTIONAL { ?a jrpc:hasError ?error } }
  BIND (COALESCE(?duration, 0) AS ?took)
  BIND (IF(BOUND(?duration), 1, 0) AS ?answer)
  BIND (IF(BOUND(?error) || (BOUND(?outcome) && ?outcome = mcpx:ToolFailed), 1, 0) AS ?bad)
}
GROUP BY ?caller ?method ?tool
ORDER BY DESC(?calls)
LIMIT 200000";

const DURING: &str = "
SELECT ?by ?method ?tool ?innerBy ?innerMethod ?innerTool (COUNT(?inner) AS ?times) {
  ?inner rpcx:calledDuring|mcpx:askedDuring ?outer ; jrpc:hasMethod ?innerMethod .
  ?outer jrpc:hasMethod ?method .
  OPTIONAL { ?outer prov:wasAttributedTo ?by }
  OPTIONAL { ?inner prov:wasAttributedTo ?innerBy }
  OPTIONAL { ?outer mcp:executesTool/mcp:hasName ?tool }
  OPTIONAL { ?inner mcp:executesTool/mcp:hasName ?innerTool }
}
GROUP BY ?by ?method ?tool ?innerBy ?innerMethod ?innerTool
ORDER BY DESC(?times)
LIMIT 200000";

const SIDES: &str = "
SELECT ?side ?name ?otherName {
  ?session prov:wasAssociatedWith ?side .
  OPTIONAL { ?side mcp:hasName ?name }
  OPTIONAL { ?session prov:wasAssociatedWith ?other . FILTER (?other != ?side) ?other mcp:hasName ?otherName }
}
LIMIT 200000";

/// What is called: a method or a tool, and the name of whoever has it, as far as that was told.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    what: String,
    host: String,
}

/// The sides of all sessions by their IRIs: their names, and those of the other sides.
struct Sides(HashMap<String, (String, String)>);

impl Sides {
    fn of(graph: &Graph, stop: &Stop) -> Result<Sides, QueryError> {
        let named = rows(graph, SIDES, stop)?.rows;
        Ok(Sides(named.iter().map(|row| (text(row, 0), (text(row, 1), text(row, 2)))).collect()))
    }

    fn name(&self, side: &str) -> String {
        match self.0.get(side) {
            Some((name, _)) if !name.is_empty() => name.clone(),
            _ if side.is_empty() => "somebody".to_owned(),
            _ => side.rsplit('#').next().unwrap_or_default().to_owned(),
        }
    }

    /// What this side has called.
    fn target(&self, caller: &str, method: String, tool: &str) -> Target {
        let what = if tool.is_empty() { method } else { format!("tool {tool}") };
        Target { what, host: self.0.get(caller).map(|(_, other)| other.clone()).unwrap_or_default() }
    }
}

/// The keys with the largest numbers, those first.
fn largest<K: Ord>(all: BTreeMap<K, [f64; 4]>) -> Vec<(K, [f64; 4])> {
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by(|(_, [one, ..]), (_, [other, ..])| other.total_cmp(one));
    all
}

pub(super) fn draw(graph: &Graph, stop: &Stop) -> Result<String, QueryError> {
    let sides = Sides::of(graph, stop)?;
    // One line for each pair, whatever the number of sessions.
    let mut pairs: BTreeMap<(String, Target), [f64; 4]> = BTreeMap::new();
    for row in &rows(graph, CALLS, stop)?.rows {
        let caller = text(row, 0);
        let target = sides.target(&caller, text(row, 1), &text(row, 2));
        let pair = pairs.entry((sides.name(&caller), target)).or_default();
        for (sum, column) in pair.iter_mut().zip(3..) {
            *sum += number(row, column).unwrap_or(0.0);
        }
    }
    let mut pairs = largest(pairs);
    let has_more = pairs.len() > MOST;
    pairs.truncate(MOST);
    let mut callers: BTreeMap<String, usize> = BTreeMap::new();
    let mut called: Vec<Target> = Vec::new();
    let mut edges: BTreeMap<(usize, usize), [f64; 4]> = BTreeMap::new();
    for ((name, target), sums) in pairs {
        let next = callers.len();
        let from = *callers.entry(name).or_insert(next);
        let to = called.iter().position(|known| *known == target).unwrap_or_else(|| {
            called.push(target);
            called.len() - 1
        });
        edges.insert((from, to), sums);
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
    for (at, Target { what, host }) in called.iter().enumerate() {
        svg.rect([RIGHT, y(at) - 18, BOX, 36]);
        svg.text(
            RIGHT + BOX / 2,
            y(at) + if host.is_empty() { 5 } else { 0 },
            "middle",
            "",
            &shortened(what, 30),
        );
        if !host.is_empty() {
            svg.text(RIGHT + BOX / 2, y(at) + 14, "middle", "small", &shortened(host, 30));
        }
    }
    let mut during: BTreeMap<(Target, Target), [f64; 4]> = BTreeMap::new();
    for row in &rows(graph, DURING, stop)?.rows {
        let outer = sides.target(&text(row, 0), text(row, 1), &text(row, 2));
        let inner = sides.target(&text(row, 3), text(row, 4), &text(row, 5));
        during.entry((outer, inner)).or_default()[0] += number(row, 6).unwrap_or(0.0);
    }
    for ((outer, inner), [times, ..]) in largest(during).into_iter().take(MOST) {
        let place = |target: Target| called.iter().position(|known| *known == target);
        let (Some(outer), Some(inner)) = (place(outer), place(inner)) else { continue };
        let (x, bend) = (RIGHT + BOX, RIGHT + BOX + 40 + 12 * outer.abs_diff(inner).min(6));
        svg.body += &format!(
            "<path d=\"M{x} {} C{bend} {} {bend} {} {x} {}\" marker-end=\"url(#arrow)\"/>\n",
            y(outer) - 6,
            y(outer) - 6,
            y(inner) + 6,
            y(inner) + 6,
        );
        let middle = (y(outer) + y(inner)) / 2;
        svg.text(bend - 4, middle + 4, "start", "small", &format!("{times}× in its course"));
    }
    let mut height = y(callers.len().max(called.len())) + 10;
    if has_more {
        svg.text(LEFT, height, "start", "small", &format!("only the {MOST} most frequent are shown"));
        height += ROW / 2;
    }
    Ok(svg.finish(height, "who called what: how often, and how long it took on average"))
}
