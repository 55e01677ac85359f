//! `sabir call`: one call, one notification or one batch, to any peer.

mod batch;
mod params;
mod plan;
mod raw;
mod received;
mod report;

use std::time::Duration;

use plan::{Plan, What};
use report::{Named, Reporter};
use sabir::{Cause, Framing, Limits, Peer, RawJson};
use tokio::time::Instant;

use crate::args::CallArgs;
use crate::exit::{Exit, Failure};
use crate::failed;
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
    if let What::Batch(entries) = &plan.what {
        return in_time(deadline, plan, reporter, raw::send(entries, plan, reporter, printer)).await;
    }
    let tracing = plan.trace.then_some(printer);
    let transport = plan.web.apply(plan.target.open(plan.framing, tracing)?);
    let reports = reporter.clone();
    let limits = Limits { message_bytes: plan.max_size, ..Limits::default() };
    let mut transport =
        transport.dialect(plan.dialect).limits(limits).on_report(move |report| reports.report(report));
    let framing = if plan.target.keeps_messages_apart() { Framing::Whole } else { plan.framing };
    let mut shown = tracing.map(|printer| trace::tap(framing, plan.max_size, printer));
    let mut told = plan.json.then(|| received::tap(plan, framing, reporter));
    transport = transport.tap(move |wire, bytes| {
        shown.iter_mut().for_each(|tap| tap(wire, bytes));
        told.iter_mut().for_each(|tap| tap(wire, bytes));
    });
    if let Some(printer) = tracing {
        let printer = printer.clone();
        transport = transport.on_http_failure(move |failure| trace::failure(failure, &printer));
    }
    let connecting = async {
        let connected = sabir::connect(transport, reporter.router()).await;
        connected.map_err(|error| plan.target.unreachable(&error))
    };
    let peer = in_time(deadline, plan, reporter, connecting).await?;
    let done = in_time(deadline, plan, reporter, send(plan, &peer, reporter)).await;
    let cause = peer.shutdown(FLUSH).await;
    if let (What::Notify { .. }, Some(lost)) = (&plan.what, reporter.lost()) {
        return Err(failed::undelivered(&lost));
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
    reporter: &Reporter,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        done = tokio::time::timeout_at(deadline, work) => done.unwrap_or_else(|_| Err(failed::timed_out(&plan.target, plan.timeout))),
        failure = reporter.misframed.noticed(&plan.target) => Err(failure),
        Ok(()) = tokio::signal::ctrl_c() => Err(Failure::new(Exit::Interrupted, "interrupted")),
    }
}

async fn send(plan: &Plan, peer: &Peer, reporter: &Reporter) -> Result<Exit, Failure> {
    match &plan.what {
        What::Call { method, params, progress } => {
            let mut call = peer.call_raw(method.clone(), params.clone());
            if *progress {
                while let Some(value) = call.progress::<RawJson<'static>>().await {
                    // With --json it was printed when it came.
                    if !plan.json {
                        reporter.progress(&value);
                    }
                }
            }
            let outcome = call.await;
            let id = RawJson::new(received::ID).map_err(Failure::usage)?;
            reporter.outcome(Named { id: &id, method, among_others: false }, outcome, plan)
        }
        What::Notify { method, params } => {
            let sent = peer.notify(method.clone(), params.clone()).await;
            sent.map_err(|refused| Failure::new(Exit::Protocol, format_args!("not sent: {refused}")))?;
            reporter.sent(method)?;
            Ok(Exit::Ok)
        }
        What::Batch(_) => unreachable!("batches are sent as they are"),
    }
}

impl What {
    fn method(&self) -> Option<&str> {
        match self {
            What::Call { method, .. } | What::Notify { method, .. } => Some(method),
            What::Batch(_) => None,
        }
    }
}
