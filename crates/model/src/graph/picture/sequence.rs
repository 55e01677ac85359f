//! The messages of a session between its two sides, from top to bottom.

use std::collections::BinaryHeap;

use crate::capture::clock::Moment;
use crate::graph::picture::{Svg, for_each, milliseconds, time};
use crate::graph::query::{QueryError, Stop};
use crate::graph::store::Graph;
use crate::graph::terms::*;

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

const CLASSES: [Term; 4] = [REQUEST, NOTIFICATION, RESPONSE, ERROR_RESPONSE];

/// Where a message stands among all: its time, and for messages of one time the capture, the line and the place in a batch.
type Place<'g> = (Option<Moment>, &'g str, u64, u64, u32);

fn place(graph: &Graph, message: u32) -> Place<'_> {
    let number = |property| graph.text_of(message, property).and_then(|text| text.parse().ok());
    let time = graph.text_of(message, GENERATED_AT_TIME).and_then(Moment::parse);
    let session = graph.object(message, SESSION);
    let capture = session.and_then(|session| graph.text_of(session, CAPTURE)).unwrap_or_default();
    (time, capture, number(LINE).unwrap_or(0), number(POSITION).unwrap_or(0), message)
}

/// The first messages in their order, and how many there are in all.
fn first_messages(graph: &Graph, stop: &Stop) -> Result<(Vec<u32>, usize), QueryError> {
    let (mut first, mut count) = (BinaryHeap::with_capacity(MOST + 1), 0);
    let messages = CLASSES.into_iter().flat_map(|class| graph.all(class));
    for_each(messages, stop, |message| {
        count += 1;
        first.push(place(graph, message));
        if first.len() > MOST {
            first.pop();
        }
    })?;
    Ok((first.into_sorted_vec().into_iter().map(|(.., message)| message).collect(), count))
}

/// The names of both sides of a session.
fn sides(graph: &Graph, session: u32) -> [String; 2] {
    let sides = graph.by_subject.pairs(session, Some(u32::from(WAS_ASSOCIATED_WITH.index)), None);
    [(CLIENT, "client"), (SERVER, "server")].map(|(class, otherwise)| {
        let of_class = sides.iter().map(|[_, side]| *side).filter(|side| graph.is(*side, TYPE, class));
        let mut names = of_class.filter_map(|side| graph.text_of(side, HAS_NAME));
        names.next().unwrap_or(otherwise).to_owned()
    })
}

/// The method of a request, and its tool.
fn called(graph: &Graph, request: u32) -> String {
    let method = graph.text_of(request, HAS_METHOD).unwrap_or_default();
    let tool = graph.object(request, EXECUTES_TOOL).and_then(|tool| graph.text_of(tool, HAS_NAME));
    match tool {
        Some(tool) => format!("{method} {tool}"),
        None => method.to_owned(),
    }
}

/// What is written above an arrow, and whether it is a failure.
fn label(graph: &Graph, message: u32, is_answer: bool) -> (String, bool) {
    if !is_answer {
        let news = graph.object(message, RESULT_OF).map(|call| ended(graph, message, call));
        return news.unwrap_or_else(|| (called(graph, message), false));
    }
    let request = graph.object(message, ANSWERS);
    let what = request.map(|request| called(graph, request)).unwrap_or_default();
    if let Some(error) = graph.object(message, HAS_ERROR) {
        let [code, why] =
            [HAS_ERROR_CODE, HAS_ERROR_MESSAGE].map(|property| graph.text_of(error, property).unwrap_or(""));
        return (format!("error: {what} {code} {why}").replace("  ", " "), true);
    }
    if let Some(call) = graph.object(message, RESULT_OF) {
        return ended(graph, message, call);
    }
    let is = |outcome| graph.is(message, OUTCOME, outcome);
    let (word, failed) = match () {
        () if graph.object(message, RESULT_FAULT).is_some() => ("broken result", true),
        () if is(TOOL_FAILED) => ("failed", true),
        () if is(BECAME_TASK) => ("task", false),
        () if is(NEEDS_INPUT) => ("needs input", false),
        () if what.is_empty() => return ("result of no request".to_owned(), false),
        () => ("result", false),
    };
    (format!("{word}: {what}"), failed)
}

