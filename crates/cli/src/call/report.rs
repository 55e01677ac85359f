//! Prints the outcome of a call, and what else happens on its connection.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sabir::{CallError, ErrorCode, ErrorObject, RawJson, Report, Undelivered};
use sabir_proto::{ByteSize, FrameFault, ParseError, Syntax};
use serde::Serialize;
use tokio::sync::Notify;

use super::batch::Entry;
use super::output::error_text;
use super::plan::Plan;
use super::progress::Progress;
use crate::detect::Watch;
use crate::exit::{Exit, Failure};
use crate::json::compact;
use crate::peer::PeerOptions;
use crate::print::Printer;
use crate::problem::{method_not_found, unreadable};
use crate::session::{Answer, CallFailure, Form, Listener};
use crate::stop;

/// Characters that are shown of output that is not JSON.
const SHOWN: usize = 200;

/// Characters of a note. What the peer sends may be much longer, and is not the answer.
const LONGEST_NOTE: usize = 2000;

/// Notes that are printed for a call. The others are counted: a peer can send them faster than anyone reads.
const MOST_NOTES: u64 = 1000;

/// Prints everything that happens on the connection.
#[derive(Debug, Clone)]
pub(super) struct Reporter {
    printer: Printer,
    json: bool,
    peer: PeerOptions,
    target: String,
    start: Instant,
    /// What the server says is data, and goes to standard output.
    follows: bool,
    /// The notification that ends it.
    until: Option<String>,
    state: Arc<State>,
    pub(super) watch: Watch,
}

/// What the peer did, beside its answer.
#[derive(Debug, Default)]
struct State {
    /// A notification of ours that was not delivered.
    lost: Mutex<Option<Undelivered>>,
    /// How many notes there were.
    notes: AtomicU64,
    /// The last method that the peer called.
    called: Mutex<Option<String>>,
    /// An error without an id.
    refused: Mutex<Option<ErrorObject>>,
    refusal: Notify,
    /// With `--json`, the response was printed when it came.
    printed: AtomicBool,
    /// An error that may not have been the last word, with the id of its call.
    held: Mutex<Option<(RawJson<'static>, RawJson<'static>)>>,
    /// What was waited for has come.
    seen: AtomicBool,
    sight: Notify,
}

/// One line of `--json`.
#[derive(Clone, Copy, Default, Serialize)]
struct Envelope<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<&'a RawJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RawJson<'a>>,
    ms: f64,
    target: &'a str,
}

/// A call, as it is named in the output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) id: &'a RawJson<'a>,
    pub(super) method: &'a str,
    /// Whether its id must be shown, because there are other calls.
    pub(super) in_batch: bool,
}

impl Reporter {
    pub(super) fn new(plan: &Plan, printer: &Printer) -> Self {
        Reporter {
            printer: printer.clone(),
            json: plan.json,
            target: plan.peer.target.to_string(),
            peer: plan.peer.clone(),
            start: Instant::now(),
            follows: plan.stay.is_set(),
            until: plan.stay.until.clone(),
            state: Arc::default(),
            watch: Watch::default(),
        }
    }

    /// A call has ended. `hint` says more of an error.
    pub(super) fn outcome(
        &self,
        call: Named<'_>,
        outcome: Result<Answer, CallFailure>,
        hint: Option<&str>,
        plan: &Plan,
    ) -> Result<Exit, Failure> {
        stop::never();
        match outcome {
            Err(CallFailure::Failed(failure)) => Err(failure),
            Ok(answer) if self.json => {
                if answer.form != Form::Nothing {
                    self.envelope_once(call, &answer)?;
                }
                Ok(if answer.is_error() { Exit::Error } else { Exit::Ok })
            }
            Err(CallFailure::Call(CallError::Error(error))) if self.json => {
                let held = lock(&self.state.held).take();
                match held.filter(|_| !self.state.printed.load(Ordering::Relaxed)) {
                    Some((id, text)) => self.envelope_of(Named { id: &id, ..call }, &text, false)?,
                    None if !self.state.printed.load(Ordering::Relaxed) => {
                        let error = raw(&error);
                        self.envelope(Envelope {
                            ok: Some(false),
                            method: Some(call.method),
                            error: Some(&error),
                            ..Envelope::default()
                        })?;
                    }
                    None => {}
                }
                Ok(Exit::Error)
            }
            Ok(answer) if answer.is_error() => {
                Err(Failure::new(Exit::Error, error_text(&answer)).hints([hint.map(str::to_owned)]))
            }
            Ok(answer) => {
                plan.output.put(&answer, &self.printer)?;
                Ok(Exit::Ok)
            }
            Err(CallFailure::Call(CallError::Error(error))) => {
                self.rpc_error(call, &error, hint);
                Ok(Exit::Error)
            }
            Err(CallFailure::Call(error)) => Err(plan.peer.call_failed(&error, &self.watch)),
        }
    }

