//! `sabir call`: one call, one notification, one batch or one text, to any peer.

mod batch;
mod exchange;
pub(crate) mod explain;
mod output;
mod pick;
mod plan;
mod progress;
mod raw;
mod received;
mod report;
mod spans;
mod steps;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use output::{Output, error_text};
use plan::{Plan, What};
pub(crate) use progress::Progress;
use report::{Named, Reporter};
use sabir::{CallError, Cause, RawJson};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;
use tracing::field::Empty;

use crate::args::CallArgs;
use crate::exit::{Exit, Failure};
use crate::platform::word;
use crate::print::Printer;
use crate::session::{CallFailure, OnProgress, Opening, Protocol, Session, Tap};
use crate::stop;
use crate::target::Target;
use crate::telemetry;

/// How long the last messages, such as a cancel, may take to be sent.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// How long an answer may still come after an error without an id. That error is then taken for the answer.
const AFTER_PEER_ERROR: Duration = Duration::from_millis(500);

pub(crate) async fn run(args: CallArgs, printer: &Printer) -> Result<Exit, Failure> {
    let telemetry = telemetry::start("call", telemetry::Calls::OfSessions, &args.telemetry, None, printer)?;
    // What is asked before the call, such as what a server offers, is in the same trace.
    let span = tracing::info_span!(
        "sabir call",
        otel.status_code = Empty,
        error.type = Empty,
        process.exit.code = Empty,
    );
    let done = call(args, printer).instrument(span.clone()).await;
    spans::ended(&span, &done);
    drop(span);
    telemetry.finish(printer);
    done
}

