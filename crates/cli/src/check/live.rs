//! Talks to a live peer, byte by byte, so that it can be sent what no session would send.
//!
//! Behind each probe goes a fence, a call whose answer shows that the peer is done with what came before. So
//! silence is known without waiting for it.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use sabir::Framing;
use sabir_model::capture::{Direction, Record, What};
use sabir_model::rules::{Checker, Finding, LIVE001, LIVE008, Profile, Rule};
use sabir_proto::{Incoming, LENIENT, Limits, Message, RawJson, decode};
use tokio::time::{Instant, timeout_at};

use super::output::Output;
use super::probes::{Probe, ProbeBuilder, START};
use super::wire::{Got, Wire, WireTarget};
use crate::exit::{Exit, Failure};
use crate::failed;
use crate::misframed::is_header;
use crate::target::status_hint;

/// How long the first answer may take: the peer may have to start.
const FIRST: Duration = Duration::from_secs(10);
/// How long a later one may take.
const LATER: Duration = Duration::from_secs(2);
/// How long an answer may come after that to the fence behind it.
const STRAGGLER: Duration = Duration::from_millis(100);
/// Messages of the peer that are looked at for one probe.
const MANY: usize = 1000;

/// What was done.
pub(super) struct Done {
    pub(super) probes: u64,
    pub(super) answers: u64,
}

/// Sends everything to the target, and checks what comes back.
pub(super) async fn probe(
    way: &WireTarget,
    checker: &mut Checker,
    output: &mut Output<'_>,
) -> Result<Done, Failure> {
    let random = RandomState::new().hash_one(0);
    let builder = ProbeBuilder { profile: way.profile, method: format!("sabir.probe.{random:016x}") };
    let mut prober = Prober {
        builder: builder.clone(),
        way,
        checker,
        output,
        wire: way.open().await?,
        number: 0,
        connection: 1,
        fences: 0,
        capabilities: None,
        done: Done { probes: 0, answers: 0 },
    };
    if prober.open().await? {
        for probe in builder.probes() {
            if !prober.probe(&probe).await? {
                break;
            }
        }
        for text in builder.closing() {
            prober.send(&text).await?;
        }
        let Prober { wire, done, .. } = prober;
        wire.close().await;
        return Ok(done);
    }
    Ok(prober.done)
}

/// What came before a fence.
#[derive(Default)]
struct Replies {
    texts: Vec<Vec<u8>>,
    /// Which message of the exchange each of them is.
    numbers: Vec<u64>,
    /// What HTTP said instead of a reply, if it refused.
    refused: Option<u16>,
    /// A reply came with a status that refuses.
    with_refusal: bool,
}

struct Prober<'p, 'o> {
    builder: ProbeBuilder,
    way: &'p WireTarget,
    checker: &'p mut Checker,
    output: &'p mut Output<'o>,
    wire: Wire,
    number: u64,
    connection: u64,
    fences: u64,
    /// What the peer says it can do, in its first answer.
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

/// A fence, and what waiting for it brought.
struct Fence {
    waited: Waited,
    replies: Replies,
    text: String,
    number: u64,
}

impl Prober<'_, '_> {
    /// Opens the session, and makes sure that the peer answers at all.
    async fn open(&mut self) -> Result<bool, Failure> {
        let (request, notification) = match self.builder.opening() {
            Some((request, notification)) => (Some(request), Some(notification)),
            None => (self.builder.discovery(), None),
        };
        if let Some(request) = request {
            let number = self.send(&request).await?;
            let (waited, _) = self.collect(START, FIRST, |_| true).await?;
            if waited != Waited::Answered {
                self.silent(&request, number, waited)?;
                return Ok(false);
            }
            if let Some(notification) = notification {
                self.send(&notification).await?;
            }
            self.lists().await?;
        }
        let Fence { waited, text, number, .. } = self.barrier(FIRST, |_| true).await?;
        if waited != Waited::Answered {
            self.silent(&text, number, waited)?;
        }
        Ok(waited == Waited::Answered)
    }

    /// Asks a peer of MCP for what it says it has. The rules look at what comes.
    async fn lists(&mut self) -> Result<(), Failure> {
        let Some(capabilities) =
            self.capabilities.take().filter(|_| matches!(self.builder.profile, Profile::Mcp(_)))
        else {
            return Ok(());
        };
        for (id, request) in self.builder.lists(&capabilities) {
            let number = self.send(&request).await?;
            let (waited, _) = self.collect(&id, LATER, |_| true).await?;
            if waited != Waited::Answered {
                self.silent(&request, number, waited)?;
            }
        }
        Ok(())
    }

    /// The request was valid, and no answer came.
    fn silent(&mut self, request: &str, number: u64, waited: Waited) -> Result<(), Failure> {
        if let Some(status @ 300..) = self.wire.status() {
            let failure =
                Failure::new(Exit::Connect, format_args!("{} answers with HTTP {status}", self.way.target));
            let hint = match (status, self.builder.profile) {
                (400 | 405 | 406 | 415, Profile::JsonRpc) => "if it is an MCP server, try --profile mcp",
                _ => status_hint(status),
            };
            return Err(failure.hint(hint));
        }
        let what = match waited {
            Waited::Ended => "the peer ended without an answer",
            _ => "no answer comes",
        };
        self.found(&LIVE001, request.as_bytes(), (number, Direction::ToServer), what.to_owned())
    }

