//! Asking the client in the modern era: a call is answered with questions, and comes again with the answers.
//!
//! A function asks as if it could wait. What is not answered yet ends it, and the next round calls it anew;
//! answers of earlier rounds travel in the request state, which is signed, so that nothing has to be kept.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sabir::RawJson;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bounded::BoundedMap;
use crate::error::{McpResult, ToolError, invalid, reason};
use crate::server::Settings;
use crate::server::digest::{JsonDigest, digest};
use crate::server::state_signer::Binding;

type Answers = BTreeMap<String, RawJson<'static>>;

/// Arguments up to this long are kept until they are needed; longer ones are digested at once. Most calls ask nothing,
/// and should not pay for it.
const SHORT: usize = 4096;

/// What a call is about, to tell it from others.
pub(crate) struct Target {
    method: &'static str,
    name: String,
    arguments: Arguments,
}

enum Arguments {
    Short(RawJson<'static>),
    Digest(JsonDigest),
    None,
}

impl Target {
    pub(crate) fn new(
        method: &'static str,
        name: &str,
        arguments: Option<&RawJson<'_>>,
    ) -> sabir::Result<Self> {
        let arguments = match arguments {
            Some(long) if long.as_str().len() > SHORT => {
                Arguments::Digest(digest(long).ok_or_else(|| invalid("`arguments` nest too deep"))?)
            }
            Some(short) => Arguments::Short(short.as_borrowed().into_owned()),
            None => Arguments::None,
        };
        Ok(Target { method, name: name.to_owned(), arguments })
    }

    pub(crate) fn binding(&self, audience: &str, identity: Option<Vec<u8>>) -> Option<Binding> {
        let arguments = match &self.arguments {
            Arguments::Short(short) => digest(short)?,
            Arguments::Digest(digest) => *digest,
            // None at all and none in an object are the same.
            Arguments::None => digest(&RawJson::new("{}").ok()?)?,
        };
        Some(Binding {
            audience: audience.to_owned(),
            identity,
            method: self.method,
            name: self.name.clone(),
            arguments,
        })
    }
}

/// One round of a call.
pub(crate) struct InputRound {
    target: Target,
    answers: Answers,
    state: Option<RawJson<'static>>,
    round: Mutex<RoundState>,
}

#[derive(Default)]
struct RoundState {
    /// Answers that the function has made use of.
    used: Answers,
    questions: BTreeMap<String, Question>,
    state: Option<RawJson<'static>>,
    /// Who is asked.
    identity: Option<Vec<u8>>,
}

/// A question to the client.
#[derive(Debug, Serialize)]
pub(crate) struct Question {
    method: &'static str,
    params: RawJson<'static>,
}

/// What goes out instead of a result.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Questions {
    input_requests: BTreeMap<String, Question>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_state: Option<String>,
}

/// What travels in the request state.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct State {
    answers: Answers,
    state: Option<RawJson<'static>>,
}

impl InputRound {
    /// `earlier` is from the request state, `responses` are as they came.
    pub(crate) fn new(
        target: Target,
        earlier: Option<State>,
        responses: Option<&RawJson<'_>>,
    ) -> sabir::Result<Self> {
        let State { mut answers, state } = earlier.unwrap_or_default();
        if let Some(responses) = responses {
            let undecodable =
                |error: serde_json::Error| invalid(format_args!("`inputResponses`: {}", reason(&error)));
            let BoundedMap(responses) =
                responses.parse::<BoundedMap<RawJson<'static>>>().map_err(undecodable)?;
            answers.extend(responses);
        }
        Ok(InputRound { target, answers, state, round: Mutex::default() })
    }

    /// The answer, if it is there and makes sense; else the question goes on the list.
    pub(crate) fn ask<R: DeserializeOwned>(
        &self,
        key: &str,
        method: &'static str,
        params: RawJson<'static>,
        identity: impl FnOnce() -> Option<Vec<u8>>,
    ) -> McpResult<R> {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(raw) = self.answers.get(key)
            && let Ok(answer) = raw.parse()
        {
            round.used.insert(key.to_owned(), raw.clone());
            return Ok(answer);
        }
        round.identity = identity();
        round.questions.insert(key.to_owned(), Question { method, params });
        Err(ToolError::InputRequired)
    }

    pub(crate) fn state(&self) -> Option<&RawJson<'static>> {
        self.state.as_ref()
    }

    pub(crate) fn keep(&self, state: RawJson<'static>) {
        self.round.lock().unwrap_or_else(PoisonError::into_inner).state = Some(state);
    }

    /// What is to be asked, if anything is.
    pub(crate) fn questions(&self, settings: &Settings) -> Option<Questions> {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        let RoundState { used, questions, state, identity } = std::mem::take(&mut *round);
        if questions.is_empty() {
            return None;
        }
        let state = State { answers: used, state: state.or_else(|| self.state.clone()) };
        let request_state = match state.answers.is_empty() && state.state.is_none() {
            true => None,
            false => Some(settings.seal_state(&self.target.binding(settings.audience(), identity)?, &state)?),
        };
        Some(Questions { input_requests: questions, request_state })
    }
}
