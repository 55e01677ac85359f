//! Leaving a queue group without losing a message.
//!
//! `Subscriber::drain` of the client forgets the subscription as soon as the server was told, and drops what the server
//! had sent before it heard of that. A subscription that ends by count does not: server and client count the same
//! messages, and both end with the same one. So the worker asks for some more than can be on their way, and sends as many
//! empty messages to the group itself, until its share has come.

use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::{Instant, sleep_until, timeout_at};

/// More messages than can be on their way from the server.
const MARGIN: u64 = 8 * 1024;

/// Empty messages that are sent at once.
const BURST: usize = 1024;

/// How long it may take.
pub(super) const WITHIN: Duration = Duration::from_secs(5);

/// How long after a burst the next one follows, if messages of others do not end it before.
const PAUSE: Duration = Duration::from_millis(2);

/// Whether a message is one of those that are sent for the count.
pub(super) fn is_filler(message: &Message) -> bool {
    message.payload.is_empty() && message.reply.is_none() && message.headers.is_none()
}

/// Leaves the group, of which `delivered` messages have come since it was joined. `take` gets those that still come.
pub(super) async fn leave(
    client: &Client,
    group: &mut Subscriber,
    subject: &str,
    delivered: u64,
    mut take: impl FnMut(Message),
) {
    let deadline = Instant::now() + WITHIN;
    if group.unsubscribe_after(delivered + MARGIN).await.is_err() {
        return;
    }
    loop {
        for _ in 0..BURST {
            if client.publish(subject.to_owned(), Bytes::new()).await.is_err() {
                return;
            }
        }
        let pause = Instant::now() + PAUSE;
        loop {
            tokio::select! {
                biased;
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

/// Leaves the group when the counts are not known, because the server has changed meanwhile.
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
