//! Checks records one after the other.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
#[cfg(feature = "schemas")]
use std::sync::Arc;

use sabir_proto::{Id, Incoming, LENIENT, Limits, Message, PLAIN, RawJson, Syntax, decode};

#[cfg(feature = "schemas")]
use super::calls::Side;
use super::finding::{Finding, Report, Site};
use super::locate::kind;
use super::message::{content, envelope, is_usual};
use super::profile::Profile;
#[cfg(feature = "schemas")]
use super::schemas::OpenRpc;
use super::schemas::Room;
use super::session::{Described, Session};
use super::table::*;
use super::values::{Oddity, Walker};
use crate::capture::{Damage, Event, Record, What};

/// Bytes that all open requests may take together.
const OPEN_BYTES: usize = 64 << 20;
/// Bytes that all answered requests may take together.
const DONE_BYTES: usize = 16 << 20;
/// Connections that are followed at a time.
const CONNECTIONS: usize = 256;
/// Ids of one batch that are compared.
const BATCH_IDS: usize = 65_536;
/// Of one rule, findings inside one message: one message cannot fill the report.
const IN_ONE: usize = 20;

/// Checks traffic by the rules of a profile.
pub struct Checker {
    profile: Profile,
    sessions: HashMap<u64, Session>,
    report: Report,
    walker: Walker,
    oddities: Vec<Oddity>,
    seed: u64,
    described: Option<Described>,
    room: Room,
    limits: Limits,
    messages: u64,
}

impl Checker {
    /// A checker that has seen nothing yet.
    pub fn new(profile: Profile) -> Self {
        Checker {
            profile,
            sessions: HashMap::new(),
            report: Report::default(),
            walker: Walker::default(),
            oddities: Vec::new(),
            // Ids come from strangers, who must not be able to choose how they hash.
            seed: RandomState::new().hash_one(0),
            described: None,
            room: Room::default(),
            limits: Limits::default(),
            messages: 0,
        }
    }

    /// Leaves out what breaks this rule.
    #[must_use]
    pub fn allow(mut self, rule: &'static Rule) -> Self {
        self.report.allowed.push(rule.id);
        self
    }

    /// Makes an error of what breaks this rule.
    #[must_use]
    pub fn deny(mut self, rule: &'static Rule) -> Self {
        self.report.denied.push(rule.id);
        self
    }

    /// Compares calls of the server's methods, and their answers, with this description, whatever the traffic says.
    ///
    /// ```
    /// use sabir_model::capture::Reader;
    /// use sabir_model::rules::{Checker, OpenRpc, Profile};
    ///
    /// let document = r#"{"openrpc":"1.3.2","info":{"title":"x","version":"1"},"methods":[{"name":"add",
    ///     "params":[{"name":"a","required":true,"schema":{"type":"integer"}}],
    ///     "result":{"name":"sum","schema":{"type":"integer"}}}]}"#;
    /// let mut checker = Checker::new(Profile::JsonRpc).openrpc(OpenRpc::parse(document)?);
    /// let mut reader = Reader::new(r#"> {"jsonrpc":"2.0","id":1,"method":"add","params":["x"]}"#.as_bytes())?;
    /// let found: Vec<_> = checker.check(&reader.next()?.unwrap()).collect();
    /// assert_eq!(found[0].rule.id, "RPC028");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "schemas")]
    #[must_use]
    pub fn openrpc(mut self, document: OpenRpc) -> Self {
        self.described = Some(Described { side: Side::Server, by: Arc::new(document), given: true });
        self
    }

    /// How many messages were looked at, those in a batch counted as one.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Takes in what somebody else has found: it is given back unless its rule is allowed, as an error if that is
    /// denied.
    pub fn admit(&mut self, finding: Finding) -> Option<Finding> {
        self.report.push(finding);
        self.report.findings.pop()
    }

