//! One end: a session, the handlers behind it, and the calls that it makes.

use std::time::Duration;

use sabir_proto::{
    CallError, CallKey, CallOptions, Cause, Config, ErrorCode, ErrorObject, Event, Framing, Output, RawJson,
    Report, RequestKey, SendError, Session, Time, Usage,
};

use crate::audit::Audit;
use crate::clocks::Clocks;
use crate::handlers::{Answer, Handler, Handlers};
use crate::link::Link;
use crate::log::Log;
use crate::map::Map;
use crate::random::Random;
use crate::subscriptions::{HAPPEN, ITEMS, Subscriptions};

pub(crate) struct Peer {
    pub(crate) name: char,
    session: Session,
    config: Config,
    audit: Audit,
    clocks: Clocks,
    /// Set while nothing can have changed since the session was last polled.
    rest: Option<Rest>,
    style: Style,
    handlers: Handlers,
    /// Calls that have not ended, with what their answer must be.
    pub(crate) calls: Map<CallKey, Expected>,
    /// The open calls of each batch.
    batches: Vec<Vec<CallKey>>,
    /// An error without an id was reported although it could only be meant for the one message that was open.
    pub(crate) missed_refusal: bool,
    /// An error without an id was reported, and several messages were open: the calls of a batch may wait for ever.
    pub(crate) ambiguous_refusal: bool,
    /// Until when the handler of a notification is busy.
    notified: Option<Time>,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) done: Option<Cause>,
    /// How many requests were open when there was last room for answers.
    open_with_room: usize,
    ended: bool,
    /// An item came that belongs to no subscription.
    pub(crate) strayed: bool,
    /// An answer came that belongs to another call.
    pub(crate) mixed_up: bool,
}

/// What came of a turn in which nothing happened. The next one is the same as long as nobody touches the session,
/// nothing is due, and there is no room for what it has to write.
#[derive(Debug)]
struct Rest {
    deadline: Option<Time>,
    read: bool,
    writes: bool,
    /// When a handler has something to do.
    handlers: Option<Time>,
}

/// How a driver goes about its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Writes until nothing is left or nothing fits, and only then reads.
    Eager,
    /// As the driver on tokio: lets the session do all it can, writes once, starts over if that wrote anything,
    /// and else reads once. Asks by `wait` what to do.
    Tokio,
    /// As the driver around `poll(2)`: the same, but time passes while it waits, and it may be woken with
    /// nothing to read.
    Blocking,
}

/// What came of a turn.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) deadline: Option<Time>,
    pub(crate) read: bool,
    pub(crate) wrote: bool,
}

#[derive(Debug)]
pub(crate) enum Expected {
    /// The params come back.
    Echo(String),
    Anything,
    /// The answer goes to this request.
    For(RequestKey),
}

