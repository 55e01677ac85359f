//! Why a transport failed.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::{Cause, Core, Session};
use crate::time::Time;

/// Why a transport failed: in words, and as the error that the driver met, if it met one.
///
/// ```
/// use sabir_proto::Lost;
///
/// let parsed = "x".parse::<u8>().unwrap_err();
/// let lost = Lost::from_error(parsed.clone());
/// assert_eq!(lost.to_string(), parsed.to_string());
/// assert_eq!(lost.error().and_then(|error| error.downcast_ref()), Some(&parsed));
/// ```
#[derive(Clone)]
pub struct Lost {
    reason: Cow<'static, str>,
    error: Option<Arc<dyn Error + Send + Sync>>,
}

impl Lost {
    /// The driver met this error.
    pub fn from_error(error: impl Error + Send + Sync + 'static) -> Self {
        Lost { reason: error.to_string().into(), error: Some(Arc::new(error)) }
    }

    /// The words.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The error that the driver met, to look into with `downcast_ref`.
    pub fn error(&self) -> Option<&(dyn Error + 'static)> {
        self.error.as_deref().map(|error| error as _)
    }
}

impl From<Cow<'static, str>> for Lost {
    fn from(reason: Cow<'static, str>) -> Self {
        Lost { reason, error: None }
    }
}

impl From<&'static str> for Lost {
    fn from(reason: &'static str) -> Self {
        Cow::Borrowed(reason).into()
    }
}

impl From<String> for Lost {
    fn from(reason: String) -> Self {
        Cow::<'static, str>::Owned(reason).into()
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl fmt::Debug for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.reason, f)
    }
}

/// Errors cannot be compared in general: two are equal if they say the same.
impl PartialEq for Lost {
    fn eq(&self, other: &Self) -> bool {
        self.reason == other.reason
    }
}

impl Eq for Lost {}

impl Session {
    /// The peer is gone, such as a process that has exited. What it sent last is taken in first, also a last line
    /// without its end; then every call that is still open ends with this cause.
    pub fn handle_gone(&mut self, now: Time, cause: impl Into<Lost>) {
        self.handle_eof(now);
        self.core.gone.get_or_insert_with(|| cause.into());
    }
}

impl Core {
    pub(super) fn close_gone(&mut self) {
        if let Some(cause) = self.gone.take() {
            self.close(Cause::Lost(cause));
        }
    }
}
