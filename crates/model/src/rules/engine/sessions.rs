//! The connections that are followed at a time, in bounded memory.

use std::hash::{BuildHasher, RandomState};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::capture::Record;
use crate::rules::engine::session::{Described, Session};
use crate::rules::protocols::profile::Profile;
use crate::rules::schemas::MemoryBudget;

/// Connections that are followed at a time.
const CONNECTIONS: usize = 256;
/// Bytes that all open requests may take together.
const OPEN_BYTES: usize = 64 << 20;
/// Bytes that all answered requests may take together: about 40,000. With more, looking one up would mean waiting for
/// the memory.
const DONE_BYTES: usize = 1 << 20;

pub(crate) struct Sessions {
    pub(crate) profile: Profile,
    /// What is known of the server before it says anything.
    pub(crate) described: Option<Described>,
    by_connection: HashMap<u64, Session, FixedState>,
    /// For the hashes of ids and connections: these come from strangers, who must not be able to choose them.
    seed: u64,
    budget: MemoryBudget,
    /// What the open and the answered requests take.
    bytes: (usize, usize),
    /// The highest number of a connection so far.
    highest: u64,
    /// Of connections up to this one, records are missing or were forgotten.
    missed: u64,
}

impl Sessions {
    pub(crate) fn new(profile: Profile) -> Self {
        let seed = RandomState::new().hash_one(0);
        let by_connection = HashMap::with_hasher(FixedState::with_seed(seed));
        Sessions {
            profile,
            described: None,
            by_connection,
            seed,
            budget: MemoryBudget::default(),
            bytes: (0, 0),
            highest: 0,
            missed: 0,
        }
    }

    /// The session that a record belongs to.
    pub(crate) fn of(&mut self, record: &Record<'_>) -> &mut Session {
        if self.by_connection.len() >= CONNECTIONS && !self.by_connection.contains_key(&record.connection) {
            self.forget_idle();
        }
        self.highest = self.highest.max(record.connection);
        let is_missed = record.connection <= self.missed;
        let fresh = || {
            let described = self.described.clone();
            let mut session = Session::new(self.profile, self.seed, described, self.budget.clone());
            if is_missed {
                session.missed();
            }
            session
        };
        let session = self.by_connection.entry(record.connection).or_insert_with(fresh);
        session.last = record.number;
        session
    }

    /// The calls of a session took `before` bytes, and take `after` now: forgets what there is no room for.
    pub(crate) fn account(&mut self, before: (usize, usize), after: (usize, usize)) {
        self.bytes = (self.bytes.0 + after.0 - before.0, self.bytes.1 + after.1 - before.1);
        if self.bytes.0 > OPEN_BYTES {
            self.by_connection.values_mut().for_each(|session| session.calls.forget_half_open());
            self.add_up();
        }
        if self.bytes.1 > DONE_BYTES {
            self.by_connection.values_mut().for_each(|session| session.calls.forget_half_done());
            self.add_up();
        }
    }

    /// Records are missing, of any connection that there is.
    pub(crate) fn missed(&mut self) {
        self.missed = self.highest;
        self.by_connection.values_mut().for_each(Session::missed);
        self.add_up();
    }

    /// The session of a connection that is over.
    pub(crate) fn end(&mut self, connection: u64) -> Option<Session> {
        let session = self.by_connection.remove(&connection);
        self.add_up();
        session
    }

    /// All sessions, in the order of their connections.
    pub(crate) fn end_all(&mut self) -> Vec<Session> {
        let mut all: Vec<_> = self.by_connection.drain().collect();
        all.sort_by_key(|(connection, _)| *connection);
        self.bytes = (0, 0);
        all.into_iter().map(|(_, session)| session).collect()
    }

    /// Forgets the connections that have been silent for longest.
    fn forget_idle(&mut self) {
        let mut idle: Vec<u64> = self.by_connection.values().map(|session| session.last).collect();
        let (_, &mut middle, _) = idle.select_nth_unstable(CONNECTIONS / 2);
        self.by_connection.retain(|_, session| session.last > middle);
        self.missed = self.highest;
        self.add_up();
    }

    fn add_up(&mut self) {
        let each = self.by_connection.values().map(|session| session.calls.bytes());
        self.bytes = each.fold((0, 0), |(open, done), (x, y)| (open + x, done + y));
    }
}
