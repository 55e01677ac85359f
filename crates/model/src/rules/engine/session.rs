//! Rules for what goes on between the two ends of one connection.

use std::sync::Arc;

use sabir_proto::{Id, Message, Notification, RawJson, Request, Response};

use crate::json_path;
use crate::rules::engine::calls::{Call, Calls, Side};
use crate::rules::engine::finding::{Location, Report, quoted};
use crate::rules::protocols::Protocol;
use crate::rules::protocols::profile::Profile;
use crate::rules::schemas::{MemoryBudget, Mismatch, OpenRpc};
use crate::rules::table::*;

/// A message among others: where it is, who sent it, and what is open.
pub(crate) struct CheckContext<'s> {
    pub(crate) location: Location<'s>,
    /// The message's own text: the whole, or an entry of a batch.
    pub(crate) entry: &'s str,
    pub(crate) from: Side,
    pub(crate) calls: &'s mut Calls,
    pub(crate) report: &'s mut Report,
}

/// A message that is checked: what a [`CheckContext`] says of it by itself.
#[derive(Clone, Copy)]
struct Subject<'s> {
    location: Location<'s>,
    entry: &'s str,
    from: Side,
}

impl<'s> Subject<'s> {
    fn context<'c>(self, calls: &'c mut Calls, report: &'c mut Report) -> CheckContext<'c>
    where
        's: 'c,
    {
        let Subject { location, entry, from } = self;
        CheckContext { location, entry, from, calls, report }
    }

    /// A member of the message, or all of it.
    fn part(&self, path: &[&str]) -> &'s str {
        json_path::member(self.entry, path).unwrap_or(self.entry)
    }
}

impl<'s> CheckContext<'s> {
    /// A member of the message, or all of it.
    pub(crate) fn part(&self, path: &[&str]) -> &'s str {
        json_path::member(self.entry, path).unwrap_or(self.entry)
    }

    /// Reports something at a part of the message.
    pub(crate) fn add(&mut self, rule: &'static Rule, part: &str, what: impl Into<String>) {
        self.report.add(rule, &self.location, part, what);
    }

    pub(crate) fn add_as(
        &mut self,
        rule: &'static Rule,
        severity: Severity,
        part: &str,
        what: impl Into<String>,
    ) {
        self.report.add_as(rule, severity, &self.location, part, what);
    }

    pub(crate) fn line(&self) -> u64 {
        self.location.record.line
    }
}

/// One connection.
pub(crate) struct Session {
    pub(crate) protocol: Protocol,
    pub(crate) calls: Calls,
    client: End,
    server: End,
    /// Whether any message said which way it went.
    directed: bool,
    requests: bool,
    responses: bool,
    /// Records are missing: what answers nothing may answer something in them.
    gap: bool,
    described: Option<Described>,
    budget: MemoryBudget,
    /// Number of the last record, to know which connection is idle.
    pub(crate) last: u64,
}

/// The methods that one side says it has.
#[derive(Clone)]
pub(crate) struct Described {
    pub(crate) side: Side,
    pub(crate) by: Arc<OpenRpc>,
    /// By somebody who knows, so that what the session says does not count.
    pub(crate) given: bool,
}

/// What is remembered of one end.
#[derive(Default)]
struct End {
    /// The last thing that it sent was a notification.
    notified: bool,
    /// Messages that the other end cannot read or refuses, each of which may get an error with the id null.
    unreadable: u32,
}

impl Session {
    pub(crate) fn new(
        profile: Profile,
        seed: u64,
        described: Option<Described>,
        budget: MemoryBudget,
    ) -> Self {
        Session {
            protocol: Protocol::new(profile, &budget),
            calls: Calls::new(seed),
            client: End::default(),
            server: End::default(),
            directed: false,
            requests: false,
            responses: false,
            gap: false,
            described,
            budget,
            last: 0,
        }
    }

    fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Records are missing. Forgets all that they may have changed.
    pub(crate) fn missed(&mut self) {
        self.gap = true;
        self.calls.forget_all();
        (self.client, self.server) = (End::default(), End::default());
        self.described.take_if(|described| !described.given);
        self.protocol.missed();
    }

    /// Something came that is not a valid message.
    pub(crate) fn unreadable(&mut self, location: &Location<'_>, entry: &str, id: Option<&Id<'_>>) {
        let from = location.record.direction.map_or(Side::Client, Side::from);
        let end = self.end(from);
        end.unreadable = end.unreadable.saturating_add(1);
        end.notified = false;
        if let Some(id) = id.filter(|id| !id.is_null()) {
            let mut call = self.calls.call(from, id, "", entry, location);
            call.invalid = true;
            self.calls.open(call);
        }
    }

