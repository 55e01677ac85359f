//! The driver of a session, which knows what must be open and complains if the session differs.

use std::time::Duration;

use sabir_proto::{
    CallKey, CallOptions, Cause, Config, Cut, Deframer, ErrorObject, Event, Framing, Incoming, Limits,
    Output, PLAIN, RequestKey, Session, Time, decode,
};

use super::subscriptions::Subscriptions;

/// What reads, headers and the answers that may exceed a limit by one add to the limits.
const SLACK: usize = 16 * 1024;
/// What the session offers for one read, at most.
const READ: usize = 64 * 1024;

pub(crate) struct Model {
    session: Session,
    config: Config,
    now: Time,
    /// Requests that were started and not ended by us.
    open: Vec<RequestKey>,
    /// Requests that were ended, by whomever.
    ended: Vec<RequestKey>,
    calls: Vec<CallKey>,
    ended_calls: Vec<CallKey>,
    subscriptions: Subscriptions,
    /// How many subscriptions of ours there were at once.
    most_ours: usize,
    /// Handlers of notifications that run.
    notified: usize,
    /// Whether the session may end requests by itself from now on.
    closing: bool,
    /// Whether the session wants to read.
    reading: bool,
    /// Bytes that came since the last poll.
    unpolled: usize,
    sent: Vec<u8>,
    done: Option<Cause>,
}

impl Model {
    pub(crate) fn new(config: Config) -> Self {
        Model {
            session: Session::new(config),
            config,
            now: Time::START,
            open: Vec::new(),
            ended: Vec::new(),
            calls: Vec::new(),
            ended_calls: Vec::new(),
            subscriptions: Subscriptions::default(),
            most_ours: 0,
            notified: 0,
            closing: false,
            reading: true,
            unpolled: 0,
            sent: Vec::new(),
            done: None,
        }
    }

    /// A message as the peer would frame it.
    pub(crate) fn frame(&self, message: &str) -> Vec<u8> {
        match self.session.framing().unwrap_or(Framing::Headers) {
            Framing::Lines => format!("{message}\n").into_bytes(),
            Framing::Headers => format!("Content-Length: {}\r\n\r\n{message}", message.len()).into_bytes(),
            _ => message.as_bytes().to_vec(),
        }
    }

