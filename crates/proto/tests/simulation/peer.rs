//! One end: a session, the handlers behind it, and the calls that it makes.

use std::collections::HashMap;
use std::time::Duration;

use sabir_proto::{
    CallError, CallKey, CallOptions, Cause, Config, ErrorCode, ErrorObject, Event, Framing, Output, RawJson,
    Report, RequestKey, SendError, Session, Time,
};

use crate::audit::Audit;
use crate::clocks::Clocks;
use crate::link::Link;
use crate::random::Random;
use crate::subscriptions::Subscriptions;

pub(crate) struct Peer {
    pub(crate) name: char,
    pub(crate) session: Session,
    config: Config,
    pub(crate) audit: Audit,
    pub(crate) clocks: Clocks,
    style: Style,
    /// Handlers that are not done, and when they will be.
    handlers: HashMap<RequestKey, Handler>,
    /// Calls that have not ended, with what their answer must be.
    pub(crate) calls: HashMap<CallKey, Expected>,
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
enum Handler {
    At(Time, Answer),
    /// Waits for a call-back.
    Asking(CallKey),
    /// Until it is cancelled, or for ever.
    Hanging,
}

#[derive(Debug, Clone)]
enum Answer {
    Echo(String),
    Fail,
    Abandon,
    Progress(u32),
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
            style,
            handlers: HashMap::new(),
            calls: HashMap::new(),
            batches: Vec::new(),
            missed_refusal: false,
            ambiguous_refusal: false,
            notified: None,
            subscriptions: Subscriptions::default(),
            done: None,
            open_with_room: 0,
            ended: false,
            strayed: false,
        }
    }

    /// Subscribes to something of the peer's.
    pub(crate) fn subscribe(&mut self, now: Time, random: &mut Random) -> Result<(), SendError> {
        self.clocks.active(now);
        self.subscriptions.subscribe(&mut self.session, &self.config, now, random)
    }

    pub(crate) fn leave_one(&mut self, now: Time, random: &mut Random) {
        if self.subscriptions.leave_one(&mut self.session, now, random) {
            self.clocks.active(now);
        }
    }

    pub(crate) fn leave_all(&mut self, now: Time) {
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
        let params = params(nonce, self.config.dialect.array_params);
        let call = self.session.call_raw(now, method, Some(&params), options)?;
        self.expect(call, method, &params, options.progress);
        self.clocks.called(now, call, options);
        Ok(call)
    }

    pub(crate) fn batch(&mut self, now: Time, random: &mut Random) -> Result<(), SendError> {
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
        assert!(self.session.cancel(now, call), "an open call can be cancelled");
        assert!(!self.session.cancel(now, call), "and only once");
        self.forget(now, call);
    }

    /// The call is over; whoever waited for it is answered.
    fn forget(&mut self, now: Time, call: CallKey) -> Expected {
        let expected = self.calls.remove(&call).expect("a call ends once");
        self.clocks.ended(call);
        if let Expected::For(key) = expected
            && matches!(self.handlers.get(&key), Some(Handler::Asking(asked)) if *asked == call)
        {
            self.handlers.remove(&key);
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
            self.ended = true;
            self.audit.hears(&[], true);
            self.session.handle_eof(now);
            return true;
        }
        let Some(bytes) = link.read(now, random.between(1, 200)) else { return false };
        self.audit.hears(&bytes, false);
        self.clocks.active(now);
        if link.framing == Framing::Whole {
            self.session.handle_message(now, &bytes);
        } else if random.chance(50) {
            self.session.handle_bytes(now, &bytes);
        } else {
            self.session.space()[..bytes.len()].copy_from_slice(&bytes);
            self.session.handle_read(now, bytes.len());
        }
        true
    }

    /// One turn of the driver: polls until the session waits, and writes what fits, in its style.
    pub(crate) fn pump(
        &mut self,
        link: &mut Link,
        now: Time,
        random: &mut Random,
        log: &mut Vec<String>,
    ) -> Turn {
        self.finish_handlers(now);
        if self.done.is_none() {
            self.subscriptions.make_items(&mut self.session, now, random);
        }
        loop {
            self.check_limits();
            match self.session.poll_output(now) {
                Output::Event(event) => {
                    let event = event.into_owned();
                    self.handle(event, now, random, log);
                    continue;
                }
                Output::Wait(_) => {}
                Output::Done(cause) => {
                    if self.done.is_none() {
                        log.push(format!("{now} {} ! closed, {}", self.name, kind(&cause)));
                        self.check_end(now, &cause);
                        self.done = Some(cause);
                        link.closed = true;
                    }
                    return Turn::default();
                }
            }
            let unsent = self.session.usage().unsent;
            let wait = self.session.wait();
            self.clocks.waits(now, unsent, wait.deadline);
            let turn = Turn { deadline: wait.deadline, read: wait.read, wrote: false };
            let room = wait.write.len().min(link.room());
            if room == 0 || link.closed {
                return turn;
            }
            let count = match link.framing {
                Framing::Whole => room,
                _ => random.between(1, room),
            };
            let bytes = wait.write[..count].to_vec();
            self.audit.says(&bytes);
            link.write(&bytes, now + Duration::from_micros(random.below(3000) as u64));
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
        let mut due: Vec<(Time, RequestKey, Answer)> = self
            .handlers
            .iter()
            .filter_map(|(key, handler)| match handler {
                Handler::At(at, answer) if *at <= now => Some((*at, *key, answer.clone())),
                _ => None,
            })
            .collect();
        due.sort_by_key(|(at, key, _)| (*at, key.index()));
        for (_, key, answer) in due {
            if let Answer::Progress(steps @ 1..) = answer {
                self.session.progress(now, key, &steps);
                let next = Handler::At(now + Duration::from_millis(5), Answer::Progress(steps - 1));
                self.handlers.insert(key, next);
                continue;
            }
            self.handlers.remove(&key);
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

    fn handle(&mut self, event: Event<'static>, now: Time, random: &mut Random, log: &mut Vec<String>) {
        let mut say = |what: String| log.push(format!("{now} {} ! {what}", self.name));
        match event {
            Event::Request { key, method, params, .. } => {
                say(format!("request: {method}"));
                self.request(key, &method, params.as_ref(), now, random);
            }
            Event::Notification { method, .. } => {
                say(format!("notified: {method}"));
                self.strayed |= ["item", "eth_subscription", "itemNotification"].contains(&method.as_ref());
                assert!(self.notified.is_none(), "one notification at a time");
                if random.chance(60) {
                    self.session.finish_notification(now);
                } else {
                    self.notified = Some(now + Duration::from_millis(random.below(50) as u64));
                }
            }
            Event::Cancel { key, .. } => {
                say("cancelled by the peer".to_owned());
                let handler = self.handlers.remove(&key).expect("only what runs is cancelled");
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
                say("progress".to_owned());
                self.clocks.progressed(now, call);
                assert!(self.calls.contains_key(&call), "progress comes before the answer");
            }
            Event::Reply { call, outcome } => {
                say(match &outcome {
                    Ok(result) => format!("result: {} {result}", call.id()),
                    Err(error) => format!("{}: {}", error_kind(error), call.id()),
                });
                self.clocks.replied(now, call, &outcome);
                let expected = self.forget(now, call);
                if let (Expected::Echo(params), Ok(result)) = (expected, outcome) {
                    log.push(format!(
                        "{now} {} = {}",
                        self.name,
                        if *params == *result.as_str() { "same" } else { "other" }
                    ));
                }
            }
            Event::Report(report) => {
                say(report_kind(&report).to_owned());
                if let Report::PeerError(error) = report {
                    self.peer_error(error.code);
                }
            }
            other => match self.subscriptions.event(other) {
                Ok(what) => say(what),
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
        assert!(self.handlers.insert(key, handler).is_none(), "a key is used twice");
    }

    /// When a handler has something to do.
    pub(crate) fn next(&self) -> Option<Time> {
        let handlers = self.handlers.values().filter_map(|handler| match handler {
            Handler::At(at, _) => Some(*at),
            Handler::Asking(_) | Handler::Hanging => None,
        });
        handlers.chain(self.notified).chain(self.subscriptions.next()).min()
    }

    pub(crate) fn shutdown(&mut self, now: Time, grace: Duration) {
        self.session.shutdown(now, grace);
        self.clocks.shuts_down(now, grace);
    }

    /// Handlers that would hang for ever stop, so that the rest can be seen to end. Returns whether there were any.
    pub(crate) fn release(&mut self, now: Time) -> bool {
        let mut released = false;
        for handler in self.handlers.values_mut() {
            if matches!(handler, Handler::Hanging) {
                *handler = Handler::At(now, Answer::Abandon);
                released = true;
            }
        }
        released
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
