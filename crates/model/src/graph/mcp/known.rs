//! What a session of MCP has shown of itself: tools, resources, prompts, tasks, and who takes part.

use std::collections::HashMap;

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
/// Characters of a description that are kept.
const LONGEST: usize = 2000;
/// Revisions of a session that are told, and the bytes of the name of one.
const VERSIONS: usize = 8;
const LONGEST_VERSION: usize = 64;
/// Bytes of the name of a thing that is remembered.
pub(super) const LONGEST_NAME: usize = 1024;

#[derive(Debug)]
pub(super) struct Known {
    /// By their kind, and their own name.
    things: HashMap<(Kind, String), Thing>,
    /// How many of them there may be.
    most: usize,
    /// Which sides have said who they are.
    named: [bool; 2],
    /// The revisions that were named.
    versions: Vec<String>,
}

#[derive(Debug, Default)]
struct Thing {
    is_listed: bool,
    /// Few things are tools, and what is known of one is large.
    tool: Option<Box<Tool>>,
}

/// What a session has things of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Tool,
    Prompt,
    Resource,
    Template,
    Root,
    Task,
}

/// How things of a kind are called.
struct Described {
    class: Term,
    word: &'static str,
    name: Term,
    /// Where a list has them, and by which member they are known.
    list: (&'static str, &'static str),
    /// From what has them.
    has: Term,
    /// Whether that is the server, or else the result that lists them.
    is_servers: bool,
}

impl Kind {
    /// What the answer to a request of this class lists.
    pub(super) fn listed_by(request: Term) -> Option<Kind> {
        Some(match request {
            LIST_TOOLS => Kind::Tool,
            LIST_PROMPTS => Kind::Prompt,
            LIST_RESOURCES => Kind::Resource,
            LIST_TEMPLATES => Kind::Template,
            LIST_ROOTS => Kind::Root,
            LIST_TASKS => Kind::Task,
            _ => return None,
        })
    }

    fn described(self) -> Described {
        let of =
            |class, word, name, list, has, is_servers| Described { class, word, name, list, has, is_servers };
        match self {
            Kind::Tool => of(TOOL, "tool", HAS_NAME, ("tools", "name"), EXPOSES_TOOL, true),
            Kind::Prompt => of(PROMPT, "prompt", HAS_NAME, ("prompts", "name"), OFFERS_PROMPT, true),
            Kind::Resource => {
                of(RESOURCE, "resource", HAS_URI, ("resources", "uri"), PROVIDES_RESOURCE, true)
            }
            Kind::Template => {
                let list = ("resourceTemplates", "uriTemplate");
                of(RESOURCE_TEMPLATE, "template", HAS_URI_TEMPLATE, list, CONTAINS_RESOURCE_TEMPLATE, false)
            }
            Kind::Root => of(ROOT, "root", HAS_URI, ("roots", "uri"), CONTAINS_ROOT, false),
            Kind::Task => of(TASK, "task", TASK_ID, ("tasks", "taskId"), TASKS, false),
        }
    }
}

/// A list that a session shows.
#[derive(Clone, Copy)]
pub(super) struct List<'n> {
    pub(super) answer: Name,
    pub(super) result: &'n RawJson<'n>,
    pub(super) kind: Kind,
}

fn node_name(session: &str, word: &str, name: &str) -> String {
    let mut text = format!("{session}-{word}-");
    push_name(&mut text, name);
    text
}

impl Known {
    pub(super) fn new() -> Self {
        Known { things: HashMap::new(), most: MOST, named: [false; 2], versions: Vec::new() }
    }

    /// How many things are remembered.
    pub(super) fn len(&self) -> usize {
        self.things.len()
    }

    pub(super) fn learn_no_more(&mut self) {
        self.most = self.things.len();
    }

    /// Links a message, or what is in it, with what it is about, which has a node of its own when it is seen for the first
    /// time.
    pub(super) fn use_of<'n>(
        &mut self,
        context: RecordContext<'n>,
        node: &mut Node<'n>,
        property: Term,
        kind: Kind,
        name: &str,
    ) -> Option<Node<'n>> {
        let Described { class, word, name: named, .. } = kind.described();
        let own = node_name(context.session, word, name);
        node.link(property, &own);
        let key = (kind, name.to_owned());
        if self.things.contains_key(&key) || !self.has_room_for(name) {
            return None;
        }
        self.things.insert(key, Thing::default());
        let mut thing = Node::new(context.session, own, class);
        thing.text(named, name.to_owned());
        Some(thing)
    }

    fn has_room_for(&self, name: &str) -> bool {
        self.things.len() < self.most && name.len() <= LONGEST_NAME
    }

    /// Learns what a list has. The server is said to have it, once, or the result.
    pub(super) fn list<'n>(
        &mut self,
        context: RecordContext<'n>,
        list: List<'_>,
        budget: &MemoryBudget,
        inner: &mut Node<'n>,
        more: &mut Vec<Node<'n>>,
    ) {
        let List { answer, result, kind } = list;
        let Described { class, word, name: named, list: (list, key), has, is_servers } = kind.described();
        let Some(entries) = result.get(list) else { return };
        let mut servers = Node::new(context.session, server(context), MCP_SERVER);
        for entry in entries.elements() {
            let Some(name) = entry.get(key).and_then(|name| string(&name)) else { continue };
            let own = node_name(context.session, word, &name);
            if !is_servers {
                inner.link(has, &own);
            }
            let id = (kind, name.clone());
            let is_known = self.things.contains_key(&id);
            if !is_known && !self.has_room_for(&name) {
                continue;
            }
            let thing = self.things.entry(id).or_default();
            if kind == Kind::Tool {
                thing.tool = Some(Box::new(Tool::new(entry.as_str(), budget)));
            }
            if std::mem::replace(&mut thing.is_listed, true) {
                continue;
            }
            if is_servers {
                servers.link(has, &own);
            }
            let mut node = Node::new(context.session, own, class);
            if !is_known {
                node.text(named, name);
            }
            node.link(LISTED_IN, &answer);
            describe(&mut node, &entry, named);
            more.push(node);
        }
        if servers.facts.len() > 1 {
            more.push(servers);
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

    /// The session speaks this revision: by the answer to `initialize`, or since a request says so.
    pub(super) fn version<'n>(
        &mut self,
        context: RecordContext<'n>,
        version: &RawJson<'_>,
    ) -> Option<Node<'n>> {
        let version = string(version).filter(|version| version.len() <= LONGEST_VERSION)?;
        if self.versions.contains(&version) || self.versions.len() >= VERSIONS {
            return None;
        }
        self.versions.push(version.clone());
        let mut node = Node::new(context.session, context.session, SESSION_CLASS);
        node.text(HAS_PROTOCOL_VERSION, version);
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
        self.things.get(&(Kind::Tool, name.to_owned()))?.tool.as_deref()
    }
}

/// What an entry of a list says of itself, beside what it is known by.
fn describe(node: &mut Node<'_>, entry: &RawJson<'_>, known_by: Term) {
    for (property, name) in [
        (HAS_NAME, "name"),
        (HAS_TITLE, "title"),
        (HAS_DESCRIPTION, "description"),
        (HAS_MIME_TYPE, "mimeType"),
    ] {
        if property == known_by {
            continue;
        }
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