impl Peer {
    pub(crate) fn new(name: char, config: Config, style: Style) -> Self {
        let framing = config.framing.unwrap_or(Framing::Lines);
        Peer {
            name,
            session: Session::new(config),
            config,
            audit: Audit::new(framing, config.dialect, config.limits),
            clocks: Clocks::new(config.limits),
            rest: None,
            style,
            handlers: Handlers::default(),
            calls: Map::default(),
            batches: Vec::new(),
            missed_refusal: false,
            ambiguous_refusal: false,
            notified: None,
            subscriptions: Subscriptions::default(),
            done: None,
            open_with_room: 0,
            ended: false,
            strayed: false,
            mixed_up: false,
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        self.session.usage()
    }

    /// The calls that wait for an answer, in the order in which they were made.
    pub(crate) fn open_calls(&self) -> Vec<CallKey> {
        let mut calls: Vec<_> = self.calls.keys().copied().collect();
        calls.sort_unstable_by_key(|call| call.id());
        calls
    }

    pub(crate) fn notify(&mut self, now: Time) -> Result<(), SendError> {
        self.rest = None;
        self.session.notify(now, "note", &serde_json::json!({}))
    }

    /// The transport fails.
    pub(crate) fn lose(&mut self, now: Time) {
        self.rest = None;
        self.session.handle_lost(now, "reset");
    }

    /// Subscribes to something of the peer's.
    pub(crate) fn subscribe(&mut self, now: Time, random: &mut Random) -> Result<(), SendError> {
        self.rest = None;
        self.clocks.active(now);
        self.subscriptions.subscribe(&mut self.session, &self.config, now, random)?;
        if random.chance(20) {
            self.call(now, HAPPEN, random.next(), &CallOptions::default())?;
        }
        Ok(())
    }

    pub(crate) fn leave_one(&mut self, now: Time, random: &mut Random) {
        self.rest = None;
        if self.subscriptions.leave_one(&mut self.session, now, random) {
            self.clocks.active(now);
        }
    }

    pub(crate) fn leave_all(&mut self, now: Time) {
        self.rest = None;
        if self.subscriptions.leave_all(&mut self.session, now) {
            self.clocks.active(now);
        }
    }

    pub(crate) fn call(
        &mut self,
        now: Time,
        method: &str,
        nonce: u64,
        options: &CallOptions<'_>,
    ) -> Result<CallKey, SendError> {
        self.rest = None;
        let params = params(nonce, self.config.dialect.array_params);
        let call = self.session.call_raw(now, method, Some(&params), options)?;
        self.expect(call, method, &params, options.progress);
        self.clocks.called(now, call, options);
        Ok(call)
    }

    pub(crate) fn batch(&mut self, now: Time, random: &mut Random) -> Result<(), SendError> {
        self.rest = None;
        let timeout = random.chance(50).then(|| Duration::from_secs(20));
        let options = CallOptions { timeout, ..CallOptions::default() };
        let mut batch = self.session.batch(now)?;
        let mut made = Vec::new();
        for _ in 0..random.between(1, 6) {
            let params = params(random.next(), self.config.dialect.array_params);
            if random.chance(30) {
                batch.notify_raw("note", Some(&params))?;
            } else {
                let method = random.pick(&["echo", "later", "fail"]);
                made.push((batch.call_raw(method, Some(&params), &options)?, method, params));
            }
        }
        // A batch that is not sent has not happened.
        if random.chance(90) {
            batch.send()?;
            self.batches.push(made.iter().map(|(call, ..)| *call).collect());
            for (call, method, params) in &made {
                self.expect(*call, method, params, false);
                self.clocks.called(now, *call, &options);
            }
        }
        Ok(())
    }

    fn expect(&mut self, call: CallKey, method: &str, params: &RawJson<'_>, progress: bool) {
        let expected = match method {
            "echo" | "later" if !progress => Expected::Echo(params.to_string()),
            _ => Expected::Anything,
        };
        assert!(self.calls.insert(call, expected).is_none(), "a key is used twice");
    }

    /// An error without an id that ended no call. An honest peer answers so only what it refuses as a whole.
    fn peer_error(&mut self, code: ErrorCode) {
        self.batches.iter_mut().for_each(|batch| batch.retain(|call| self.calls.contains_key(call)));
        self.batches.retain(|batch| !batch.is_empty());
        let batches = self.batches.len();
        // Calls that subscribe and unsubscribe are open as others are.
        let calls = self.calls.len().max(self.session.usage().calls);
        let singles = calls - self.batches.iter().flatten().count();
        let can_be_meant = if code == ErrorCode::BATCH_TOO_LONG { batches } else { batches + singles };
        self.missed_refusal |= can_be_meant == 1;
        self.ambiguous_refusal |= can_be_meant > 1;
    }

    pub(crate) fn cancel(&mut self, now: Time, call: CallKey) {
        self.rest = None;
        assert!(self.session.cancel(now, call), "an open call can be cancelled");
        assert!(!self.session.cancel(now, call), "and only once");
        self.forget(now, call);
    }

    /// The call is over; whoever waited for it is answered.
    fn forget(&mut self, now: Time, call: CallKey) -> Expected {
        let expected = self.calls.remove(&call).expect("a call ends once");
        self.clocks.ended(call);
        if let Expected::For(key) = expected
            && self.handlers.asks(key, call)
        {
            self.handlers.remove(key);
            assert!(
                self.session.reply(now, key, "asked") || self.is_over(),
                "an open request can be answered"
            );
        }
        expected
    }

    /// Moves bytes from the link into the session, in pieces of any size.
    pub(crate) fn read(&mut self, link: &mut Link, now: Time, random: &mut Random) -> bool {
        if self.done.is_some() || self.ended {
            return false;
        }
        if link.is_at_end() {
            self.rest = None;
            self.ended = true;
            self.audit.hears(&[], true);
            self.session.handle_eof(now);
            return true;
        }
        let Some(bytes) = link.read(now, random) else { return false };
        let count = bytes.len();
        self.rest = None;
        self.audit.hears(bytes, false);
        self.clocks.active(now);
        if link.framing == Framing::Whole {
            self.session.handle_message(now, bytes);
        } else if random.chance(50) {
            self.session.handle_bytes(now, bytes);
        } else {
            self.session.space()[..count].copy_from_slice(bytes);
            self.session.handle_read(now, count);
        }
        link.done(count);
        true
    }

    /// What would come of a turn, if nothing would happen in it.
    fn resting(&self, link: &Link, now: Time) -> Option<Turn> {
        let rest = self.rest.as_ref()?;
        let due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        let writes = rest.writes && !link.closed && link.room() > 0;
        let turn = Turn { deadline: rest.deadline, read: rest.read, wrote: false };
        (!writes && !due(rest.deadline) && !due(rest.handlers)).then_some(turn)
    }

    /// One turn of the driver: polls until the session waits, and writes what fits, in its style.
    pub(crate) fn pump(&mut self, link: &mut Link, now: Time, random: &mut Random, log: &mut Log) -> Turn {
        if let Some(turn) = self.resting(link, now) {
            return turn;
        }
        self.rest = None;
        self.finish_handlers(now);
        if self.done.is_none() {
            self.subscriptions.make_items(&mut self.session, now, random);
        }
        // Whether nothing may come of what was written.
        let mut is_still = false;
        loop {
            self.check_limits();
            let polled = match self.style {
                Style::Eager => self.session.poll_output(now),
                Style::Tokio | Style::Blocking => self.session.poll_event(now),
            };
            assert!(!is_still || matches!(polled, Output::Wait(_)), "a write made it say more: {polled:?}");
            let wait = match polled {
                Output::Event(event) => {
                    let event = event.into_owned();
                    self.handle(event, now, random, log);
                    continue;
                }
                Output::Wait(wait) if self.style == Style::Eager => wait,
                Output::Wait(_) => self.session.wait(),
                Output::Done(cause) => {
                    self.rest = Some(Rest { deadline: None, read: false, writes: false, handlers: None });
                    if self.done.is_none() {
                        log.say(|| format!("{now} {} ! closed, {}", self.name, kind(&cause)));
                        self.check_end(now, &cause);
                        self.done = Some(cause);
                        link.closed = true;
                    }
                    return Turn::default();
                }
            };
            self.clocks.waits(now, !wait.write.is_empty(), wait.deadline);
            let turn = Turn { deadline: wait.deadline, read: wait.read, wrote: false };
            assert!(!turn.read || !self.subscriptions.is_paused(), "it reads, and has no room");
            let room = wait.write.len().min(link.room());
            if room == 0 || link.closed {
                let writes = !wait.write.is_empty();
                let Turn { deadline, read, .. } = turn;
                self.rest = Some(Rest { deadline, read, writes, handlers: self.next() });
                return turn;
            }
            let count = link.portion(room, random);
            let bytes = &wait.write[..count];
            self.audit.says(bytes);
            link.write(bytes, now + Duration::from_micros(random.below(3000) as u64));
            is_still = !self.session.waits_for_write();
            self.session.handle_written(now, count);
            self.clocks.wrote(now);
            if self.style != Style::Eager {
                return Turn { wrote: true, read: false, ..turn };
            }
        }
    }

    /// Whether time passes before what has come is read.
    pub(crate) fn dawdles(&self) -> bool {
        self.style == Style::Blocking
    }

    fn finish_handlers(&mut self, now: Time) {
        if self.notified.take_if(|until| *until <= now).is_some() {
            self.session.finish_notification(now);
        }
        for (_, key, answer) in self.handlers.take_due(now) {
            if let Answer::Progress(steps @ 1..) = answer {
                self.session.progress(now, key, &steps);
                let next = Handler::At(now + Duration::from_millis(5), Answer::Progress(steps - 1));
                self.handlers.insert(key, next);
                continue;
            }
            self.clocks.active(now);
            let open = match answer {
                Answer::Echo(text) => self.session.reply_raw(now, key, &RawJson::new(text).unwrap()),
                Answer::Fail => self.session.reply_error(now, key, &ErrorObject::new(1, "failed")),
                Answer::Abandon => self.session.abandon(now, key),
                Answer::Progress(_) => self.session.reply(now, key, "done"),
            };
            assert!(open || self.is_over(), "an open request can be answered");
            assert!(!self.session.reply(now, key, "again"), "and only once");
        }
    }

    /// The session may have given up on handlers that go on.
    fn is_over(&mut self) -> bool {
        self.session.usage().requests == 0
    }

    fn handle(&mut self, event: Event<'static>, now: Time, random: &mut Random, log: &mut Log) {
        let name = self.name;
        let mut say = |what: std::fmt::Arguments<'_>| log.say(|| format!("{now} {name} ! {what}"));
        match event {
            Event::Request { key, method, params, .. } => {
                say(format_args!("request: {method}"));
                self.request(key, &method, params.as_ref(), now, random);
            }
            Event::Notification { method, .. } => {
                say(format_args!("notified: {method}"));
                self.strayed |= ITEMS.contains(&method.as_ref());
                assert!(self.notified.is_none(), "one notification at a time");
                if random.chance(60) {
                    self.session.finish_notification(now);
                } else {
                    self.notified = Some(now + Duration::from_millis(random.below(50) as u64));
                }
            }
            Event::Cancel { key, .. } => {
                say(format_args!("cancelled by the peer"));
                let handler = self.handlers.remove(key).expect("only what runs is cancelled");
                if random.chance(80) {
                    if let Handler::Asking(call) = handler {
                        self.session.cancel(now, call);
                        self.calls.remove(&call);
                        self.clocks.ended(call);
                    }
                    assert!(self.session.abandon(now, key));
                } else {
                    // It goes on, and answers all the same.
                    self.handlers.insert(key, handler);
                }
            }
            Event::Progress { call, .. } => {
                say(format_args!("progress"));
                self.clocks.progressed(now, call);
                assert!(self.calls.contains_key(&call), "progress comes before the answer");
            }
            Event::Reply { call, outcome } => {
                match &outcome {
                    Ok(result) => say(format_args!("result: {} {result}", call.id())),
                    Err(error) => say(format_args!("{}: {}", error_kind(error), call.id())),
                }
                self.clocks.replied(now, call, &outcome);
                let expected = self.forget(now, call);
                if let (Expected::Echo(params), Ok(result)) = (expected, outcome) {
                    let same = *params == *result.as_str();
                    self.mixed_up |= !same;
                    log.say(|| format!("{now} {name} = {}", if same { "same" } else { "other" }));
                }
            }
            Event::Report(report) => {
                say(format_args!("{}", report_kind(&report)));
                if let Report::PeerError(error) = report {
                    self.peer_error(error.code);
                }
            }
            other => match self.subscriptions.event(other) {
                Ok(what) => {
                    let pauses = what == "item" && self.subscriptions.pause(&mut self.session, now, random);
                    say(format_args!("{what}{}", if pauses { ", paused" } else { "" }));
                }
                Err(other) => panic!("an event that the simulation does not know: {other:?}"),
            },
        }
    }

    fn request(
        &mut self,
        key: RequestKey,
        method: &str,
        params: Option<&RawJson<'_>>,
        now: Time,
        random: &mut Random,
    ) {
        if self.subscriptions.request(&mut self.session, now, random, (key, method, params)) {
            return;
        }
        let text = params.map_or_else(|| "null".to_owned(), ToString::to_string);
        let later = now + Duration::from_millis(random.below(100) as u64);
        let handler = match method {
            "echo" => {
                assert!(self.session.reply_raw(now, key, &RawJson::new(text).unwrap()));
                return;
            }
            "later" => Handler::At(later, Answer::Echo(text)),
            "fail" => Handler::At(later, Answer::Fail),
            "abandon" => Handler::At(later, Answer::Abandon),
            "progress" => Handler::At(later, Answer::Progress(3)),
            "hang" => Handler::Hanging,
            "ask" => match self.session.call_raw(now, "later", params, &CallOptions::default()) {
                Ok(call) => {
                    self.calls.insert(call, Expected::For(key));
                    self.clocks.called(now, call, &CallOptions::default());
                    Handler::Asking(call)
                }
                Err(_) => Handler::At(now, Answer::Fail),
            },
            _ => Handler::At(now, Answer::Fail),
        };
        self.handlers.insert(key, handler);
    }

    /// When a handler has something to do.
    pub(crate) fn next(&mut self) -> Option<Time> {
        if let Some(rest) = &self.rest {
            return rest.handlers;
        }
        let moments = [self.handlers.next(), self.notified, self.subscriptions.next()];
        moments.into_iter().flatten().min()
    }

    pub(crate) fn shutdown(&mut self, now: Time, grace: Duration) {
        self.rest = None;
        self.session.shutdown(now, grace);
        self.clocks.shuts_down(now, grace);
    }

    /// Handlers that would hang for ever stop, so that the rest can be seen to end. Returns whether there were any.
    pub(crate) fn release(&mut self, now: Time) -> bool {
        self.rest = None;
        self.handlers.release(now)
    }

    fn check_limits(&mut self) {
        let (usage, limits) = (self.session.usage(), &self.config.limits);
        assert!(usage.running <= limits.in_flight + limits.calls, "{usage:?}");
        assert!(usage.calls <= limits.calls, "{usage:?}");
        // Over the cap there is only room for errors, which are small: one for each request that was open when
        // the cap was reached, and one for what was just read.
        if usage.unsent <= limits.outbound_bytes {
            self.open_with_room = usage.requests;
        }
        let open = self.open_with_room.max(usage.requests);
        let errors = 300 * (open + limits.batch_len + 2);
        assert!(usage.unsent <= limits.outbound_bytes + limits.high_water + errors, "{usage:?}");
        // Buffers double when they grow, and a read is offered 64 KiB at most.
        let bound = 2 * (limits.message_bytes + 64 * 1024)
            + 2 * limits.queued_bytes
            + 4 * (limits.outbound_bytes + limits.high_water + errors)
            + limits.in_flight_bytes
            + limits.message_bytes
            + 4 * limits.subscription_bytes
            + 1024 * (limits.subscriptions + usage.subscriptions);
        assert!(usage.bytes <= bound + 128 * 1024, "{usage:?}, bound {bound}");
    }

    fn check_end(&mut self, now: Time, cause: &Cause) {
        self.clocks.closed(now, cause);
        let usage = self.session.usage();
        assert_eq!((usage.requests, usage.running, usage.calls, usage.unsent), (0, 0, 0, 0));
        assert_eq!((usage.sinks, usage.subscriptions), (0, 0));
        self.subscriptions.end();
        assert!(self.calls.is_empty(), "every call has ended: {:?}", self.calls);
        let late = self.session.call(now, "late", &(), &CallOptions::default());
        assert!(matches!(late, Err(SendError::Closed(_))), "{late:?}");
        self.handlers.clear();
        self.notified = None;
        assert!(self.audit.answers <= self.audit.owed, "nothing is answered twice");
        if *cause == Cause::Ended {
            let Audit { answers, owed, silenced, .. } = self.audit;
            assert!(
                answers >= owed - silenced,
                "every request is answered: {answers} answers, {owed} owed, {silenced} silenced"
            );
        }
    }
}

fn params(nonce: u64, array: bool) -> RawJson<'static> {
    let text = if array && nonce.is_multiple_of(2) {
        format!("[{nonce}]")
    } else {
        format!("{{\"nonce\":{nonce}}}")
    };
    RawJson::new(text).unwrap()
}

