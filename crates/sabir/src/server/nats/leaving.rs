//! Leaving a queue group without losing a message.
//!
//! `Subscriber::drain` of the client forgets the subscription as soon as the server was told, and drops what the server
//! had sent before it heard of that. A subscription that ends by count does not: server and client count the same
//! messages, and both end with the same one. So the worker asks for some more than can be on their way, and sends as many
//! empty messages to the group itself, until its share has come. A worker that may not publish to its group has no such
//! way: it leaves as the client does.

use std::time::Duration;

use async_nats::{Client, Event, Message, ServerError, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::transport::nats::connect::Events;

/// More messages than can be on their way from the server.
const MARGIN: u64 = 8 * 1024;

/// Empty messages that are sent at once: few until it is known that they are allowed.
const FIRST_BURST: usize = 16;
const BURST: usize = 1024;

/// How long it may take.
pub(super) const WITHIN: Duration = Duration::from_secs(5);

/// How long after a burst the next one follows, if messages of others do not end it before.
const PAUSE: Duration = Duration::from_millis(2);

/// Whether a message is one of those that are sent for the count.
pub(super) fn is_filler(message: &Message) -> bool {
    message.payload.is_empty() && message.reply.is_none() && message.headers.is_none()
}

/// Whether the server has refused one of them.
fn is_refused(event: &Event, subject: &str) -> bool {
    let Event::ServerError(ServerError::Other(text)) = event else { return false };
    text.contains("for Publish to") && text.contains(&format!("\"{subject}\""))
}

/// Leaves the group, of which `delivered` messages have come since it was joined. `take` gets those that still come.
pub(super) async fn leave(
    client: &Client,
    group: &mut Subscriber,
    subject: &str,
    delivered: u64,
    events: &mut Events,
    mut take: impl FnMut(Message),
) {
    let deadline = Instant::now() + WITHIN;
    if group.unsubscribe_after(delivered + MARGIN).await.is_err() {
        return;
    }
    let mut burst = FIRST_BURST;
    loop {
        for _ in 0..burst {
            if client.publish(subject.to_owned(), Bytes::new()).await.is_err() {
                return;
            }
        }
        burst = (2 * burst).min(BURST);
        let pause = Instant::now() + PAUSE;
        loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => {
                    if is_refused(&event, subject) {
                        #[cfg(feature = "tracing")]
                        tracing::warn!("this worker may not publish to `{subject}`: a call that is on its way to it can be lost");
                        return drain(group, take).await;
                    }
                }
                message = timeout_at(deadline, group.next()) => match message {
                    Ok(Some(message)) => {
                        if !is_filler(&message) {
                            take(message);
                        }
                    }
                    Ok(None) | Err(_) => return,
                },
                () = sleep_until(pause) => break,
            }
        }
    }
}

/// Leaves the group when the counts are not known, or cannot be filled up.
pub(super) async fn drain(group: &mut Subscriber, mut take: impl FnMut(Message)) {
    let deadline = Instant::now() + WITHIN;
    if group.drain().await.is_err() {
        return;
    }
    while let Ok(Some(message)) = timeout_at(deadline, group.next()).await {
        if !is_filler(&message) {
            take(message);
        }
    }
}
