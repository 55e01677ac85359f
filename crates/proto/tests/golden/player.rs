//! Plays one transcript: feeds the session, moves the clock, writes down what comes out.

use std::time::Duration;

use sabir_proto::{
    CallError, CallKey, CallOptions, Config, Cut, Deframer, Event, Framing, Line, Output, RawJson, Session,
    Time, TraceContext,
};

use crate::service::Service;
use crate::settings;
use crate::subscriptions::Subscriptions;

pub(crate) struct Player {
    session: Session,
    service: Service,
    subscriptions: Subscriptions,
    now: Time,
    framing: Framing,
    /// What the session sent and is not yet cut into messages.
    sent: Vec<u8>,
    reading: bool,
    calls: Vec<CallKey>,
    output: Vec<String>,
    done: bool,
}

impl Default for Player {
    fn default() -> Self {
        Player::new(Config { framing: Some(Framing::Lines), ..Config::default() })
    }
}

impl Player {
    fn new(config: Config) -> Self {
        Player {
            session: Session::new(config),
            service: Service::default(),
            subscriptions: Subscriptions::default(),
            now: Time::START,
            framing: config.framing.unwrap_or(Framing::Lines),
            sent: Vec::new(),
            reading: true,
            calls: Vec::new(),
            output: Vec::new(),
            done: false,
        }
    }

    pub(crate) fn take_output(&mut self) -> Vec<String> {
        std::mem::take(&mut self.output)
    }

    /// One message of the peer, in the session's framing.
    pub(crate) fn message(&mut self, message: &str) -> Result<(), String> {
        match self.framing {
            Framing::Lines => self.session.handle_bytes(self.now, format!("{message}\n").as_bytes()),
            Framing::Headers => {
                let framed = format!("Content-Length: {}\r\n\r\n{message}", message.len());
                self.session.handle_bytes(self.now, framed.as_bytes());
            }
            _ => self.session.handle_message(self.now, message.as_bytes()),
        }
        self.pump();
        Ok(())
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.session.handle_bytes(self.now, bytes);
        self.pump();
        Ok(())
    }

    /// Lets time pass, stopping wherever something is due.
    pub(crate) fn sleep(&mut self, time: Duration) -> Result<(), String> {
        let end = self.now + time;
        loop {
            let due = [self.pump(), self.service.next()].into_iter().flatten().min();
            match due.filter(|due| *due <= end && *due > self.now) {
                Some(due) => self.now = due,
                None => break,
            }
        }
        self.now = end;
        self.pump();
        Ok(())
    }

    pub(crate) fn command(&mut self, command: &str) -> Result<(), String> {
        let (word, rest) = command.split_once(' ').unwrap_or((command, ""));
        match word {
            "session" => *self = Player::new(settings::config(rest)?),
            "call" => self.call(rest)?,
            "notify" => {
                let call = settings::call(rest)?;
                let sent = self.session.notify_raw(self.now, &call.method, call.params.as_ref());
                self.refused(sent);
            }
            "batch" => self.batch(rest)?,
            "cancel" => {
                let id: u64 = rest.parse().map_err(|_| format!("`{rest}` is not a call"))?;
                let call = self.calls.iter().find(|call| call.id() == id).ok_or("no such call")?;
                self.session.cancel(self.now, *call);
            }
            "busy" => self.service.busy_until = Some(self.now + settings::duration(rest)?),
            "release" => self.service.release(&mut self.session, self.now),
            "stop" => self.reading = false,
            "write" => self.reading = true,
            "eof" => self.session.handle_eof(self.now),
            "lost" => self.session.handle_lost(self.now, rest.to_owned()),
            "shutdown" => self.session.shutdown(self.now, settings::duration(rest)?),
            _ => match self.subscriptions.command(&mut self.session, self.now, word, rest) {
                Some(said) => said?.into_iter().for_each(|said| self.event(said)),
                None => return Err(format!("unknown command `{command}`")),
            },
        }
        self.pump();
        Ok(())
    }

    fn call(&mut self, words: &str) -> Result<(), String> {
        let call = settings::call(words)?;
        let sent = self.session.call_raw(self.now, &call.method, call.params.as_ref(), &call.options);
        if let Ok(call) = &sent {
            self.calls.push(*call);
        }
        self.refused(sent);
        Ok(())
    }

