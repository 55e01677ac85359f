//! How much of everything one connection may use.

use std::time::Duration;

/// The limits of one connection. Together the defaults keep what it holds under 128 MiB whatever the peer
/// does; what a handler builds for itself is its own.
///
/// | at the limit | what happens |
/// |---|---|
/// | [`message_bytes`](Self::message_bytes) | one [`MESSAGE_TOO_LARGE`](crate::ErrorCode::MESSAGE_TOO_LARGE) with the id of the request if it is in the first 4 KiB, else with id null; the message is skipped as it comes, unbuffered; the next one is served |
/// | [`depth`](Self::depth) | `-32700`: nested too deeply |
/// | [`batch_len`](Self::batch_len) | one [`BATCH_TOO_LONG`](crate::ErrorCode::BATCH_TOO_LONG) for the whole batch; none of it is done |
/// | [`in_flight`](Self::in_flight), [`in_flight_bytes`](Self::in_flight_bytes) | requests wait in the queue |
/// | [`queued_bytes`](Self::queued_bytes) | a request is answered [`OVERLOADED`](crate::ErrorCode::OVERLOADED); a notification is dropped and reported |
/// | [`calls`](Self::calls) | `call` refuses |
/// | [`high_water`](Self::high_water) | nothing more is read, and no waiting request starts, until the peer reads; a batch whose errors to invalid messages would go beyond it is answered with one [`OVERLOADED`](crate::ErrorCode::OVERLOADED) |
/// | [`outbound_bytes`](Self::outbound_bytes) | nothing more is read; an answer is replaced by [`ANSWER_TOO_LARGE`](crate::ErrorCode::ANSWER_TOO_LARGE), and what has not started of its batch is answered [`OVERLOADED`](crate::ErrorCode::OVERLOADED); `call` and `notify` refuse |
/// | [`max_error_replies`](Self::max_error_replies) | further unreadable messages are reported and no longer answered, until a readable one comes |
/// | [`subscriptions`](Self::subscriptions) | a request to subscribe is answered [`TOO_MANY_SUBSCRIPTIONS`](crate::ErrorCode::TOO_MANY_SUBSCRIPTIONS) |
/// | [`subscription_items`](Self::subscription_items), [`subscription_bytes`](Self::subscription_bytes) | items wait, are dropped, or end their subscription, as its [`Overflow`](crate::Overflow) says |
/// | [`stall`](Self::stall), [`idle`](Self::idle) | the connection ends, and every call with it |
///
/// Start from the default and change what you need:
///
/// ```
/// use sabir_proto::Limits;
///
/// let small = Limits { message_bytes: 64 * 1024, ..Limits::default() };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one incoming message. 16 MiB: an image in base64 passes.
    pub message_bytes: usize,
    /// Open brackets at any point of a message, its own included. 128, which is also the most.
    pub depth: u8,
    /// Entries in one incoming batch. 10,000. The answer to a batch of ours may be as long as that batch.
    pub batch_len: usize,
    /// Requests of the peer that may run at once, beside one more for each open call of ours: a handler
    /// that waits for the peer must not keep out what the peer asks in return. 16,384.
    pub in_flight: usize,
    /// Bytes of ids, methods, params, `_meta` and progress tokens that running requests may hold. One request
    /// always runs. Where all that run may be waiting for the peer, a request that finds no room is refused
    /// rather than kept waiting. 20 MiB.
    pub in_flight_bytes: usize,
    /// Bytes of requests and notifications that wait for their turn, of all ids, and of the tables that all of
    /// these need. 20 MiB.
    pub queued_bytes: usize,
    /// Calls of ours that may wait for an answer. 16,384.
    pub calls: usize,
    /// Unsent bytes from which on nothing more is read. 1 MiB.
    pub high_water: usize,
    /// Unsent bytes, and answers of unfinished batches, at the very most. From here on nothing is read. 20 MiB.
    pub outbound_bytes: usize,
    /// Unreadable messages in a row that are answered. 1,048,576.
    pub max_error_replies: u32,
    /// Subscriptions that the peer may have open. 1,024.
    pub subscriptions: usize,
    /// Items that may wait to be sent for one subscription of the peer, and items that are kept for one of ours before
    /// its response has come. 64.
    pub subscription_items: usize,
    /// Bytes of all items that wait to be sent, and of all that came before their response. 4 MiB each, with their
    /// bookkeeping; the item that reaches the limit may be larger. Of those to be sent, half is left to the first item of
    /// each subscription, so that none starves because others queue.
    pub subscription_bytes: usize,
    /// How long the peer may read nothing while there is something to send. A minute.
    pub stall: Option<Duration>,
    /// How long nothing may arrive while nothing is in flight either way. No limit.
    pub idle: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            message_bytes: 16 << 20,
            depth: 128,
            batch_len: 10_000,
            in_flight: 16_384,
            in_flight_bytes: 20 << 20,
            queued_bytes: 20 << 20,
            calls: 16_384,
            high_water: 1 << 20,
            outbound_bytes: 20 << 20,
            max_error_replies: 1 << 20,
            subscriptions: 1024,
            subscription_items: 64,
            subscription_bytes: 4 << 20,
            stall: Some(Duration::from_secs(60)),
            idle: None,
        }
    }
}
