//! Sends probes to a live peer, byte by byte: a session would not send what is wrong.
//!
//! A barrier follows each probe: a call whose answer shows that the peer has handled what came before. So the absence of
//! an answer is known without waiting for a timeout.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use sabir_model::capture::{Direction, Record, What};
use sabir_model::rules::{Checker, Finding, LIVE001, LIVE008, Profile, Rule};
use sabir_proto::{Incoming, LENIENT, Limits, Message, RawJson, decode};
use tokio::time::{Instant, timeout_at};

use super::Rules;
use super::identify::{Identified, identify};
use super::output::Output;
use super::pace::{FIRST_TIMEOUT, Pace};
use super::probes::{Probe, ProbeBuilder, START, answered_id};
use super::saved::Transcript;
use super::wire::{Got, Wire, WireTarget};
use crate::exit::Failure;
use crate::peer::PeerOptions;

/// How long the answer may take that shows what the peer is.
const IDENTIFY_TIMEOUT: Duration = Duration::from_secs(5);
/// What the ids of barriers begin with.
const BARRIER: &str = "sabir-barrier-";
/// Messages of the peer that are looked at for one probe.
const MOST_MESSAGES: usize = 1000;

/// How much was sent and received.
pub(super) struct Done {
    pub(super) probes: u64,
    pub(super) answers: u64,
}

/// Sends everything to the target, and checks what comes back. Without a profile it is found out first.
pub(super) async fn probe(
    mut target: WireTarget,
    profile: Option<Profile>,
    params: Option<RawJson<'static>>,
    rules: Rules,
    output: &mut Output<'_>,
    transcript: Option<Transcript>,
) -> Result<Done, Failure> {
    let random = RandomState::new().hash_one(0);
    let method = format!("sabir.probe.{random:016x}");
    let Identified { wire, is_open, said } = match profile {
        Some(_) => Identified::new(target.open().await?),
        None => identify(&mut target, &method, IDENTIFY_TIMEOUT).await?,
    };
    output.set_profile(target.profile);
    let builder = ProbeBuilder { profile: target.profile, method, params };
    let mut prober = Prober {
        builder: builder.clone(),
        checker: rules.checker(target.profile),
        target: &target,
        output,
        transcript,
        held: Vec::new(),
        known: HashSet::new(),
        wire,
        number: 0,
        connection: 1,
        barriers: 0,
        pace: Pace::default(),
        capabilities: None,
        done: Done { probes: 0, answers: 0 },
    };
    for (direction, text) in said {
        prober.check_message(&text, direction)?;
        if direction == Direction::ToClient {
            prober.done.answers += 1;
            prober.learn(&text);
        }
    }
    let answers = prober.open(is_open).await?;
    prober.report(&[])?;
    if answers {
        for probe in builder.probes() {
            let goes_on = prober.probe(&probe).await?;
            prober.report(&[])?;
            if !goes_on {
                break;
            }
        }
        for text in builder.closing() {
            prober.send(&text).await?;
        }
    }
    let Prober { wire, done, transcript, .. } = prober;
    wire.close().await;
    transcript.map_or(Ok(()), Transcript::end)?;
    Ok(done)
}

/// What came before the answer to a barrier.
#[derive(Default)]
struct Replies {
    texts: Vec<Vec<u8>>,
    /// Which message of the exchange each of them is.
    numbers: Vec<u64>,
    /// The status of HTTP that came instead of a reply, if it is not a success.
    refused: Option<u16>,
    /// A reply came with such a status.
    with_refusal: bool,
}

struct Prober<'p, 'o> {
    builder: ProbeBuilder,
    target: &'p WireTarget,
    checker: Checker,
    output: &'p mut Output<'o>,
    transcript: Option<Transcript>,
    /// What the rules found since the last probe: the verdict on the probe may say the same better.
    held: Vec<Finding>,
    /// Rules that answers to barriers have broken. All these answers are alike.
    known: HashSet<&'static str>,
    wire: Wire,
    number: u64,
    connection: u64,
    barriers: u64,
    pace: Pace,
    /// The capabilities in the peer's first answer.
    capabilities: Option<RawJson<'static>>,
    done: Done,
}

