//! A batch goes out as it stands in the file, with its ids, and what comes is taken as it comes. A session would give it
//! ids of its own.

use sabir::transport::Wire as Direction;
use sabir::{ErrorCode, ErrorObject, RawJson};
use sabir_proto::{Id, Incoming, Limits, Message, Response, decode};

use super::batch::Entry;
use super::plan::Plan;
use super::report::{Named, Reporter};
use crate::check::wire::{Got, Wire, WireTarget};
use crate::exit::{Exit, Failure};
use crate::failed;
use crate::print::Printer;
use crate::target::status_hint;
use crate::trace;

/// What came for the calls, in the order of the file; nothing for notifications.
type Answers = Vec<Option<RawJson<'static>>>;

pub(super) async fn send(
    entries: &[Entry],
    plan: &Plan,
    reporter: &Reporter,
    printer: &Printer,
) -> Result<Exit, Failure> {
    if plan.trace {
        printer.say_in_comments();
    }
    let way = WireTarget {
        target: plan.target.clone(),
        framing: plan.framing,
        web: plan.web.clone(),
        profile: sabir_model::rules::Profile::default(),
        max_size: plan.max_size,
        printer: plan.trace.then(|| printer.clone()),
    };
    let mut exchange = Exchange {
        wire: way.open().await?,
        answers: vec![None; entries.len()],
        entries,
        plan,
        reporter,
        printer,
    };
    let done = exchange.run().await;
    let Exchange { wire, answers, .. } = exchange;
    wire.close().await;
    let exit = report(entries, &answers, reporter)?;
    done.map(|()| exit)
}

struct Exchange<'p> {
    wire: Wire,
    answers: Answers,
    entries: &'p [Entry],
    plan: &'p Plan,
    reporter: &'p Reporter,
    printer: &'p Printer,
}

impl Exchange<'_> {
    async fn run(&mut self) -> Result<(), Failure> {
        let messages: Vec<_> = self.entries.iter().map(Entry::message).collect();
        self.post(&format!("[{}]", messages.join(","))).await?;
        // Over HTTP, what wants no answer still gets a status.
        while self.open() > 0 || self.wire.is_posting() {
            if self.wire.is_idle() {
                let what = format!("the answer from {} names none of the calls", self.plan.target);
                return Err(Failure::new(Exit::Protocol, what).hint("--trace shows what came"));
            }
            match self.wire.next().await {
                Got::Message(text) => {
                    if self.plan.trace {
                        trace::message(Direction::Received, &text, self.printer);
                    }
                    self.take(&text).await?;
                }
                Got::Nothing { status } if status >= 300 => {
                    let what = format!("HTTP {status} from {}", self.plan.target);
                    return Err(Failure::new(Exit::Connect, what).hint(status_hint(status)));
                }
                Got::Nothing { .. } if self.open() == 0 => {}
                Got::Nothing { .. } => {
                    let what = format!("the answer from {} is empty", self.plan.target);
                    return Err(Failure::new(Exit::Protocol, what).hint("--trace shows what came"));
                }
                Got::TooLarge { limit } => {
                    return Err(failed::too_large(
                        format_args!("the answer is larger than {limit} bytes"),
                        limit,
                    ));
                }
                Got::End => {
                    let hint = failed::closed_hint(&self.plan.target, self.plan.framing);
                    return Err(Failure::new(Exit::Protocol, "no answer: the server has ended").hint(hint));
                }
            }
        }
        Ok(())
    }

    /// How many calls have no answer.
    fn open(&self) -> usize {
        self.entries
            .iter()
            .zip(&self.answers)
            .filter(|(entry, answer)| entry.id.is_some() && answer.is_none())
            .count()
    }

    async fn post(&mut self, text: &str) -> Result<(), Failure> {
        if self.plan.trace {
            trace::message(Direction::Sent, text.as_bytes(), self.printer);
        }
        let sent = self.wire.send(text).await;
        sent.map_err(|error| Failure::new(Exit::Protocol, format_args!("not sent: {error}")))
    }

    async fn take(&mut self, text: &[u8]) -> Result<(), Failure> {
        let limits = Limits { message_bytes: self.plan.max_size, ..Limits::default() };
        match decode(text, &self.plan.dialect, &limits) {
            Err(error) => {
                self.reporter.noise(text);
                match crate::misframed::is_header(text) {
                    true => Err(Failure::new(
                        Exit::Protocol,
                        format_args!(
                            "{} answers with Content-Length headers, not in lines",
                            self.plan.target
                        ),
                    )
                    .hint("try --framing headers")),
                    false if self.plan.target.keeps_messages_apart() => {
                        Err(Failure::new(Exit::Protocol, format_args!("the answer is not JSON: {error}")))
                    }
                    false => Ok(()),
                }
            }
            Ok(Incoming::One(Ok(message))) => {
                self.one(&message, &RawJson::from_bytes(text).map_err(Failure::usage)?).await
            }
            Ok(Incoming::One(Err(invalid))) => Err(Failure::new(
                Exit::Protocol,
                format_args!("the answer breaks the protocol: {}", invalid.fault),
            )
            .hint("--trace shows what came")),
            Ok(Incoming::Batch(messages)) => {
                let texts = RawJson::from_bytes(text).map_err(Failure::usage)?;
                for (message, text) in messages.iter().zip(texts.elements()) {
                    if let Ok(message) = message {
                        self.one(message, &text).await?;
                    }
                }
                match self.open() {
                    0 => Ok(()),
                    left => Err(Failure::new(
                        Exit::Protocol,
                        format_args!("the batch was answered without {left} of its calls"),
                    )
                    .hint("--trace shows what came")),
                }
            }
        }
    }

    async fn one(&mut self, message: &Message<'_>, text: &RawJson<'_>) -> Result<(), Failure> {
        match message {
            Message::Response(Response { id, .. }) => match self.call(id) {
                Some(index) => {
                    let answer = text.clone().into_owned();
                    self.reporter.came(&self.entries[index], &answer)?;
                    self.answers[index] = Some(answer);
                }
                None => self.reporter.warning(&format!("answer with id {id}, which no call has")),
            },
            Message::Notification(notification) => {
                self.reporter.notification(&notification.method, notification.params.as_ref());
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

/// For people, in the order of the file. With `--json` all was said as it came.
fn report(entries: &[Entry], answers: &Answers, reporter: &Reporter) -> Result<Exit, Failure> {
    let mut exit = Exit::Ok;
    for (entry, answer) in entries.iter().zip(answers) {
        if let (Some(id), Some(answer)) = (&entry.id, answer)
            && reporter.answer(Named { id, method: &entry.method, among_others: true }, answer)?
                == Exit::Error
        {
            exit = Exit::Error;
        }
    }
    Ok(exit)
}
