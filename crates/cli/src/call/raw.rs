//! `--raw`: sends a text as it is, message or not, and prints what comes back.

use sabir::transport::Direction;
use sabir::{JsonKind, RawJson};
use tokio::time::Instant;

use super::in_time;
use super::plan::Plan;
use super::report::Reporter;
use super::spans::CallSpans;
use super::steps::is_error;
use crate::check::wire::{Got, WireTarget};
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::trace;

/// One message is waited for; with `--wait`, all that come in that time.
pub(super) async fn send(
    bytes: &[u8],
    plan: &Plan,
    reporter: &Reporter,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(Failure::usage("--raw takes UTF-8 text"));
    };
    let peer = &plan.peer;
    let deadline = Instant::now() + peer.timeout;
    if peer.traces() {
        printer.say_in_comments();
    }
    let target = WireTarget {
        peer: peer.clone(),
        profile: plan.profile,
        printer: peer.traces().then(|| printer.clone()),
        watch: reporter.watch.clone(),
    };
    let mut wire = in_time(deadline, plan, reporter, target.open()).await?;
    if peer.traces() {
        trace::message(Direction::Sent, bytes, printer);
    }
    let wait = plan.stay.wait;
    let mut spans = CallSpans::default();
    spans.sent(text);
    let exchange = async {
        let sent = wire.send(text).await;
        sent.map_err(|error| Failure::new(Exit::Protocol, format_args!("not sent: {error}")))?;
        if wait.is_none() && !wants_answer(text) && !wire.is_posting() {
            return Ok(Exit::Ok);
        }
        let mut exit = Exit::Ok;
        let mut came = 0u32;
        loop {
            match wire.next().await {
                Got::Message(body) => {
                    spans.came(&body);
                    if peer.traces() {
                        trace::message(Direction::Received, &body, printer);
                    }
                    printer.data(&crate::json::escape_controls(&String::from_utf8_lossy(&body)))?;
                    came += 1;
                    if RawJson::from_bytes(&body).is_ok_and(|message| is_error(&message)) {
                        exit = Exit::Error;
                    }
                    if wait.is_none() || wire.is_idle() {
                        return Ok(exit);
                    }
                }
                Got::Nothing(lost) if lost.status.is_none_or(|status| status >= 300) => {
                    return Err(peer.undelivered(&lost));
                }
                Got::Nothing(_) => return Ok(Exit::Ok),
                Got::TooLarge { limit } => {
                    return Err(peer.too_large(crate::peer::PeerOptions::larger_than(limit), limit));
                }
                Got::End if came > 0 => return Ok(exit),
                Got::End => {
                    let reason = wire.exit_reason().await;
                    let reason = reason.unwrap_or_else(|| "the peer closed the connection".to_owned());
                    return Err(wire.failure(peer).unwrap_or_else(|| peer.closed(&reason, &reporter.watch)));
                }
            }
        }
    };
    let done = match wait {
        // What comes in that time is all there is.
        Some(wait) => tokio::time::timeout(wait, exchange).await.unwrap_or(Ok(Exit::Ok)),
        None => in_time(deadline, plan, reporter, exchange).await,
    };
    wire.close().await;
    done
}

/// Whether an answer may come: not to a notification, nor to an empty line.
fn wants_answer(text: &str) -> bool {
    let is_notification =
        |message: &RawJson<'_>| message.get("method").is_some() && message.get("id").is_none();
    match RawJson::new(text) {
        Ok(message) if message.kind() == JsonKind::Array => {
            let mut messages = message.elements().peekable();
            messages.peek().is_none() || !messages.all(|message| is_notification(&message))
        }
        Ok(message) => !is_notification(&message),
        Err(_) => !text.trim().is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wants_an_answer() {
        for (text, want) in [
            (r#"{"id":1,"method":"x"}"#, true),
            (r#"{"method":"x"}"#, false),
            (r#"[{"method":"x"},{"id":null,"method":"y"}]"#, true),
            (r#"[{"method":"x"}]"#, false),
            ("[]", true),
            ("1", true),
            ("{", true),
            (" ", false),
        ] {
            assert_eq!(wants_answer(text), want, "{text}");
        }
    }
}