    /// A readable message came, by itself or in a batch.
    pub(crate) fn message(
        &mut self,
        message: &Message<'_>,
        entry: &str,
        location: Location<'_>,
        report: &mut Report,
    ) {
        let direction = location.record.direction.map(Side::from);
        self.directed |= direction.is_some();
        match message {
            Message::Request(request) => {
                self.requests = true;
                let from =
                    direction.or_else(|| self.protocol.sender(&request.method)).unwrap_or(Side::Client);
                self.end(from).notified = false;
                self.request(request, Subject { location, entry, from }, report);
            }
            Message::Notification(notification) => {
                let sender = || self.protocol.sender(&notification.method);
                let from = direction.or_else(sender).unwrap_or(Side::Client);
                self.end(from).notified = true;
                self.notification(notification, Subject { location, entry, from }, report);
            }
            Message::Response(response) => {
                self.responses = true;
                let from = direction.unwrap_or_else(|| self.answerer(&response.id));
                self.end(from).notified = false;
                self.response(response, Subject { location, entry, from }, report);
            }
        }
    }

    /// Who answers an id, where nothing says who does: the client, if it is the server's request that is open.
    fn answerer(&mut self, id: &Id<'_>) -> Side {
        let servers =
            self.calls.get(Side::Client, id).is_none() && self.calls.get(Side::Server, id).is_some();
        if servers { Side::Client } else { Side::Server }
    }

    fn request(&mut self, request: &Request<'_>, subject: Subject<'_>, report: &mut Report) {
        let Subject { location, entry, from } = subject;
        let mark = self.protocol.request(&mut subject.context(&mut self.calls, report), request);
        self.compare_params(&request.method, request.params.as_ref(), subject, report);
        let mut call = self.calls.call(from, &request.id, &request.method, entry, &location);
        call.mark = mark;
        if let Some(earlier) = self.calls.open(call)
            && !earlier.invalid
        {
            let what = format!("the id {} is used again before it was answered", quoted(request.id.text()));
            report.add(&RPC023, &location, request.id.text(), what);
            report.related(&RPC023, earlier.line, format!("{} opened it here", quoted(&earlier.method)));
        }
    }

    fn notification(&mut self, notification: &Notification<'_>, subject: Subject<'_>, report: &mut Report) {
        self.protocol.notification(&mut subject.context(&mut self.calls, report), notification);
        self.compare_params(&notification.method, notification.params.as_ref(), subject, report);
    }

    /// Whether the other side is described to take such params.
    fn compare_params(
        &self,
        method: &str,
        params: Option<&RawJson<'_>>,
        subject: Subject<'_>,
        report: &mut Report,
    ) {
        let Some(described) = self.described.as_ref().filter(|described| described.side != subject.from)
        else {
            return;
        };
        for mismatch in described.by.params(method, params.map(RawJson::as_str)) {
            report.add(&RPC028, &subject.location, mismatch.part.unwrap_or(subject.entry), mismatch.what);
        }
    }

    /// Whether the answer is as its side describes it; a description is learned.
    fn compare_outcome(
        &mut self,
        call: &Call,
        response: &Response<'_>,
        location: &Location<'_>,
        report: &mut Report,
    ) {
        let side = call.side.other();
        if let Some(described) = self.described.as_ref().filter(|described| described.side == side) {
            let mismatch = match &response.outcome {
                Ok(result) => described.by.result(&call.method, result.as_str()),
                Err(error) => described.by.error(&call.method, error),
            };
            if let Some(Mismatch { part, what }) = mismatch {
                report.add(&RPC029, location, part.unwrap_or_default(), what);
                report.related(&RPC029, call.line, "the request is here");
            }
        }
        if let Ok(result) = &response.outcome
            && &*call.method == "rpc.discover"
            && !self.described.as_ref().is_some_and(|described| described.given)
        {
            // What the older description took is given back first.
            self.described = None;
            let seen = OpenRpc::seen(result.as_str(), &self.budget);
            self.described = seen.map(|by| Described { side, by: Arc::new(by), given: false });
        }
    }

    fn response(&mut self, response: &Response<'_>, subject: Subject<'_>, report: &mut Report) {
        let asker = subject.from.other();
        let asked = match self.calls.take(asker, &response.id) {
            Some(call) => Some(call),
            None => self.stray(response, subject, report),
        };
        if let Some(call) = &asked {
            self.contradiction(call, response, subject, report);
            self.compare_outcome(call, response, &subject.location, report);
        }
        let mut context = subject.context(&mut self.calls, report);
        self.protocol.response(&mut context, response, asked.as_deref());
        if let Some(call) = asked {
            if call.invalid {
                let end = self.end(asker);
                end.unreadable = end.unreadable.saturating_sub(1);
            } else {
                self.calls.keep(call, subject.location.record.line);
            }
        }
    }

