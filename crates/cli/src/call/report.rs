//! What comes of a call, told in the way that was asked for.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use sabir::{CallError, Ctx, ErrorCode, ErrorObject, RawJson, Report, Router, Undelivered};
use serde::{Deserialize, Serialize};

use super::batch::Entry;
use super::plan::Plan;
use crate::exit::{Exit, Failure};
use crate::failed;
use crate::json::compact;
use crate::misframed::Misframed;
use crate::platform::word;
use crate::print::Printer;

/// Characters of a stray line that are shown.
const SHOWN: usize = 200;

/// Tells of everything that happens on the connection.
#[derive(Debug, Clone)]
pub(super) struct Reporter {
    printer: Printer,
    json: bool,
    trace: bool,
    target: String,
    start: Instant,
    /// What was sent without an answer and did not arrive.
    lost: Arc<Mutex<Option<Undelivered>>>,
    pub(super) misframed: Misframed,
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
    /// Whether there are others, from which it must be told apart.
    pub(super) among_others: bool,
}

impl Reporter {
    pub(super) fn new(plan: &Plan, printer: &Printer) -> Self {
        Reporter {
            printer: printer.clone(),
            json: plan.json,
            trace: plan.trace,
            target: plan.target.to_string(),
            start: Instant::now(),
            lost: Arc::default(),
            misframed: Misframed::default(),
        }
    }

    /// A call has ended.
    pub(super) fn outcome(
        &self,
        call: Named<'_>,
        outcome: Result<RawJson<'static>, CallError>,
        plan: &Plan,
    ) -> Result<Exit, Failure> {
        match outcome {
            // It was printed when it came.
            Ok(_) if self.json => Ok(Exit::Ok),
            Err(CallError::Error(_)) if self.json => Ok(Exit::Error),
            Ok(result) => {
                self.printer.value(&result)?;
                Ok(Exit::Ok)
            }
            Err(CallError::Error(error)) => {
                self.rpc_error(call, &error);
                Ok(Exit::Error)
            }
            Err(error) => Err(failed::call(&error, &plan.target, plan.framing, plan.timeout)),
        }
    }

    fn rpc_error(&self, call: Named<'_>, error: &ErrorObject) {
        let id = call.id.to_string();
        let unknown = (error.code == ErrorCode::METHOD_NOT_FOUND)
            .then(|| format!("`sabir list {}` shows the methods, if the server tells", word(&self.target)));
        self.printer.rpc_error(call.among_others.then_some(&id), error, unknown.as_deref());
    }

    /// What a valid response says, for people.
    pub(super) fn answer(&self, call: Named<'_>, response: &RawJson<'_>) -> Result<Exit, Failure> {
        match response.get("error").filter(|error| *error != RawJson::NULL) {
            Some(_) if self.json => Ok(Exit::Error),
            None if self.json => Ok(Exit::Ok),
            Some(error) => {
                let error: ErrorObject =
                    error.parse().map_err(|error| Failure::new(Exit::Protocol, error))?;
                self.rpc_error(call, &error);
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
                self.envelope_of(Named { id, method: &entry.method, among_others: true }, response)
            }
            _ => Ok(()),
        }
    }

    /// A valid response, with all that is in it, as one line of `--json`.
    pub(super) fn envelope_of(&self, call: Named<'_>, response: &RawJson<'_>) -> io::Result<()> {
        let error = response.get("error").filter(|error| *error != RawJson::NULL);
        let result = response.get("result").filter(|_| error.is_none());
        let result = result.or_else(|| error.is_none().then_some(RawJson::NULL));
        self.envelope(Envelope {
            ok: Some(error.is_none()),
            id: Some(call.id),
            method: Some(call.method),
            result: result.as_ref(),
            error: error.as_ref(),
            ..Envelope::default()
        })
    }

