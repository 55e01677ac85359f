//! HTTP as MCP 2024-11-05 has it: one stream brings all messages of the server, and an event at its start says where
//! messages to the server are posted.

use std::collections::VecDeque;
use std::io;

use hyper::Method;
use sabir::Undelivered;
use sabir::transport::{HttpFailure, Url};

use super::post::{Events, NoAnswer, Post, is_stream, refusal_text};
use super::{Got, WireTarget};
use crate::json::escape_controls;

pub(crate) struct Sse {
    post: Post,
    events: Events,
    /// Messages that came before the endpoint.
    early: VecDeque<Vec<u8>>,
    status: Option<u16>,
    /// What that says, if it is not a success.
    refusal: Option<Undelivered>,
    /// Posts that were refused, and not told yet.
    refused: VecDeque<Undelivered>,
    max_size: usize,
}

impl Sse {
    /// It is an error if the server has no such stream.
    pub(super) async fn open(url: &Url, target: &WireTarget) -> io::Result<Sse> {
        let no_stream = || io::Error::other(format!("{url} has no stream of events"));
        let post = Post::open(url, target).await?;
        let (response, _) =
            post.exchange(Method::GET, String::new(), None).await.map_err(|(_, error)| error)?;
        if !response.status().is_success() || !is_stream(response.headers()) {
            return Err(no_stream());
        }
        let max_size = target.peer.max_size;
        let mut events = Events::new(response.into_body(), max_size);
        let (endpoint, early) = events.endpoint().await.ok_or_else(|| {
            io::Error::other(format!("the stream of events of {url} does not say where to post"))
        })?;
        let endpoint = url.join_same_origin(&endpoint).ok_or_else(|| {
            let endpoint = escape_controls(&endpoint);
            io::Error::other(format!("{url} wants messages posted elsewhere: {endpoint}"))
        })?;
        let post = Post::open(&endpoint, target).await?;
        Ok(Sse { post, events, early, status: None, refusal: None, refused: VecDeque::new(), max_size })
    }

    pub(super) async fn send(&mut self, text: &str) -> io::Result<()> {
        let sent = self.post.exchange(Method::POST, text.to_owned(), None).await;
        let (response, _) = sent.map_err(|(_, error)| error)?;
        let status = response.status();
        self.status = Some(status.as_u16());
        self.refusal = None;
        if !status.is_success() {
            let (head, body) = response.into_parts();
            let body = refusal_text(body).await;
            let failure = HttpFailure { status, headers: &head.headers, body: &body };
            let refusal = failure.undelivered(&self.post.url.to_string());
            self.refusal = Some(refusal.clone());
            self.refused.push_back(refusal);
        }
        Ok(())
    }

    pub(super) async fn next(&mut self) -> Got {
        if let Some(lost) = self.refused.pop_front() {
            return Got::Nothing(lost);
        }
        if let Some(text) = self.early.pop_front() {
            return Got::Message(text);
        }
        match self.events.next().await {
            Ok(Some(text)) => Got::Message(text),
            Err(NoAnswer::TooLarge) => Got::TooLarge { limit: self.max_size },
            Ok(None) | Err(NoAnswer::Undelivered(_)) => Got::End,
        }
    }

    pub(super) fn refusal(&self) -> Option<&Undelivered> {
        self.refusal.as_ref()
    }

    pub(super) fn status(&self) -> Option<u16> {
        self.status
    }
}
