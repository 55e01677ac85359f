//! What a plain server says of its methods, by `rpc.discover`: it is asked once in a session at most, and only where that
//! decides what is sent, or explains an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sabir::openrpc::Document;
use sabir::{Peer, RawJson, Report};
use tokio::sync::{Notify, OnceCell};

use super::{Kind, PROBE_TIMEOUT, Session};
use crate::exit::Failure;
use crate::json::{MOST_VALUES, has_more_values};
use crate::values::{Arguments, method_parameters};

/// The description, once it was asked for.
#[derive(Debug, Default)]
pub(super) struct Description {
    document: OnceCell<Option<Document>>,
    pub(super) refusals: RefusalFilter,
}

impl Description {
    async fn get(&self, peer: &Peer, timeout: Duration) -> Option<&Document> {
        let asked = self.document.get_or_init(|| async {
            self.refusals.0.is_asking.store(true, Ordering::Relaxed);
            let text = tokio::select! {
                biased;
                answer = peer.call_raw("rpc.discover", None).timeout(timeout) => answer.ok(),
                () = self.refusals.0.refused.notified() => None,
            };
            self.refusals.0.is_asking.store(false, Ordering::Relaxed);
            let text = text.filter(|text| !has_more_values(text.as_str(), MOST_VALUES))?;
            Document::from_json(text.as_str()).ok()
        });
        asked.await.as_ref()
    }
}

/// Takes an error without an id while the question is open: it does not answer what the user has asked.
#[derive(Debug, Clone, Default)]
pub(super) struct RefusalFilter(Arc<RefusalState>);

#[derive(Debug, Default)]
struct RefusalState {
    is_asking: AtomicBool,
    refused: Notify,
}

impl RefusalFilter {
    /// Whether the report was about the question.
    pub(super) fn takes(&self, report: &Report<'_>) -> bool {
        let is_ours =
            matches!(report, Report::PeerError(_)) && self.0.is_asking.swap(false, Ordering::Relaxed);
        if is_ours {
            self.0.refused.notify_one();
        }
        is_ours
    }
}

impl Session {
    /// What a plain server says of its methods.
    pub(crate) async fn description(&self, timeout: Duration) -> Option<&Document> {
        match self.kind {
            Kind::Plain => self.description.get(&self.peer, timeout).await,
            Kind::Mcp(_) | Kind::Lsp(_) => None,
        }
    }

    /// The params of a plain call or notification. Text that could be something else has the type that the description of
    /// the method wants, if there is one.
    pub(crate) async fn params(
        &self,
        method: &str,
        args: &Arguments,
    ) -> Result<Option<RawJson<'static>>, Failure> {
        let params = args.params()?;
        if !args.need_types() {
            return Ok(params);
        }
        let timeout = PROBE_TIMEOUT.min(self.options.timeout / 2);
        let known = self.description(timeout).await.and_then(|document| method_parameters(document, method));
        match known {
            Some(known) => args.typed(method, &known),
            None => Ok(params),
        }
    }
}
