//! Which failures of a call pass, and when to try again.

use std::pin::Pin;
use std::thread;
use std::time::Duration;

use sabir_proto::{DeliveryFailure, Undelivered};

use crate::{CallError, Error, ErrorCode};

/// The pause before the second attempt, and the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The growing pauses between attempts.
pub(super) struct Pauses(Duration);

impl Pauses {
    pub(super) fn new() -> Self {
        Pauses(FIRST_PAUSE)
    }

    /// The next one, which the server may have wished to be longer.
    pub(super) fn next(&mut self, at_least: Duration) -> Duration {
        let pause = self.0.max(at_least);
        self.0 = (self.0 * 2).min(LONGEST_PAUSE);
        pause
    }
}

/// A pause that is being made.
pub(super) type Pause = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// Waits for so long, with a runtime or without.
pub(super) fn wait_for(pause: Duration) -> Pause {
    if tokio::runtime::Handle::try_current().is_ok() {
        return Box::pin(tokio::time::sleep(pause));
    }
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    // A thread that cannot be started makes no pause.
    let _ = thread::Builder::new().name("sabir-pause".to_owned()).spawn(move || {
        thread::sleep(pause);
        drop(tell);
    });
    Box::pin(async move { drop(told.await) })
}

/// Whether a call that failed so may have a better chance with another connection, or a little later: after this pause
/// at least.
pub(super) fn retry_after(error: &Error) -> Option<Duration> {
    let Error::Call(error) = error else { return None };
    match error {
        error if error.connection_end().is_some() => Some(Duration::ZERO),
        CallError::Undelivered(what) => undelivered(what),
        CallError::Error(error) => {
            let passes = matches!(error.code, ErrorCode::OVERLOADED | ErrorCode::SHUTTING_DOWN);
            passes.then_some(Duration::ZERO)
        }
        _ => None,
    }
}

fn undelivered(what: &Undelivered) -> Option<Duration> {
    match (what.status, &what.failure) {
        // The server of NATS does not take it, and will not later.
        (None, DeliveryFailure::Refused) => None,
        // Without an answer of HTTP, it is the connection that failed.
        (None, _) => what.too_large.is_none().then_some(Duration::ZERO),
        // Too many requests, and what a gateway says of a server that is away or restarts.
        (Some(429 | 502 | 503 | 504), DeliveryFailure::RetryAfter(text)) => Some(delay(text)),
        (Some(429 | 502 | 503 | 504), _) => Some(Duration::ZERO),
        _ => None,
    }
}

/// The time of a `Retry-After`: seconds, or a date.
fn delay(text: &str) -> Duration {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Duration::from_secs(seconds);
    }
    #[cfg(feature = "http")]
    if let Ok(date) = httpdate::parse_http_date(text) {
        return date.duration_since(std::time::SystemTime::now()).unwrap_or_default();
    }
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: Option<u16>, failure: DeliveryFailure) -> Error {
        Error::Call(CallError::Undelivered(Undelivered { status, ..Undelivered::new(failure, "refused") }))
    }

    #[test]
    fn what_passes_and_when() {
        let wait = |text: &str| DeliveryFailure::RetryAfter(text.into());
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (status, failure, want) in [
            (Some(503), DeliveryFailure::Refused, seconds(0)),
            (Some(503), wait("7"), seconds(7)),
            (Some(429), wait(" 120 "), seconds(120)),
            (Some(502), wait("soon"), seconds(0)),
            (Some(504), wait("Sun, 06 Nov 1994 08:49:37 GMT"), seconds(0)),
            (Some(503), wait("18446744073709551615"), seconds(u64::MAX)),
            (Some(500), DeliveryFailure::Refused, None),
            (Some(404), wait("1"), None),
            (Some(401), DeliveryFailure::Refused, None),
            (None, DeliveryFailure::Other, seconds(0)),
            (None, DeliveryFailure::NoWorker, seconds(0)),
            (None, DeliveryFailure::Refused, None),
        ] {
            assert_eq!(retry_after(&refused(status, failure.clone())), want, "{status:?} {failure:?}");
        }
        #[cfg(feature = "http")]
        {
            let later = std::time::SystemTime::now() + Duration::from_secs(3600);
            let delay = delay(&httpdate::fmt_http_date(later));
            assert!((Duration::from_secs(3500)..=Duration::from_secs(3600)).contains(&delay), "{delay:?}");
        }
    }

    #[test]
    fn pauses_grow_and_are_as_long_as_the_server_asks() {
        let mut pauses = Pauses::new();
        let ms = Duration::from_millis;
        let all: Vec<Duration> = [0, 0, 9000, 0].map(|at_least| pauses.next(ms(at_least))).into();
        assert_eq!(all, [ms(50), ms(100), ms(9000), ms(400)]);
        assert_eq!((0..20).map(|_| pauses.next(ms(0))).max(), Some(LONGEST_PAUSE));
    }
}
