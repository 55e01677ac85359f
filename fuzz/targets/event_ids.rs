//! Ids of events, as clients repeat them: each has one spelling, the one that was sent.

use sabir::fuzzing::{event, event_id};

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(id) = event_id(text) {
        let sent = event(Some(id), b"x");
        assert_eq!(sent, format!("id: {text}\ndata: x\n\n").as_bytes(), "{text:?}");
    }
}
