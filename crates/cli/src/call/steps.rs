//! `-f`: sends the steps of a transcript on one connection, and compares what comes with what it expects.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use sabir::RawJson;
use sabir_proto::{ByteSize, Line, transcript};
use tokio::time::Instant;

use super::in_time;
use super::plan::Plan;
use super::report::Reporter;
use super::spans::CallSpans;
use crate::check::wire::{Got, Wire, WireTarget};
use crate::exit::{Exit, Failure};
use crate::expect::{self, Names, is_equal};
use crate::peer::PeerOptions;
use crate::print::Printer;
use crate::stop;
use crate::values::text_of;

/// Bytes of messages that wait for a line that expects them, and of one that is sent.
const MOST_WAITING: usize = 64 << 20;

/// The steps of a file.
#[derive(Debug)]
pub(super) struct Steps {
    name: String,
    steps: Vec<(usize, Step)>,
}

#[derive(Debug)]
enum Step {
    Send(String),
    Expect(RawJson<'static>),
    Wait(Duration),
    /// The peer closes the connection.
    Closed,
    /// What is only shown.
    Show(String),
}

impl Steps {
    pub(super) fn read(path: &Path) -> Result<Steps, Failure> {
        let text = text_of(path)?;
        let name = match path == Path::new("-") {
            true => "standard input".to_owned(),
            false => path.display().to_string(),
        };
        let mut steps = Vec::new();
        let mut names = expect::NamesSeen::default();
        for (i, line) in transcript(&text).enumerate() {
            let number = i + 1;
            let wrong = |what: String| Failure::usage(format_args!("{name}:{number}: {what}"));
            let line = line.map_err(|error| {
                let reason = error.to_string();
                let reason = reason.split_once(": ").map_or(reason.as_str(), |(_, reason)| reason);
                wrong(reason.to_owned()).hint(
                    "> sends a message, < expects one, ~ 1s waits, ! closed expects the end, # is a comment",
                )
            })?;
            let step = match line {
                Line::ToServer(text) => {
                    if let Some(name) = names.first_unknown(&text) {
                        return Err(wrong(format!("`${name}` stands for nothing yet")).hint(format_args!(
                            "a line before it that expects `${name}` gives it a value; a text is in quotes"
                        )));
                    }
                    Step::Send(text.into_owned())
                }
                Line::ToClient(text) => {
                    names.learn(&text);
                    Step::Expect(
                        expect::read(&text)
                            .map_err(|error| wrong(format!("what is expected is not JSON: {error}")))?,
                    )
                }
                Line::Time(time) => Step::Wait(time),
                Line::Event(event) if event.starts_with("closed") => Step::Closed,
                Line::BytesToServer(_) | Line::BytesToClient(_) => {
                    return Err(wrong("bytes cannot be sent or expected here".to_owned())
                        .hint("> sends any text as one message; `sabir call --raw` sends exact bytes"));
                }
                other @ (Line::Event(_) | Line::Comment(_) | Line::Blank) => Step::Show(other.to_string()),
            };
            steps.push((number, step));
        }
        match steps.iter().any(|(_, step)| !matches!(step, Step::Show(_))) {
            true => Ok(Steps { name, steps }),
            false => Err(Failure::usage(format_args!("{name} has no steps"))
                .hint("write what is sent behind `> `, and what must come behind `< `")),
        }
    }

    pub(super) async fn play(
        &self,
        plan: &Plan,
        reporter: &Reporter,
        printer: &Printer,
    ) -> Result<Exit, Failure> {
        let (peer, watch) = (plan.peer.clone(), reporter.watch.clone());
        let target = WireTarget { peer, profile: plan.profile, printer: None, watch };
        let wire = in_time(Instant::now() + plan.peer.timeout, plan, reporter, target.open()).await?;
        let mut player = Player {
            wire,
            inbox: VecDeque::new(),
            waiting: 0,
            open: Vec::new(),
            spans: CallSpans::default(),
            names: Names::default(),
            plan,
            reporter,
            printer,
        };
        let done = player.all(self).await;
        player.wire.close().await;
        done.map(|()| Exit::Ok)
    }
}

struct Player<'p> {
    wire: Wire,
    /// What has come, and was not expected yet.
    inbox: VecDeque<RawJson<'static>>,
    /// Bytes of it.
    waiting: usize,
    /// Ids of requests that have no answer yet.
    open: Vec<RawJson<'static>>,
    spans: CallSpans,
    names: Names,
    plan: &'p Plan,
    reporter: &'p Reporter,
    printer: &'p Printer,
}