    /// A response to nothing that is open. The request, if it is clear which was meant.
    fn stray(
        &mut self,
        response: &Response<'_>,
        subject: Subject<'_>,
        report: &mut Report,
    ) -> Option<Box<Call>> {
        let Subject { location, from, .. } = subject;
        let id = &response.id;
        let asker = from.other();
        let part = subject.part(&["id"]);
        if id.is_null() {
            self.stray_null(response, part, &location, asker, report);
            return None;
        }
        // The other side may have asked with the same id where records are missing.
        if self.directed && !self.gap && self.calls.get(from, id).is_some() {
            let what = format!("the {} answers its own request {}", from.name(), quoted(id.text()));
            report.add(&RPC025, &location, part, what);
            return self.calls.take(from, id);
        }
        if let Some(done) = self.calls.done(asker, id) {
            let (line, method) = (done.answered(), self.calls.name(&done));
            if let Some(rule) = self.protocol.repeated(method) {
                let method = quoted(method);
                report.add(
                    rule,
                    &location,
                    part,
                    format!("{method} with the id {} is answered again", quoted(id.text())),
                );
                report.related(rule, line, "it was answered here");
            }
            return None;
        }
        if !self.gap
            && let Some(same_text_id) = same_text_id(id)
            && let Some(call) = self.calls.take(asker, &same_text_id)
        {
            if !self.protocol.forgives_types() {
                let what =
                    format!("{} was asked, {} is answered: the types differ", same_text_id.text(), id.text());
                report.add(&RPC021, &location, part, what);
                report.related(&RPC021, call.line, "the request is here");
            }
            return Some(call);
        }
        // Without directions a file may hold one half of the traffic only.
        let half = !self.directed && !self.requests;
        if !half && !self.calls.forgot {
            report.add(
                &RPC021,
                &location,
                part,
                format!("no request with the id {} is open", quoted(id.text())),
            );
        }
        None
    }

    /// An error with the id null is fine for what could not be read, and for nothing else.
    fn stray_null(
        &mut self,
        response: &Response<'_>,
        part: &str,
        location: &Location<'_>,
        asker: Side,
        report: &mut Report,
    ) {
        let unseen = self.gap || !self.directed && !self.requests;
        let may_be_for_unseen = self.gap && response.outcome.is_err();
        let end = self.end(asker);
        if response.outcome.is_err() && end.unreadable > 0 {
            end.unreadable -= 1;
        } else if end.notified && !may_be_for_unseen {
            report.add(&RPC020, location, part, "this answers a notification");
        } else if response.outcome.is_ok() || !unseen {
            let what = "the id is null, though nothing was sent that could not be read";
            report.add(&RPC021, location, part, what);
        }
    }

    /// Codes that cannot be right for what was asked.
    fn contradiction(
        &mut self,
        call: &Call,
        response: &Response<'_>,
        subject: Subject<'_>,
        report: &mut Report,
    ) {
        let code = match &response.outcome {
            Err(error) => error.code.0,
            Ok(_) => {
                if !call.invalid {
                    self.calls.has_result(call);
                }
                return;
            }
        };
        let what = match code {
            -32700 => "a text that could not be parsed has no id to answer to".to_owned(),
            -32600 if !call.invalid && self.protocol.wants_valid_answered() => {
                "the request is valid, and answered as an invalid one".to_owned()
            }
            -32601 if self.calls.had_result(call) => {
                format!("{} was answered with a result before, so it exists", quoted(&call.method))
            }
            _ => return,
        };
        report.add(&RPC015, &subject.location, subject.part(&["error", "code"]), what);
        report.related(&RPC015, call.line, "the request is here");
    }

    /// A batch came: its entries were messages of their own already.
    pub(crate) fn batch(&mut self, location: Location<'_>, entry: &str, report: &mut Report) {
        let from = location.record.direction.map_or(Side::Client, Side::from);
        let subject = Subject { location, entry, from };
        self.protocol.batch(&mut subject.context(&mut self.calls, report));
    }

    /// The connection is over.
    pub(crate) fn finish(&mut self, report: &mut Report) {
        let half = !self.directed && !self.responses;
        for call in self.calls.end() {
            if call.invalid || half {
                continue;
            }
            if let Some(line) = call.cancelled {
                self.protocol.cancelled_unanswered(&call, line, report);
                continue;
            }
            let what =
                format!("{} with the id {} is never answered", quoted(&call.method), quoted(call.id.text()));
            call.report(&RPC024, what, report);
        }
        self.protocol.finish(report);
    }
}

/// The id of the other type that looks the same: `1` for `"1"`.
fn same_text_id(id: &Id<'_>) -> Option<Id<'static>> {
    match id.as_str() {
        Some(text) => {
            let number = sabir_proto::RawJson::new(text.into_owned()).ok()?;
            Id::from_json(number).filter(|id| !id.text().starts_with('"') && !id.is_null())
        }
        None => Some(Id::from(id.text())),
    }
}
