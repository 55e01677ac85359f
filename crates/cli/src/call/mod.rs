//! `sabir call`: one call, one notification or one batch, to any peer.

mod batch;
mod params;
mod plan;
mod report;

use std::time::Duration;

use batch::Entry;
use plan::{Plan, What};
use report::{Named, Reporter, timed_out, undelivered};
use sabir::{CallError, Cause, Framing, Peer, RawJson};
use tokio::time::Instant;

use crate::args::CallArgs;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::trace;

/// How long what was sent last, such as a cancel, may take to go out.
const FLUSH: Duration = Duration::from_millis(500);

pub(crate) async fn run(args: CallArgs, printer: &Printer) -> Result<Exit, Failure> {
    let plan = Plan::new(args)?;
    let reporter = Reporter::new(&plan, printer);
    let done = talk(&plan, &reporter, printer).await;
    if let Err(failure) = &done {
        reporter.failed(failure, plan.what.method());
    }
    done
}

async fn talk(plan: &Plan, reporter: &Reporter, printer: &Printer) -> Result<Exit, Failure> {
    let deadline = Instant::now() + plan.timeout;
    let transport = plan.web.apply(plan.target.open(plan.framing)?);
    let reports = reporter.clone();
    let mut transport = transport.dialect(plan.dialect).on_report(move |report| reports.report(report));
    if plan.trace {
        let framing = if plan.target.keeps_messages_apart() { Framing::Whole } else { plan.framing };
        transport = transport.tap(trace::tap(framing, printer));
    }
    let connecting = async {
        let connected = sabir::connect(transport, reporter.router()).await;
        connected.map_err(|error| plan.target.unreachable(&error))
    };
    let peer = in_time(deadline, plan, connecting).await?;
    let done = in_time(deadline, plan, send(plan, &peer, reporter)).await;
    let cause = peer.shutdown(FLUSH).await;
    if let (What::Notify { .. }, Some(lost)) = (&plan.what, reporter.lost()) {
        return Err(undelivered(&lost));
    }
    match (&plan.what, &cause) {
        (What::Notify { .. }, Cause::Lost(_) | Cause::Stalled) => {
            Err(Failure::new(Exit::Protocol, format_args!("the notification may be lost: {cause}")))
        }
        _ => done,
    }
}

/// Gives up when the time is up, or when the user does.
async fn in_time<T>(
    deadline: Instant,
    plan: &Plan,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        done = tokio::time::timeout_at(deadline, work) => done.unwrap_or_else(|_| Err(timed_out(plan))),
        Ok(()) = tokio::signal::ctrl_c() => Err(Failure::new(Exit::Interrupted, "interrupted")),
    }
}

async fn send(plan: &Plan, peer: &Peer, reporter: &Reporter) -> Result<Exit, Failure> {
    match &plan.what {
        What::Call { method, params, progress } => {
            let mut call = peer.call_raw(method.clone(), params.clone());
            if *progress {
                while let Some(value) = call.progress::<RawJson<'static>>().await {
                    reporter.progress(&value);
                }
            }
            let outcome = call.await;
            // The first call on a connection has the id 1.
            let id = RawJson::new("1").map_err(Failure::usage)?;
            reporter.outcome(Named { id: &id, method, among_others: false }, outcome, plan)
        }
        What::Notify { method, params } => {
            let sent = peer.notify(method.clone(), params.clone()).await;
            sent.map_err(|refused| Failure::new(Exit::Protocol, format_args!("not sent: {refused}")))?;
            reporter.sent(method)?;
            Ok(Exit::Ok)
        }
        What::Batch(entries) => send_batch(entries, plan, peer, reporter).await,
    }
}

async fn send_batch(
    entries: &[Entry],
    plan: &Plan,
    peer: &Peer,
    reporter: &Reporter,
) -> Result<Exit, Failure> {
    let mut batch = peer.batch();
    let mut calls = Vec::new();
    for Entry { id, method, params } in entries {
        match id {
            Some(id) => {
                let call = batch.call::<_, _, RawJson<'static>>(method.clone(), params.clone());
                calls.push((Named { id, method, among_others: true }, call));
            }
            None => batch.notify(method.clone(), params.clone()),
        }
    }
    batch.send().map_err(|error: CallError| Failure::new(Exit::Protocol, error))?;
    let mut exit = Exit::Ok;
    for (named, call) in calls {
        if reporter.outcome(named, call.await, plan)? == Exit::Error {
            exit = Exit::Error;
        }
    }
    Ok(exit)
}

impl What {
    fn method(&self) -> Option<&str> {
        match self {
            What::Call { method, .. } | What::Notify { method, .. } => Some(method),
            What::Batch(_) => None,
        }
    }
}
