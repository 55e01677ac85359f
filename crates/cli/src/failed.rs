//! A call without an answer: what to say of it, and what to try.

use std::fmt;
use std::time::Duration;

use sabir::{CallError, Cause, Framing, Undelivered};

use crate::exit::{Exit, Failure};
use crate::target::{Target, status_hint};

/// A call that did not end with the peer's answer.
pub(crate) fn call(error: &CallError, target: &Target, framing: Framing, timeout: Duration) -> Failure {
    match error {
        CallError::NotSent(refused) => Failure::usage(format_args!("not sent: {refused}")),
        CallError::TimedOut => timed_out(target, timeout),
        CallError::Undelivered(lost) => undelivered(lost),
        CallError::Closed(Cause::Lost(_) | Cause::Ended) => {
            Failure::new(Exit::Protocol, error).hint(closed_hint(target, framing))
        }
        _ => Failure::new(Exit::Protocol, error).hint("--trace shows what came"),
    }
}

/// HTTP refused it, its answer is too large, or is none.
pub(crate) fn undelivered(lost: &Undelivered) -> Failure {
    match (lost.status, lost.too_large) {
        (_, Some(limit)) => too_large(lost, limit),
        (Some(status), None) => Failure::new(Exit::Connect, lost).hint(status_hint(status)),
        (None, None) => Failure::new(Exit::Protocol, lost)
            .hint("check the URL: what answers there may not be a JSON-RPC server; --trace shows what came"),
    }
}

/// An answer was skipped for its size.
pub(crate) fn too_large(what: impl fmt::Display, limit: usize) -> Failure {
    let more = limit.saturating_mul(4).div_ceil(1 << 20);
    Failure::new(Exit::Protocol, what).hint(format_args!("take larger answers with --max-size {more}MiB"))
}

pub(crate) fn timed_out(target: &Target, timeout: Duration) -> Failure {
    Failure::new(Exit::Timeout, format_args!("no answer from {target} within {timeout:?}"))
        .hint("wait longer with --timeout 2m, or see with --trace what came")
}

/// The connection ended first.
pub(crate) fn closed_hint(target: &Target, framing: Framing) -> String {
    let other = match framing {
        Framing::Headers => "lines",
        _ => "headers",
    };
    match target {
        Target::Program(_) => format!("run it by itself to see what it prints, or try --framing {other}"),
        Target::Url(url) if url.scheme().is_web() => "--trace shows what came".to_owned(),
        _ => format!("the server may speak in another framing: try --framing {other}"),
    }
}