fn kind(cause: &Cause) -> &'static str {
    match cause {
        Cause::Ended => "ended",
        Cause::Shutdown => "shutdown",
        Cause::Stalled => "stalled",
        Cause::Lagged => "lagged",
        Cause::Idle => "idle",
        Cause::Lost(_) => "lost",
        _ => "unknown",
    }
}

fn error_kind(error: &CallError) -> &'static str {
    match error {
        CallError::Error(error) if error.code == ErrorCode::BATCH_TOO_LONG => "refused as a whole",
        CallError::Error(_) => "error",
        CallError::TimedOut => "timed out",
        CallError::Unanswered => "unanswered",
        CallError::Malformed(_) => "malformed",
        CallError::Closed(_) => "no answer",
        CallError::Undelivered(_) => "undelivered",
        _ => "unknown",
    }
}

fn report_kind(report: &Report<'_>) -> &'static str {
    match report {
        Report::NotJson { .. } => "not json",
        Report::Invalid(_) => "invalid",
        Report::Frame(_) => "frame",
        Report::DuplicateId(_) => "duplicate id",
        Report::Overloaded(_) => "overloaded",
        Report::Dropped { .. } => "dropped",
        Report::LateReply(_) => "late reply",
        Report::UnknownReply(_) => "unknown reply",
        Report::PeerError(_) => "peer error",
        _ => "unknown",
    }
}
