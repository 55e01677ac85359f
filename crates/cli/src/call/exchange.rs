//! Sends a batch as it is in the file, with its ids, and matches the answers. A session would assign ids of its own.

use sabir::transport::Direction;
use sabir::{ErrorCode, ErrorObject, LENIENT, RawJson};
use sabir_proto::{Id, Incoming, Limits, Message, NotificationStyle, Response, decode};
use tokio::time::Instant;

use super::batch::Entry;
use super::plan::Plan;
use super::report::{Named, Reporter};
use super::spans::CallSpans;
use super::{FLUSH_TIMEOUT, in_time};
use crate::check::wire::{Got, Wire, WireTarget};
use crate::exit::{Exit, Failure};
use crate::peer::PeerOptions;
use crate::print::Printer;
use crate::problem::unreadable;
use crate::stop;
use crate::trace;

/// The answers to the calls, in the order of the file; none for notifications.
type Answers = Vec<Option<RawJson<'static>>>;

pub(super) async fn send(
    entries: &[Entry],
    plan: &Plan,
    reporter: &Reporter,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let deadline = Instant::now() + plan.peer.timeout;
    if plan.peer.traces() {
        printer.say_in_comments();
    }
    let target = WireTarget {
        peer: plan.peer.clone(),
        profile: plan.profile,
        printer: plan.peer.traces().then(|| printer.clone()),
        watch: reporter.watch.clone(),
    };
    let wire = in_time(deadline, plan, reporter, target.open()).await?;
    let answers = vec![None; entries.len()];
    let spans = CallSpans::default();
    let mut exchange = Exchange { wire, answers, refusal: None, spans, entries, plan, reporter, printer };
    let done = in_time(deadline, plan, reporter, exchange.run()).await;
    if let Err(Failure { exit: Exit::Timeout | Exit::Interrupted, .. }) = done {
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, exchange.cancel()).await;
    }
    let Exchange { wire, answers, refusal, .. } = exchange;
    wire.close().await;
    if done.is_ok() {
        stop::never();
    }
    let exit = report(entries, &answers, reporter)?;
    // An error without an id answers the calls that have no answer of their own.
    if let (Some(error), Some(entry)) = (refusal, unanswered(entries, &answers).next())
        && let Some(id) = &entry.id
    {
        let named = Named { id, method: &entry.method, in_batch: true };
        return reporter.refusal(named, &error);
    }
    done.map(|()| exit)
}

struct Exchange<'p> {
    wire: Wire,
    answers: Answers,
    /// An error without an id: the peer refused the batch as a whole.
    refusal: Option<RawJson<'static>>,
    spans: CallSpans,
    entries: &'p [Entry],
    plan: &'p Plan,
    reporter: &'p Reporter,
    printer: &'p Printer,
}

