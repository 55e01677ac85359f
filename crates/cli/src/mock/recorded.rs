//! Answers a call as it was answered in a recording, and says what was said meanwhile.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sabir::{Ctx, ErrorCode, ErrorObject, Peer, RawJson};
use sabir_proto::Cursor;
use tokio::time::Instant;

use super::Asked;
use super::answers::Answers;
use crate::args::Latency;
use crate::recorded::compare::short;
use crate::recorded::handles::Handles;
use crate::recorded::rewrite::rewritten;
use crate::recorded::{call_name, split};
use crate::replay::error_of;

/// How long a client may take to answer a question, before its call goes on without the answer.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(30);

/// A server out of a recording.
pub(super) struct Recorded {
    answers: Mutex<Answers>,
    latency: Option<Latency>,
    asked: Arc<Asked>,
    speaks_mcp: bool,
}

/// What is done for a call.
struct Script {
    /// What is said before the answer, and when.
    before: Vec<(Duration, String)>,
    after: Vec<String>,
    answer: Option<String>,
    took: Duration,
}

impl Recorded {
    pub(super) fn new(answers: Answers, latency: Option<Latency>, asked: Arc<Asked>) -> Self {
        let speaks_mcp = answers.speak_mcp();
        Recorded { answers: Mutex::new(answers), latency, asked, speaks_mcp }
    }

    pub(super) async fn answer(
        &self,
        ctx: Ctx,
        method: &str,
        params: Option<RawJson<'static>>,
    ) -> sabir::Result<RawJson<'static>> {
        let start = Instant::now();
        let mut text = format!(r#"{{"jsonrpc":"2.0","method":{}"#, serde_json::Value::from(method));
        if let Some(params) = &params {
            text.push_str(&format!(r#","params":{}"#, params.as_str()));
        }
        text.push('}');
        let Some(script) = self.script(method, &text, ctx.is_request()) else {
            // Servers of MCP answer it at any time: clients ask whether they are there.
            if method == "ping" && self.speaks_mcp && ctx.is_request() {
                return Ok(RawJson::from_value(&serde_json::json!({}))?);
            }
            self.asked.unanswered(&call_name(&text), "it was not recorded", ctx.is_request());
            return Err(ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND));
        };
        for (at, text) in &script.before {
            if self.latency == Some(Latency::Recorded) {
                tokio::time::sleep_until(start + (*at).min(LONGEST)).await;
            }
            say(ctx.peer(), text).await;
        }
        match self.latency {
            Some(Latency::Recorded) => tokio::time::sleep_until(start + script.took.min(LONGEST)).await,
            Some(Latency::Time(time)) => tokio::time::sleep_until(start + time.min(LONGEST)).await,
            None => {}
        }
        if !script.after.is_empty() {
            ctx.after_reply(move |peer| {
                tokio::spawn(async move {
                    for text in &script.after {
                        say(&peer, text).await;
                    }
                });
            });
        }
        let Some(answer) = script.answer else {
            if ctx.is_request() {
                self.asked.unanswered(&call_name(&text), "it was recorded without an answer", true);
                return Err(ErrorObject::standard(ErrorCode::INTERNAL_ERROR));
            }
            return Ok(RawJson::NULL);
        };
        match Cursor::trusted(&answer).member("result") {
            Some(result) => RawJson::new(result.to_owned())
                .map_err(|error| ErrorObject::new(ErrorCode::INTERNAL_ERROR, error.to_string())),
            None => Err(error_of(&answer)),
        }
    }

    /// What is to be done for a message.
    fn script(&self, method: &str, text: &str, is_request: bool) -> Option<Script> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let found = answers.find(text)?;
        let (entry, recording) = (answers.entry(found.entry), &answers.recording);
        let recorded = recording.text(entry.request);
        if !found.differs.is_empty() && is_request {
            let params = Cursor::trusted(recorded).member("params").map_or_else(String::new, short);
            self.asked.note(&format!(
                "{}: no recorded call has these params; answered as with {params}, which differs in {}",
                call_name(text),
                some(&found.differs)
            ));
        }
        // Tokens are the client's of now.
        let mut handles = Handles::default();
        handles.learn(method, recorded, text);
        let told = |later: bool| {
            let said = entry.said.iter().filter(move |said| said.is_later == later);
            said.map(|said| (said.after, rewritten(recording.text(said.place), &handles).into_owned()))
        };
        Some(Script {
            before: told(false).collect(),
            after: told(true).map(|(_, text)| text).collect(),
            answer: entry.answer.map(|place| rewritten(recording.text(place), &handles).into_owned()),
            took: entry.took,
        })
    }
}

/// Nothing is waited for longer, whatever a recording says: clocks have an end.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The first few of many.
fn some(paths: &[String]) -> String {
    match paths.len() {
        0..=3 => paths.join(", "),
        count => format!("{} and {} more", paths[..3].join(", "), count - 3),
    }
}

/// Sends a notification, or a request, whose answer is waited for and ignored.
async fn say(peer: &Peer, text: &str) {
    let Some(part) = split(text).into_iter().next() else { return };
    let Some(method) = part.method.map(String::from) else { return };
    let params =
        Cursor::trusted(text).member("params").and_then(|params| RawJson::new(params.to_owned()).ok());
    match part.id {
        None => drop(tokio::time::timeout(QUESTION_TIMEOUT, peer.notify_raw(method, params)).await),
        Some(_) => drop(peer.call_raw(method, params).timeout(QUESTION_TIMEOUT).await),
    }
}