/// How waiting for an answer ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waited {
    Answered,
    TimedOut,
    Ended,
}

/// A barrier, and what came until it was answered.
struct Barrier {
    waited: Waited,
    replies: Replies,
    text: String,
    number: u64,
}

impl Prober<'_, '_> {
    /// Opens the session unless it `is_open`, and makes sure that the peer answers at all.
    async fn open(&mut self, is_open: bool) -> Result<bool, Failure> {
        let (request, notification) = match self.builder.opening() {
            Some((request, notification)) => (Some(request), Some(notification)),
            None => (self.builder.discovery(), None),
        };
        if let Some(request) = request {
            if !is_open {
                let number = self.send(&request).await?;
                let (waited, _) = self.collect(START, FIRST_TIMEOUT, |_| true).await?;
                if waited != Waited::Answered {
                    self.unanswered(&request, number, waited).await?;
                    return Ok(false);
                }
            }
            if let Some(notification) = notification {
                self.send(&notification).await?;
            }
            self.lists().await?;
        }
        let Barrier { waited, text, number, .. } = self.barrier(FIRST_TIMEOUT, |_| true).await?;
        if waited != Waited::Answered {
            self.unanswered(&text, number, waited).await?;
        }
        Ok(waited == Waited::Answered)
    }

    /// Asks an MCP server for the lists that it declares. The rules check what comes.
    async fn lists(&mut self) -> Result<(), Failure> {
        let Some(capabilities) =
            self.capabilities.take().filter(|_| matches!(self.builder.profile, Profile::Mcp(_)))
        else {
            return Ok(());
        };
        for (id, request) in self.builder.lists(&capabilities) {
            let number = self.send(&request).await?;
            let (waited, _) = self.collect(&id, self.pace.timeout(), |_| true).await?;
            if waited != Waited::Answered {
                self.unanswered(&request, number, waited).await?;
            }
        }
        Ok(())
    }

    /// The request was valid, and no answer came.
    async fn unanswered(&mut self, request: &str, number: u64, waited: Waited) -> Result<(), Failure> {
        let peer = &self.target.peer;
        let is_plain = self.builder.profile == Profile::JsonRpc;
        let status = self.wire.status();
        let hinted = |failure: Failure| match status {
            Some(400 | 405 | 406 | 415) if is_plain => {
                failure.hint("if it is an MCP server, try --profile mcp")
            }
            _ => failure,
        };
        if let Some(failure) = self.wire.failure(peer) {
            return Err(hinted(failure));
        }
        // A body that is a message comes with a status all the same.
        if let Some(refusal) = self.wire.refusal() {
            return Err(hinted(peer.undelivered(refusal)));
        }
        // Nobody is there whose fault it could be.
        if waited == Waited::Ended
            && peer.is_behind_nats()
            && let Some(reason) = self.wire.exit_reason().await
        {
            return Err(peer.closed(&reason, &self.target.watch));
        }
        let what = match waited {
            Waited::Ended => "the peer closed the connection without an answer",
            _ => "no answer came",
        };
        self.output.hint(peer.other_protocols(is_plain, &self.target.watch));
        self.found(&LIVE001, request.as_bytes(), (number, Direction::ToServer), what.to_owned())
    }