/// A message that has the result of a task.
fn ended(graph: &Graph, message: u32, call: u32) -> (String, bool) {
    let is = |outcome| graph.is(call, FINAL_OUTCOME, outcome);
    let (word, failed) = match () {
        () if graph.object(message, RESULT_FAULT).is_some() => ("broken result", true),
        () if is(TOOL_FAILED) || is(TASK_FAILED) || is(REFUSED) => ("task failed", true),
        () => ("result of task", false),
    };
    (format!("{word}: {}", called(graph, call)), failed)
}

pub(super) fn draw(graph: &Graph, stop: &Stop) -> Result<String, QueryError> {
    let (messages, count) = first_messages(graph, stop)?;
    let mut sessions: Vec<Option<u32>> = Vec::new();
    for message in &messages {
        let session = graph.object(*message, SESSION);
        if !sessions.contains(&session) && sessions.len() < SESSIONS {
            sessions.push(session);
        }
    }
    let time_of = |message: u32| graph.text_of(message, GENERATED_AT_TIME).and_then(Moment::parse);
    let first = messages.iter().find_map(|message| time_of(*message));
    let mut svg = Svg::new(sessions.len().max(1) * (LANE + 2 * MARGIN));
    let mut left_out = 0;
    let mut y = TOP;
    for message in &messages {
        let session = graph.object(*message, SESSION);
        let Some(lane) = sessions.iter().position(|known| *known == session) else {
            left_out += 1;
            continue;
        };
        y += ROW;
        let (left, right) = (lane * (LANE + 2 * MARGIN) + MARGIN, lane * (LANE + 2 * MARGIN) + MARGIN + LANE);
        let is_answer = [RESPONSE, ERROR_RESPONSE].iter().any(|class| graph.is(*message, TYPE, *class));
        // Without directions, an answer goes back at least.
        let to_client = match graph.object(*message, DIRECTION) {
            Some(_) => graph.is(*message, DIRECTION, TO_CLIENT),
            None => is_answer,
        };
        let (label, failed) = label(graph, *message, is_answer);
        let ends = if to_client { [right, y, left, y] } else { [left, y, right, y] };
        let style =
            format!("{}{}", if is_answer { "answer " } else { "" }, if failed { "failed" } else { "" });
        svg.line(ends, style.trim(), true);
        svg.short((left + right) / 2, y - 6, if failed { "bad" } else { "" }, &label, 60);
        // Captures that tell their dates have one clock.
        let since_first = time_of(*message).zip(first).map(|(at, first)| at.since(first));
        let at = since_first.map(|at| at.as_secs_f64() * 1000.0);
        if let Some(at) = at.or_else(|| milliseconds(graph.text_of(*message, AT_MS))) {
            svg.text(left - 8, y + 4, "end", "small", &time(at));
        }
        if let Some(ms) = milliseconds(graph.text_of(*message, DURATION_MS)) {
            svg.text(right + 8, y + 4, "start", "small", &format!("took {}", time(ms)));
        }
    }
    let mut limits = Vec::new();
    if left_out > 0 {
        limits
            .push(format!("only the first {SESSIONS} sessions are shown: {left_out} messages are in others"));
    }
    if count > MOST {
        limits.push(format!("only the first {MOST} of {count} messages are shown"));
    }
    for limit in limits {
        y += ROW;
        svg.text(MARGIN, y, "start", "small", &limit);
    }
    for (lane, session) in sessions.iter().enumerate() {
        let [client, server] = match session {
            Some(session) => sides(graph, *session),
            None => ["client", "server"].map(str::to_owned),
        };
        let left = lane * (LANE + 2 * MARGIN) + MARGIN;
        for (x, name) in [(left, &client), (left + LANE, &server)] {
            svg.line([x, TOP - 16, x, y + ROW / 2], "life", false);
            // A long picture has the names at its end, too.
            let places = if messages.len() > TALL { vec![12, y + ROW / 2] } else { vec![12] };
            for top in places {
                svg.rect([x - 80, top, 160, 28]);
                svg.short(x, top + 19, "", name, 20);
            }
        }
    }
    let end = if messages.len() > TALL { y + 2 * ROW } else { y + ROW };
    Ok(svg.finish(end, "a session as a sequence"))
}
