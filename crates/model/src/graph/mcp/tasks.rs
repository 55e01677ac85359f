//! Calls that became tasks: how they end is told by other messages than their answers. In 2025-11-25 a status comes first, and
//! `tasks/result` hands out the result; in 2026-07-28 a task that has ended has its result or its error in it.

use std::collections::HashMap;

use sabir_proto::RawJson;

use crate::graph::calls::Name;
use crate::graph::graph_mapper::RecordContext;
use crate::graph::mcp::calls::Call;
use crate::graph::mcp::known::{Known, LONGEST_NAME};
use crate::graph::mcp::members::first_text;
use crate::graph::mcp::questions::{self, Question};
use crate::graph::mcp::string;
use crate::graph::node::{Node, Value};
use crate::graph::terms::*;

/// Tasks of a session that are followed. Of more, those that began first are forgotten.
const MOST: usize = 4096;
/// The same with all that they ask. What is asked beyond it is not followed.
const MOST_ASKED: usize = 16_384;

#[derive(Debug)]
pub(super) struct Tasks {
    tasks: HashMap<String, Task>,
    most: usize,
    most_asked: usize,
    /// How many there were.
    began: u64,
}

#[derive(Debug)]
struct Task {
    call: Call,
    number: u64,
    /// What was said of the call.
    has_ended: bool,
    has_outcome: bool,
    has_failure: bool,
    /// The status said that the task has failed.
    failed: bool,
    questions: Vec<Question>,
}

/// What a task came to.
struct End {
    outcome: Option<Term>,
    why: Option<String>,
}

impl Tasks {
    pub(super) fn new() -> Self {
        Tasks { tasks: HashMap::new(), most: MOST, most_asked: MOST_ASKED, began: 0 }
    }

    /// How much is kept.
    pub(super) fn len(&self) -> usize {
        self.tasks.values().map(|task| 1 + task.questions.len()).sum()
    }

    pub(super) fn keep_no_more(&mut self) {
        self.most = self.tasks.len().max(1);
        self.most_asked = self.len();
    }

    /// A call has become a task.
    pub(super) fn begin(&mut self, id: &str, call: Call) {
        if id.len() > LONGEST_NAME {
            return;
        }
        if self.tasks.len() >= self.most {
            let mut numbers: Vec<u64> = self.tasks.values().map(|task| task.number).collect();
            let half = numbers.len() / 2;
            let (_, middle, _) = numbers.select_nth_unstable(half);
            let middle = *middle;
            self.tasks.retain(|_, task| task.number > middle);
        }
        self.began += 1;
        let task = Task {
            call,
            number: self.began,
            has_ended: false,
            has_outcome: false,
            has_failure: false,
            failed: false,
            questions: Vec::new(),
        };
        self.tasks.insert(id.to_owned(), task);
    }

    /// A message tells how a task is: its status and what it asks, and in 2026-07-28 its result or its error.
    pub(super) fn told<'n>(
        &mut self,
        context: RecordContext<'n>,
        node: &mut Node<'n>,
        by: Name,
        news: &RawJson<'_>,
        known: &Known,
    ) -> Vec<Node<'n>> {
        let id = news.get("taskId").and_then(|id| string(&id));
        let requests = news.get("inputRequests");
        let has_room = requests.is_none() || self.len() < self.most_asked;
        let Some(task) = id.and_then(|id| self.tasks.get_mut(&id)) else { return Vec::new() };
        if let Some(requests) = requests {
            if !has_room {
                return Vec::new();
            }
            return questions::ask(context, by, &requests, &task.call, &mut task.questions);
        }
        if let Some(result) = news.get("result") {
            return task.result(context, node, by, &result, known);
        }
        let status = news.get("status").and_then(|status| string(&status));
        let outcome = match status.as_deref() {
            // What it came to, its result says.
            Some("completed") => None,
            Some("failed") => {
                task.failed = true;
                Some(TASK_FAILED)
            }
            Some("cancelled") => Some(TASK_CANCELLED),
            _ => return Vec::new(),
        };
        let error = news.get("error").filter(|_| outcome == Some(TASK_FAILED));
        let end = match error {
            Some(error) => {
                node.link(RESULT_OF, &task.call.request);
                let why = error.get("message").and_then(|message| string(&message));
                End { outcome: Some(REFUSED), why }
            }
            None => End { outcome, why: None },
        };
        task.end(context, by, end).into_iter().collect()
    }

    /// An answer has the result of a task.
    pub(super) fn result<'n>(
        &mut self,
        context: RecordContext<'n>,
        node: &mut Node<'n>,
        by: Name,
        id: &str,
        result: &RawJson<'_>,
        known: &Known,
    ) -> Option<Vec<Node<'n>>> {
        Some(self.tasks.get_mut(id)?.result(context, node, by, result, known))
    }

    /// What asks for the result of a task is answered by an error: that of the call, unless it is about the question itself.
    pub(super) fn error<'n>(
        &mut self,
        context: RecordContext<'n>,
        node: &mut Node<'n>,
        by: Name,
        id: &str,
        error: &sabir_proto::ErrorObject<'_>,
    ) -> Option<Node<'n>> {
        let task = self.tasks.get_mut(id)?;
        if !task.failed && matches!(error.code.0, -32602..=-32600) {
            return None;
        }
        node.link(RESULT_OF, &task.call.request);
        let why = Some(error.message.to_string());
        task.end(context, by, End { outcome: Some(REFUSED), why })
    }

    /// The client answers what a task has asked.
    pub(super) fn answered<'n>(
        &mut self,
        context: RecordContext<'n>,
        by: Name,
        id: &str,
        responses: &RawJson<'_>,
    ) -> Vec<Node<'n>> {
        match self.tasks.get_mut(id) {
            Some(task) => questions::answer(context, by, responses, &mut task.questions),
            None => Vec::new(),
        }
    }
}

impl Task {
    fn result<'n>(
        &mut self,
        context: RecordContext<'n>,
        node: &mut Node<'n>,
        by: Name,
        result: &RawJson<'_>,
        known: &Known,
    ) -> Vec<Node<'n>> {
        node.link(RESULT_OF, &self.call.request);
        let end = if result.get("isError").is_some_and(|value| value.as_str() == "true") {
            End { outcome: Some(TOOL_FAILED), why: first_text(result) }
        } else {
            if let Some(why) = self.call.tool.as_ref().and_then(|tool| known.result_fault(tool, result)) {
                node.text(RESULT_FAULT, why);
            }
            End { outcome: Some(SUCCEEDED), why: None }
        };
        self.end(context, by, end).into_iter().collect()
    }

    /// Says of the call what was not said yet: a status may come before the result that explains it.
    fn end<'n>(&mut self, context: RecordContext<'n>, by: Name, end: End) -> Option<Node<'n>> {
        let mut node = match std::mem::replace(&mut self.has_ended, true) {
            true => Node::plain(context.session, self.call.request.to_string()),
            false => self.call.ended(context, by),
        };
        if let Some(outcome) = end.outcome.filter(|_| !self.has_outcome) {
            self.has_outcome = true;
            node.add(FINAL_OUTCOME, Value::Term(outcome));
        }
        if let Some(why) = end.why.filter(|_| !self.has_failure) {
            self.has_failure = true;
            node.text(FAILURE, why);
        }
        (!node.facts.is_empty()).then_some(node)
    }
}