    /// Sends one probe and checks the replies. Returns whether the peer can be sent more.
    async fn probe(&mut self, probe: &Probe) -> Result<bool, Failure> {
        self.done.probes += 1;
        let number = self.send(&probe.text).await?;
        let Barrier { waited, replies, .. } =
            self.barrier(self.pace.timeout(), |replies| probe.is_met(replies)).await?;
        // Over HTTP, a status tells the sender as well as an error does.
        let is_told = match probe.wants_answer() {
            true => probe.is_invalid() && replies.texts.is_empty() && replies.refused.is_some(),
            false => replies.with_refusal,
        };
        if is_told {
            self.report(&replies.numbers)?;
        }
        if let Some((rule, mut what, shown)) = probe.verdict(&replies.texts)
            && waited == Waited::Answered
            && !is_told
        {
            if let Some(status) = replies.refused.filter(|_| replies.texts.is_empty()) {
                what = format!("{what} (HTTP {status})");
            }
            match shown.and_then(|index| Some((replies.texts.get(index)?, *replies.numbers.get(index)?))) {
                Some((reply, number)) => {
                    self.report(&[number])?;
                    self.found(rule, reply, (number, Direction::ToClient), what)?;
                }
                None => self.found(rule, probe.text.as_bytes(), (number, Direction::ToServer), what)?,
            }
        }
        if waited == Waited::Answered {
            return Ok(true);
        }
        // A connection may be closed after what cannot be read, once the sender is told.
        let is_closed_well = waited == Waited::Ended
            && probe.is_invalid()
            && self.target.peer.target.scheme().is_some()
            && probe.verdict(&replies.texts).is_none();
        if is_closed_well {
            return self.reopen().await;
        }
        let what = match (waited, probe.is_invalid()) {
            (Waited::Ended, _) => "the peer closes the connection after this",
            (_, true) => "the peer does not answer any more after this",
            (_, false) => "the peer does not answer any more after this valid message",
        };
        self.found(&LIVE008, probe.text.as_bytes(), (number, Direction::ToServer), what.to_owned())?;
        self.reopen().await
    }

    async fn reopen(&mut self) -> Result<bool, Failure> {
        self.connection += 1;
        self.wire = self.target.open().await?;
        self.open(false).await
    }

    /// Prints what the rules found, except for what a verdict on the messages of these numbers says too: an id
    /// that belongs to no request.
    fn report(&mut self, judged: &[u64]) -> Result<(), Failure> {
        for finding in std::mem::take(&mut self.held) {
            let is_same = judged.contains(&finding.line) && ["RPC021", "RPC022"].contains(&finding.rule.id);
            if !is_same {
                self.output.finding(&finding)?;
            }
        }
        Ok(())
    }

    /// Returns the number of the message in the exchange.
    async fn send(&mut self, text: &str) -> Result<u64, Failure> {
        let number = self.check_message(text.as_bytes(), Direction::ToServer)?;
        // If the peer is gone, waiting for its answer shows it.
        let _ = self.wire.send(text).await;
        Ok(number)
    }

    /// Sends a barrier and waits for its answer.
    async fn barrier(
        &mut self,
        timeout: Duration,
        is_met: impl Fn(&[Vec<u8>]) -> bool,
    ) -> Result<Barrier, Failure> {
        self.barriers += 1;
        let id = format!("\"{BARRIER}{}\"", self.barriers);
        let text = self.builder.call(Some(&id));
        let number = self.send(&text).await?;
        let (waited, replies) = self.collect(&id, timeout, is_met).await?;
        Ok(Barrier { waited, replies, text, number })
    }

