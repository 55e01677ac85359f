//! HTTP as a client uses it that does not wait: requests are posted side by side, and the stream of a session brings what
//! the server says by itself.

use std::time::Duration;

use hyper::Method;
use sabir::Undelivered;
use sabir::transport::Url;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::post::{Events, Post, is_stream};
use super::text::{method_of, requests};
use super::{Got, WireTarget};

/// How long the server may take to open its stream.
const STREAM_TIMEOUT: Duration = Duration::from_secs(2);

/// Posts that wait for their answers at the same time. More wait for one of them.
const MOST: usize = 256;

/// What came of a post.
pub(crate) enum Posted {
    Message(Vec<u8>),
    /// There is no answer to this text.
    NoAnswer {
        text: String,
        lost: Undelivered,
    },
    TooLarge {
        text: String,
        limit: usize,
    },
}

/// A server of HTTP, and the session that was opened there.
pub(crate) struct Posts {
    post: Post,
}

impl Posts {
    /// Makes sure that the server can be reached.
    pub(crate) async fn open(url: &Url, target: &WireTarget) -> Result<Posts, sabir::Error> {
        Ok(Posts { post: Post::open(url, target).await? })
    }

    /// Posts all that comes until nothing more can come, then ends the session.
    pub(crate) async fn run(
        mut self,
        mut texts: mpsc::UnboundedReceiver<String>,
        told: mpsc::Sender<Posted>,
    ) {
        let mut tasks = JoinSet::new();
        loop {
            tokio::select! {
                text = texts.recv(), if tasks.len() < MOST => match text {
                    Some(text) => self.post(text, &told, &mut tasks).await,
                    None => break,
                },
                Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
            }
        }
        tasks.shutdown().await;
        self.post.close().await;
    }

    async fn post(&mut self, text: String, told: &mpsc::Sender<Posted>, tasks: &mut JoinSet<()>) {
        let method = method_of(&text);
        let mut post = self.post.fork();
        // Of MCP from 2026-07-28 on, each request says which revision it is of. A recording may have both kinds.
        post.set_stateless(text.contains("\"io.modelcontextprotocol/protocolVersion\""));
        if requests(&text) > 0 && method.as_deref() != Some("initialize") {
            let told = told.clone();
            tasks.spawn(async move { exchange(&mut post, text, &told).await });
            return;
        }
        // What follows needs the session, or must not overtake a notification.
        exchange(&mut post, text, told).await;
        self.post.adopt(post);
        if method.as_deref() == Some("notifications/initialized") && self.post.has_session() {
            let opened = self.post.exchange(Method::GET, String::new(), None);
            if let Ok(Ok((response, _))) = tokio::time::timeout(STREAM_TIMEOUT, opened).await
                && response.status().is_success()
                && is_stream(response.headers())
            {
                let mut events = Events::new(response.into_body(), self.post.max_size());
                let told = told.clone();
                tasks.spawn(async move {
                    while let Ok(Some(text)) = events.next().await {
                        if told.send(Posted::Message(text)).await.is_err() {
                            return;
                        }
                    }
                });
            }
        }
    }
}

/// Posts a text, and tells all that comes in answer.
async fn exchange(post: &mut Post, text: String, told: &mpsc::Sender<Posted>) {
    let expects = requests(&text) > 0;
    post.send(&text);
    while post.is_posting() {
        let posted = match post.next().await {
            Got::Message(message) => Posted::Message(message),
            Got::TooLarge { limit } => Posted::TooLarge { text: text.clone(), limit },
            Got::Nothing(lost) if expects || lost.status.is_some_and(|status| status >= 400) => {
                Posted::NoAnswer { text: text.clone(), lost }
            }
            Got::Nothing(_) => continue,
            Got::End => match post.undelivered() {
                Some(lost) => Posted::NoAnswer { text: text.clone(), lost: lost.clone() },
                None => return,
            },
        };
        if told.send(posted).await.is_err() {
            return;
        }
    }
}