impl Exchange<'_> {
    async fn run(&mut self) -> Result<(), Failure> {
        let messages: Vec<_> = self.entries.iter().map(Entry::message).collect();
        self.post(&format!("[{}]", messages.join(","))).await?;
        let peer = &self.plan.peer;
        // Over HTTP, what wants no answer still gets a status.
        while (self.open() > 0 && self.refusal.is_none()) || self.wire.is_posting() {
            if self.wire.is_idle() {
                let what = format!("the answer from {} is for none of the calls", peer.target);
                return Err(peer.invalid_answer(what));
            }
            match self.wire.next().await {
                Got::Message(text) => {
                    if peer.traces() {
                        trace::message(Direction::Received, &text, self.printer);
                    }
                    self.spans.came(&text);
                    self.take(&text).await?;
                }
                Got::Nothing(lost) => {
                    if self.open() > 0 || lost.status.is_none_or(|status| status >= 300) {
                        return Err(peer.undelivered(&lost));
                    }
                }
                Got::TooLarge { limit } => {
                    return Err(peer.too_large(PeerOptions::larger_than(limit), limit));
                }
                Got::End => {
                    let reason = self.wire.exit_reason().await;
                    let reason = reason.unwrap_or_else(|| "the peer closed the connection".to_owned());
                    let failure = self.wire.failure(peer);
                    return Err(failure.unwrap_or_else(|| peer.closed(&reason, &self.reporter.watch)));
                }
            }
        }
        Ok(())
    }

    /// How many calls have no answer.
    fn open(&self) -> usize {
        unanswered(self.entries, &self.answers).count()
    }

    async fn post(&mut self, text: &str) -> Result<(), Failure> {
        if self.plan.peer.traces() {
            trace::message(Direction::Sent, text.as_bytes(), self.printer);
        }
        self.spans.sent(text);
        let sent = self.wire.send(text).await;
        sent.map_err(|error| Failure::new(Exit::Protocol, format_args!("not sent: {error}")))
    }

    /// Cancels the calls that have no answer. Over HTTP without a session, closing the connection does that.
    async fn cancel(&mut self) {
        if !self.wire.takes_cancels() {
            return;
        }
        let dialect = self.plan.dialect.unwrap_or(LENIENT);
        let open: Vec<&Entry> = unanswered(self.entries, &self.answers)
            .filter(|entry| !dialect.never_cancelled.contains(&entry.method.as_str()))
            .collect();
        for entry in open {
            let Some(id) = &entry.id else { continue };
            let text = match dialect.cancel {
                NotificationStyle::Dollar => {
                    format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#)
                }
                NotificationStyle::Notifications => format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                ),
                _ => continue,
            };
            if self.plan.peer.traces() {
                trace::message(Direction::Sent, text.as_bytes(), self.printer);
            }
            if self.wire.send_now(&text).await.is_err() {
                return;
            }
        }
    }

    async fn take(&mut self, text: &[u8]) -> Result<(), Failure> {
        let peer = &self.plan.peer;
        let limits = Limits { message_bytes: peer.max_size, ..Limits::default() };
        match decode(text, &self.plan.dialect.unwrap_or(LENIENT), &limits) {
            Err(error) if peer.target.delimits_messages() => Err(peer.invalid_answer(format_args!(
                "the answer from {} {}",
                peer.target,
                unreadable(&error)
            ))),
            Err(error) => {
                self.reporter.not_json(text, &error);
                Ok(())
            }
            Ok(Incoming::One(Ok(message))) => {
                self.one(&message, &RawJson::from_bytes(text).map_err(Failure::usage)?).await
            }
            Ok(Incoming::One(Err(invalid))) => {
                Err(peer.invalid_answer(format_args!("the answer breaks the protocol: {}", invalid.fault)))
            }
            Ok(Incoming::Batch(messages)) => {
                let texts = RawJson::from_bytes(text).map_err(Failure::usage)?;
                let mut answers = 0;
                for (message, text) in messages.iter().zip(texts.elements()) {
                    if let Ok(message) = message {
                        answers += usize::from(matches!(message, Message::Response(_)));
                        self.one(message, &text).await?;
                    }
                }
                match self.open() {
                    left if left > 0 && answers > 0 && self.refusal.is_none() => {
                        let what = format!("the answer to the batch leaves out {left} of its calls");
                        Err(peer.invalid_answer(what))
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    async fn one(&mut self, message: &Message<'_>, text: &RawJson<'_>) -> Result<(), Failure> {
        match message {
            Message::Response(Response { id, outcome }) => match (self.call(id), outcome) {
                (Some(index), _) => {
                    let answer = text.clone().into_owned();
                    self.reporter.came(&self.entries[index], &answer)?;
                    self.answers[index] = Some(answer);
                }
                (None, Err(_)) if id.is_null() && self.open() > 0 => {
                    self.refusal = text.get("error").map(RawJson::into_owned);
                }
                _ => self.reporter.warning(&format!("answer with id {id}, which no call has")),
            },
            Message::Notification(notification) => {
                self.reporter.told(&notification.method, notification.params.as_ref());
            }
            Message::Request(request) => {
                self.reporter.called(&request.method);
                let error = ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND);
                let error = RawJson::from_value(&error).unwrap_or(RawJson::NULL);
                self.post(&format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, request.id)).await?;
            }
        }
        Ok(())
    }

    /// The open call with this id. Old servers send a number back as a string.
    fn call(&self, came: &Id<'_>) -> Option<usize> {
        let is = |entry: &Entry| {
            let id = entry.id.clone().and_then(Id::from_json);
            id.is_some_and(|id| id == *came || came.as_str().is_some_and(|came| came == id.text()))
        };
        self.entries.iter().zip(&self.answers).position(|(entry, answer)| answer.is_none() && is(entry))
    }
}

fn unanswered<'e>(entries: &'e [Entry], answers: &'e Answers) -> impl Iterator<Item = &'e Entry> {
    let both = entries.iter().zip(answers);
    both.filter(|(entry, answer)| entry.id.is_some() && answer.is_none()).map(|(entry, _)| entry)
}

/// For people, in the order of the file. With `--json` each was printed when it came.
fn report(entries: &[Entry], answers: &Answers, reporter: &Reporter) -> Result<Exit, Failure> {
    let mut exit = Exit::Ok;
    for (entry, answer) in entries.iter().zip(answers) {
        let Entry { id, method, .. } = entry;
        if let (Some(id), Some(answer)) = (id, answer) {
            let named = Named { id, method, in_batch: true };
            if reporter.answer(named, answer)? == Exit::Error {
                exit = Exit::Error;
            }
        }
    }
    Ok(exit)
}