async fn call(args: CallArgs, printer: &Printer) -> Result<Exit, Failure> {
    let plan = Plan::new(args, printer)?;
    let reporter = Reporter::new(&plan, printer);
    let done = match &plan.what {
        What::Batch(entries) => exchange::send(entries, &plan, &reporter, printer).await,
        What::Raw(bytes) => raw::send(bytes, &plan, &reporter, printer).await,
        What::Steps(steps) => steps.play(&plan, &reporter, printer).await,
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
    let tap = plan.json.then(|| Box::new(received::tap(plan, plan.peer.wire_framing(), reporter)) as Tap);
    let opening = Opening {
        peer: &plan.peer,
        protocol: plan.protocol,
        explicit: plan.explicit,
        dialect: plan.dialect,
        answers: plan.answers.clone(),
        listener: Arc::new(reporter.clone()),
        watch: &reporter.watch,
        tap,
        printer,
    };
    let mut session = in_time(deadline, plan, reporter, Session::connect(opening)).await?;
    let talking = async {
        let waiting = plan.waiting(printer);
        session.begin().await?;
        drop(waiting);
        send(plan, &mut session, reporter, printer).await
    };
    let mut done = in_time(deadline, plan, reporter, talking).await;
    if let (Err(_), Some(id), Target::Url(_)) = (&done, plan.answers.task(), &plan.peer.target) {
        let (target, id) = (word(&plan.peer.target.to_string()), word(&id));
        printer.note(&format!("the task goes on: `sabir call {target} tasks/result {id}` waits for it"));
    }
    // After an error there is nothing to stay for.
    if matches!(done, Ok(Exit::Ok)) && plan.stay.is_set() {
        done = stay(plan, &session, reporter).await.and(done);
    }
    let cause = session.close(FLUSH_TIMEOUT).await;
    if let (What::Notify { .. }, Some(lost)) = (&plan.what, reporter.lost()) {
        return Err(plan.peer.undelivered(&lost));
    }
    match (&plan.what, &cause) {
        (What::Notify { .. }, Cause::Lost(_) | Cause::Stalled) if !plan.stay.is_set() => {
            Err(Failure::new(Exit::Protocol, format_args!("the notification may be lost: {cause}")))
        }
        _ => done,
    }
}

/// Ends the work when the time is up, when the user interrupts it, or when the peer speaks another protocol. The
/// timeout is paused while a person is asked.
async fn in_time<T>(
    mut deadline: Instant,
    plan: &Plan,
    reporter: &Reporter,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut work = std::pin::pin!(work);
    loop {
        // A person who thinks is not a program that hangs.
        match plan.answers.can_ask() {
            true => stop::never(),
            false => stop::at(deadline),
        }
        tokio::select! {
            biased;
            interrupted = stop::interrupted() => return Err(interrupted),
            protocol = reporter.watch.mismatch() => return Err(plan.peer.speaks(protocol)),
            failure = reporter.unwritable() => return Err(failure),
            // Not a `sleep` beside it: work that is never pending would not let that one have its turn.
            done = timeout_at(deadline, &mut work) => match done {
                Ok(done) => return done,
                Err(_) if plan.answers.is_asking() || plan.answers.was_heard() => deadline = Instant::now() + plan.peer.timeout,
                Err(_) => {
                    telemetry::time_is_up();
                    return Err(plan.peer.timed_out(&reporter.watch));
                }
            },
        }
    }
}

/// Stays for as long as the options say. What comes is printed meanwhile.
async fn stay(plan: &Plan, session: &Session, reporter: &Reporter) -> Result<Exit, Failure> {
    let until = plan.stay.until.as_deref();
    let limit = plan.stay.wait.or(until.map(|_| plan.peer.timeout));
    let time_is_up = async {
        match limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        _ = stop::interrupted() => Err(Failure::new(Exit::Interrupted, "")),
        failure = reporter.unwritable() => Err(failure),
        () = reporter.seen() => Ok(Exit::Ok),
        cause = session.peer().closed() => match until {
            Some(method) => {
                let what = format!("the connection ended without `{method}`: {cause}");
                Err(Failure::new(Exit::Protocol, what))
            }
            None => Ok(Exit::Ok),
        },
        () = time_is_up => match until {
            Some(method) => {
                let time = crate::problem::time(limit.unwrap_or_default());
                let failure = Failure::new(Exit::Timeout, format_args!("no `{method}` within {time}"));
                Err(failure.hint("wait longer with --wait 1m"))
            }
            None => Ok(Exit::Ok),
        },
    }
}

async fn send(
    plan: &Plan,
    session: &mut Session,
    reporter: &Reporter,
    printer: &Printer,
) -> Result<Exit, Failure> {
    match &plan.what {
        What::Call { method, args, progress, detached } => {
            // The bar of an MCP tool costs nothing but a token.
            let draws =
                printer.draws_progress() && matches!(session.protocol(), Protocol::Mcp(_)) && !plan.json;
            let on_progress: Option<OnProgress> = (*progress || draws).then(|| {
                let (reporter, json) = (reporter.clone(), plan.json);
                // With --json it was printed when it came.
                Arc::new(move |value: &RawJson<'static>| {
                    if !json {
                        reporter.progress(value);
                    }
                }) as OnProgress
            });
            let id = RawJson::NULL;
            let named = Named { id: &id, method, in_batch: false };
            let waiting = plan.waiting(printer);
            let calling = async {
                match detached {
                    true => session.start(method, args).await,
                    false => session.call(method, args, on_progress.as_ref()).await,
                }
            };
            let outcome = tokio::select! {
                biased;
                outcome = calling => outcome,
                error = reporter.refused_after(AFTER_PEER_ERROR) => return reporter.refusal(named, &error),
            };
            drop(waiting);
            if let (Err(CallFailure::Call(failed)), Some(error)) = (&outcome, reporter.peer_error())
                && failed.connection_end().is_some()
            {
                return reporter.refusal(named, &error);
            }
            // A trace and --json show the call alone.
            let explains = !plan.json && !plan.peer.traces() && !reporter.was_called();
            let hint = match &outcome {
                Err(CallFailure::Call(CallError::Error(error))) if explains => {
                    explain::hint(session, &plan.peer, method, args, error).await
                }
                Ok(answer) if !plan.json && !plan.peer.traces() => {
                    explain::tool(session, method, args, answer).await
                }
                _ => None,
            };
            let hint = explain::unanswered(&outcome, &plan.answers).or(hint);
            reporter.outcome(named, outcome, hint.as_deref(), plan)
        }
        What::Notify { method, args } => {
            session.notify(method, session.params(method, args).await?).await?;
            reporter.sent(method)?;
            Ok(Exit::Ok)
        }
        What::Batch(_) | What::Raw(_) | What::Steps(_) => unreachable!("they are sent as they are"),
    }
}

impl What {
    fn method(&self) -> Option<&str> {
        match self {
            What::Call { method, .. } | What::Notify { method, .. } => Some(method),
            What::Batch(_) | What::Raw(_) | What::Steps(_) => None,
        }
    }
}
