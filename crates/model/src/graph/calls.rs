//! What belongs together in one session: answers and their requests, cancels, news of progress. Links are worked
//! out here, while reading, since a query that had to look for them would take time in the square of the session.
//!
//! Only requests in flight are kept, and the last few thousand that are done, for what comes too late. Of very many in
//! flight the older half is forgotten: the graph says of each that it is, since its answer is then linked with nothing.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::time::Duration;

use sabir_proto::Id;

use crate::capture::Direction;
use crate::graph::mcp::Asked;

/// Requests that are done, and tokens, that are remembered for what comes late.
const REMEMBERED: usize = 16_384;

/// Requests of a session that may be in flight.
const IN_FLIGHT: usize = 16_384;

/// Bytes of an id, or a token, that is remembered. Nobody needs longer ones.
const LONGEST_ID: usize = 256;

/// Requests in flight that are looked through.
const FEW: usize = 64;

const SIDES: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

/// The name of a message: its line, and its place in the batch if it is in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name {
    /// Which of several captures it is in, from 0.
    pub(crate) capture: usize,
    pub(crate) line: u64,
    pub(crate) entry: Option<usize>,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.capture > 0 {
            write!(f, "f{}.", self.capture + 1)?;
        }
        match self.entry {
            Some(entry) => write!(f, "m{}.{entry}", self.line),
            None => write!(f, "m{}", self.line),
        }
    }
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) name: Name,
    pub(crate) chain: Chain,
    /// What its answer will be about, in MCP.
    pub(crate) asked: Option<Asked>,
    pub(crate) time: Option<Duration>,
    pub(crate) trace: Option<String>,
}

/// Where a request stands among those that were made in the course of each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    /// The outermost.
    pub(crate) root: Name,
    /// How many are around it.
    pub(crate) depth: u32,
}

impl Chain {
    /// Of a request that nobody made in the course of another.
    pub(crate) fn of(root: Name) -> Chain {
        Chain { root, depth: 0 }
    }

    /// One further in.
    pub(crate) fn within(self) -> Chain {
        Chain { depth: self.depth.saturating_add(1), ..self }
    }
}

/// Who asked, where that is known, and with which id.
type Key = (Option<Direction>, Id<'static>);

/// The calls of one session, in both directions.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: HashMap<Key, Open>,
    /// Requests whose id was in flight already, behind the one in `open`.
    queued: HashMap<Key, VecDeque<Open>>,
    /// How many are in `queued`.
    waiting: usize,
    /// Requests in flight whose answers will find nothing, until somebody has said so.
    forgotten: Vec<Name>,
    done: Recent,
    tokens: Recent,
}

/// What the other side answered.
pub(crate) enum Answered {
    /// A request in flight, which is now done.
    Now(Open),
    /// One that had been answered before.
    Again(Name),
}

impl Calls {
    /// A request comes; returns the one in flight whose id it uses again.
    pub(crate) fn request(&mut self, asked: Option<Direction>, id: &Id<'_>, open: Open) -> Option<Name> {
        if id.text().len() > LONGEST_ID {
            self.forgotten.push(open.name);
            return None;
        }
        if self.in_flight() >= IN_FLIGHT {
            self.forget_older_half();
        }
        let key = (asked, id.clone().into_owned());
        match self.open.get(&key) {
            Some(earlier) => {
                let earlier = earlier.name;
                self.queued.entry(key).or_default().push_back(open);
                self.waiting += 1;
                Some(earlier)
            }
            None => {
                self.open.insert(key, open);
                None
            }
        }
    }

