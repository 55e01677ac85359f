//! Who called what: callers on the left, what they called on the right, and what was called in the course of what.

use std::collections::{BTreeMap, HashMap};

use crate::graph::picture::{Svg, for_each, milliseconds, shortened, time};
use crate::graph::query::{QueryError, Stop};
use crate::graph::store::Graph;
use crate::graph::terms::*;

/// Pairs of a caller and what it called that are drawn, and as many of what was called in the course of what.
const MOST: usize = 60;
const ROW: usize = 52;
const TOP: usize = 24;
const LEFT: usize = 20;
const BOX: usize = 230;
const RIGHT: usize = 560;
const WIDTH: usize = RIGHT + BOX + 240;

/// What is called: a method or a tool, and the name of whoever has it, as far as that was told.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    what: String,
    host: String,
}

/// The two sides of each session, by either.
struct Sides<'g> {
    graph: &'g Graph,
    others: HashMap<u32, u32>,
}

/// A request, or a question: who asks for it, its method, and the tool that it calls.
type Asked = [Option<u32>; 3];

impl<'g> Sides<'g> {
    fn of(graph: &'g Graph, stop: &Stop) -> Result<Sides<'g>, QueryError> {
        let mut others = HashMap::new();
        let mut last: HashMap<u32, u32> = HashMap::new();
        for_each(graph.ends(WAS_ASSOCIATED_WITH), stop, |[session, side]| {
            if let Some(other) = last.insert(session, side).filter(|other| *other != side) {
                others.insert(side, other);
                others.insert(other, side);
            }
        })?;
        Ok(Sides { graph, others })
    }

    fn name(&self, side: Option<u32>) -> String {
        let Some(side) = side else { return "somebody".to_owned() };
        self.graph.text_of(side, HAS_NAME).unwrap_or_else(|| self.graph.terms.text(side)).to_owned()
    }

    fn asked(&self, request: u32) -> Asked {
        let graph = self.graph;
        let method = graph.object(request, HAS_METHOD).or_else(|| graph.object(request, ASKS_FOR));
        let tool = graph.object(request, EXECUTES_TOOL);
        [graph.object(request, WAS_ATTRIBUTED_TO), method, tool]
    }

    /// What is called, and the name of whoever has it.
    fn target(&self, [caller, method, tool]: Asked) -> Target {
        let name = |thing: u32| self.graph.text_of(thing, HAS_NAME);
        let what = match tool.and_then(name) {
            Some(tool) => format!("tool {tool}"),
            None => method.map(|method| self.graph.terms.text(method)).unwrap_or_default().to_owned(),
        };
        let other = caller.and_then(|caller| self.others.get(&caller));
        Target { what, host: other.and_then(|other| name(*other)).unwrap_or_default().to_owned() }
    }
}

/// How one request ended: how many calls it is, how many of them failed, how long they took, and of how many that is known.
fn ended(graph: &Graph, request: u32) -> [f64; 4] {
    let mut answers = graph.subjects(ANSWERS, request);
    let answer = answers.find(|answer| graph.object(*answer, IS_REPEATED).is_none());
    let failed = |subject, property| {
        [TOOL_FAILED, TASK_FAILED, REFUSED].iter().any(|outcome| graph.is(subject, property, *outcome))
    };
    let duration = |subject, property| milliseconds(graph.text_of(subject, property));
    let mut ms = duration(request, TOTAL_MS);
    let mut is_bad = failed(request, FINAL_OUTCOME);
    if let Some(answer) = answer {
        // What waits for the result of a task neither takes time nor fails by itself.
        let is_wait = graph.object(answer, RESULT_OF).is_some() && graph.is(request, TYPE, GET_TASK_PAYLOAD);
        if is_wait {
            return [1.0, 0.0, 0.0, 0.0];
        }
        ms = ms.or_else(|| duration(answer, DURATION_MS));
        if graph.object(request, FINAL_OUTCOME).is_none() {
            is_bad = failed(answer, OUTCOME) || graph.object(answer, HAS_ERROR).is_some();
        }
    }
    [1.0, f64::from(u8::from(is_bad)), ms.unwrap_or(0.0), f64::from(u8::from(ms.is_some()))]
}

/// The keys with the largest numbers, those first.
fn largest<K: Ord>(all: BTreeMap<K, [f64; 4]>) -> Vec<(K, [f64; 4])> {
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by(|(_, [one, ..]), (_, [other, ..])| other.total_cmp(one));
    all
}

pub(super) fn draw(graph: &Graph, stop: &Stop) -> Result<String, QueryError> {
    let sides = Sides::of(graph, stop)?;
    // Names are looked up once for a side, and not for each request.
    let mut by_side: BTreeMap<Asked, [f64; 4]> = BTreeMap::new();
    for_each(graph.all(REQUEST).chain(graph.all(QUESTION)), stop, |request| {
        // A call that takes several requests is one, and how it ended is said of its first.
        if graph.object(request, CONTINUES).is_none() {
            let sums = by_side.entry(sides.asked(request)).or_default();
            sums.iter_mut().zip(ended(graph, request)).for_each(|(sum, more)| *sum += more);
        }
    })?;
    // One line for each pair, whatever the number of sessions.
    let mut pairs: BTreeMap<(String, Target), [f64; 4]> = BTreeMap::new();
    for (asked, sums) in by_side {
        let pair = pairs.entry((sides.name(asked[0]), sides.target(asked))).or_default();
        pair.iter_mut().zip(sums).for_each(|(sum, more)| *sum += more);
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
    let mut by_side: BTreeMap<[Asked; 2], f64> = BTreeMap::new();
    for_each(graph.ends(CALLED_DURING).chain(graph.ends(ASKED_DURING)), stop, |[inner, outer]| {
        *by_side.entry([sides.asked(outer), sides.asked(inner)]).or_default() += 1.0;
    })?;
    for ([outer, inner], times) in by_side {
        during.entry((sides.target(outer), sides.target(inner))).or_default()[0] += times;
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
