//! Checks records one after the other.

use std::fmt;
use std::sync::Arc;

use sabir_proto::Limits;

use crate::capture::{Damage, Event, Record, What};
use crate::rules::engine::calls::Side;
use crate::rules::engine::finding::{Finding, Location, Report};
use crate::rules::engine::message_check::MessageCheck;
use crate::rules::engine::session::Described;
use crate::rules::engine::sessions::Sessions;
use crate::rules::engine::values::{ValueIssue, Walker};
use crate::rules::protocols::profile::Profile;
use crate::rules::schemas::OpenRpc;
use crate::rules::table::*;

/// Checks traffic by the rules of a profile.
pub struct Checker {
    sessions: Sessions,
    report: Report,
    walker: Walker,
    issues: Vec<ValueIssue>,
    limits: Limits,
    messages: u64,
    gaps: u64,
}

impl Checker {
    /// A checker that has seen nothing yet.
    pub fn new(profile: Profile) -> Self {
        Checker {
            sessions: Sessions::new(profile),
            report: Report::default(),
            walker: Walker::default(),
            issues: Vec::new(),
            limits: Limits::default(),
            messages: 0,
            gaps: 0,
        }
    }

    /// From now on, sessions that begin are of this profile: a capture may hold several, one after the other.
    pub fn set_profile(&mut self, profile: Profile) {
        self.sessions.profile = profile;
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
    #[must_use]
    pub fn openrpc(mut self, document: OpenRpc) -> Self {
        self.sessions.described = Some(Described { side: Side::Server, by: Arc::new(document), given: true });
        self
    }

    /// How many messages were looked at, those in a batch counted as one.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// How often records were missing. Calls that were open then, and ids and tokens of before, are not followed further:
    /// what became of them may be among the missing.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Records are missing before the next one, of any connection that was seen. A record that says so does the same.
    pub fn missed(&mut self) {
        self.sessions.missed();
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
                self.message(Location { record, text });
            }
            What::Noise(text) => self.noise(&Location { record, text }),
            What::Damage(damage) => self.damage(damage, record),
            What::Start(_) => self.end_all(),
            What::Event(Event::Close | Event::Exit, _) => {
                if let Some(mut session) = self.sessions.end(record.connection) {
                    session.finish(&mut self.report);
                }
            }
            What::Event(Event::Gap, _) => self.gap(record),
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
        self.sessions.end_all().iter_mut().for_each(|session| session.finish(&mut self.report));
    }

    fn gap(&mut self, record: &Record<'_>) {
        self.gaps += 1;
        self.sessions.of(record);
        self.sessions.missed();
    }

    fn noise(&mut self, location: &Location<'_>) {
        if !self.sessions.profile.dialect().allow_non_json {
            let what = "this is not a message, but is among the messages".to_owned();
            self.report.add_at(&RPC000, RPC000.severity, location, 0..location.text.len(), what);
            // Whoever reads it may say that it cannot.
            self.sessions.of(location.record).unreadable(location, "", None);
        }
    }

    fn damage(&mut self, damage: &Damage, record: &Record<'_>) {
        let rule = match damage {
            Damage::Frame(_) => &LSP004,
            _ => &CAP001,
        };
        self.report.add_at(rule, rule.severity, &Location { record, text: b"" }, 0..1, damage.to_string());
        self.gap(record);
    }

    fn message(&mut self, location: Location<'_>) {
        let Checker { sessions, report, walker, issues, limits, .. } = self;
        let session = sessions.of(location.record);
        let before = session.calls.bytes();
        MessageCheck { location, session, report, walker, issues, limits }.message();
        let after = session.calls.bytes();
        sessions.account(before, after);
    }
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker")
            .field("profile", &self.sessions.profile)
            .field("messages", &self.messages)
            .finish()
    }
}