    /// Something was sent that gets no answer.
    pub(super) fn sent(&self, method: &str) -> Result<(), Failure> {
        if self.json {
            self.envelope(Envelope { ok: Some(true), method: Some(method), ..Envelope::default() })?;
        }
        Ok(())
    }

    /// It went wrong in a way that is not the peer's answer. People are told on standard error.
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
        } else if let Ok(progress) = value.parse::<Progress>() {
            progress.draw(&self.printer);
        }
    }

    /// Answers what the peer asks in return, and passes on what it tells.
    pub(super) fn router(&self) -> Router {
        let reporter = self.clone();
        Router::new().fallback(move |ctx: Ctx, method: String, params: Option<RawJson<'static>>| {
            let answer = if ctx.is_request() {
                reporter.called(&method);
                Err(ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND))
            } else {
                // With --json it was printed when it came.
                if !reporter.json {
                    reporter.notification(&method, params.as_ref());
                }
                Ok(RawJson::NULL)
            };
            async { answer }
        })
    }

    /// The peer asks for something.
    pub(super) fn called(&self, method: &str) {
        self.note(|| format!("the server called `{method}`: answered that there is no such method"));
    }

    /// The peer tells something.
    pub(super) fn notification(&self, method: &str, params: Option<&RawJson<'_>>) {
        if self.json {
            let _ = self.envelope(Envelope { method: Some(method), params, ..Envelope::default() });
        } else if let Some(progress) = Progress::of(method, params) {
            progress.draw(&self.printer);
        } else {
            self.note(|| match params {
                Some(params) => format!("notification: {method} {}", compact(params.as_str())),
                None => format!("notification: {method}"),
            });
        }
    }

    /// What was sent without an answer and did not arrive.
    pub(super) fn lost(&self) -> Option<Undelivered> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The peer did something that it should not.
    pub(super) fn report(&self, report: &Report<'_>) {
        if let Report::Undelivered(lost) = report {
            *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(lost.clone());
            return;
        }
        if self.misframed.look(report) {
            return;
        }
        match report {
            Report::NotJson { text, .. } => self.noise(text),
            other => self.warning(&other.to_string()),
        }
    }

    /// Something that is no message.
    pub(super) fn noise(&self, text: &[u8]) {
        self.note(|| {
            let text: String = String::from_utf8_lossy(text).chars().take(SHOWN).collect();
            format!("noise from the server: {text}")
        });
    }

    pub(super) fn warning(&self, what: &str) {
        self.note(|| format!("warning: {what}"));
    }

    /// A trace shows it all already.
    fn note(&self, text: impl FnOnce() -> String) {
        if !self.trace {
            self.printer.note(&text());
        }
    }

    fn envelope(&self, envelope: Envelope<'_>) -> io::Result<()> {
        let ms = (self.start.elapsed().as_secs_f64() * 1e6).round() / 1e3;
        let text = serde_json::to_string(&Envelope { ms, target: &self.target, ..envelope })?;
        self.printer.json(&text)
    }
}

fn raw(value: &impl Serialize) -> RawJson<'static> {
    RawJson::from_value(value).unwrap_or(RawJson::NULL)
}

/// How far the peer is, in any of the spellings that are about.
#[derive(Debug, Deserialize)]
struct Progress {
    #[serde(alias = "step", alias = "percentage")]
    progress: f64,
    #[serde(default, alias = "steps")]
    total: Option<f64>,
    #[serde(default)]
    message: Option<String>,
}

impl Progress {
    fn of(method: &str, params: Option<&RawJson<'_>>) -> Option<Progress> {
        match method {
            "notifications/progress" | "progress" => params?.parse().ok(),
            "$/progress" => {
                let value = params?.get("value")?;
                let mut progress: Progress = value.parse().ok()?;
                if value.get("percentage").is_some() {
                    progress.total = Some(100.0);
                }
                Some(progress)
            }
            _ => None,
        }
    }

    fn draw(&self, printer: &Printer) {
        printer.progress(self.progress, self.total, self.message.as_deref().unwrap_or_default());
    }
}
