//! Work-done progress.

use lsp_types::{WorkDoneProgress, WorkDoneProgressBegin, WorkDoneProgressEnd, WorkDoneProgressReport};
use sabir::RawJson;

use super::client_peer::ClientPeer;
use super::connection::WorkToken;

/// Work that has begun, as the client shows it: made by [`LspCtx::begin_work`](crate::LspCtx::begin_work) and
/// [`ClientPeer::begin_work`]. Dropped before [`end`](Self::end), it ends without a message.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct WorkDone {
    /// `None` if the client does not show it, or once it has ended.
    shown: Option<Shown>,
}

#[derive(Debug)]
struct Shown {
    client: ClientPeer,
    token: RawJson<'static>,
    /// The same token, if we made it.
    created: Option<WorkToken>,
}

impl WorkDone {
    pub(crate) fn unseen() -> Self {
        WorkDone { shown: None }
    }

    pub(crate) async fn begin(
        client: &ClientPeer,
        token: RawJson<'static>,
        begin: WorkDoneProgressBegin,
    ) -> Self {
        let work = WorkDone { shown: Some(Shown { client: client.clone(), token, created: None }) };
        work.tell(WorkDoneProgress::Begin(begin)).await;
        work
    }

    pub(crate) async fn begin_created(
        client: &ClientPeer,
        created: WorkToken,
        begin: WorkDoneProgressBegin,
    ) -> Self {
        let Ok(token) = RawJson::from_value(&created.token) else { return WorkDone::unseen() };
        let shown = Shown { client: client.clone(), token, created: Some(created) };
        let work = WorkDone { shown: Some(shown) };
        work.tell(WorkDoneProgress::Begin(begin)).await;
        work
    }

    /// Says how far it is: what is being done, and how much is done in percent. An empty message leaves the one
    /// before.
    pub async fn report(&self, message: impl Into<String>, percentage: Option<u32>) {
        let message = Some(message.into()).filter(|message| !message.is_empty());
        let report = WorkDoneProgressReport { message, percentage, cancellable: None };
        self.tell(WorkDoneProgress::Report(report)).await;
    }

    /// Ends it, with a message unless that is empty.
    pub async fn end(mut self, message: impl Into<String>) {
        let message = Some(message.into()).filter(|message| !message.is_empty());
        self.tell(WorkDoneProgress::End(WorkDoneProgressEnd { message })).await;
        self.shown = None;
    }

    /// Waits until the user cancels it: for work that began as `cancellable` and belongs to no request. The progress
    /// of a request is cancelled with the request.
    pub async fn cancelled(&self) {
        match self.shown.as_ref().and_then(|shown| shown.created.as_ref()) {
            Some(created) => created.cancelled.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Failing to send progress is ignored.
    async fn tell(&self, progress: WorkDoneProgress) {
        if let Some(Shown { client, token, .. }) = &self.shown {
            let _ = client.progress(token, &progress).await;
        }
    }
}

impl Drop for WorkDone {
    fn drop(&mut self) {
        if let Some(shown) = &self.shown {
            let end = WorkDoneProgress::End(WorkDoneProgressEnd { message: None });
            shown.client.try_progress(&shown.token, &end);
        }
    }
}
