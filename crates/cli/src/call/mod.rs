//! `sabir call`: one call, one notification or one batch, to any peer.

mod batch;
mod exchange;
mod params;
mod plan;
mod received;
mod report;

use std::time::Duration;

use plan::{Plan, What};
use report::{Named, Reporter};
use sabir::{CallError, Cause, ErrorCode, JsonKind, Limits, Peer, RawJson};
use tokio::time::Instant;

use crate::args::CallArgs;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::problem::mcp_meta;
use crate::stop;
use crate::trace;

/// How long the last messages, such as a cancel, may take to be sent.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a server may take to list its tools, for a hint.
const TOOLS_TIMEOUT: Duration = Duration::from_millis(500);

/// How long an answer may still come after an error without an id. That error is then taken for the answer.
const AFTER_PEER_ERROR: Duration = Duration::from_millis(500);

pub(crate) async fn run(args: CallArgs, printer: &Printer) -> Result<Exit, Failure> {
    let plan = Plan::new(args, printer)?;
    let reporter = Reporter::new(&plan, printer);
    let done = match &plan.what {
        What::Batch(entries) => exchange::send(entries, &plan, &reporter, printer).await,
        _ => talk(&plan, &reporter, printer).await,
    };
    reporter.end();
    if let Err(failure) = &done {
        reporter.failed(failure, plan.what.method());
    }
    done
}

async fn talk(plan: &Plan, reporter: &Reporter, printer: &Printer) -> Result<Exit, Failure> {
    let deadline = Instant::now() + plan.peer.timeout;
    let tracing = plan.peer.traces().then_some(printer);
    let opened = plan.peer.target.open(plan.peer.framing, tracing);
    let transport = plan.peer.web.apply(opened.map_err(|error| plan.peer.unreachable(&error))?);
    let reports = reporter.clone();
    let limits = Limits { message_bytes: plan.peer.max_size, ..Limits::default() };
    let mut transport =
        transport.dialect(plan.dialect).limits(limits).on_report(move |report| reports.report(report));
    let framing = plan.peer.wire_framing();
    let mut watch = reporter.watch.tap(&plan.peer);
    let mut shown = tracing.map(|printer| trace::tap(framing, plan.peer.max_size, printer));
    let mut printed = plan.json.then(|| received::tap(plan, framing, reporter));
    transport = transport.tap(move |wire, bytes| {
        if wire == sabir::transport::Wire::Received {
            watch.feed(bytes);
        }
        shown.iter_mut().for_each(|tap| tap(wire, bytes));
        printed.iter_mut().for_each(|tap| tap(wire, bytes));
    });
    if let Some(printer) = tracing {
        let printer = printer.clone();
        transport = transport.on_http_failure(move |failure| trace::failure(failure, &printer));
    }
    let connecting = async {
        let connected = sabir::connect(transport, reporter.router()).await;
        connected.map_err(|error| plan.peer.unreachable(&error))
    };
    let peer = in_time(deadline, plan, reporter, connecting).await?;
    let done = in_time(deadline, plan, reporter, send(plan, &peer, reporter)).await;
    let cause = peer.shutdown(FLUSH_TIMEOUT).await;
    if let (What::Notify { .. }, Some(lost)) = (&plan.what, reporter.lost()) {
        return Err(plan.peer.undelivered(&lost));
    }
    match (&plan.what, &cause) {
        (What::Notify { .. }, Cause::Lost(_) | Cause::Stalled) => {
            Err(Failure::new(Exit::Protocol, format_args!("the notification may be lost: {cause}")))
        }
        _ => done,
    }
}

/// Ends the work when the time is up, when the user interrupts it, or when the peer speaks another protocol.
async fn in_time<T>(
    deadline: Instant,
    plan: &Plan,
    reporter: &Reporter,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    stop::at(deadline);
    tokio::select! {
        biased;
        interrupted = stop::interrupted() => Err(interrupted),
        protocol = reporter.watch.mismatch() => Err(plan.peer.speaks(protocol)),
        done = tokio::time::timeout_at(deadline, work) => {
            done.unwrap_or_else(|_| Err(plan.peer.timed_out(&reporter.watch)))
        }
    }
}

async fn send(plan: &Plan, peer: &Peer, reporter: &Reporter) -> Result<Exit, Failure> {
    match &plan.what {
        What::Call { method, params, progress } => {
            let mut call = peer.call_raw(method.clone(), params.clone());
            let id = RawJson::new(received::ID).map_err(Failure::usage)?;
            let named = Named { id: &id, method, params: params.as_ref(), in_batch: false };
            let answered = async {
                if *progress {
                    while let Some(value) = call.progress::<RawJson<'static>>().await {
                        // With --json it was printed when it came.
                        if !plan.json {
                            reporter.progress(&value);
                        }
                    }
                }
                call.await
            };
            let outcome = tokio::select! {
                biased;
                outcome = answered => outcome,
                error = reporter.refused(AFTER_PEER_ERROR) => return reporter.refusal(named, &error),
            };
            match (&outcome, reporter.peer_error()) {
                (Err(CallError::Closed(_)), Some(error)) => return reporter.refusal(named, &error),
                // A trace and --json show the call alone.
                (Err(CallError::Error(error)), _)
                    if error.code == ErrorCode::METHOD_NOT_FOUND
                        && !plan.json
                        && !plan.peer.traces()
                        && is_tool(peer, method, params.as_ref()).await =>
                {
                    reporter.found_tool();
                }
                _ => {}
            }
            reporter.outcome(named, outcome, plan)
        }
        What::Notify { method, params } => {
            let sent = peer.notify(method.clone(), params.clone()).await;
            sent.map_err(|refused| Failure::new(Exit::Protocol, format_args!("not sent: {refused}")))?;
            reporter.sent(method)?;
            Ok(Exit::Ok)
        }
        What::Batch(_) => unreachable!("batches are sent by `exchange`"),
    }
}

/// Whether a method that does not exist is the name of an MCP tool, which is called by `tools/call`.
async fn is_tool(peer: &Peer, method: &str, params: Option<&RawJson<'static>>) -> bool {
    if params.is_some_and(|params| params.kind() != JsonKind::Object) {
        return false;
    }
    let params = RawJson::new(format!(r#"{{"_meta":{}}}"#, mcp_meta())).ok();
    let Ok(listed) = peer.call_raw("tools/list", params).timeout(TOOLS_TIMEOUT).await else { return false };
    let Some(tools) = listed.get("tools").filter(|tools| tools.kind() == JsonKind::Array) else {
        return false;
    };
    tools.elements().any(|tool| {
        let name = tool.get("name").and_then(|name| name.parse::<String>().ok());
        name.is_some_and(|name| name == method)
    })
}

impl What {
    fn method(&self) -> Option<&str> {
        match self {
            What::Call { method, .. } | What::Notify { method, .. } => Some(method),
            What::Batch(_) => None,
        }
    }
}
