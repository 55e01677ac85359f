//! Looks at one message, by itself and as a part of its session.

use std::collections::HashSet;

use sabir_proto::{Id, Incoming, JsonKind, LENIENT, Limits, Message, PLAIN, RawJson, Syntax, decode};

use crate::json_path::kind;
use crate::rules::engine::finding::{Location, Report};
use crate::rules::engine::message::{content, envelope, is_usual};
use crate::rules::engine::session::Session;
use crate::rules::engine::values::{ValueIssue, Walker};
use crate::rules::table::*;

/// Ids of one batch that are compared.
const BATCH_IDS: usize = 65_536;
/// Of one rule, findings inside one message: one message cannot fill the report.
const IN_ONE: usize = 20;

/// A message, and what it takes to look at it.
pub(crate) struct MessageCheck<'c> {
    pub(crate) location: Location<'c>,
    pub(crate) session: &'c mut Session,
    pub(crate) report: &'c mut Report,
    pub(crate) walker: &'c mut Walker,
    /// Empty; kept for its room.
    pub(crate) issues: &'c mut Vec<ValueIssue>,
    pub(crate) limits: &'c Limits,
}

impl MessageCheck<'_> {
    pub(crate) fn message(mut self) {
        let location = self.location;
        match decode(location.text, &PLAIN, self.limits) {
            Err(error) => {
                let noise = self.session.protocol.dialect().allow_non_json;
                match error.reason {
                    Syntax::TooDeep => {
                        let what =
                            "more than 128 levels: the message is not looked at any further".to_owned();
                        self.report.add_at(
                            &RPC030,
                            RPC030.severity,
                            &location,
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
                            &location,
                            error.offset..error.offset + 1,
                            what,
                        );
                    }
                }
                if !noise {
                    self.session.unreadable(&location, "", None);
                }
            }
            Ok(Incoming::One(Ok(message))) => {
                // It was just decoded: it is UTF-8.
                let Ok(text) = simdutf8::basic::from_utf8(location.text) else { return };
                self.entry(location, text.trim_matches([' ', '\t', '\r', '\n']), Some(message));
            }
            Ok(Incoming::One(Err(_)) | Incoming::Batch(_)) => {
                let Ok(text) = RawJson::from_bytes(location.text) else { return };
                match kind(text.as_str()) {
                    JsonKind::Array => self.batch(location, &text),
                    _ => self.entry(location, text.as_str(), None),
                }
            }
        }
    }

    /// One message, by itself or in a batch. `message` is what it decodes to, if that is known to be valid.
    fn entry(&mut self, location: Location<'_>, entry: &str, message: Option<Message<'_>>) {
        if !message.as_ref().is_some_and(|message| is_usual(message, entry.len())) {
            envelope(entry, &location, &self.session.protocol.dialect(), self.report);
        }
        match message.or_else(|| forgiving(entry)) {
            Some(message) => {
                self.values(&message, &location);
                content(&message, entry, &location, &self.session.protocol, self.report);
                self.session.message(&message, entry, location, self.report);
            }
            None => {
                let id = readable_id(entry);
                self.session.unreadable(&location, entry, id.as_ref());
            }
        }
    }

    fn batch(&mut self, location: Location<'_>, batch: &RawJson<'_>) {
        let mut ids: HashSet<Id<'static>> = HashSet::new();
        let (mut calls, mut answers, mut entries) = (false, false, 0);
        let before = self.report.findings.len();
        for entry in batch.elements() {
            entries += 1;
            let decoded = match decode(entry.as_str().as_bytes(), &PLAIN, self.limits) {
                Ok(Incoming::One(Ok(message))) => Some(message),
                _ => None,
            };
            match &decoded {
                Some(Message::Response(_)) => answers = true,
                Some(_) => calls = true,
                None => {}
            }
            // A violation that every entry repeats is not reported a million times: to find its place costs the more, the
            // longer the batch is.
            let has_room = self.report.findings.len() < before + IN_ONE * 50;
            if let Some(Message::Request(request)) = &decoded
                && has_room
                && ids.len() < BATCH_IDS
                && !ids.insert(request.id.clone().into_owned())
            {
                let what = format!("the id {} is used twice in this batch", request.id.text());
                self.report.add(&RPC018, &location, request.id.text(), what);
            }
            if has_room {
                self.entry(location, entry.as_str(), decoded);
            }
        }
        if entries == 0 {
            self.report.add(&RPC016, &location, batch.as_str(), "the batch has no entries");
        }
        if calls && answers {
            self.report.add(&RPC017, &location, batch.as_str(), "calls and responses are in one batch");
        }
        self.session.batch(location, batch.as_str(), self.report);
        if entries == 0 {
            self.session.unreadable(&location, "", None);
        }
    }

    /// Looks into params, results and error data.
    fn values(&mut self, message: &Message<'_>, location: &Location<'_>) {
        let value = match message {
            Message::Request(request) => request.params.as_ref(),
            Message::Notification(notification) => notification.params.as_ref(),
            Message::Response(response) => match &response.outcome {
                Ok(result) => Some(result),
                Err(error) => error.data.as_ref(),
            },
        };
        let Some(value) = value else { return };
        self.walker.walk(value.as_str(), self.issues);
        if self.issues.is_empty() {
            return;
        }
        let base = location.span(value.as_str()).start;
        for issue in self.issues.drain(..).take(IN_ONE) {
            let (rule, span, what) = match issue {
                ValueIssue::Twice(span) => (&RPC027, span, "this name is in the same object before"),
                ValueIssue::Rounded(span) => (&RPC030, span, "a double does not hold this number"),
                ValueIssue::LoneSurrogate(span) => (&RPC030, span, "the string holds a lone surrogate"),
            };
            let span = base + span.start..base + span.end;
            self.report.add_at(rule, rule.severity, location, span, what.to_owned());
        }
    }
}

/// What can be understood of a message that is not in order.
fn forgiving(entry: &str) -> Option<Message<'_>> {
    match decode(entry.as_bytes(), &LENIENT, &Limits::default()) {
        Ok(Incoming::One(Ok(message))) => Some(message),
        _ => None,
    }
}

/// The id of what is not a message.
fn readable_id(entry: &str) -> Option<Id<'static>> {
    match decode(entry.as_bytes(), &LENIENT, &Limits::default()) {
        Ok(Incoming::One(Err(invalid))) if !invalid.response => invalid.id.map(Id::into_owned),
        _ => None,
    }
}
