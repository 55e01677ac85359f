//! Recorded traffic in memory, for the commands that play it again or compare it: which messages there were, in which order,
//! and which answer belongs to which request. Also what "the same" means.

pub(crate) mod compare;
pub(crate) mod handles;
pub(crate) mod ignore;
mod load;
mod part;
pub(crate) mod rewrite;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

pub(crate) use load::unreadable;
pub(crate) use part::{Part, PartKind, call_name, name_of, split};
use sabir::Framing;
use sabir_model::capture::{Direction, Header};
use sabir_proto::Id;

/// A file of recorded traffic.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    /// The first header, if there is one.
    pub(crate) header: Option<Header>,
    pub(crate) messages: Vec<Sent>,
}

/// What was sent as one message: a message, a batch of some, or something else.
#[derive(Debug)]
pub(crate) struct Sent {
    /// Since the start of the recording.
    pub(crate) time: Option<Duration>,
    pub(crate) direction: Direction,
    /// Different for connections of different sessions in the same file.
    pub(crate) connection: u64,
    pub(crate) text: String,
    pub(crate) parts: Vec<Part>,
}

/// One message of a recording: which of those that were sent, and which part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) message: usize,
    pub(crate) part: usize,
}

/// A request and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) request: Place,
    pub(crate) answer: Option<Place>,
    /// The method, and the tool or what else it names.
    pub(crate) name: String,
    /// Whether its caller has cancelled it.
    pub(crate) cancelled: bool,
    pub(crate) took: Option<Duration>,
}

impl Recording {
    pub(crate) fn sent(&self, place: Place) -> &Sent {
        &self.messages[place.message]
    }

    pub(crate) fn part(&self, place: Place) -> &Part {
        &self.messages[place.message].parts[place.part]
    }

    /// The text of one message.
    pub(crate) fn text(&self, place: Place) -> &str {
        let sent = self.sent(place);
        &sent.text[sent.parts[place.part].range.clone()]
    }

    /// All messages, one by one.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.messages
            .iter()
            .enumerate()
            .flat_map(|(message, sent)| (0..sent.parts.len()).map(move |part| Place { message, part }))
    }

    /// The calls of one side, in order.
    pub(crate) fn calls(&self, by: Direction) -> Vec<Call> {
        let mut calls: Vec<Call> = Vec::new();
        let mut open: HashMap<(u64, Id<'static>), usize> = HashMap::new();
        for place in self.places() {
            let (sent, part) = (self.sent(place), self.part(place));
            let is_own = sent.direction == by;
            match (part.kind, &part.id) {
                (PartKind::Request, Some(id)) if is_own => {
                    open.insert((sent.connection, id.clone()), calls.len());
                    let name = call_name(self.text(place));
                    calls.push(Call { request: place, answer: None, name, cancelled: false, took: None });
                }
                (PartKind::Notification, _) if is_own => {
                    let cancelled = part::cancelled(self.text(place));
                    if let Some(at) = cancelled.and_then(|id| open.get(&(sent.connection, id))) {
                        calls[*at].cancelled = true;
                    }
                }
                (PartKind::Result | PartKind::Error, Some(id)) if !is_own => {
                    if let Some(at) = open.remove(&(sent.connection, id.clone())) {
                        let began = self.sent(calls[at].request).time;
                        calls[at].answer = Some(place);
                        calls[at].took = sent.time.zip(began).map(|(end, start)| end.saturating_sub(start));
                    }
                }
                _ => {}
            }
        }
        calls
    }

    /// The names of all calls and notifications: the method, and the tool or what else it names.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let is_named =
            |place: &Place| matches!(self.part(*place).kind, PartKind::Request | PartKind::Notification);
        self.places().filter(is_named).map(|place| call_name(self.text(place))).collect()
    }

    /// The notifications of one side, in order.
    pub(crate) fn notifications(&self, by: Direction) -> Vec<Place> {
        let is_one = |place: &Place| {
            self.sent(*place).direction == by && self.part(*place).kind == PartKind::Notification
        };
        self.places().filter(is_one).collect()
    }

    /// Answers of one side that belong to no call, such as those to invalid messages, in order.
    pub(crate) fn strays(&self, by: Direction, calls: &[Call]) -> Vec<Place> {
        let paired: HashSet<Place> = calls.iter().filter_map(|call| call.answer).collect();
        let is_one = |place: &Place| {
            self.sent(*place).direction == by && self.part(*place).kind.is_answer() && !paired.contains(place)
        };
        self.places().filter(is_one).collect()
    }

    /// How messages were kept apart, as far as the recording says.
    pub(crate) fn framing(&self) -> Option<Framing> {
        let header = self.header.as_ref()?;
        match (header.frame.as_deref(), self.profile()) {
            (Some("headers"), _) => Some(Framing::Headers),
            (Some("lines"), _) => Some(Framing::Lines),
            (_, Some("lsp")) => Some(Framing::Headers),
            _ => None,
        }
    }

    /// The protocol on top of JSON-RPC, without its revision.
    pub(crate) fn profile(&self) -> Option<&str> {
        self.header.as_ref()?.profile.as_deref()?.split('@').next()
    }
}
