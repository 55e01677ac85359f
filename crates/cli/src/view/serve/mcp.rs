//! `sabir view --mcp`: captured traffic for agents. The tools answer with JSON, as text.

use std::sync::Arc;
use std::time::Duration;

use sabir::{MCP, transport};
use sabir_mcp::{McpCtx, McpResult, McpServer, Tool, ToolAnnotations, ToolError};
use sabir_model::filter::{Filter, FilterError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::detail;
use super::row::Known;
use crate::exit::{Exit, Failure};
use crate::view::capture::{Captures, Given, Wanted};

/// Rows in an answer: what an agent reads has to fit.
const ROWS: usize = 200;
const FEW: usize = 30;

/// How often it is looked whether a search is over.
const PAUSE: Duration = Duration::from_millis(5);

/// Serves on standard input and output.
pub(in crate::view) async fn mcp(given: Given) -> Result<Exit, Failure> {
    let captures =
        Captures::open(given).map_err(|error| Failure::file(format_args!("cannot read: {error}")))?;
    let served =
        sabir::serve(transport::stdio().dialect(MCP).with_signals(), server(&captures).into_router()).await;
    served
        .map(|()| Exit::Ok)
        .map_err(|cause| Failure::new(Exit::Protocol, format_args!("stopped serving: {cause}")))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Words that must all apply, such as `method:tools/call status:error ms>250`, `tool:echo`, `kind:stderr`,
    /// `"some text"`, `/regex/`, `$.params.name=x`; `-` before a word turns it around. Left out: all rows
    #[serde(default)]
    filter: String,
    /// How many of the rows that match to leave out
    #[serde(default)]
    from: u32,
    /// How many rows to show, 200 at most
    #[serde(default)]
    count: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// Text that a message, a method or a tool has, in upper or lower case
    text: String,
    /// How many rows to show, 200 at most
    #[serde(default)]
    count: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Get {
    /// The number of a row, as the other tools show it
    row: u32,
    /// Messages of more than a megabyte, too
    #[serde(default)]
    whole: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn server(captures: &Arc<Captures>) -> McpServer {
    let read_only = |name: &'static str, description: &'static str| {
        let annotations = ToolAnnotations { read_only_hint: Some(true), ..Default::default() };
        Tool { annotations: Some(annotations), ..Tool::new(name, description) }
    };
    let [lists, searches, gets, counts, checks] = std::array::from_fn(|_| captures.clone());
    McpServer::new("sabir-view", env!("CARGO_PKG_VERSION"))
        .instructions(
            "JSON-RPC traffic that was captured: one row for each call (with its answer), notification, line of \
             standard error and event. Begin with `stats`, then `list` with a filter, then `get` a row. `row` is the \
             number of a row, from 1; `t` nanoseconds since the start; `d` is > to the server and < to the client; `ms` \
             is the time between request and answer, `bytes` the size of both; `p50`, `p95` and `p99` are percentiles of \
             `ms`.",
        )
        .tool(
            read_only("list", "Rows of the capture that match a filter, in order"),
            move |_: McpCtx, List { filter, from, count }| {
                let captures = lists.clone();
                async move { rows(&captures, &filter, from, count).await }
            },
        )
        .tool(
            read_only("search", "Rows whose messages have a text"),
            move |_: McpCtx, Search { text, count }| {
                let captures = searches.clone();
                async move { rows(&captures, &Value::from(text).to_string(), 0, count).await }
            },
        )
        .tool(
            read_only("get", "A call with its request, its answer and what belongs to it"),
            move |_: McpCtx, Get { row, whole }| {
                let captures = gets.clone();
                async move { get(&captures, row, whole).await }
            },
        )
        .tool(
            read_only("stats", "For each method: messages, errors, pending calls, percentiles of time, bytes"),
            move |_: McpCtx, Nothing {}| {
                let captures = counts.clone();
                async move {
                    read(&captures).await;
                    let state = captures.state();
                    text(&state.stats.table(state.rows.index.names()).without_charts())
                }
            },
        )
        .tool(
            read_only("check", "What breaks a rule of the protocol, and why that matters"),
            move |_: McpCtx, Nothing {}| {
                let captures = checks.clone();
                async move { check(&captures).await }
            },
        )
}

/// Waits until all that there is has been read.
async fn read(captures: &Captures) {
    while !captures.state().is_read {
        tokio::time::sleep(PAUSE).await;
    }
}

fn text(value: &impl serde::Serialize) -> McpResult<String> {
    serde_json::to_string(value).map_err(|error| ToolError::new(error.to_string()))
}

async fn rows(captures: &Captures, filter: &str, from: u32, count: Option<usize>) -> McpResult<String> {
    let filter: Filter = filter.parse().map_err(|error: FilterError| ToolError::new(error.to_string()))?;
    read(captures).await;
    let id = captures.state().filter(Wanted { filter, ..Wanted::default() }, None);
    let count = count.unwrap_or(FEW).min(ROWS);
    let (known, matched) = loop {
        if let Some(found) = found(captures, id, from, count)? {
            break found;
        }
        tokio::time::sleep(PAUSE).await;
    };
    captures.state().forget_filter(id);
    let mut contents = captures.contents();
    let rows: Vec<_> = known.into_iter().map(|known| known.read(&mut contents)).collect();
    text(&json!({ "matched": matched, "from": from, "rows": rows }))
}

/// What a search has found, once it is over, and how many that are.
fn found(captures: &Captures, id: u32, from: u32, count: usize) -> McpResult<Option<(Vec<Known>, u32)>> {
    let state = captures.state();
    // Another search may have taken its place.
    let Some(scan) = state.scan(id) else { return Err(ToolError::new("too many searches at once")) };
    if (scan.looked as usize) < state.rows.listed.len() {
        return Ok(None);
    }
    let rows = scan.calls.from(from).take(count).map(|place| state.rows.listed[place as usize]);
    Ok(Some((rows.filter_map(|row| Known::call(&state, row)).collect(), scan.calls.len())))
}

async fn get(captures: &Captures, row: u32, whole: bool) -> McpResult<String> {
    read(captures).await;
    match row.checked_sub(1).and_then(|row| detail::of(captures, row, whole)) {
        Some(detail) => text(&detail),
        None => Err(ToolError::new(format!("there is no row {row}"))),
    }
}

async fn check(captures: &Captures) -> McpResult<String> {
    read(captures).await;
    while !captures.state().is_checked() {
        tokio::time::sleep(PAUSE).await;
    }
    let state = captures.state();
    let found: Vec<Value> = state
        .rows_with_findings()
        .into_iter()
        .flat_map(|row| {
            state.findings(row).iter().map(move |found| json!({ "row": row + 1, "finding": found }))
        })
        .take(ROWS)
        .collect();
    text(&json!({ "found": state.found, "findings": found }))
}
