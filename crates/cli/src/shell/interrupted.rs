//! The calls that a person has interrupted: nobody is surprised that they are answered as well.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sabir::transport::Direction;
use sabir::{Framing, RawJson, Report};
use sabir_proto::Cut;

use crate::trace::Cutter;

#[derive(Debug, Clone, Default)]
pub(super) struct Interrupted(Arc<Mutex<Ids>>);

#[derive(Debug, Default)]
struct Ids {
    /// Of the requests that were sent for the line that runs.
    sent: Vec<String>,
    /// Of those that were given up.
    given_up: HashSet<String>,
}

impl Interrupted {
    /// Sees what is sent.
    pub(super) fn tap(
        &self,
        framing: Framing,
        max_size: usize,
    ) -> impl FnMut(Direction, &[u8]) + Send + 'static {
        let ids = self.clone();
        let mut cutter = Cutter::new(framing, max_size);
        move |direction, bytes| {
            if direction == Direction::Sent {
                cutter.pass(bytes, |cut| {
                    if let Cut::Message { body, .. } = cut {
                        ids.sent(body);
                    }
                });
            }
        }
    }

    fn sent(&self, body: &[u8]) {
        let Ok(message) = RawJson::from_bytes(body) else { return };
        if let (Some(_), Some(id)) = (message.get("method"), message.get("id")) {
            self.lock().sent.push(id.to_string());
        }
    }

    /// The next line begins.
    pub(super) fn next_line(&self) {
        self.lock().sent.clear();
    }

    /// The line was interrupted.
    pub(super) fn give_up(&self) {
        let mut ids = self.lock();
        let sent = std::mem::take(&mut ids.sent);
        ids.given_up.extend(sent);
    }

    /// Whether a report is about the answer to a call that was given up.
    pub(super) fn takes(&self, report: &Report<'_>) -> bool {
        matches!(report, Report::LateReply(id) if self.lock().given_up.remove(id.text()))
    }

    fn lock(&self) -> MutexGuard<'_, Ids> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use sabir_proto::Id;

    use super::*;

    /// A call that is never answered does not hide what is late for another reason.
    #[test]
    fn only_what_was_given_up_may_be_late() {
        let interrupted = Interrupted::default();
        let mut tap = interrupted.tap(Framing::Lines, 1000);
        let mut line = |id: u64| {
            interrupted.next_line();
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"sleep\"}}\n");
            tap(Direction::Sent, text.as_bytes());
        };
        let is_known = |id: u64| interrupted.takes(&Report::LateReply(Id::from(id)));
        line(1);
        interrupted.give_up();
        line(2);
        line(3);
        interrupted.give_up();
        assert!(!is_known(2), "it was not interrupted");
        assert!(is_known(3));
        assert!(!is_known(3), "it is answered once");
        assert!(is_known(1));
    }
}
