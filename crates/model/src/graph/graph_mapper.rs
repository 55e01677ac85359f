//! A capture, record by record, made into nodes: what is said of sessions, and of everything that is in them. What
//! a message by itself becomes is in `message_mapper.rs`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use crate::capture::clock::Moment;
use crate::capture::{Direction, Event, Header, Record, What};
use crate::graph::calls::{Calls, Name};
use crate::graph::error_classes::Above;
use crate::graph::mcp::McpSession;
use crate::graph::message_mapper::MessageMapper;
use crate::graph::node::{Node, Value};
use crate::graph::terms::*;
use crate::graph::traces::Traces;
use crate::rules::MemoryBudget;

/// Makes nodes of the records of a capture, which come in their order. Several captures are one graph if they are given a
/// number each: a call in one may then be part of a trace that began in another.
#[derive(Debug, Default)]
pub struct GraphMapper {
    captures: Vec<Capture>,
    traces: Traces,
    budget: MemoryBudget,
    /// How many records came.
    came: u64,
    /// Whether sessions that begin remember no tools, resources and other things: there are too many.
    has_too_many_things: bool,
    /// What came since it was looked at how much is kept: a message counts for one, and for each few hundred bytes of it.
    unlooked: usize,
}

/// Sessions that are followed at a time; of more, those that were silent longest are forgotten.
const SESSIONS: usize = 1024;
/// Requests that may be in flight in all of them.
const IN_FLIGHT: usize = 65_536;
/// Requests that are done, and tokens, that are remembered in all of them.
const REMEMBERED: usize = 131_072;
/// Tools, resources and other things that are remembered in all of them.
const THINGS: usize = 65_536;
/// How often it is looked at how much that is.
const LOOK: usize = 1024;
/// Bytes that count for as much as a message.
const BYTES: usize = 256;

#[derive(Debug, Default)]
struct Capture {
    /// What it is called, if it is one of several.
    name: Option<String>,
    part: Part,
    sessions: HashMap<u64, Session>,
}

/// What follows one header.
#[derive(Debug, Default)]
struct Part {
    /// Which of several captures it belongs to, from 0.
    capture: usize,
    capture_name: Option<String>,
    /// Which of the headers it is, from 1: each begins sessions of its own.
    number: u64,
    header: Header,
    start: Option<Moment>,
    /// How long after the first one it began.
    after_first: Duration,
    /// When the first one began.
    first: Option<Moment>,
}

#[derive(Debug)]
struct Session {
    name: String,
    /// Whether its peers are described.
    peers: bool,
    calls: Calls,
    mcp: McpSession,
    /// Its newest record, by how many came before.
    newest: u64,
}

/// Where and when something stands, whatever it is.
#[derive(Clone, Copy)]
pub(crate) struct RecordContext<'r> {
    pub(crate) session: &'r str,
    pub(crate) capture: usize,
    pub(crate) connection: u64,
    pub(crate) line: u64,
    pub(crate) time: Option<Duration>,
    pub(crate) direction: Option<Direction>,
    moment: Option<Moment>,
    /// Since the first header of the capture.
    at: Option<Duration>,
}

/// Where nodes go.
pub(crate) type Sink<'s, E> = dyn FnMut(&Node<'_>) -> Result<(), E> + 's;

impl GraphMapper {
    /// At the beginning of a capture.
    pub fn new() -> Self {
        GraphMapper::default()
    }

