//! Asking the client in the modern era: a call is answered with questions, and comes again with the answers.
//!
//! A function asks as if it could wait. What is not answered yet ends it, and the next round calls it anew;
//! answers of earlier rounds travel in the request state, which is signed, so that nothing has to be kept.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sabir::RawJson;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Failure, Result, invalid};
use crate::server::state_signer::Keeper;

type Answers = BTreeMap<String, RawJson<'static>>;

/// One round of a call.
pub(crate) struct Round {
    /// What the state is good for: the method, and what it is called with.
    purpose: String,
    answers: Answers,
    state: Option<RawJson<'static>>,
    asked: Mutex<Asked>,
}

#[derive(Default)]
struct Asked {
    /// Answers that the function has made use of.
    used: Answers,
    questions: BTreeMap<String, Question>,
    state: Option<RawJson<'static>>,
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

#[derive(Serialize, Deserialize)]
struct State {
    answers: Answers,
    state: Option<RawJson<'static>>,
}

impl Round {
    /// `responses` and `state` are as they came.
    pub(crate) fn new(
        keeper: &Keeper,
        method: &str,
        name: &str,
        responses: Option<&RawJson<'_>>,
        sealed: Option<&RawJson<'_>>,
    ) -> sabir::Result<Self> {
        let purpose = format!("{method} {name}");
        let mut before = State { answers: Answers::new(), state: None };
        if let Some(sealed) = sealed {
            let refused = || invalid("`requestState` is not what this server gave out");
            let sealed: String = sealed.parse().map_err(|_| invalid("`requestState` must be a string"))?;
            let payload = keeper.open(&purpose, &sealed).ok_or_else(refused)?;
            before = serde_json::from_slice(&payload).map_err(|_| refused())?;
        }
        if let Some(responses) = responses {
            let responses: Answers =
                responses.parse().map_err(|_| invalid("`inputResponses` must be an object"))?;
            before.answers.extend(responses);
        }
        Ok(Round { purpose, answers: before.answers, state: before.state, asked: Mutex::default() })
    }

    /// The answer, if it is there and makes sense; else the question goes on the list.
    pub(crate) fn ask<R: DeserializeOwned>(
        &self,
        key: &str,
        method: &'static str,
        params: RawJson<'static>,
    ) -> Result<R> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(raw) = self.answers.get(key)
            && let Ok(answer) = raw.parse()
        {
            asked.used.insert(key.to_owned(), raw.clone());
            return Ok(answer);
        }
        asked.questions.insert(key.to_owned(), Question { method, params });
        Err(Failure::Unanswered)
    }

    pub(crate) fn state(&self) -> Option<&RawJson<'static>> {
        self.state.as_ref()
    }

    pub(crate) fn keep(&self, state: RawJson<'static>) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).state = Some(state);
    }

    /// What is to be asked, if anything is.
    pub(crate) fn questions(&self, keeper: &Keeper) -> Option<Questions> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let Asked { used, questions, state } = std::mem::take(&mut *asked);
        if questions.is_empty() {
            return None;
        }
        let state = State { answers: used, state: state.or_else(|| self.state.clone()) };
        let is_needed = !state.answers.is_empty() || state.state.is_some();
        let request_state = is_needed
            .then(|| serde_json::to_vec(&state).ok().map(|payload| keeper.seal(&self.purpose, &payload)))
            .flatten();
        Some(Questions { input_requests: questions, request_state })
    }
}