    /// A result that was not printed when it came.
    fn envelope_once(&self, call: Named<'_>, answer: &Answer) -> io::Result<()> {
        if self.state.printed.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.envelope(Envelope {
            ok: Some(!answer.is_error()),
            method: Some(call.method),
            result: Some(&answer.result),
            ..Envelope::default()
        })
    }

    fn rpc_error(&self, call: Named<'_>, error: &ErrorObject, hint: Option<&str>) {
        let id = call.id.to_string();
        let hint = hint.map(str::to_owned).or_else(|| {
            let called = lock(&self.state.called);
            let unknown = error.code == ErrorCode::METHOD_NOT_FOUND;
            unknown.then(|| method_not_found(&self.target, called.as_deref()))
        });
        self.printer.rpc_error(call.in_batch.then_some(&id), error, hint.as_deref());
    }

    /// Whether the peer called something that was refused.
    pub(super) fn was_called(&self) -> bool {
        lock(&self.state.called).is_some()
    }

    /// With `--json`, the response was printed.
    pub(super) fn printed(&self) {
        self.state.printed.store(true, Ordering::Relaxed);
    }

    /// An error that may not be the last word: it is printed if it is.
    pub(super) fn hold(&self, id: RawJson<'static>, response: RawJson<'static>) {
        *lock(&self.state.held) = Some((id, response));
    }

    /// Waits until the notification that was asked for has come.
    pub(super) async fn seen(&self) {
        while !self.state.seen.load(Ordering::Relaxed) {
            self.state.sight.notified().await;
        }
    }