    /// At the beginning of several captures, which have these names.
    pub fn of_captures<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        let capture = |(number, name): (usize, N)| {
            let name = Some(name.into());
            let part = Part { capture: number, capture_name: name.clone(), ..Part::default() };
            Capture { name, part, ..Capture::default() }
        };
        GraphMapper {
            captures: names.into_iter().enumerate().map(capture).collect(),
            ..GraphMapper::default()
        }
    }

    /// Hands the nodes that `record` stands for to `sink`, and stops where that fails.
    pub fn handle<E>(
        &mut self,
        record: &Record<'_>,
        sink: impl FnMut(&Node<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.captures.is_empty() {
            self.captures.push(Capture::default());
        }
        self.handle_of(0, record, sink)
    }

    /// The same for a record of one of several captures, by its number from 0. Those of all should come in the order of
    /// their times.
    pub fn handle_of<E>(
        &mut self,
        capture: usize,
        record: &Record<'_>,
        mut sink: impl FnMut(&Node<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_alone = self.captures.len() < 2;
        self.look(record, &mut sink)?;
        let GraphMapper { captures, traces, budget, came, has_too_many_things, .. } = self;
        let Some(Capture { name, part, sessions }) = captures.get_mut(capture) else { return Ok(()) };
        match &record.what {
            What::Start(header) => {
                let start = header.at.as_deref().and_then(Moment::parse);
                let (number, header) = (part.number + 1, header.clone());
                let first = part.first.or(start);
                let after_first =
                    first.zip(start).map_or(Duration::ZERO, |(first, start)| start.since(first));
                *part =
                    Part { capture, capture_name: name.clone(), number, header, start, after_first, first };
                sessions.clear();
                // What one capture has in several parts are several runs.
                if is_alone {
                    *traces = Traces::default();
                }
                Ok(())
            }
            What::Message(bytes) => {
                let session = known(sessions, part, record, *came, *has_too_many_things, &mut sink)?;
                let Session { name, peers, calls, mcp, .. } = session;
                let context = part.context(record, name);
                let above = part.header.profile.as_deref().and_then(Above::of);
                MessageMapper { context, calls, traces, mcp, above, peers, budget, sink: &mut sink }
                    .message(bytes)?;
                session.say_what_is_forgotten(&mut sink)
            }
            What::Noise(bytes) | What::Stderr(bytes) => {
                let session = known(sessions, part, record, *came, *has_too_many_things, &mut sink)?;
                let context = part.context(record, &session.name);
                let mut node = context.node(context.name(), NOISE);
                node.text(TEXT, String::from_utf8_lossy(bytes));
                sink(&node)
            }
            What::Event(Event::Close | Event::Exit, _) => match sessions.remove(&record.connection) {
                Some(session) => part.end(record, &session.name, &mut sink),
                None => Ok(()),
            },
            What::Event(..) | What::Damage(_) => Ok(()),
        }
    }

    /// Now and then: keeps what is known of all sessions within its bounds.
    fn look<E>(&mut self, record: &Record<'_>, sink: &mut Sink<'_, E>) -> Result<(), E> {
        self.came += 1;
        let bytes = if let What::Message(bytes) = &record.what { bytes.len() } else { 0 };
        self.unlooked += 1 + bytes / BYTES;
        if self.unlooked < LOOK {
            return Ok(());
        }
        self.unlooked = 0;
        let sessions = || self.captures.iter().flat_map(|capture| capture.sessions.values());
        let mut newest: Vec<_> = sessions().map(|session| session.newest).collect();
        if newest.len() > SESSIONS {
            let half = newest.len() / 2;
            let (_, middle, _) = newest.select_nth_unstable(half);
            let middle = *middle;
            for sessions in self.captures.iter_mut().map(|capture| &mut capture.sessions) {
                for session in sessions.values_mut().filter(|session| session.newest < middle) {
                    session.calls.forget_all();
                    session.say_what_is_forgotten(sink)?;
                }
                sessions.retain(|_, session| session.newest >= middle);
            }
        }
        let sessions = || self.captures.iter().flat_map(|capture| capture.sessions.values());
        let sum = |of: fn(&Session) -> usize| sessions().map(of).sum::<usize>();
        let too_many = [
            sum(|session| session.calls.in_flight()) > IN_FLIGHT,
            sum(|session| session.calls.remembered()) > REMEMBERED,
            sum(|session| session.mcp.things()) > THINGS,
        ];
        self.has_too_many_things = too_many[2];
        if too_many.contains(&true) {
            for session in self.captures.iter_mut().flat_map(|capture| capture.sessions.values_mut()) {
                if too_many[0] {
                    session.calls.forget_older_half();
                    session.say_what_is_forgotten(sink)?;
                }
                if too_many[1] {
                    session.calls.remember_less();
                }
                if too_many[2] {
                    session.mcp.learn_no_more();
                }
            }
        }
        Ok(())
    }
}

impl Session {
    /// Says of each request whose answer will find nothing that it is forgotten.
    fn say_what_is_forgotten<E>(&mut self, sink: &mut Sink<'_, E>) -> Result<(), E> {
        for name in self.calls.take_forgotten() {
            let mut node = Node::plain(&self.name, name.to_string());
            node.add(IS_FORGOTTEN, Value::Typed("true".into(), BOOLEAN));
            sink(&node)?;
        }
        Ok(())
    }
}

/// The record's session. Facts about it are written as soon as they are known.
fn known<'t, E>(
    sessions: &'t mut HashMap<u64, Session>,
    part: &Part,
    record: &Record<'_>,
    came: u64,
    has_too_many_things: bool,
    sink: &mut Sink<'_, E>,
) -> Result<&'t mut Session, E> {
    let (session, is_new) = match sessions.entry(record.connection) {
        Entry::Occupied(session) => (session.into_mut(), false),
        Entry::Vacant(vacant) => {
            let name = part.session_name(record.connection);
            let mut mcp = McpSession::new(part.header.profile.as_deref());
            if has_too_many_things {
                mcp.learn_no_more();
            }
            (vacant.insert(Session { name, peers: false, calls: Calls::default(), mcp, newest: 0 }), true)
        }
    };
    session.newest = came;
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
        introduce_peers(&mut node, name, sink)?;
    }
    sink(&node)?;
    session.peers |= is_directed;
    Ok(session)
}