    /// Sends one probe and judges the replies. Whether there is any sense in going on.
    async fn probe(&mut self, probe: &Probe) -> Result<bool, Failure> {
        self.done.probes += 1;
        let number = self.send(&probe.text).await?;
        let Fence { waited, replies, .. } = self.barrier(LATER, |replies| probe.is_met(replies)).await?;
        // Over HTTP, a status that refuses tells the sender as well as an error does.
        let told = match probe.wants_answer() {
            true => probe.is_rude() && replies.texts.is_empty() && replies.refused.is_some(),
            false => replies.with_refusal,
        };
        if let Some((rule, mut what, shown)) = probe.verdict(&replies.texts)
            && waited == Waited::Answered
            && !told
        {
            if let Some(status) = replies.refused.filter(|_| replies.texts.is_empty()) {
                what = format!("{what} (HTTP {status})");
            }
            match shown.and_then(|index| Some((replies.texts.get(index)?, *replies.numbers.get(index)?))) {
                Some((reply, number)) => self.found(rule, reply, (number, Direction::ToClient), what)?,
                None => self.found(rule, probe.text.as_bytes(), (number, Direction::ToServer), what)?,
            }
        }
        if waited == Waited::Answered {
            return Ok(true);
        }
        let what = match (waited, probe.is_rude()) {
            (Waited::Ended, _) => "the peer ends on this",
            (_, true) => "after this the peer answers nothing more",
            (_, false) => "after this valid message the peer answers nothing more",
        };
        self.found(&LIVE008, probe.text.as_bytes(), (number, Direction::ToServer), what.to_owned())?;
        self.connection += 1;
        self.wire = self.way.open().await?;
        self.open().await
    }

    /// Which message of the exchange it is.
    async fn send(&mut self, text: &str) -> Result<u64, Failure> {
        let number = self.look(text.as_bytes(), Direction::ToServer)?;
        // A peer that is gone shows when its answer is waited for.
        let _ = self.wire.send(text).await;
        Ok(number)
    }

    /// Sends a fence and waits for it.
    async fn barrier(
        &mut self,
        patience: Duration,
        is_met: impl Fn(&[Vec<u8>]) -> bool,
    ) -> Result<Fence, Failure> {
        self.fences += 1;
        let id = format!("\"sabir-fence-{}\"", self.fences);
        let text = self.builder.call(Some(&id));
        let number = self.send(&text).await?;
        let (waited, replies) = self.collect(&id, patience, is_met).await?;
        Ok(Fence { waited, replies, text, number })
    }

    /// Takes replies until one has this id, and a little longer for what is still wanted.
    async fn collect(
        &mut self,
        id: &str,
        patience: Duration,
        is_met: impl Fn(&[Vec<u8>]) -> bool,
    ) -> Result<(Waited, Replies), Failure> {
        let mut deadline = Instant::now() + patience;
        let mut replies = Replies::default();
        let mut fenced = false;
        while replies.texts.len() < MANY && !(fenced && is_met(&replies.texts)) && !self.wire.is_idle() {
            let text = match timeout_at(deadline, self.wire.next()).await {
                Err(_) => break,
                Ok(Got::End) if fenced => break,
                Ok(Got::End) => return Ok((Waited::Ended, replies)),
                Ok(Got::Nothing { status }) => {
                    if status >= 300 {
                        replies.refused.get_or_insert(status);
                    }
                    continue;
                }
                Ok(Got::TooLarge { limit }) => {
                    let what = format!("a message of {} is larger than {limit} bytes", self.way.target);
                    return Err(failed::too_large(what, limit));
                }
                Ok(Got::Message(text)) => text,
            };
            if self.way.framing == Framing::Lines && is_header(&text) {
                let what = format!("{} answers with Content-Length headers, not in lines", self.way.target);
                return Err(Failure::new(Exit::Protocol, what).hint("try --framing headers"));
            }
            self.done.answers += 1;
            let number = self.look(&text, Direction::ToClient)?;
            let limits = Limits { message_bytes: self.way.max_size, ..Limits::default() };
            match decode(&text, &LENIENT, &limits) {
                Ok(Incoming::One(Ok(Message::Response(response)))) if response.id.text() == id => {
                    fenced = true;
                    deadline = Instant::now() + STRAGGLER;
                    if let Ok(result) = &response.outcome
                        && id == START
                    {
                        self.capabilities = result.get("capabilities").map(RawJson::into_owned);
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
        Ok((if fenced { Waited::Answered } else { Waited::TimedOut }, replies))
    }

    /// Checks a message by the rules. What we send ourselves is wrong on purpose.
    /// Which message of the exchange it is.
    fn look(&mut self, text: &[u8], direction: Direction) -> Result<u64, Failure> {
        self.number += 1;
        let record = self.record(text, (self.number, direction));
        for finding in self.checker.check(&record) {
            if finding.direction == Some(Direction::ToClient) {
                self.output.finding(&finding)?;
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
        let finding = Finding::new(rule, &self.record(text, at), what);
        match self.checker.admit(finding) {
            Some(finding) => self.output.finding(&finding),
            None => Ok(()),
        }
    }

    /// A message of the exchange, whose number stands in for a line.
    fn record<'t>(&self, text: &'t [u8], (number, direction): (u64, Direction)) -> Record<'t> {
        Record {
            number,
            line: number,
            column: 1,
            offset: 0,
            verbatim: true,
            time: None,
            direction: Some(direction),
            connection: self.connection,
            what: What::Message(Cow::Borrowed(text)),
        }
    }
}
