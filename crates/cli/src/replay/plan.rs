//! What a replay does, and in which order: what is sent, and what must have come before.

use std::collections::{BTreeSet, HashMap, VecDeque};

use sabir_model::capture::Direction;
use sabir_proto::Id;

use crate::recorded::{Call, PartKind, Place, Recording};

/// How long something that was recorded is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// As long as it takes, up to the timeout: an answer.
    Hard,
    /// A moment. It may come at another place, or not at all.
    Soft,
}

/// What a replay does, taken from a recording.
pub(super) struct Plan {
    /// Own messages that are sent in this order, each when what came before it has come again.
    pub(super) active: VecDeque<usize>,
    /// Own calls, and where to find them by connection and id while they are open.
    pub(super) calls: Vec<Call>,
    pub(super) call_at: HashMap<Place, usize>,
    /// Requests of the peer, and which are still to come, by name.
    pub(super) asked: Vec<Call>,
    pub(super) unasked: HashMap<String, VecDeque<usize>>,
    /// For own messages that are answers: how many of the requests are still to come.
    pub(super) answers: HashMap<usize, usize>,
    /// What is still to come, in the order in which it came: what is waited for, and what only for a moment.
    hard: BTreeSet<Place>,
    soft: BTreeSet<Place>,
    /// Notifications of the peer, by method: which one is next.
    pub(super) notifications: HashMap<Box<str>, VecDeque<Place>>,
    /// Answers of the peer that belong to no call.
    pub(super) strays: VecDeque<Place>,
}

impl Plan {
    pub(super) fn new(recording: &Recording, own: Direction) -> Self {
        let peer = own.reversed();
        let (calls, asked) = (recording.calls(own), recording.calls(peer));
        let call_at = calls.iter().enumerate().map(|(at, call)| (call.request, at)).collect();
        let mut plan = Plan {
            active: VecDeque::new(),
            call_at,
            unasked: HashMap::new(),
            answers: HashMap::new(),
            hard: BTreeSet::new(),
            soft: BTreeSet::new(),
            notifications: HashMap::new(),
            strays: recording.strays(peer, &calls).into(),
            calls,
            asked,
        };
        for (at, call) in plan.asked.iter().enumerate() {
            plan.unasked.entry(call.name.clone()).or_default().push_back(at);
            // A client need not be asked again; without a request a server has nothing to answer.
            match own {
                Direction::ToServer => plan.soft.insert(call.request),
                Direction::ToClient => plan.hard.insert(call.request),
            };
            if let Some(answer) = call.answer {
                *plan.answers.entry(answer.message).or_default() += 1;
            }
        }
        for answer in plan.calls.iter().filter(|call| !call.cancelled).filter_map(|call| call.answer) {
            plan.hard.insert(answer);
        }
        plan.soft.extend(&plan.strays);
        for place in recording.notifications(peer) {
            if let Some(method) = recording.part(place).method.clone() {
                plan.notifications.entry(method).or_default().push_back(place);
                plan.soft.insert(place);
            }
        }
        let own_messages = recording.messages.iter().enumerate().filter(|(_, sent)| sent.direction == own);
        for (at, sent) in own_messages {
            let is_answer = plan.answers.contains_key(&at);
            // An answer to nothing was recorded without its request: nobody waits for it.
            let is_active = sent.parts.iter().any(|part| !part.kind.is_answer());
            if is_active
                || (!is_answer && sent.parts.iter().any(|part| part.id.as_ref().is_none_or(Id::is_null)))
            {
                plan.active.push_back(at);
                plan.answers.remove(&at);
            }
        }
        plan
    }

    /// It has come.
    pub(super) fn met(&mut self, place: Place) {
        self.hard.remove(&place);
        self.soft.remove(&place);
    }

    /// Whether a message must wait for what came before it, and how.
    pub(super) fn blocked(&self, before: usize) -> Option<Need> {
        let is_before = |first: Option<&Place>| first.is_some_and(|place| place.message < before);
        match (is_before(self.hard.first()), is_before(self.soft.first())) {
            (true, _) => Some(Need::Hard),
            (false, true) => Some(Need::Soft),
            (false, false) => None,
        }
    }

    /// Waits no longer for what is before this message: what need not come, or all.
    pub(super) fn give_up(&mut self, before: usize, which: Need) {
        let behind = Place { message: before, part: 0 };
        self.soft = self.soft.split_off(&behind);
        if which == Need::Hard {
            self.hard = self.hard.split_off(&behind);
        }
    }

    /// Nothing more can come on this connection.
    pub(super) fn ended(&mut self, recording: &Recording, connection: Option<u64>) {
        let is_there = |of: u64| connection.is_none_or(|connection| connection == of);
        self.hard.retain(|place| !is_there(recording.sent(*place).connection));
        self.soft.retain(|place| !is_there(recording.sent(*place).connection));
        self.active.retain(|message| !is_there(recording.messages[*message].connection));
    }
}

/// The requests in an own message, by id.
pub(super) fn requests(recording: &Recording, message: usize) -> Vec<(Place, Id<'static>)> {
    let parts = recording.messages[message].parts.iter().enumerate();
    let requests = parts.filter(|(_, part)| part.kind == PartKind::Request);
    requests.filter_map(|(part, found)| Some((Place { message, part }, found.id.clone()?))).collect()
}