    /// An error without an id that has come.
    pub(super) fn peer_error(&self) -> Option<RawJson<'static>> {
        lock(&self.state.refused).as_ref().map(raw)
    }

    /// Waits for an error without an id, and for a moment more, in which the real answer may come.
    pub(super) async fn refused_after(&self, grace: Duration) -> RawJson<'static> {
        let error = loop {
            match self.peer_error() {
                Some(error) => break error,
                None => self.state.refusal.notified().await,
            }
        };
        tokio::time::sleep(grace).await;
        error
    }

    /// The peer answers with an error that has no id.
    pub(super) fn refusal(&self, call: Named<'_>, error: &RawJson<'_>) -> Result<Exit, Failure> {
        if self.json {
            self.envelope(Envelope { ok: Some(false), error: Some(error), ..Envelope::default() })?;
        } else {
            let error: ErrorObject = error.parse().map_err(|error| Failure::new(Exit::Protocol, error))?;
            self.rpc_error(Named { in_batch: false, ..call }, &error, None);
        }
        Ok(Exit::Error)
    }

    /// Prints a valid response, for people.
    pub(super) fn answer(&self, call: Named<'_>, response: &RawJson<'_>) -> Result<Exit, Failure> {
        match response.get("error").filter(|error| *error != RawJson::NULL) {
            Some(_) if self.json => Ok(Exit::Error),
            None if self.json => Ok(Exit::Ok),
            Some(error) => {
                let error: ErrorObject =
                    error.parse().map_err(|error| Failure::new(Exit::Protocol, error))?;
                self.rpc_error(call, &error, None);
                Ok(Exit::Error)
            }
            None => {
                self.printer.value(&response.get("result").unwrap_or(RawJson::NULL))?;
                Ok(Exit::Ok)
            }
        }
    }

    /// A response to a call of a batch has come.
    pub(super) fn came(&self, entry: &Entry, response: &RawJson<'_>) -> io::Result<()> {
        match (&entry.id, self.json) {
            (Some(id), true) => {
                let named = Named { id, method: &entry.method, in_batch: true };
                self.envelope_of(named, response, false)
            }
            _ => Ok(()),
        }
    }

    /// A valid response, with all its members, as one line of `--json`. A tool says in its result that it failed.
    pub(super) fn envelope_of(
        &self,
        call: Named<'_>,
        response: &RawJson<'_>,
        is_tool: bool,
    ) -> io::Result<()> {
        let error = response.get("error").filter(|error| *error != RawJson::NULL);
        let result = response.get("result").filter(|_| error.is_none());
        let result = result.or_else(|| error.is_none().then_some(RawJson::NULL));
        let failed = is_tool
            && result
                .as_ref()
                .and_then(|result| result.get("isError"))
                .is_some_and(|flag| flag.as_str() == "true");
        self.envelope(Envelope {
            ok: Some(error.is_none() && !failed),
            id: Some(call.id),
            method: Some(call.method),
            result: result.as_ref(),
            error: error.as_ref(),
            ..Envelope::default()
        })
    }

    /// A notification was sent.
    pub(super) fn sent(&self, method: &str) -> Result<(), Failure> {
        if self.json {
            self.envelope(Envelope { ok: Some(true), method: Some(method), ..Envelope::default() })?;
        }
        Ok(())
    }

    /// The call failed without an answer of the peer. For people this goes to standard error, elsewhere.
    pub(super) fn failed(&self, failure: &Failure, method: Option<&str>) {
        #[derive(Serialize)]
        struct Error<'a> {
            message: &'a str,
        }
        if self.json && !failure.what.is_empty() {
            let error = raw(&Error { message: &failure.what });
            let _ = self.envelope(Envelope {
                ok: Some(false),
                method,
                error: Some(&error),
                ..Envelope::default()
            });
        }
    }

    /// Progress that was asked for.
    pub(super) fn progress(&self, value: &RawJson<'_>) {
        if self.json {
            let _ = self.envelope(Envelope { progress: Some(value), ..Envelope::default() });
        } else {
            Progress::draw_value(value, &self.printer);
        }
    }

    /// The peer called a method that nobody answers.
    pub(super) fn called(&self, method: &str) {
        *lock(&self.state.called) = Some(method.to_owned());
        self.note(|| {
            format!("the server called `{method}`, which was answered with -32601 Method not found; answer it with --answer")
        });
    }

    /// The peer sent a notification.
    pub(super) fn told(&self, method: &str, params: Option<&RawJson<'_>>) {
        if self.json || self.follows {
            let _ = self.event(method, params);
        } else if !Progress::draw_told(method, params, &self.printer) && !method.ends_with("/list_changed") {
            // MCP servers send those as they start.
            self.note(|| match params {
                Some(params) => format!("notification: {method} {}", compact(params.as_str())),
                None => format!("notification: {method}"),
            });
        }
    }

    /// What the server says, as data.
    fn event(&self, method: &str, params: Option<&RawJson<'_>>) -> io::Result<()> {
        #[derive(Serialize)]
        struct Event<'a> {
            method: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            params: Option<&'a RawJson<'a>>,
        }
        match self.json {
            true => self.envelope(Envelope { method: Some(method), params, ..Envelope::default() }),
            false => self.printer.json(&serde_json::to_string(&Event { method, params })?),
        }
    }

    /// The notification of ours that was not delivered.
    pub(super) fn lost(&self) -> Option<Undelivered> {
        lock(&self.state.lost).clone()
    }

    /// Output of the peer that is not a message.
    pub(super) fn not_json(&self, text: &[u8], error: &ParseError) {
        if self.watch.found().is_some() {
            return;
        }
        if error.reason == Syntax::TooDeep {
            return self.warning(&format!("skipped a message that {}", unreadable(error)));
        }
        self.note(|| {
            let text: String = String::from_utf8_lossy(text).chars().take(SHOWN).collect();
            format!("ignored, not JSON: {text}")
        });
    }

    pub(super) fn warning(&self, what: &str) {
        self.note(|| format!("warning: {what}"));
    }

    /// With a trace, nothing is printed: it shows everything.
    fn note(&self, text: impl FnOnce() -> String) {
        if !self.peer.traces() && self.state.notes.fetch_add(1, Ordering::Relaxed) < MOST_NOTES {
            let mut text = text();
            if let Some((end, _)) = text.char_indices().nth(LONGEST_NOTE) {
                text.truncate(end);
                text.push('…');
            }
            self.printer.note(&text);
        }
    }

    /// Says how many notes were not printed.
    pub(super) fn end(&self) {
        let more = self.state.notes.load(Ordering::Relaxed).saturating_sub(MOST_NOTES);
        if more > 0 {
            self.printer.note(&format!("… and {} more", grouped(more)));
        }
    }

    fn envelope(&self, envelope: Envelope<'_>) -> io::Result<()> {
        let ms = (self.start.elapsed().as_secs_f64() * 1e6).round() / 1e3;
        let text = serde_json::to_string(&Envelope { ms, target: &self.target, ..envelope })?;
        self.printer.json(&text)
    }
}

impl Listener for Reporter {
    fn notification(&self, method: &str, params: Option<&RawJson<'static>>) {
        // With --json it was printed when it came.
        if !self.json {
            self.told(method, params);
        }
        if self.until.as_deref() == Some(method) {
            self.state.seen.store(true, Ordering::Relaxed);
            self.state.sight.notify_one();
        }
    }

    fn refused(&self, method: &str) {
        self.called(method);
    }

    fn report(&self, report: &Report<'_>) {
        // That the peer speaks another protocol is said once, at the end.
        if self.watch.found().is_some() {
            return;
        }
        match report {
            Report::Undelivered(undelivered) => *lock(&self.state.lost) = Some(undelivered.clone()),
            Report::PeerError(error) => {
                *lock(&self.state.refused) = Some(error.clone().into_owned());
                self.state.refusal.notify_one();
            }
            Report::NotJson { text, error } => self.not_json(text, error),
            Report::Frame(FrameFault::TooLarge { limit }) => {
                self.warning(&format!("skipped a message that is larger than {}", ByteSize(*limit)));
            }
            other => self.warning(&other.to_string()),
        }
    }
}

/// A number with its digits in groups: `12,345`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.char_indices() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn raw(value: &impl Serialize) -> RawJson<'static> {
    RawJson::from_value(value).unwrap_or(RawJson::NULL)
}