    /// Collects replies until one has this id, and a little longer if the probe's own answer is missing.
    async fn collect(
        &mut self,
        id: &str,
        timeout: Duration,
        is_met: impl Fn(&[Vec<u8>]) -> bool,
    ) -> Result<(Waited, Replies), Failure> {
        let mut last = Instant::now();
        let mut deadline = last + timeout;
        let mut replies = Replies::default();
        let mut passed = false;
        let mut messages = 0;
        while messages < MOST_MESSAGES && !(passed && is_met(&replies.texts)) && !self.wire.is_idle() {
            messages += 1;
            let text = match timeout_at(deadline, self.wire.next()).await {
                Err(_) => break,
                Ok(Got::End) if passed => break,
                Ok(Got::End) => return Ok((Waited::Ended, replies)),
                Ok(Got::Nothing(lost)) => {
                    if let Some(status @ 300..) = lost.status {
                        replies.refused.get_or_insert(status);
                    }
                    continue;
                }
                Ok(Got::TooLarge { limit }) => {
                    return Err(self.target.peer.too_large(PeerOptions::larger_than(limit), limit));
                }
                Ok(Got::Message(text)) => text,
            };
            self.done.answers += 1;
            self.pace.answered_in(last.elapsed());
            last = Instant::now();
            // As long as it answers, the next answer has its own time.
            if !passed {
                deadline = last + timeout;
            }
            let number = self.check_message(&text, Direction::ToClient)?;
            let limits = Limits { message_bytes: self.target.peer.max_size, ..Limits::default() };
            match decode(&text, &LENIENT, &limits) {
                Ok(Incoming::One(_)) if answered_id(&text).is_some_and(|came| came.text() == id) => {
                    passed = true;
                    deadline = Instant::now() + self.pace.late();
                    self.refuses_strangers(&text)?;
                    if id == START {
                        self.learn(&text);
                    }
                }
                Ok(Incoming::One(Ok(Message::Request(request)))) => {
                    let refusal = format!(
                        r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"Method not found"}}}}"#,
                        request.id
                    );
                    self.send(&refusal).await?;
                }
                Ok(Incoming::One(Ok(Message::Notification(_)))) | Err(_) => {}
                Ok(_) => {
                    replies.with_refusal |= self.wire.status().is_some_and(|status| status >= 300);
                    replies.texts.push(text);
                    replies.numbers.push(number);
                }
            }
        }
        Ok((if passed { Waited::Answered } else { Waited::TimedOut }, replies))
    }

    /// A peer that wants credentials answers all calls alike: there is nothing to check.
    fn refuses_strangers(&self, text: &[u8]) -> Result<(), Failure> {
        let Ok(Incoming::One(Ok(Message::Response(response)))) = decode(text, &LENIENT, &Limits::default())
        else {
            return Ok(());
        };
        match response.outcome {
            Err(error) if wants_credentials(&error.message) => {
                let has_params = self.builder.params.is_some();
                Err(self.target.peer.wants_credentials(error.code.0, &error.message, has_params))
            }
            _ => Ok(()),
        }
    }

    /// Keeps the capabilities in the peer's first answer.
    fn learn(&mut self, text: &[u8]) {
        if let Ok(Incoming::One(Ok(Message::Response(response)))) = decode(text, &LENIENT, &Limits::default())
            && let Ok(result) = &response.outcome
        {
            self.capabilities = result.get("capabilities").map(RawJson::into_owned);
        }
    }

    /// Checks a message by the rules, and returns its number in the exchange. What we send ourselves may be wrong on
    /// purpose, and is not reported.
    fn check_message(&mut self, text: &[u8], direction: Direction) -> Result<u64, Failure> {
        self.number += 1;
        if let Some(transcript) = &mut self.transcript {
            transcript.message(text, direction)?;
        }
        let record = record(text, (self.number, direction), self.connection);
        for finding in self.checker.check(&record) {
            let is_barrier = text.windows(BARRIER.len()).any(|part| part == BARRIER.as_bytes());
            if finding.direction == Some(Direction::ToClient)
                && (!is_barrier || self.known.insert(finding.rule.id))
            {
                self.held.push(finding);
            }
        }
        Ok(self.number)
    }

    fn found(
        &mut self,
        rule: &'static Rule,
        text: &[u8],
        at: (u64, Direction),
        what: String,
    ) -> Result<(), Failure> {
        let finding = Finding::new(rule, &record(text, at, self.connection), what);
        match self.checker.admit(finding) {
            Some(finding) => self.output.finding(&finding),
            None => Ok(()),
        }
    }
}

/// Whether the message of an error says that the caller is not known.
fn wants_credentials(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["unauthorized", "unauthorised", "unauthenticated", "not authenticated", "authentication required"]
        .iter()
        .any(|words| message.contains(words))
}

/// A message of the exchange. Its number takes the place of a line number.
fn record(text: &[u8], (number, direction): (u64, Direction), connection: u64) -> Record<'_> {
    Record {
        number,
        line: number,
        column: 1,
        offset: 0,
        length: text.len() as u64,
        verbatim: true,
        time: None,
        direction: Some(direction),
        connection,
        exchange: None,
        what: What::Message(Cow::Borrowed(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_want_credentials() {
        for (message, want) in [
            ("Unauthorized", true),
            ("401 Unauthorized: no token", true),
            ("Method not found", false),
            ("", false),
        ] {
            assert_eq!(wants_credentials(message), want, "{message}");
        }
    }
}
