//! A session of the library as a connection of a run: for MCP, language servers, and transports that have no bare wire.
//!
//! Over HTTP and NATS a server may come back, or another one behind the same URL. Its session is gone then, and the next call
//! opens another one; that takes as long as it takes, and is in the latency of the call. Other calls fail meanwhile.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use sabir::{CallError, DeliveryFailure, RawJson};
use sabir_load::{Call, Class, Lane, Outcome};
use tokio::time::{Instant, timeout};

use super::plan::Plan;
use super::trial::{self, Quiet, Trial};
use crate::detect::Watch;
use crate::exit::Failure;
use crate::expect::is_equal;
use crate::peer::PeerOptions;
use crate::print::Printer;
use crate::session::{Answers, Caller, Opening, Protocol, Session};

/// How long it waits to try again to open a session.
const RETRY: Duration = Duration::from_millis(200);

pub(super) struct SessionLane {
    peer: PeerOptions,
    answers: Answers,
    protocol: Protocol,
    printer: Printer,
    calls: Vec<Prepared>,
    session: RefCell<Option<Session>>,
    caller: RefCell<Caller>,
    /// The server does not know the session any more.
    is_ended: Cell<bool>,
    is_opening: Cell<bool>,
    tried: Cell<Instant>,
}

impl SessionLane {
    pub(super) async fn open(plan: &Plan, trial: &Trial, printer: &Printer) -> Result<Rc<Self>, Failure> {
        let (mut session, watch) = trial::open(plan, Some(trial.protocol), true, printer).await?;
        // Documents are opened in each session.
        let calls = trial::in_time(&plan.peer, &watch, trial::resolve(plan, &mut session)).await?;
        Ok(Rc::new(SessionLane {
            peer: plan.peer.clone(),
            answers: plan.answers.clone(),
            protocol: trial.protocol,
            printer: printer.clone(),
            calls: calls.into_iter().map(Prepared::new).collect(),
            caller: RefCell::new(session.caller()),
            session: RefCell::new(Some(session)),
            is_ended: Cell::new(false),
            is_opening: Cell::new(false),
            tried: Cell::new(Instant::now()),
        }))
    }

    pub(super) fn lane(self: Rc<Self>) -> Lane {
        Lane::Calls(Box::new(move |numbers: &[u32]| {
            let calls: Vec<Prepared> =
                numbers.iter().map(|&number| self.calls[number as usize].clone()).collect();
            let lane = Rc::clone(&self);
            Box::pin(async move {
                lane.open_again().await;
                let (caller, limit) = (lane.caller.borrow().clone(), lane.peer.timeout);
                match <[Prepared; 1]>::try_from(calls) {
                    Ok([call]) => vec![lane.one(&caller, call, limit).await],
                    Err(calls) => together(&caller, calls, limit).await,
                }
            })
        }))
    }

    pub(super) async fn close(&self, grace: Duration) {
        let session = self.session.borrow_mut().take();
        if let Some(session) = session {
            session.close(grace).await;
        }
    }

    /// Opens another session if this one is lost and the server may be there.
    async fn open_again(&self) {
        let is_lost = self.is_ended.get() || self.caller.borrow().is_closed();
        let comes_back = self.protocol != Protocol::Lsp
            && self.peer.target.scheme().is_some_and(|scheme| scheme.is_http() || scheme.is_nats());
        if !is_lost || !comes_back || self.tried.get().elapsed() < RETRY || self.is_opening.replace(true) {
            return;
        }
        let watch = Watch::default();
        let opening = Opening {
            peer: &self.peer,
            protocol: Some(self.protocol),
            explicit: true,
            dialect: None,
            answers: self.answers.clone(),
            listener: Arc::new(Quiet),
            watch: &watch,
            tap: None,
            printer: &self.printer,
        };
        let opened = async {
            let mut session = Session::connect(opening).await?;
            session.begin().await.map(|()| session)
        };
        if let Ok(Ok(session)) = timeout(self.peer.timeout, opened).await {
            self.caller.replace(session.caller());
            self.session.replace(Some(session));
            self.is_ended.set(false);
        }
        self.tried.set(Instant::now());
        self.is_opening.set(false);
    }

    async fn one(&self, caller: &Caller, call: Prepared, limit: Duration) -> Outcome {
        let Prepared { method, params, is_notification, expected } = call;
        if is_notification {
            return match caller.notify(method, params).await {
                Ok(()) => Outcome::Ok,
                Err(what) => Outcome::Failed(Class::Transport, what),
            };
        }
        let call = async {
            let answered = caller.call(method, params).await;
            if let Err(CallError::Undelivered(lost)) = &answered {
                self.is_ended.set(lost.failure == DeliveryFailure::SessionEnded);
            }
            answered
        };
        in_limit(limit, call, expected.as_deref()).await
    }
}

/// A call of the plan, as the library takes it.
#[derive(Clone)]
struct Prepared {
    method: String,
    params: Option<RawJson<'static>>,
    is_notification: bool,
    expected: Option<String>,
}

impl Prepared {
    fn new(call: Call) -> Prepared {
        Prepared {
            method: serde_json::from_str(&call.method).unwrap_or_default(),
            params: call.params.and_then(|params| RawJson::new(params).ok()),
            is_notification: call.is_notification,
            expected: call.expected,
        }
    }
}

/// A batch.
async fn together(caller: &Caller, calls: Vec<Prepared>, limit: Duration) -> Vec<Outcome> {
    let mut batch = caller.batch();
    let sent: Vec<_> = calls
        .into_iter()
        .map(|Prepared { method, params, is_notification, expected }| match (is_notification, params) {
            (true, None) => {
                batch.notify(method, ());
                None
            }
            (true, Some(params)) => {
                batch.notify(method, params);
                None
            }
            (false, None) => Some((batch.call::<RawJson<'static>>(method, ()), expected)),
            (false, Some(params)) => Some((batch.call(method, params), expected)),
        })
        .collect();
    if let Err(error) = batch.send() {
        return sent.iter().map(|_| Outcome::Failed(Class::Transport, error.to_string())).collect();
    }
    let answers = sent.into_iter().map(|sent| async move {
        match sent {
            Some((call, expected)) => in_limit(limit, call.into_future(), expected.as_deref()).await,
            None => Outcome::Ok,
        }
    });
    futures_util::future::join_all(answers).await
}

async fn in_limit(
    limit: Duration,
    call: impl Future<Output = Result<RawJson<'static>, CallError>>,
    expected: Option<&str>,
) -> Outcome {
    match timeout(limit, call).await {
        Ok(answered) => outcome(answered, expected),
        Err(_) => Outcome::Failed(Class::Timeout, "no answer within --timeout".to_owned()),
    }
}

fn outcome(answered: Result<RawJson<'static>, CallError>, expected: Option<&str>) -> Outcome {
    match answered {
        Ok(result) if result.get("isError").is_some_and(|flag| flag.as_str() == "true") => {
            Outcome::Failed(Class::Wrong, "the tool says that it failed".to_owned())
        }
        Ok(result) => match expected {
            Some(expected) if !RawJson::new(expected).is_ok_and(|expected| is_equal(&expected, &result)) => {
                Outcome::Failed(Class::Wrong, format!("expected {expected}, came {result}"))
            }
            _ => Outcome::Ok,
        },
        Err(CallError::Error(error)) => Outcome::Failed(Class::Rpc(error.code.0), error.message.into_owned()),
        Err(CallError::Decode(what)) => Outcome::Failed(Class::Protocol, what.to_string()),
        Err(error) => Outcome::Failed(Class::Transport, error.to_string()),
    }
}
