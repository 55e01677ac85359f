//! What the error of a first call says of the peer: it may speak more than plain JSON-RPC.

use sabir::{CallError, ErrorCode, ErrorObject};

/// The code of a language server that was not initialized.
pub(crate) const NOT_INITIALIZED: i64 = -32002;
/// Bytes of what is looked at: a reason is short.
const MOST_BYTES: usize = 1000;

/// What an error says of the peer.
pub(super) enum Sign {
    /// It does not know the method.
    Unknown,
    /// It is a language server that was not initialized.
    Uninitialized,
}

pub(super) fn sign(error: &CallError) -> Option<Sign> {
    match error {
        CallError::Error(error) if error.code.0 == NOT_INITIALIZED => Some(Sign::Uninitialized),
        CallError::Error(error) if error.code == ErrorCode::METHOD_NOT_FOUND => Some(Sign::Unknown),
        CallError::Error(error) if speaks_of_initialize(error) => Some(Sign::Unknown),
        // What the SDK for Python answers to anything before `initialize`.
        CallError::Error(error)
            if error.code == ErrorCode::INVALID_PARAMS && error.message == "Invalid request parameters" =>
        {
            Some(Sign::Unknown)
        }
        _ => None,
    }
}

/// Whether an error says, in its message or in a short reason beside it, that something has to be initialized.
fn speaks_of_initialize(error: &ErrorObject) -> bool {
    let data = error.data.as_ref().map_or("", |data| data.as_str());
    [&*error.message, data]
        .iter()
        .any(|text| text.len() < MOST_BYTES && text.to_ascii_lowercase().contains("initializ"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_may_say_beside_the_message_that_it_wants_a_handshake() {
        let says = |reason: &str| CallError::Error(ErrorObject::because(ErrorCode::INVALID_PARAMS, reason));
        assert!(matches!(sign(&says("`initialize` must come first")), Some(Sign::Unknown)));
        assert!(sign(&says("missing field `a`")).is_none());
        assert!(sign(&says(&format!("initialize {}", "x".repeat(2000)))).is_none());
    }
}
