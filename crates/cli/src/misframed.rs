//! Notices that a peer speaks in another framing than it is spoken to in: waiting for it would be in vain.

use std::sync::Arc;

use sabir::Report;
use tokio::sync::Notify;

use crate::exit::{Exit, Failure};
use crate::target::Target;

#[derive(Debug, Clone, Default)]
pub(crate) struct Misframed(Arc<Notify>);

impl Misframed {
    /// Looks at a report. Whether it shows that the peer sends headers where lines are expected.
    pub(crate) fn look(&self, report: &Report<'_>) -> bool {
        let found = matches!(report, Report::NotJson { text, .. } if is_header(text));
        if found {
            self.0.notify_one();
        }
        found
    }

    /// Waits until it is so, and says it.
    pub(crate) async fn noticed(&self, target: &Target) -> Failure {
        self.0.notified().await;
        Failure::new(
            Exit::Protocol,
            format_args!("{target} answers with Content-Length headers, not in lines"),
        )
        .hint("try --framing headers")
    }
}

/// Whether a line is the header that other framing begins with.
pub(crate) fn is_header(line: &[u8]) -> bool {
    const HEADER: &[u8] = b"content-length:";
    line.get(..HEADER.len()).is_some_and(|start| start.eq_ignore_ascii_case(HEADER))
}
