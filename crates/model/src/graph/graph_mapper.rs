//! A capture, record by record, made into nodes: what is said of sessions, and of everything that is in them. What
//! a message by itself becomes is in `message_mapper.rs`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use crate::capture::clock::Moment;
use crate::capture::{Direction, Event, Header, Record, What};
use crate::graph::calls::{Calls, Name};
use crate::graph::message_mapper::MessageMapper;
use crate::graph::node::{Node, Value};
use crate::graph::terms::*;
use crate::graph::traces::Traces;

/// Makes nodes of the records of a capture, which come in their order.
#[derive(Debug, Default)]
pub struct GraphMapper {
    part: Part,
    sessions: HashMap<u64, Session>,
    traces: Traces,
}

/// What follows one header.
#[derive(Debug, Default)]
struct Part {
    /// Which of the headers it is, from 1: each begins sessions of its own.
    number: u64,
    header: Header,
    start: Option<Moment>,
}

#[derive(Debug)]
struct Session {
    name: String,
    /// Whether its peers are described.
    peers: bool,
    calls: Calls,
}

/// Where and when something stands, whatever it is.
#[derive(Clone, Copy)]
pub(crate) struct RecordContext<'r> {
    pub(crate) session: &'r str,
    pub(crate) connection: u64,
    pub(crate) line: u64,
    pub(crate) time: Option<Duration>,
    pub(crate) direction: Option<Direction>,
    moment: Option<Moment>,
}

/// Where nodes go.
pub(crate) type Sink<'s, E> = dyn FnMut(&Node<'_>) -> Result<(), E> + 's;

impl GraphMapper {
    /// At the beginning of a capture.
    pub fn new() -> Self {
        GraphMapper::default()
    }

    /// Hands the nodes that `record` stands for to `sink`, and stops where that fails.
    pub fn handle<E>(
        &mut self,
        record: &Record<'_>,
        mut sink: impl FnMut(&Node<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match &record.what {
            What::Start(header) => {
                let start = header.at.as_deref().and_then(Moment::parse);
                let part = Part { number: self.part.number + 1, header: header.clone(), start };
                *self = GraphMapper { part, ..GraphMapper::default() };
                Ok(())
            }
            What::Message(bytes) => {
                let session = known(&mut self.sessions, &self.part, record, &mut sink)?;
                let context = self.part.context(record, &session.name);
                let (calls, traces) = (&mut session.calls, &mut self.traces);
                MessageMapper { context, calls, traces, sink: &mut sink }.message(bytes)
            }
            What::Noise(bytes) | What::Stderr(bytes) => {
                let session = known(&mut self.sessions, &self.part, record, &mut sink)?;
                let context = self.part.context(record, &session.name);
                let mut node = context.node(Name { line: record.line, entry: None }, NOISE);
                node.text(TEXT, String::from_utf8_lossy(bytes));
                sink(&node)
            }
            What::Event(Event::Close | Event::Exit, _) => match self.sessions.remove(&record.connection) {
                Some(session) => self.part.end(record, &session.name, &mut sink),
                None => Ok(()),
            },
            What::Event(..) | What::Damage(_) => Ok(()),
        }
    }
}

/// The record's session. Facts about it are written as soon as they are known.
fn known<'t, E>(
    sessions: &'t mut HashMap<u64, Session>,
    part: &Part,
    record: &Record<'_>,
    sink: &mut Sink<'_, E>,
) -> Result<&'t mut Session, E> {
    let (session, is_new) = match sessions.entry(record.connection) {
        Entry::Occupied(session) => (session.into_mut(), false),
        Entry::Vacant(vacant) => {
            let name = part.session_name(record.connection);
            (vacant.insert(Session { name, peers: false, calls: Calls::default() }), true)
        }
    };
    let is_directed = record.direction.is_some() && !session.peers;
    if !is_new && !is_directed {
        return Ok(session);
    }
    let name = session.name.as_str();
    let mut node = Node::new(name, name, SESSION_CLASS);
    if is_new {
        part.introduce(&mut node);
    }
    if is_directed {
        for (direction, class) in [(Direction::ToServer, CLIENT), (Direction::ToClient, SERVER)] {
            let peer = sender(name, direction);
            node.link(WAS_ASSOCIATED_WITH, &peer);
            sink(&Node::new(name, peer, class))?;
        }
    }
    sink(&node)?;
    session.peers |= is_directed;
    Ok(session)
}

impl Part {
    fn session_name(&self, connection: u64) -> String {
        match self.number {
            0 | 1 => format!("s{connection}"),
            part => format!("s{connection}.{part}"),
        }
    }

    fn introduce<'n>(&'n self, node: &mut Node<'n>) {
        if let Some(start) = self.start {
            node.add(STARTED_AT_TIME, Value::Typed(start.date_time().into(), DATE_TIME));
        }
        let Header { tool, transport, frame, profile, .. } = &self.header;
        for (property, text) in
            [(TRANSPORT, transport), (FRAMING, frame), (PROFILE, profile), (RECORDED_BY, tool)]
        {
            if let Some(text) = text {
                node.text(property, text.as_str());
            }
        }
    }

    fn end<E>(&self, record: &Record<'_>, session: &str, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let Some(moment) = self.context(record, session).moment else { return Ok(()) };
        let mut node = Node::new(session, session, SESSION_CLASS);
        node.add(ENDED_AT_TIME, Value::Typed(moment.date_time().into(), DATE_TIME));
        sink(&node)
    }

    fn context<'r>(&self, record: &Record<'_>, session: &'r str) -> RecordContext<'r> {
        let moment = self.start.and_then(|start| Some(start.after(record.time?)));
        let Record { connection, line, time, direction, .. } = *record;
        RecordContext { session, connection, line, time, direction, moment }
    }
}

/// The side that sends in this direction.
fn sender(session: &str, direction: Direction) -> String {
    match direction {
        Direction::ToServer => format!("{session}-client"),
        Direction::ToClient => format!("{session}-server"),
    }
}

impl<'r> RecordContext<'r> {
    /// A node for what stands here, with what can be said of anything that does.
    pub(crate) fn node(self, name: Name, class: Term) -> Node<'r> {
        let mut node = Node::new(self.session, name.to_string(), class);
        node.link(SESSION, self.session);
        node.integer(LINE, self.line);
        if let Some(direction) = self.direction {
            let to = match direction {
                Direction::ToServer => TO_SERVER,
                Direction::ToClient => TO_CLIENT,
            };
            node.add(DIRECTION, Value::Term(to));
            node.link(WAS_ATTRIBUTED_TO, &sender(self.session, direction));
        }
        if let Some(time) = self.time {
            node.milliseconds(AT_MS, time);
        }
        if let Some(moment) = self.moment {
            node.add(GENERATED_AT_TIME, Value::Typed(moment.date_time().into(), DATE_TIME));
        }
        if let Some(entry) = name.entry {
            node.link(IN_BATCH, &Name { entry: None, ..name });
            node.integer(POSITION, entry);
        }
        node
    }

    /// The name of whoever asks in this direction, for their ids; the session's own where that is not known.
    pub(crate) fn asker(self, asked: Option<Direction>) -> String {
        asked.map_or_else(|| self.session.to_owned(), |asked| sender(self.session, asked))
    }
}
