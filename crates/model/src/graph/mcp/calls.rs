//! Calls that take more than one request, and how they end: an answer may ask the client for input, with which the call goes
//! on, and a call may become a task. What is known at the end is said of the first request.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::time::Duration;

use sabir_proto::RawJson;

use crate::graph::calls::{Chain, Name};
use crate::graph::graph_mapper::RecordContext;
use crate::graph::mcp::questions::Question;
use crate::graph::node::{Node, Value};
use crate::graph::terms::*;

/// Answers that ask for input whose next request is waited for.
const ROUNDS: usize = 1024;

/// A call, as its later messages need it.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// Its first request.
    pub(super) request: Name,
    pub(super) began: Option<Duration>,
    pub(super) chain: Chain,
    pub(super) tool: Option<String>,
}

impl Call {
    /// Says how it ended; `by` is the message that tells it.
    pub(super) fn end<'n>(
        &self,
        context: RecordContext<'n>,
        by: Name,
        outcome: Term,
        why: Option<String>,
    ) -> Node<'n> {
        let mut node = self.ended(context, by);
        node.add(FINAL_OUTCOME, Value::Term(outcome));
        if let Some(why) = why {
            node.text(FAILURE, why);
        }
        node
    }

    /// Says when it ended, and nothing of how.
    pub(super) fn ended<'n>(&self, context: RecordContext<'n>, by: Name) -> Node<'n> {
        let mut node = Node::plain(context.session, self.request.to_string());
        node.link(ENDED_BY, &by);
        if let (Some(from), Some(to)) = (self.began, context.time) {
            node.milliseconds(TOTAL_MS, to.saturating_sub(from));
        }
        node
    }
}

/// What a request asks for, as far as the next request of the same call has it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    /// Of the method, and the tool, prompt or resource.
    what: u64,
    arguments: u64,
}

/// An answer that asks for input.
#[derive(Debug)]
pub(super) struct Round {
    state: Option<u64>,
    target: Target,
    /// Whose answer it is.
    pub(super) request: Name,
    pub(super) call: Call,
    pub(super) questions: Vec<Question>,
}

/// The answers whose next request is waited for, the oldest first.
#[derive(Debug)]
pub(super) struct Rounds {
    waiting: VecDeque<Round>,
    most: usize,
    hasher: foldhash::fast::RandomState,
}

impl Rounds {
    pub(super) fn new() -> Self {
        let hasher = foldhash::fast::RandomState::default();
        Rounds { waiting: VecDeque::new(), most: ROUNDS, hasher }
    }

    /// How much is kept.
    pub(super) fn len(&self) -> usize {
        self.waiting.iter().map(|round| 1 + round.questions.len()).sum()
    }

    pub(super) fn keep_no_more(&mut self) {
        self.most = self.waiting.len().max(1);
    }

    pub(super) fn target(&self, class: Term, params: Option<&RawJson<'_>>) -> Target {
        let member = |name| params.and_then(|params| params.get(name));
        let name = member("name").or_else(|| member("uri"));
        let text = |value: &Option<RawJson<'_>>| self.hasher.hash_one(value.as_ref().map(RawJson::as_str));
        let what = self.hasher.hash_one((class.index, text(&name)));
        Target { what, arguments: text(&member("arguments")) }
    }

    /// The answer to `request` asks for input.
    pub(super) fn expect(
        &mut self,
        state: Option<&RawJson<'_>>,
        target: Target,
        request: Name,
        call: Call,
        questions: Vec<Question>,
    ) {
        while self.waiting.len() >= self.most {
            self.waiting.pop_front();
        }
        let state = state.map(|state| self.hasher.hash_one(state.as_str()));
        self.waiting.push_back(Round { state, target, request, call, questions });
    }

    /// The answer with which a request goes on: one with the same `requestState`, or without any one whose questions this
    /// request answers.
    pub(super) fn continued(&mut self, target: Target, params: &RawJson<'_>) -> Option<Round> {
        if self.waiting.is_empty() {
            return None;
        }
        let at = match params.get("requestState") {
            Some(state) => {
                let state = self.hasher.hash_one(state.as_str());
                self.waiting.iter().rposition(|round| round.state == Some(state))
            }
            None => {
                let responses = params.get("inputResponses")?;
                let answers = |round: &Round| {
                    let mut keys = responses.members().map(|(key, _)| key);
                    keys.any(|key| round.questions.iter().any(|question| question.key == key))
                };
                let fits = |round: &Round| {
                    round.state.is_none() && round.target.what == target.what && answers(round)
                };
                // Of several that fit, those with the same arguments come first, and then the oldest.
                let same = |round: &Round| round.target == target && fits(round);
                self.waiting.iter().position(same).or_else(|| self.waiting.iter().position(fits))
            }
        };
        self.waiting.remove(at?)
    }
}