    /// Bytes come, if the session wants any.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        if !self.reading || self.done.is_some() {
            return;
        }
        if self.unpolled > SLACK {
            self.poll();
        }
        self.unpolled += bytes.len();
        if self.config.framing == Some(Framing::Whole) {
            self.session.handle_message(self.now, bytes);
        } else if bytes.len().is_multiple_of(2) {
            self.session.handle_bytes(self.now, bytes);
        } else {
            self.session.space()[..bytes.len()].copy_from_slice(bytes);
            self.session.handle_read(self.now, bytes.len());
        }
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    /// The id of a call of ours, ended ones included, or one that never was.
    pub(crate) fn call_id(&self, choice: u8) -> u64 {
        let all = self.calls.iter().chain(&self.ended_calls);
        all.map(|call| call.id()).nth(choice as usize % (self.calls.len() + 2)).unwrap_or(99)
    }

    pub(crate) fn call(&mut self, options: &CallOptions<'_>) {
        if let Ok(call) = self.session.call(self.now, "m", &(), options) {
            assert!(self.done.is_none(), "a call was taken after the end");
            self.calls.push(call);
        }
    }

    pub(crate) fn notify(&mut self, size: u8) {
        let _ = self.session.notify(self.now, "n", &["x".repeat(size as usize)]);
    }

    pub(crate) fn batch(&mut self, bits: u8) {
        let Ok(mut batch) = self.session.batch(self.now) else { return };
        let mut calls = Vec::new();
        for entry in 0..bits % 4 {
            if bits & (16 << entry) == 0 {
                let _ = batch.notify("n", &());
            } else if let Ok(call) = batch.call("m", &(), &CallOptions::default()) {
                calls.push(call);
            }
        }
        let sent = bits & 4 == 0 && batch.send().is_ok();
        let list = if sent { &mut self.calls } else { &mut self.ended_calls };
        list.extend(calls);
    }

    pub(crate) fn cancel(&mut self, choice: u8) {
        let Some(&call) = pick(&self.calls, &self.ended_calls, choice) else { return };
        // A call whose answer is already on its way here stays in the list until the event comes.
        if self.session.cancel(self.now, call) {
            self.end_call(call);
        }
    }

    pub(crate) fn reply(&mut self, choice: u8, size: u8) {
        self.answer(choice, |session, now, key| session.reply(now, key, &"y".repeat(4 * size as usize)));
    }

    pub(crate) fn reply_error(&mut self, choice: u8) {
        self.answer(choice, |session, now, key| session.reply_error(now, key, &ErrorObject::new(1, "e")));
    }

    pub(crate) fn abandon(&mut self, choice: u8) {
        self.answer(choice, Session::abandon);
    }

    fn answer(&mut self, choice: u8, answer: impl FnOnce(&mut Session, Time, RequestKey) -> bool) {
        let Some(&key) = pick(&self.open, &self.ended, choice) else { return };
        self.look_for_ended();
        let is_open = self.open.contains(&key);
        assert_eq!(answer(&mut self.session, self.now, key), is_open, "whether {key:?} could be answered");
        assert!(self.session.id(key).is_none(), "{key:?} is open after its answer");
        if is_open {
            self.open.retain(|open| *open != key);
            self.ended.push(key);
        }
    }

    pub(crate) fn progress(&mut self, choice: u8, value: u8) {
        let Some(&key) = pick(&self.open, &self.ended, choice) else { return };
        self.look_for_ended();
        let told = match value % 3 {
            0 => self.session.progress(self.now, key, &value),
            1 => {
                self.session.progress(self.now, key, &std::collections::BTreeMap::from([("progress", value)]))
            }
            _ => self.session.progress(self.now, key, "words"),
        };
        assert!(!told || self.open.contains(&key), "progress of {key:?}, which has ended");
    }

    pub(crate) fn accept(&mut self, choice: u8, bits: u8) {
        let Some(&key) = pick(&self.open, &self.ended, choice) else { return };
        self.look_for_ended();
        let is_open = self.open.contains(&key);
        let accepted = self.subscriptions.accept(&mut self.session, self.now, key, bits);
        assert!(is_open || !accepted, "{key:?} was accepted after its end");
        // An id that does not fit into an answer has ended it too.
        if is_open && (accepted || self.session.id(key).is_none()) {
            self.open.retain(|open| *open != key);
            if !self.subscriptions.held.contains(&key) {
                self.ended.push(key);
            }
        }
    }

    pub(crate) fn send_item(&mut self, choice: u8, size: u8) {
        self.closing |= self.subscriptions.send(&mut self.session, self.now, choice, size);
    }

    pub(crate) fn ask_room(&mut self, choice: u8) {
        self.subscriptions.ask_room(&mut self.session, choice);
    }

    pub(crate) fn finish(&mut self, choice: u8, kind: u8) {
        self.subscriptions.finish(&mut self.session, self.now, choice, kind);
    }

    pub(crate) fn reply_unsubscribe(&mut self, request: u8, sink: u8) {
        let params = self.subscriptions.params(&self.session, sink);
        self.answer(request, |session, now, key| session.reply_unsubscribe(now, key, params.as_ref()));
    }

    pub(crate) fn subscribe(&mut self, bits: u8, options: &CallOptions<'_>) {
        self.subscriptions.subscribe(&mut self.session, self.now, bits, options);
    }

    pub(crate) fn leave(&mut self, choice: u8) {
        self.subscriptions.leave(&mut self.session, self.now, choice);
    }

    pub(crate) fn pause(&mut self, paused: bool) {
        self.session.set_paused(paused);
    }

    pub(crate) fn finish_notification(&mut self) {
        if self.notified > 0 {
            self.notified -= 1;
            self.session.finish_notification(self.now);
        }
    }

    pub(crate) fn eof(&mut self) {
        self.session.handle_eof(self.now);
        self.reading = false;
    }

    pub(crate) fn lost(&mut self) {
        self.closing = true;
        self.session.handle_lost(self.now, "gone");
    }

    pub(crate) fn shutdown(&mut self, grace: Duration) {
        self.closing = true;
        self.session.shutdown(self.now, grace);
    }

    /// Writes part of what there is to write: all of it for 255.
    pub(crate) fn write(&mut self, part: u8) {
        self.poll();
        let Output::Wait(wait) = self.session.poll_output(self.now) else { return };
        let count = (wait.write.len() * part as usize).div_ceil(255);
        self.sent.extend_from_slice(&wait.write[..count]);
        self.session.handle_written(self.now, count);
        self.read_sent();
    }

    /// Polls until there is nothing more to do.
    pub(crate) fn poll(&mut self) {
        let usage = self.session.usage();
        let most = 64 + self.unpolled + usage.requests + usage.calls + usage.bytes;
        for _ in 0..most {
            match self.session.poll_output(self.now) {
                Output::Event(event) => {
                    let event = event.into_owned();
                    self.event(&event);
                }
                Output::Wait(wait) => {
                    assert!(wait.deadline.is_none_or(|at| at > self.now), "a deadline that has passed");
                    self.reading = wait.read;
                    return self.waits();
                }
                Output::Done(cause) => return self.is_done(cause),
            }
        }
        panic!("no rest after {most} events");
    }

    fn event(&mut self, event: &Event<'static>) {
        assert!(self.done.is_none(), "an event after the end: {event:?}");
        match *event {
            Event::Request { key, .. } => {
                assert_eq!(self.notified, 0, "a request started beside a notification");
                assert!(!self.open.contains(&key) && !self.ended.contains(&key), "{key:?} came twice");
                self.open.push(key);
            }
            Event::Notification { .. } => {
                assert_eq!(self.notified, 0, "a notification started beside another");
                self.notified += 1;
            }
            Event::Cancel { key, .. } => assert!(self.open.contains(&key), "{key:?} is not open"),
            Event::Progress { call, .. } => assert!(self.calls.contains(&call), "{call:?} is not open"),
            Event::Reply { call, .. } => self.end_call(call),
            _ => self.subscriptions.event(event),
        }
    }

    fn end_call(&mut self, call: CallKey) {
        let at = self.calls.iter().position(|open| *open == call);
        let at = at.unwrap_or_else(|| panic!("{call:?} ended twice"));
        self.calls.remove(at);
        self.ended_calls.push(call);
    }

    /// The session ends requests by itself when it is told to close, or gives up the peer.
    fn look_for_ended(&mut self) {
        let session = &self.session;
        let closing = self.closing || self.done.is_some();
        self.ended.extend(self.open.extract_if(.., |key| {
            let gone = session.id(*key).is_none();
            assert!(!gone || closing, "{key:?} ended by itself");
            gone
        }));
        self.ended.extend(self.subscriptions.held.extract_if(.., |key| session.id(*key).is_none()));
    }

    fn waits(&mut self) {
        self.unpolled = 0;
        self.look_for_ended();
        let usage = self.session.usage();
        assert_eq!(usage.running, self.open.len() + self.subscriptions.held.len(), "running requests");
        assert!(usage.requests >= usage.running);
        // Calls that subscribe and unsubscribe are the session's own.
        let own = usage.subscriptions;
        self.most_ours = self.most_ours.max(own);
        assert!((self.calls.len()..=self.calls.len() + own).contains(&usage.calls), "open calls: {usage:?}");
        // Those that end behind their last items, and those that nobody waits for, are known to the session alone.
        assert!(usage.sinks >= self.subscriptions.sinks(), "{usage:?}, not {}", self.subscriptions.sinks());
        assert!(own >= self.subscriptions.ours(), "{usage:?}, not {}", self.subscriptions.ours());
        let Limits { message_bytes, in_flight_bytes, queued_bytes, outbound_bytes, .. } = self.config.limits;
        let Limits { subscriptions, subscription_bytes, .. } = self.config.limits;
        assert!(usage.sinks <= subscriptions, "{usage:?}");
        assert!(usage.unsent <= outbound_bytes + SLACK, "{usage:?}");
        // A buffer may be twice as large as what it holds, and hold as much again that is done with.
        let most =
            2 * message_bytes + READ + in_flight_bytes + 4 * queued_bytes + 4 * outbound_bytes + 8 * SLACK;
        // Those of ours are as many as this side wants; a table may be half empty.
        let most = most + 3 * subscription_bytes + outbound_bytes + 2048 * (own + self.most_ours);
        assert!(usage.bytes <= most, "more than {most} bytes: {usage:?}");
    }

    fn is_done(&mut self, cause: Cause) {
        let given_up = matches!(cause, Cause::Stalled | Cause::Idle);
        self.closing |= given_up;
        assert!(self.done.as_ref().is_none_or(|before| *before == cause), "it ended in two ways");
        self.done = Some(cause);
        self.look_for_ended();
        assert_eq!(self.open, [], "requests after the end");
        assert_eq!(self.calls, [], "calls after the end");
        let usage = self.session.usage();
        assert_eq!((usage.running, usage.requests, usage.calls, usage.unsent), (0, 0, 0, 0));
        assert_eq!(
            (self.subscriptions.sinks(), self.subscriptions.ours()),
            (0, 0),
            "subscriptions after the end"
        );
        assert_eq!(usage.sinks, 0, "{usage:?}");
    }

    /// Ends a session in which everything is answered and read.
    pub(crate) fn end(&mut self) {
        self.eof();
        self.pause(false);
        for _ in 0..10_000 {
            self.poll();
            if self.done.is_some() {
                return;
            }
            while !self.open.is_empty() {
                self.reply(0, 0);
            }
            self.finish_notification();
            self.write(255);
        }
        panic!("it does not end: {:?}", self.session.usage());
    }

    /// What goes out is whole messages that can be read.
    fn read_sent(&mut self) {
        // Until the framing is known, lines go out, whatever it will turn out to be.
        let Some(framing @ (Framing::Lines | Framing::Headers)) = self.config.framing else { return };
        let mut deframer = Deframer::new(Some(framing), usize::MAX - 1);
        let mut used = 0;
        loop {
            match deframer.cut(&self.sent[used..]) {
                Cut::Message { body, used: more } => {
                    let message = decode(body, &PLAIN, &Limits::default());
                    let fine = match &message {
                        Ok(Incoming::One(one)) => one.is_ok(),
                        Ok(Incoming::Batch(entries)) => entries.iter().all(Result::is_ok),
                        Err(_) => false,
                    };
                    assert!(fine, "sent {}, which is {message:?}", body.escape_ascii());
                    used += more;
                }
                Cut::Fault { fault, .. } => panic!("sent {}: {fault}", self.sent.escape_ascii()),
                Cut::More { .. } => break,
            }
        }
        self.sent.drain(..used);
    }
}

/// One of those that are open, or sometimes one that is not.
pub(crate) fn pick<'k, T>(open: &'k [T], ended: &'k [T], choice: u8) -> Option<&'k T> {
    if choice < 0xE0 && !open.is_empty() {
        return open.get(choice as usize % open.len());
    }
    ended.get(choice as usize % ended.len().max(1))
}