impl Player<'_> {
    async fn all(&mut self, steps: &Steps) -> Result<(), Failure> {
        for (number, step) in &steps.steps {
            let done = match step {
                Step::Send(text) => self.send(text).await,
                Step::Expect(expected) => self.expect(expected).await,
                Step::Wait(time) => self.wait(*time).await,
                Step::Closed => self.closed().await,
                Step::Show(text) => self.printer.data(text).map_err(Failure::from),
            };
            done.map_err(|failure| at(steps, *number, failure))?;
        }
        // Answers that no line expects are shown.
        let last = steps.steps.last().map_or(0, |(number, _)| *number);
        while !self.open.is_empty() && !self.wire.is_idle() {
            if !self.pull().await.map_err(|failure| at(steps, last, failure))? {
                return Err(at(steps, last, self.ended().await));
            }
        }
        stop::never();
        match self.inbox.iter().find(|message| is_error(message)) {
            Some(error) => {
                let what = format!("{}: an answer that no line expects is an error: {error}", steps.name);
                Err(Failure::new(Exit::Error, what).hint("a line with `< ` and the error expects it"))
            }
            None => Ok(()),
        }
    }

    async fn send(&mut self, text: &str) -> Result<(), Failure> {
        let Some(text) = self.names.fill(text, MOST_WAITING) else {
            let what =
                format!("with the values of its names, this is longer than {}", ByteSize(MOST_WAITING));
            return Err(Failure::new(Exit::Error, what));
        };
        let text = text.into_owned();
        self.printer.transcript(&Line::ToServer(text.as_str().into()))?;
        let message = RawJson::new(text.as_str()).ok();
        let is_call = message.as_ref().is_none_or(|message| self.calls(message));
        self.spans.sent(&text);
        let sent = match is_call {
            true => self.wire.send(&text).await,
            // It wants no answer: over HTTP it need not wait for one.
            false => self.wire.send_now(&text).await,
        };
        sent.map_err(|error| Failure::new(Exit::Protocol, format_args!("not sent: {error}")))
    }

    /// Whether a message, or one of a batch, wants an answer. Their ids are remembered.
    fn calls(&mut self, message: &RawJson<'_>) -> bool {
        let messages: Vec<RawJson<'_>> = match message.kind() {
            sabir::JsonKind::Array => message.elements().collect(),
            _ => vec![message.as_borrowed()],
        };
        let before = self.open.len();
        for message in &messages {
            match (message.get("id"), message.get("method")) {
                (Some(id), Some(_)) => self.open.push(id.into_owned()),
                // MCP answers no request that was cancelled.
                (None, Some(method)) if method.as_str() == "\"notifications/cancelled\"" => {
                    let id =
                        message.get("params").and_then(|params| Some(params.get("requestId")?.into_owned()));
                    self.open.retain(|open| !id.as_ref().is_some_and(|id| is_equal(open, id)));
                }
                _ => {}
            }
        }
        self.open.len() > before
    }

    /// Takes the message that is meant, and compares it.
    async fn expect(&mut self, expected: &RawJson<'static>) -> Result<(), Failure> {
        loop {
            let names = &self.names;
            if let Some(place) = self.inbox.iter().position(|came| is_meant(expected, came, names)) {
                let Some(came) = self.inbox.remove(place) else { continue };
                self.waiting -= came.as_str().len();
                return self.names.compare(expected, &came).map_err(|difference| {
                    let what = format!("not as expected\nexpected: {expected}\ngot: {came}");
                    Failure::new(Exit::Error, what).hint(difference)
                });
            }
            if self.wire.is_idle() {
                return Err(Failure::new(
                    Exit::Error,
                    format_args!("nothing like this came\nexpected: {expected}"),
                )
                .hint("over HTTP, nothing comes but in answer to what is sent, and that is complete"));
            }
            if !self.pull().await? {
                let failure = self.ended().await;
                return Err(Failure { what: format!("{}\nexpected: {expected}", failure.what), ..failure });
            }
        }
    }

    async fn wait(&mut self, time: Duration) -> Result<(), Failure> {
        let end = Instant::now() + time;
        // What was posted over HTTP is not given up.
        while self.wire.is_posting() {
            self.pull().await?;
        }
        while !self.wire.is_idle() {
            match tokio::time::timeout_at(end, self.pull()).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => break,
                Ok(Err(failure)) => return Err(failure),
                Err(_) => return Ok(()),
            }
        }
        stop::never();
        tokio::select! {
            biased;
            interrupted = stop::interrupted() => Err(interrupted),
            () = tokio::time::sleep_until(end) => Ok(()),
        }
    }

    async fn closed(&mut self) -> Result<(), Failure> {
        while !self.wire.is_idle() {
            if !self.pull().await? {
                // What is open is not answered any more, as expected.
                self.open.clear();
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits for the next message, and shows it. `false` at the end of the connection.
    async fn pull(&mut self) -> Result<bool, Failure> {
        let peer = &self.plan.peer;
        let next = async { Ok(self.wire.next().await) };
        match in_time(Instant::now() + peer.timeout, self.plan, self.reporter, next).await? {
            Got::Message(text) => {
                self.spans.came(&text);
                let shown = String::from_utf8_lossy(&text);
                self.printer.transcript(&Line::ToClient(shown))?;
                if let Ok(message) = RawJson::from_bytes(&text) {
                    self.take(message.into_owned())?;
                }
                Ok(true)
            }
            Got::Nothing(lost) if lost.status.is_none_or(|status| status >= 300) => {
                Err(peer.undelivered(&lost))
            }
            Got::Nothing(_) => Ok(true),
            Got::TooLarge { limit } => Err(peer.too_large(PeerOptions::larger_than(limit), limit)),
            Got::End => match self.wire.failure(peer) {
                Some(failure) => Err(failure),
                None => Ok(false),
            },
        }
    }

    fn take(&mut self, message: RawJson<'static>) -> Result<(), Failure> {
        self.waiting += message.as_str().len();
        if self.waiting > MOST_WAITING {
            return Err(Failure::new(Exit::Protocol, "more comes than the steps expect"));
        }
        let answered = |message: &RawJson<'_>, open: &mut Vec<RawJson<'static>>| {
            if let (Some(id), None) = (message.get("id"), message.get("method")) {
                open.retain(|open| !is_equal(open, &id));
            }
        };
        message.elements().for_each(|message| answered(&message, &mut self.open));
        answered(&message, &mut self.open);
        self.inbox.push_back(message);
        Ok(())
    }

    async fn ended(&mut self) -> Failure {
        let reason = self.wire.exit_reason().await;
        let reason = reason.unwrap_or_else(|| "the peer closed the connection".to_owned());
        self.plan.peer.closed(&reason, &self.reporter.watch)
    }
}

/// With the place in the file.
fn at(steps: &Steps, number: usize, failure: Failure) -> Failure {
    match failure.what.is_empty() || failure.exit == Exit::Interrupted {
        true => failure,
        false => Failure { what: format!("{}:{number}: {}", steps.name, failure.what), ..failure },
    }
}

pub(super) fn is_error(message: &RawJson<'_>) -> bool {
    let is_one = |message: &RawJson<'_>| message.get("error").is_some_and(|error| error != RawJson::NULL);
    is_one(message) || message.elements().any(|message| is_one(&message))
}

/// Whether a message is the one that a line is about: the answer with its id, or what has its method.
fn is_meant(expected: &RawJson<'_>, came: &RawJson<'_>, names: &Names) -> bool {
    let is_same = |member: &str| match (expected.get(member), came.get(member)) {
        (Some(expected), Some(came)) => {
            names.known(&expected).is_none_or(|expected| is_equal(&expected, &came))
        }
        (expected, _) => expected.is_none(),
    };
    match (expected.kind(), expected.get("method")) {
        (kind, _) if kind != came.kind() => false,
        (_, Some(_)) => is_same("method"),
        (_, None) => came.get("method").is_none() && is_same("id"),
    }
}