/// Says who takes part in a session.
pub(crate) fn introduce_peers<E>(
    node: &mut Node<'_>,
    session: &str,
    sink: &mut Sink<'_, E>,
) -> Result<(), E> {
    for (direction, class) in [(Direction::ToServer, CLIENT), (Direction::ToClient, SERVER)] {
        let peer = sender(session, direction);
        node.link(WAS_ASSOCIATED_WITH, &peer);
        sink(&Node::new(session, peer, class))?;
    }
    Ok(())
}

impl Part {
    fn session_name(&self, connection: u64) -> String {
        let capture = match self.capture {
            0 => String::new(),
            number => format!("f{}.", number + 1),
        };
        match self.number {
            0 | 1 => format!("{capture}s{connection}"),
            part => format!("{capture}s{connection}.{part}"),
        }
    }

    fn introduce<'n>(&'n self, node: &mut Node<'n>) {
        if let Some(start) = self.start {
            node.add(STARTED_AT_TIME, Value::Typed(start.date_time().into(), DATE_TIME));
        }
        let Header { tool, transport, frame, profile, .. } = &self.header;
        for (property, text) in [
            (CAPTURE, &self.capture_name),
            (TRANSPORT, transport),
            (FRAMING, frame),
            (PROFILE, profile),
            (RECORDED_BY, tool),
        ] {
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
        let at = time.map(|time| time.saturating_add(self.after_first));
        RecordContext { session, capture: self.capture, connection, line, time, direction, moment, at }
    }
}

/// The side that sends in this direction.
pub(crate) fn sender(session: &str, direction: Direction) -> String {
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
        if let Some(at) = self.at {
            node.milliseconds(AT_MS, at);
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

    /// The name of what stands here.
    pub(crate) fn name(self) -> Name {
        Name { capture: self.capture, line: self.line, entry: None }
    }

    /// The name of whoever asks in this direction, for their ids; the session's own where that is not known.
    pub(crate) fn asker(self, asked: Option<Direction>) -> String {
        asked.map_or_else(|| self.session.to_owned(), |asked| sender(self.session, asked))
    }
}