    /// Looks at the next record. What is wrong with it, in the order of the text.
    pub fn check(&mut self, record: &Record<'_>) -> impl Iterator<Item = Finding> + '_ {
        match &record.what {
            What::Message(text) => {
                self.messages += 1;
                self.message(Site { record, text });
            }
            What::Noise(text) => self.noise(&Site { record, text }),
            What::Damage(damage) => self.damage(damage, record),
            What::Start(_) => self.end_all(),
            What::Event(Event::Close | Event::Exit, _) => {
                if let Some(mut session) = self.sessions.remove(&record.connection) {
                    session.finish(&mut self.report);
                }
            }
            What::Event(Event::Gap, _) => self.session(record).gap = true,
            What::Event(..) | What::Stderr(_) => {}
        }
        self.report.findings.drain(..)
    }

    /// The traffic is over. What is wrong with how it ended.
    pub fn finish(&mut self) -> impl Iterator<Item = Finding> + '_ {
        self.end_all();
        self.report.findings.drain(..)
    }

    fn end_all(&mut self) {
        let mut sessions: Vec<_> = self.sessions.drain().collect();
        sessions.sort_by_key(|(connection, _)| *connection);
        sessions.iter_mut().for_each(|(_, session)| session.finish(&mut self.report));
    }

    fn session(&mut self, record: &Record<'_>) -> &mut Session {
        if self.sessions.len() >= CONNECTIONS && !self.sessions.contains_key(&record.connection) {
            let mut idle: Vec<u64> = self.sessions.values().map(|session| session.last).collect();
            let (_, &mut middle, _) = idle.select_nth_unstable(CONNECTIONS / 2);
            self.sessions.retain(|_, session| session.last > middle);
        }
        let session = self.sessions.entry(record.connection).or_insert_with(|| {
            Session::new(self.profile, self.seed, self.described.clone(), self.room.clone())
        });
        session.last = record.number;
        session
    }

    fn noise(&mut self, site: &Site<'_>) {
        if !self.profile.dialect().noise {
            let what = "this is no message, but stands among the messages".to_owned();
            self.report.add_at(&RPC000, RPC000.severity, site, 0..site.text.len(), what);
        }
    }

    fn damage(&mut self, damage: &Damage, record: &Record<'_>) {
        let rule = match damage {
            Damage::Frame(_) => &LSP004,
            _ => &CAP001,
        };
        self.report.add_at(rule, rule.severity, &Site { record, text: b"" }, 0..1, damage.to_string());
        // What was lost may have been a request or its answer.
        self.session(record).gap = true;
    }

    fn message(&mut self, site: Site<'_>) {
        match decode(site.text, &PLAIN, &self.limits) {
            Err(error) => {
                let noise = self.profile.dialect().noise;
                match error.reason {
                    Syntax::TooDeep => {
                        let what =
                            "more than 128 levels: the message is not looked at any further".to_owned();
                        self.report.add_at(
                            &RPC030,
                            RPC030.severity,
                            &site,
                            error.offset..error.offset + 1,
                            what,
                        );
                    }
                    _ if noise => {}
                    reason => {
                        let what = format!("not JSON: {reason}");
                        self.report.add_at(
                            &RPC000,
                            RPC000.severity,
                            &site,
                            error.offset..error.offset + 1,
                            what,
                        );
                    }
                }
                if !noise {
                    self.session(site.record).unreadable(&site, "", None);
                }
            }
            Ok(Incoming::One(Ok(message))) => {
                // It was just decoded: it is UTF-8.
                let Ok(text) = std::str::from_utf8(site.text) else { return };
                self.entry(site, text.trim_matches([' ', '\t', '\r', '\n']), Some(message));
            }
            Ok(Incoming::One(Err(_)) | Incoming::Batch(_)) => {
                let Ok(text) = RawJson::from_bytes(site.text) else { return };
                match kind(text.as_str()) {
                    sabir_proto::JsonKind::Array => self.batch(site, &text),
                    _ => self.entry(site, text.as_str(), None),
                }
            }
        }
        self.make_room();
    }

    /// One message, by itself or in a batch. `message` is what it decodes to, if that is known to be valid.
    fn entry(&mut self, site: Site<'_>, entry: &str, message: Option<Message<'_>>) {
        let dialect = self.session(site.record).protocol.dialect();
        if !message.as_ref().is_some_and(|message| is_usual(message, entry.len())) {
            envelope(entry, &site, &dialect, &mut self.report);
        }
        match message.or_else(|| forgiving(entry)) {
            Some(message) => {
                self.values(&message, &site);
                content(&message, entry, &site, &dialect, &mut self.report);
                let Checker { sessions, report, .. } = self;
                if let Some(session) = sessions.get_mut(&site.record.connection) {
                    session.message(&message, entry, site, report);
                }
            }
            None => {
                let id = readable_id(entry);
                self.session(site.record).unreadable(&site, entry, id.as_ref());
            }
        }
    }

