//! One call before the load, as `sabir call` makes it: it shows that the server is there, what it speaks, and that it knows
//! the method. A load of calls that all fail measures nothing.

use std::sync::Arc;

use sabir::{CallError, ErrorCode, RawJson, Report};
use sabir_load::Call;
use tokio::time::{Instant, timeout_at};

use super::plan::Plan;
use crate::call::explain;
use crate::detect::Watch;
use crate::exit::{Exit, Failure};
use crate::json::compact;
use crate::peer::PeerOptions;
use crate::print::Printer;
use crate::session::{CallFailure, Listener, Opening, Protocol, Session};
use crate::stop;

/// How long the connection of the first call may take to end.
const CLOSE_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(500);

/// What the first call has shown.
pub(super) struct Trial {
    pub(super) protocol: Protocol,
    /// The calls as they go over the wire.
    pub(super) calls: Vec<Call>,
}

impl Trial {
    pub(super) async fn make(plan: &Plan, printer: &Printer) -> Result<Trial, Failure> {
        let (mut session, watch) = open(plan, plan.protocol, plan.explicit, printer).await?;
        let asked = in_time(&plan.peer, &watch, first(plan, &mut session, &watch, printer)).await;
        let calls = match asked {
            Ok(()) => in_time(&plan.peer, &watch, resolve(plan, &mut session)).await,
            Err(failure) => Err(failure),
        };
        let protocol = session.protocol();
        session.close(CLOSE_TIMEOUT).await;
        Ok(Trial { protocol, calls: calls? })
    }

    /// Whether calls need no session: any bytes that are a message will do.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.protocol, Protocol::Plain | Protocol::Eth)
    }
}

/// A session, with its handshake done.
pub(super) async fn open(
    plan: &Plan,
    protocol: Option<Protocol>,
    explicit: bool,
    printer: &Printer,
) -> Result<(Session, Watch), Failure> {
    let watch = Watch::default();
    let opening = Opening {
        peer: &plan.peer,
        protocol,
        explicit,
        dialect: None,
        answers: plan.answers.clone(),
        listener: Arc::new(Quiet),
        watch: &watch,
        tap: None,
        printer,
    };
    let mut session = in_time(&plan.peer, &watch, Session::connect(opening)).await?;
    in_time(&plan.peer, &watch, session.begin()).await?;
    Ok((session, watch))
}

/// The calls of a plan as a session would send them.
pub(super) async fn resolve(plan: &Plan, session: &mut Session) -> Result<Vec<Call>, Failure> {
    let mut calls = Vec::with_capacity(plan.entries.len());
    for entry in &plan.entries {
        let (method, params) = session.resolve(&entry.method, &entry.args).await?;
        calls.push(Call {
            name: entry.name.clone(),
            method: serde_json::Value::from(method).to_string(),
            params: params.map(|params: RawJson<'static>| compact(params.as_str()).into_owned()),
            is_notification: entry.is_notification,
            expected: plan.expect.clone(),
        });
    }
    Ok(calls)
}

/// Makes the first call. An error is told, and is part of what is measured, unless it says that there is no such call.
async fn first(plan: &Plan, session: &mut Session, watch: &Watch, printer: &Printer) -> Result<(), Failure> {
    let entry = &plan.entries[0];
    if entry.is_notification {
        let params = session.params(&entry.method, &entry.args).await?;
        session.notify(&entry.method, params).await?;
        return session.has_worker().await;
    }
    match session.call(&entry.method, &entry.args, None).await {
        Ok(answer) => {
            if answer.is_error() && !plan.json {
                printer.note("the first call: the tool says that it failed");
            }
            Ok(())
        }
        Err(CallFailure::Failed(failure)) => Err(failure),
        Err(CallFailure::Call(CallError::Error(error))) => {
            let is_hopeless = plan.entries.len() == 1
                && matches!(error.code, ErrorCode::METHOD_NOT_FOUND | ErrorCode::INVALID_PARAMS);
            if is_hopeless {
                let hint = explain::hint(session, &plan.peer, &entry.method, &entry.args, &error).await;
                let what = format!("the first call failed: {} {}", error.code, error.message);
                return Err(Failure::new(Exit::Error, what).hints([hint]));
            }
            if !plan.json {
                printer.note(&format!("the first call failed: {} {}", error.code, error.message));
            }
            Ok(())
        }
        Err(CallFailure::Call(error)) => Err(plan.peer.call_failed(&error, watch)),
    }
}

/// Ends the work when the time is up, when the user interrupts it, or when the peer speaks another protocol.
pub(super) async fn in_time<T>(
    peer: &PeerOptions,
    watch: &Watch,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let deadline = Instant::now() + peer.timeout;
    stop::at(deadline);
    tokio::select! {
        biased;
        interrupted = stop::interrupted() => Err(interrupted),
        protocol = watch.mismatch() => Err(peer.speaks(protocol)),
        done = timeout_at(deadline, work) => done.unwrap_or_else(|_| Err(peer.timed_out(watch))),
    }
}

/// What a server says on its own is not what is measured.
pub(super) struct Quiet;

impl Listener for Quiet {
    fn notification(&self, _: &str, _: Option<&RawJson<'static>>) {}

    fn refused(&self, _: &str) {}

    fn report(&self, _: &Report<'_>) {}
}
