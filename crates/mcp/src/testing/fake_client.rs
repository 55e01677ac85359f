//! A client whose user and model say what a test has told them to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sabir::{ErrorCode, ErrorObject};
use serde_json::Value;

use crate::client::McpClient;
use crate::types::{Content, Elicit, ElicitResult, Root, Sampled};

/// A client whose user and model answer what a test has told them to, one answer after the other. A user who has no
/// answer left declines; a model fails.
#[derive(Debug, Clone, Default)]
pub struct FakeClient(Arc<Mutex<Script>>);

#[derive(Debug, Default)]
struct Script {
    elicits: VecDeque<Value>,
    samples: VecDeque<String>,
    roots: Vec<Root>,
    asked: Vec<String>,
}

impl FakeClient {
    /// One who has no answers yet.
    pub fn new() -> Self {
        FakeClient::default()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the user fills in. `null` declines.
    #[must_use]
    pub fn elicits(self, answers: impl IntoIterator<Item = Value>) -> Self {
        self.script().elicits.extend(answers);
        self
    }

    /// What the model says.
    #[must_use]
    pub fn samples<T: Into<String>>(self, answers: impl IntoIterator<Item = T>) -> Self {
        self.script().samples.extend(answers.into_iter().map(Into::into));
        self
    }

    /// The folders that it works in, by URI.
    #[must_use]
    pub fn roots<T: Into<String>>(self, uris: impl IntoIterator<Item = T>) -> Self {
        let roots = uris.into_iter().map(|uri| Root { uri: uri.into(), ..Root::default() });
        self.script().roots.extend(roots);
        self
    }

    /// What its user and its model were asked, in order.
    pub fn asked(&self) -> Vec<String> {
        self.script().asked.clone()
    }

    /// The client, which knows tasks too. Set its revision, and connect it.
    pub fn client(&self) -> McpClient {
        let (user, model) = (self.clone(), self.clone());
        let roots = self.script().roots.clone();
        McpClient::new("fake-client", "1.0.0")
            .tasks()
            .roots(roots)
            .on_elicit(move |question| std::future::ready(Ok(user.fill_in(question))))
            .on_sample(move |question| {
                let texts = question.messages.iter().flat_map(|message| &message.content);
                let text: String = texts.filter_map(Content::as_text).collect();
                std::future::ready(model.say(text))
            })
    }

    fn fill_in(&self, question: Elicit) -> ElicitResult {
        let message = match question {
            Elicit::Form { message, .. } | Elicit::Url { message, .. } => message,
        };
        let mut script = self.script();
        script.asked.push(message);
        match script.elicits.pop_front() {
            None | Some(Value::Null) => ElicitResult::decline(),
            Some(answer) => ElicitResult::accept(answer),
        }
    }

    fn say(&self, asked: String) -> sabir::Result<Sampled> {
        let mut script = self.script();
        script.asked.push(asked);
        let nothing =
            || ErrorObject::because(ErrorCode::INTERNAL_ERROR, "the test has no answer for the model");
        Ok(Sampled::new("fake-model", script.samples.pop_front().ok_or_else(nothing)?))
    }
}