    fn batch(&mut self, json: &str) -> Result<(), String> {
        let entries: Vec<serde_json::Value> = serde_json::from_str(json).map_err(|e| e.to_string())?;
        let sent = self.session.batch(self.now).and_then(|mut batch| {
            for entry in &entries {
                let method = entry["method"].as_str().unwrap_or_default();
                let params = entry.get("params").map(|p| RawJson::from_value(p).unwrap());
                if entry.get("id").is_some() {
                    self.calls.push(batch.call_raw(method, params.as_ref(), &CallOptions::default())?);
                } else {
                    batch.notify_raw(method, params.as_ref())?;
                }
            }
            batch.send()
        });
        self.refused(sent);
        Ok(())
    }

    fn refused<T>(&mut self, sent: Result<T, sabir_proto::SendError>) {
        if let Err(refused) = sent {
            self.event(format!("refused: {refused}"));
        }
    }

    fn event(&mut self, text: String) {
        self.output.push(Line::Event(text.into()).to_string());
    }

    /// Runs the session until it waits. When it wants to be woken.
    fn pump(&mut self) -> Option<Time> {
        self.service.wake(&mut self.session, self.now);
        loop {
            match self.session.poll_output(self.now) {
                Output::Event(event) => {
                    let event = event.into_owned();
                    self.handle(event);
                }
                Output::Wait(wait) => {
                    let deadline = wait.deadline;
                    if !self.reading || wait.write.is_empty() {
                        return deadline;
                    }
                    let bytes = wait.write.to_vec();
                    self.session.handle_written(self.now, bytes.len());
                    if let Some(framing) = self.session.framing() {
                        self.framing = framing;
                    }
                    self.show(&bytes);
                }
                Output::Done(cause) => {
                    if !std::mem::replace(&mut self.done, true) {
                        self.event(format!("closed: {cause}"));
                    }
                    return None;
                }
            }
        }
    }

    fn handle(&mut self, event: Event<'static>) {
        match event {
            Event::Request { key, method, params, meta, .. } => {
                if let Some(trace) = meta.as_ref().and_then(TraceContext::from_meta) {
                    self.event(format!("trace: {}", trace.traceparent));
                }
                let Player { session, subscriptions, service, now, .. } = self;
                if !subscriptions.request(session, *now, key, &method, params.as_ref()) {
                    service.request(session, *now, key, &method, params.as_ref());
                }
            }
            Event::Notification { method, params } => {
                let params = params.map_or_else(String::new, |params| format!(" {params}"));
                self.event(format!("notified: {method}{params}"));
                if self.service.busy_until.is_none() {
                    self.session.finish_notification(self.now);
                }
            }
            Event::Cancel { key, reason } => {
                let id = self.session.id(key).map(|id| id.to_string()).unwrap_or_default();
                self.event(format!("cancel: {id}{}", reason.map_or_else(String::new, |r| format!(", {r}"))));
                self.service.cancel(&mut self.session, self.now, key);
            }
            Event::Progress { call, value } => self.event(format!("progress of {}: {value}", call.id())),
            Event::Reply { call, outcome } => self.reply(call, outcome),
            Event::Report(report) => self.event(format!("report: {report}")),
            other => match self.subscriptions.event(&other) {
                Some(said) => self.event(said),
                None => panic!("an event that the player does not know: {other:?}"),
            },
        }
    }

    fn reply(&mut self, call: CallKey, outcome: Result<RawJson<'static>, CallError>) {
        let shown = match &outcome {
            Ok(result) => result.to_string(),
            Err(error) => error.to_string(),
        };
        self.event(format!("reply to {}: {shown}", call.id()));
        let rpc = match outcome {
            Ok(result) => Ok(result),
            Err(CallError::Error(error)) => Err(error),
            Err(_) => return,
        };
        self.service.answered(&mut self.session, self.now, call, &rpc);
    }

    /// Cuts what was sent into messages by the framing's own rules.
    fn show(&mut self, bytes: &[u8]) {
        if self.framing == Framing::Whole {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.output.push(Line::ToClient(text.into()).to_string());
            return;
        }
        self.sent.extend_from_slice(bytes);
        let mut deframer = Deframer::new(Some(self.framing), usize::MAX - 1);
        let mut used = 0;
        while let Cut::Message { body, used: more } = deframer.cut(&self.sent[used..]) {
            used += more;
            let text = String::from_utf8_lossy(body).into_owned();
            self.output.push(Line::ToClient(text.into()).to_string());
        }
        self.sent.drain(..used);
    }
}
