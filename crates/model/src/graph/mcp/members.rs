//! Members of params and results that become facts of their own, by the class of the message or the result that has
//! them. Only what is short, and what people ask for: everything else is in `jrpc:hasParameters` and `jrpc:hasResult`.

use sabir_proto::RawJson;

use crate::graph::mcp::string;
use crate::graph::node::{Node, Value};
use crate::graph::terms::*;

/// Characters of a text that are kept.
const LONGEST: usize = 500;
/// Messages of a sample, or values of a completion, that are kept.
const MOST: usize = 16;

/// The name of a member, what is said by it, and what its value must be; another value is left out.
type Member = (&'static str, Term, Kind);

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
    Truth,
    Json,
}

fn members(class: Term) -> &'static [Member] {
    use Kind::{Json, Number, Text, Truth};
    match class {
        PROGRESS => &[
            ("progress", HAS_PROGRESS, Number),
            ("total", HAS_TOTAL, Number),
            ("message", HAS_MESSAGE, Text),
        ],
        CALL_TOOL_RESULT => &[("isError", IS_ERROR, Truth)],
        CANCELLED => &[("reason", HAS_REASON, Text)],
        LOG_MESSAGE => &[("level", HAS_LEVEL, Text), ("logger", HAS_LOGGER, Text)],
        SET_LEVEL => &[("level", HAS_LEVEL, Text)],
        RESOURCE_UPDATED => &[("uri", HAS_URI, Text)],
        INITIALIZE | INITIALIZE_RESULT => &[("protocolVersion", HAS_PROTOCOL_VERSION, Text)],
        COMPLETE => &[("argument", HAS_ARGUMENT, Json)],
        CREATE_MESSAGE => &[("maxTokens", HAS_MAX_TOKENS, Number), ("systemPrompt", HAS_SYSTEM_PROMPT, Text)],
        CREATE_MESSAGE_RESULT => {
            &[("role", HAS_ROLE, Text), ("model", HAS_MODEL, Text), ("stopReason", HAS_STOP_REASON, Text)]
        }
        ELICIT => &[
            ("message", HAS_MESSAGE, Text),
            ("mode", MODE, Text),
            ("url", URL, Text),
            ("requestedSchema", HAS_REQUESTED_SCHEMA, Json),
        ],
        ELICIT_RESULT => &[("action", HAS_ACTION, Text)],
        ELICITATION_COMPLETE => &[("elicitationId", ELICITATION_ID, Text)],
        TASK_STATUS | TASK_NEWS | GET_TASK_RESULT | CANCEL_TASK_RESULT => {
            &[("status", STATUS, Text), ("statusMessage", STATUS_MESSAGE, Text)]
        }
        _ => &[],
    }
}

/// Says of params or a result what the members of its class say.
pub(super) fn members_of(node: &mut Node<'_>, class: Term, json: &RawJson<'_>) {
    for (name, property, kind) in members(class) {
        if let Some(value) = json.get(name) {
            add(node, *property, *kind, &value);
        }
    }
}

fn add(node: &mut Node<'_>, property: Term, kind: Kind, value: &RawJson<'_>) {
    match kind {
        Kind::Text => {
            if let Some(text) = short(value) {
                node.text(property, text);
            }
        }
        Kind::Number => number(node, property, value.as_str()),
        Kind::Truth if matches!(value.as_str(), "true" | "false") => {
            node.add(property, Value::Typed(value.as_str().to_owned().into(), BOOLEAN));
        }
        Kind::Truth => {}
        Kind::Json => node.add(property, Value::Json(value.clone().into_owned())),
    }
}

/// A number as it is written; what is not one is left out.
fn number(node: &mut Node<'_>, property: Term, text: &str) {
    if !text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return;
    }
    let datatype = match (text.contains(['e', 'E']), text.contains('.')) {
        (true, _) => DOUBLE,
        (false, true) => DECIMAL,
        (false, false) => INTEGER,
    };
    node.add(property, Value::Typed(text.to_owned().into(), datatype));
}

/// A string, as much of it as is kept.
fn short(value: &RawJson<'_>) -> Option<String> {
    let mut text = string(value)?;
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
    }
    Some(text)
}

/// The first text of the content of a message or a result, which is a part or a list of parts.
pub(super) fn first_text(said: &RawJson<'_>) -> Option<String> {
    let content = said.get("content")?;
    let text = |part: &RawJson<'_>| short(&part.get("text")?);
    text(&content).or_else(|| content.elements().find_map(|part| text(&part)))
}

/// What a server wants to be continued, as things of the params.
pub(super) fn messages_of<'n>(inner: &mut Node<'n>, params: &RawJson<'_>, more: &mut Vec<Node<'n>>) {
    let messages = params.get("messages");
    for (number, message) in messages.iter().flat_map(RawJson::elements).take(MOST).enumerate() {
        let mut node = inner.part(&format!("message-{number}"));
        node.class(SAMPLING_MESSAGE);
        if let Some(role) = message.get("role").and_then(|role| short(&role)) {
            node.text(HAS_ROLE, role);
        }
        text_of(&mut node, &message, more);
        inner.link(CONTAINS_MESSAGE, &*node.name);
        more.push(node);
    }
}

/// The text of what somebody says, in its place.
pub(super) fn text_of<'n>(node: &mut Node<'n>, said: &RawJson<'_>, more: &mut Vec<Node<'n>>) {
    let Some(text) = first_text(said) else { return };
    let mut content = node.part("content");
    content.text(HAS_TEXT, text);
    node.link(HAS_CONTENT, &*content.name);
    more.push(content);
}

/// What may be typed next, as a thing of the result.
pub(super) fn completion_of<'n>(inner: &mut Node<'n>, result: &RawJson<'_>, more: &mut Vec<Node<'n>>) {
    let Some(completion) = result.get("completion") else { return };
    let mut node = inner.part("completion");
    let values = completion.get("values");
    for value in values.iter().flat_map(RawJson::elements).take(MOST) {
        add(&mut node, HAS_VALUES, Kind::Text, &value);
    }
    for (name, property, kind) in [("total", HAS_TOTAL, Kind::Number), ("hasMore", HAS_MORE, Kind::Truth)] {
        if let Some(value) = completion.get(name) {
            add(&mut node, property, kind, &value);
        }
    }
    if !node.facts.is_empty() {
        inner.link(HAS_COMPLETION, &*node.name);
        more.push(node);
    }
}