    /// How many requests are in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.open.len() + self.waiting
    }

    /// How many are remembered that are done, and tokens.
    pub(crate) fn remembered(&self) -> usize {
        self.done.order.len() + self.tokens.order.len()
    }

    /// Of the requests in flight, only the newer half stays.
    pub(crate) fn forget_older_half(&mut self) {
        let place = |name: Name| (name.line, name.entry);
        let mut names: Vec<_> =
            self.open.values().chain(self.queued.values().flatten()).map(|open| open.name).collect();
        names.sort_unstable_by_key(|name| place(*name));
        names.truncate(names.len().div_ceil(2));
        let Some(last) = names.last().map(|name| place(*name)) else { return };
        let Calls { open, queued, waiting, .. } = self;
        queued.values_mut().for_each(|queue| queue.retain(|open| place(open.name) > last));
        open.retain(|key, first| {
            if place(first.name) > last {
                return true;
            }
            let next = queued.get_mut(key).and_then(VecDeque::pop_front);
            next.map(|next| *first = next).is_some()
        });
        queued.retain(|_, queue| !queue.is_empty());
        *waiting = queued.values().map(VecDeque::len).sum();
        self.forgotten.append(&mut names);
    }

    /// Of what is done, and of tokens, only the newer half stays.
    pub(crate) fn remember_less(&mut self) {
        self.done.keep(self.done.order.len() / 2);
        self.tokens.keep(self.tokens.order.len() / 2);
    }

    /// The session is forgotten, and with it everything in flight.
    pub(crate) fn forget_all(&mut self) {
        let open = self.open.drain().map(|(_, open)| open);
        self.forgotten.extend(open.chain(self.queued.drain().flat_map(|(_, queue)| queue)).map(|o| o.name));
        self.waiting = 0;
    }

    /// The requests in flight that were forgotten since this was asked last.
    pub(crate) fn take_forgotten(&mut self) -> Vec<Name> {
        std::mem::take(&mut self.forgotten)
    }

    /// An answer comes; `asked` is the direction of the request. Of several with the same id, the first counts.
    pub(crate) fn answer(&mut self, asked: Option<Direction>, id: &Id<'_>) -> Option<Answered> {
        if id.text().len() > LONGEST_ID {
            return None;
        }
        let key = (asked, id.clone().into_owned());
        let Some(open) = self.open.remove(&key) else {
            return self.done.get(&key).map(Answered::Again);
        };
        if let Some(queue) = self.queued.get_mut(&key) {
            if let Some(next) = queue.pop_front() {
                self.open.insert(key.clone(), next);
                self.waiting -= 1;
            }
            if queue.is_empty() {
                self.queued.remove(&key);
            }
        }
        self.done.insert(key, open.name);
        Some(Answered::Now(open))
    }

    /// Who sent the request with this id, in a capture without directions. If both sides may have, it was the last.
    pub(crate) fn asker(&self, id: &Id<'_>) -> Option<Direction> {
        let keys = SIDES.map(|side| (Some(side), id.clone().into_owned()));
        let open = keys.iter().filter_map(|key| Some((self.open.get(key)?.name.line, key)));
        let open = open.max_by_key(|(line, _)| *line).map(|(_, key)| key);
        open.or_else(|| keys.iter().find(|key| self.done.get(key).is_some()))?.0
    }

    /// The same for the request whose progress carries this token.
    pub(crate) fn token_asker(&self, token: &Id<'_>) -> Option<Direction> {
        SIDES.into_iter().find(|side| self.progress(Some(*side), token).is_some())
    }

    /// The request with this id, in flight or done not long ago.
    pub(crate) fn find(&self, asked: Option<Direction>, id: &Id<'_>) -> Option<Name> {
        let key = (asked, id.clone().into_owned());
        self.open.get(&key).map(|open| open.name).or_else(|| self.done.get(&key))
    }

    /// The only request in flight that this side has sent, unless so many are that it would take long to look.
    pub(crate) fn only_open(&self, asked: Direction) -> Option<(Name, Chain)> {
        if self.open.len() > FEW {
            return None;
        }
        let mut own = self.open.iter().filter(|((side, _), _)| *side == Some(asked));
        let only = own.next()?.1;
        own.next().is_none().then_some((only.name, only.chain))
    }

    /// Progress of this request will carry this token.
    pub(crate) fn expect_progress(&mut self, asked: Option<Direction>, token: &Id<'_>, name: Name) {
        if token.text().len() <= LONGEST_ID {
            self.tokens.insert((asked, token.clone().into_owned()), name);
        }
    }

    /// The request whose progress carries this token.
    pub(crate) fn progress(&self, asked: Option<Direction>, token: &Id<'_>) -> Option<Name> {
        self.tokens.get(&(asked, token.clone().into_owned()))
    }
}

/// A map that forgets what was put in first.
#[derive(Debug, Default)]
struct Recent {
    names: HashMap<Key, Name>,
    order: VecDeque<Key>,
}

impl Recent {
    fn insert(&mut self, key: Key, name: Name) {
        if self.names.insert(key.clone(), name).is_none() {
            self.order.push_back(key);
        }
        self.keep(REMEMBERED);
    }

    fn keep(&mut self, most: usize) {
        while self.order.len() > most {
            self.order.pop_front().map(|oldest| self.names.remove(&oldest));
        }
    }

    fn get(&self, key: &Key) -> Option<Name> {
        self.names.get(key).copied()
    }
}
