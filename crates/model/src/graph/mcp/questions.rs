//! What a result or a task asks the client for, in `inputRequests`, and the answers in `inputResponses`. A question is not a
//! message: it has a key in place of an id.

use std::time::Duration;

use sabir_proto::RawJson;

use crate::graph::calls::Name;
use crate::graph::graph_mapper::RecordContext;
use crate::graph::mcp::calls::Call;
use crate::graph::mcp::members::{members_of, messages_of};
use crate::graph::mcp::methods::{METHODS, Method};
use crate::graph::mcp::string;
use crate::graph::message_mapper::push_name;
use crate::graph::node::Node;
use crate::graph::terms::*;

/// Questions of one message that become nodes.
const MOST: usize = 16;
/// Bytes of a key.
const LONGEST_KEY: usize = 256;

/// A question that waits for its answer, or had one.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) key: String,
    node: String,
    method: Option<&'static Method>,
    asked: Option<Duration>,
    is_answered: bool,
}

/// Adds the questions of a message to `known`, and hands out the nodes of those that are new.
pub(super) fn ask<'n>(
    context: RecordContext<'n>,
    by: Name,
    requests: &RawJson<'_>,
    call: &Call,
    known: &mut Vec<Question>,
) -> Vec<Node<'n>> {
    let mut nodes = Vec::new();
    for (key, request) in requests.members().take(MOST) {
        let is_known = known.iter().any(|question| question.key == key);
        if is_known || key.len() > LONGEST_KEY || known.len() >= 4 * MOST {
            continue;
        }
        let mut name = format!("{by}-question-");
        push_name(&mut name, &key);
        let mut node = context.node(by, QUESTION);
        node.name = name.clone().into();
        let text = request.get("method").and_then(|method| string(&method));
        let method = METHODS.iter().find(|known| text.as_deref() == Some(known.name));
        if let Some(text) = text {
            node.text(ASKS_FOR, text);
        }
        node.text(QUESTION_KEY, key.to_string());
        node.link(ASKED_IN, &by);
        node.link(ASKED_DURING, &call.request);
        let chain = call.chain.within();
        node.link(CHAIN, &chain.root);
        node.integer(DEPTH, chain.depth);
        if let (Some(method), Some(params)) = (method, request.get("params")) {
            members_of(&mut node, method.class, &params);
            if method.class == CREATE_MESSAGE {
                messages_of(&mut node, &params, &mut nodes);
            }
        }
        nodes.push(node);
        let key = key.into_owned();
        known.push(Question { key, node: name, method, asked: context.time, is_answered: false });
    }
    nodes
}

/// Says of each question that is answered where it was, and what the answer says.
pub(super) fn answer<'n>(
    context: RecordContext<'n>,
    by: Name,
    responses: &RawJson<'_>,
    known: &mut [Question],
) -> Vec<Node<'n>> {
    let mut nodes = Vec::new();
    for (key, response) in responses.members() {
        let question = known.iter_mut().find(|question| question.key == key && !question.is_answered);
        let Some(question) = question else { continue };
        question.is_answered = true;
        let mut node = Node::plain(context.session, question.node.clone());
        node.link(ANSWERED_IN, &by);
        if let (Some(from), Some(to)) = (question.asked, context.time) {
            node.milliseconds(TOTAL_MS, to.saturating_sub(from));
        }
        if let Some(class) = question.method.and_then(|method| method.result) {
            members_of(&mut node, class, &response);
        }
        nodes.push(node);
    }
    nodes
}
