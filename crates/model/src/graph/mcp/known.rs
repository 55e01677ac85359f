//! What a session of MCP has shown of itself: tools, resources, prompts, tasks, and who takes part.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

use sabir_proto::RawJson;

use crate::capture::Direction;
use crate::graph::calls::Name;
use crate::graph::graph_mapper::{RecordContext, sender};
use crate::graph::mcp::{server, string};
use crate::graph::message_mapper::push_name;
use crate::graph::node::{Node, Value};
use crate::graph::terms::*;
use crate::rules::{MemoryBudget, Tool};

/// Things of a session that are remembered. Those beyond it are still linked, but nothing more is said of them.
const MOST: usize = 10_000;
/// Answers that ask for input whose next request is waited for.
const ROUNDS: usize = 1024;
/// Characters of a description that are kept.
const LONGEST: usize = 2000;

#[derive(Debug, Default)]
pub(super) struct Known {
    /// By what refers to them, and their own name.
    things: HashMap<(u16, String), Thing>,
    rounds: VecDeque<(u64, Name)>,
    hasher: foldhash::fast::RandomState,
    /// Which sides have said who they are.
    named: [bool; 2],
}

#[derive(Debug, Default)]
struct Thing {
    is_listed: bool,
    tool: Option<Tool>,
}

/// How things of a kind are called, by the property that refers to one.
struct Kind {
    class: Term,
    word: &'static str,
    name: Term,
    /// Where a list has them, and by which member they are known.
    list: (&'static str, &'static str),
    offers: Term,
}

fn kind(property: Term) -> Kind {
    let kind = |class, word, name, list, offers| Kind { class, word, name, list, offers };
    match property {
        EXECUTES_TOOL => kind(TOOL, "tool", HAS_NAME, ("tools", "name"), EXPOSES_TOOL),
        INSTANTIATES_PROMPT => kind(PROMPT, "prompt", HAS_NAME, ("prompts", "name"), OFFERS_PROMPT),
        ABOUT_TASK => kind(TASK, "task", TASK_ID, ("tasks", "taskId"), ABOUT_TASK),
        _ => kind(RESOURCE, "resource", HAS_URI, ("resources", "uri"), PROVIDES_RESOURCE),
    }
}

fn node_name(session: &str, word: &str, name: &str) -> String {
    let mut text = format!("{session}-{word}-");
    push_name(&mut text, name);
    text
}

impl Known {
    /// Links a message with what it is about, which has a node of its own when it is seen for the first time.
    pub(super) fn use_of<'n>(
        &mut self,
        context: RecordContext<'n>,
        node: &mut Node<'n>,
        property: Term,
        name: &str,
    ) -> Option<Node<'n>> {
        let Kind { class, word, name: named, .. } = kind(property);
        let own = node_name(context.session, word, name);
        node.link(property, &own);
        let key = (property.index, name.to_owned());
        if self.things.contains_key(&key) || self.things.len() >= MOST {
            return None;
        }
        self.things.insert(key, Thing::default());
        let mut thing = Node::new(context.session, own, class);
        thing.text(named, name.to_owned());
        Some(thing)
    }

    /// Learns what a list has. The server is said to have it, once.
    pub(super) fn list<'n>(
        &mut self,
        context: RecordContext<'n>,
        answer: Name,
        result: &'n RawJson<'_>,
        budget: &MemoryBudget,
        property: Term,
        more: &mut Vec<Node<'n>>,
    ) {
        let Kind { class, word, name: named, list: (list, key), offers } = kind(property);
        let Some(entries) = result.get(list) else { return };
        let mut has = Node::new(context.session, server(context), MCP_SERVER);
        for entry in entries.elements() {
            let Some(name) = entry.get(key).and_then(|name| string(&name)) else { continue };
            let id = (property.index, name.clone());
            let is_known = self.things.contains_key(&id);
            if !is_known && self.things.len() >= MOST {
                break;
            }
            let thing = self.things.entry(id).or_default();
            if property == EXECUTES_TOOL {
                thing.tool = Some(Tool::new(entry.as_str(), budget));
            }
            if std::mem::replace(&mut thing.is_listed, true) {
                continue;
            }
            let own = node_name(context.session, word, &name);
            has.link(offers, &own);
            let mut node = Node::new(context.session, own, class);
            if !is_known {
                node.text(named, name);
            }
            node.link(LISTED_IN, &answer);
            describe(&mut node, &entry);
            more.push(node);
        }
        if has.facts.len() > 1 {
            more.push(has);
        }
    }

    /// A side says who it is, for the first time.
    pub(super) fn peer<'n>(
        &mut self,
        context: RecordContext<'n>,
        side: Direction,
        info: &RawJson<'_>,
    ) -> Option<Node<'n>> {
        let (at, class) = match side {
            Direction::ToServer => (0, MCP_CLIENT),
            Direction::ToClient => (1, MCP_SERVER),
        };
        let name = info.get("name").and_then(|name| string(&name))?;
        if std::mem::replace(&mut self.named[at], true) {
            return None;
        }
        let mut node = Node::new(context.session, sender(context.session, side), class);
        node.text(HAS_NAME, name);
        if let Some(version) = info.get("version").and_then(|version| string(&version)) {
            node.text(HAS_VERSION, version);
        }
        Some(node)
    }

    /// Why the arguments of a call do not match the tool's schema.
    pub(super) fn argument_fault(&self, tool: &str, arguments: &str) -> Option<String> {
        Some(self.tool(tool)?.arguments(arguments)?.what)
    }

    /// Why the result of a call does not match the tool's schema.
    pub(super) fn result_fault(&self, tool: &str, result: &RawJson<'_>) -> Option<String> {
        let tool = self.tool(tool).filter(|tool| tool.has_output())?;
        match result.get("structuredContent") {
            Some(content) => Some(tool.content(content.as_str())?.what),
            None => Some("`structuredContent` is missing, and the tool has an output schema".to_owned()),
        }
    }

    fn tool(&self, name: &str) -> Option<&Tool> {
        self.things.get(&(EXECUTES_TOOL.index, name.to_owned()))?.tool.as_ref()
    }

    /// The answer to a request asks for input: the call goes on with a request that repeats this.
    pub(super) fn expect_round(&mut self, state: &RawJson<'_>, request: Name) {
        if self.rounds.len() >= ROUNDS {
            self.rounds.pop_front();
        }
        self.rounds.push_back((self.hasher.hash_one(state.as_str()), request));
    }

    /// The request that one with this state goes on with.
    pub(super) fn continued(&mut self, state: &RawJson<'_>) -> Option<Name> {
        let hash = self.hasher.hash_one(state.as_str());
        let at = self.rounds.iter().rposition(|(known, _)| *known == hash)?;
        self.rounds.remove(at).map(|(_, request)| request)
    }
}

/// What an entry of a list says of itself.
fn describe(node: &mut Node<'_>, entry: &RawJson<'_>) {
    for (property, name) in
        [(HAS_TITLE, "title"), (HAS_DESCRIPTION, "description"), (HAS_MIME_TYPE, "mimeType")]
    {
        if let Some(text) = entry.get(name).and_then(|text| string(&text)) {
            let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
            node.text(property, text[..end].to_owned());
        }
    }
    for (property, name) in [(HAS_INPUT_SCHEMA, "inputSchema"), (HAS_OUTPUT_SCHEMA, "outputSchema")] {
        if let Some(schema) = entry.get(name) {
            node.add(property, Value::Json(schema.into_owned()));
        }
    }
}