    fn batch(&mut self, site: Site<'_>, batch: &RawJson<'_>) {
        let mut ids: HashSet<Id<'static>> = HashSet::new();
        let (mut calls, mut answers, mut entries) = (false, false, 0);
        let before = self.report.findings.len();
        for entry in batch.elements() {
            entries += 1;
            let decoded = match decode(entry.as_str().as_bytes(), &PLAIN, &self.limits) {
                Ok(Incoming::One(Ok(message))) => Some(message),
                _ => None,
            };
            match &decoded {
                Some(Message::Response(_)) => answers = true,
                Some(_) => calls = true,
                None => {}
            }
            if let Some(Message::Request(request)) = &decoded
                && ids.len() < BATCH_IDS
                && !ids.insert(request.id.clone().into_owned())
            {
                let what = format!("the id {} is used twice in this batch", request.id.text());
                self.report.add(&RPC018, &site, request.id.text(), what);
            }
            // A breach that every entry repeats is not told a million times.
            if self.report.findings.len() < before + IN_ONE * 50 {
                self.entry(site, entry.as_str(), decoded);
            }
        }
        let Checker { sessions, report, .. } = self;
        if entries == 0 {
            report.add(&RPC016, &site, batch.as_str(), "the batch has no entries");
        }
        if calls && answers {
            report.add(&RPC017, &site, batch.as_str(), "calls and responses are in one batch");
        }
        if let Some(session) = sessions.get_mut(&site.record.connection) {
            session.batch(site, batch.as_str(), report);
        }
        if entries == 0 {
            self.session(site.record).unreadable(&site, "", None);
        }
    }

    /// Looks into params, results and error data.
    fn values(&mut self, message: &Message<'_>, site: &Site<'_>) {
        let value = match message {
            Message::Request(request) => request.params.as_ref(),
            Message::Notification(notification) => notification.params.as_ref(),
            Message::Response(response) => match &response.outcome {
                Ok(result) => Some(result),
                Err(error) => error.data.as_ref(),
            },
        };
        let Some(value) = value else { return };
        self.walker.walk(value.as_str(), &mut self.oddities);
        if self.oddities.is_empty() {
            return;
        }
        let base = site.span(value.as_str()).start;
        for oddity in self.oddities.drain(..).take(IN_ONE) {
            let (rule, span, what) = match oddity {
                Oddity::Twice(span) => (&RPC027, span, "this name is in the same object before"),
                Oddity::Rounded(span) => (&RPC030, span, "a double does not hold this number"),
                Oddity::LoneSurrogate(span) => (&RPC030, span, "the string holds half a surrogate pair"),
            };
            let span = base + span.start..base + span.end;
            self.report.add_at(rule, rule.severity, site, span, what.to_owned());
        }
    }

    /// Forgets what there is no room for.
    fn make_room(&mut self) {
        let sum = |sessions: &HashMap<u64, Session>| {
            sessions
                .values()
                .map(|session| session.calls.bytes())
                .fold((0, 0), |(a, b), (x, y)| (a + x, b + y))
        };
        let (open, done) = match self.sessions.len() {
            // Adding up many connections is worth it only now and then.
            2.. if !self.messages.is_multiple_of(64) => return,
            _ => sum(&self.sessions),
        };
        if open > OPEN_BYTES {
            self.sessions.values_mut().for_each(|session| session.calls.forget_half_open());
        }
        if done > DONE_BYTES {
            self.sessions.values_mut().for_each(|session| session.calls.forget_half_done());
        }
    }
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker").field("profile", &self.profile).field("messages", &self.messages).finish()
    }
}

/// What can be understood of a message that is not in order.
fn forgiving(entry: &str) -> Option<Message<'_>> {
    match decode(entry.as_bytes(), &LENIENT, &Limits::default()) {
        Ok(Incoming::One(Ok(message))) => Some(message),
        _ => None,
    }
}

/// The id of what is no message.
fn readable_id(entry: &str) -> Option<Id<'static>> {
    match decode(entry.as_bytes(), &LENIENT, &Limits::default()) {
        Ok(Incoming::One(Err(invalid))) if !invalid.response => invalid.id.map(Id::into_owned),
        _ => None,
    }
}
