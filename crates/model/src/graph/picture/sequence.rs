//! The messages of a session between its two sides, from top to bottom.

use crate::capture::clock::Moment;
use crate::graph::picture::{Svg, number, rows, text, time};
use crate::graph::query::{QueryError, Stop};
use crate::graph::store::Graph;

/// Messages that are drawn.
const MOST: usize = 500;
/// Sessions that are beside each other. The picture says what it leaves out.
const SESSIONS: usize = 8;
/// Messages from which on the names are repeated at the end.
const TALL: usize = 25;
const ROW: usize = 30;
const TOP: usize = 56;
const LANE: usize = 460;
const MARGIN: usize = 90;

const QUERY: &str = "
SELECT ?session ?at ?class ?to ?method ?tool ?asked ?askedTool ?ms ?outcome ?client ?server ?when ?code ?why ?fault {
  VALUES ?class { jrpc:Request jrpc:Notification jrpc:Response jrpc:ErrorResponse }
  ?m a ?class ; rpcx:line ?line ; rpcx:session ?session .
  OPTIONAL { ?m rpcx:atMs ?at }
  OPTIONAL { ?m prov:generatedAtTime ?when }
  OPTIONAL { ?session rpcx:capture ?capture }
  OPTIONAL { ?m rpcx:direction ?to }
  OPTIONAL { ?m jrpc:hasError ?e . ?e jrpc:hasErrorCode ?code ; jrpc:hasErrorMessage ?why }
  OPTIONAL { ?m mcpx:resultFault ?fault }
  OPTIONAL { ?m jrpc:hasMethod ?method }
  OPTIONAL { ?m mcp:executesTool/mcp:hasName ?tool }
  OPTIONAL { ?m rpcx:answers ?request . ?request jrpc:hasMethod ?asked
    OPTIONAL { ?request mcp:executesTool/mcp:hasName ?askedTool } }
  OPTIONAL { ?m rpcx:durationMs ?ms }
  OPTIONAL { ?m mcpx:outcome ?outcome }
  OPTIONAL { ?session prov:wasAssociatedWith ?c . ?c a rpcx:Client ; mcp:hasName ?client }
  OPTIONAL { ?session prov:wasAssociatedWith ?s . ?s a rpcx:Server ; mcp:hasName ?server }
}
ORDER BY ?when ?capture ?line ?m
LIMIT 501";

pub(super) fn draw(graph: &Graph, stop: &Stop) -> Result<String, QueryError> {
    let table = rows(graph, QUERY, stop)?;
    let mut sessions: Vec<String> = Vec::new();
    let mut names: Vec<[String; 2]> = Vec::new();
    for row in &table.rows {
        let session = text(row, 0);
        if !sessions.contains(&session) && sessions.len() < SESSIONS {
            sessions.push(session);
            let named = |column, otherwise: &str| match text(row, column) {
                name if name.is_empty() => otherwise.to_owned(),
                name => name,
            };
            names.push([named(10, "client"), named(11, "server")]);
        }
    }
    let mut svg = Svg::new(sessions.len().max(1) * (LANE + 2 * MARGIN));
    let mut left_out = 0;
    let first = table.rows.iter().find_map(|row| Moment::parse(&text(row, 12)));
    let mut y = TOP;
    for row in table.rows.iter().take(MOST) {
        let Some(lane) = sessions.iter().position(|session| *session == text(row, 0)) else {
            left_out += 1;
            continue;
        };
        y += ROW;
        let (left, right) = (lane * (LANE + 2 * MARGIN) + MARGIN, lane * (LANE + 2 * MARGIN) + MARGIN + LANE);
        let class = text(row, 2);
        let is_answer = class.ends_with("Response");
        // Without directions, an answer goes back at least.
        let to_client = match text(row, 3) {
            way if way.is_empty() => is_answer,
            way => way.ends_with("ToClient"),
        };
        let outcome = text(row, 9);
        let is_broken = !text(row, 15).is_empty();
        let failed = class.ends_with("ErrorResponse") || outcome.ends_with("ToolFailed") || is_broken;
        let (method, tool) =
            if is_answer { (text(row, 6), text(row, 7)) } else { (text(row, 4), text(row, 5)) };
        let what = if tool.is_empty() { method } else { format!("{method} {tool}") };
        let label = match (class.ends_with("ErrorResponse"), is_answer) {
            (true, _) => format!("error: {what} {} {}", text(row, 13), text(row, 14)).replace("  ", " "),
            (false, true) if is_broken => format!("broken result: {what}"),
            (false, true) if failed => format!("failed: {what}"),
            (false, true) if outcome.ends_with("BecameTask") => format!("task: {what}"),
            (false, true) if outcome.ends_with("NeedsInput") => format!("needs input: {what}"),
            (false, true) if what.is_empty() => "result of no request".to_owned(),
            (false, true) => format!("result: {what}"),
            (false, false) => what,
        };
        let ends = if to_client { [right, y, left, y] } else { [left, y, right, y] };
        let style =
            format!("{}{}", if is_answer { "answer " } else { "" }, if failed { "failed" } else { "" });
        svg.line(ends, style.trim(), true);
        svg.short((left + right) / 2, y - 6, if failed { "bad" } else { "" }, &label, 60);
        // Captures that tell their dates have one clock.
        let since_first = Moment::parse(&text(row, 12)).zip(first).map(|(at, first)| at.since(first));
        let at = since_first.map(|at| at.as_secs_f64() * 1000.0).or_else(|| number(row, 1));
        if let Some(at) = at {
            svg.text(left - 8, y + 4, "end", "small", &time(at));
        }
        if let Some(ms) = number(row, 8) {
            svg.text(right + 8, y + 4, "start", "small", &format!("took {}", time(ms)));
        }
    }
    let mut limits = Vec::new();
    if left_out > 0 {
        limits
            .push(format!("only the first {SESSIONS} sessions are shown: {left_out} messages are in others"));
    }
    if table.rows.len() > MOST {
        limits.push(format!("only the first {MOST} messages are shown"));
    }
    for limit in limits {
        y += ROW;
        svg.text(MARGIN, y, "start", "small", &limit);
    }
    for (lane, [client, server]) in names.iter().enumerate() {
        let left = lane * (LANE + 2 * MARGIN) + MARGIN;
        for (x, name) in [(left, client), (left + LANE, server)] {
            svg.line([x, TOP - 16, x, y + ROW / 2], "life", false);
            // A long picture has the names at its end, too.
            let places = if table.rows.len() > TALL { vec![12, y + ROW / 2] } else { vec![12] };
            for top in places {
                svg.rect([x - 80, top, 160, 28]);
                svg.short(x, top + 19, "", name, 20);
            }
        }
    }
    let end = if table.rows.len() > TALL { y + 2 * ROW } else { y + ROW };
    Ok(svg.finish(end, "a session as a sequence"))
}
