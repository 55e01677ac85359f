//! The configuration of a session, and its usage figures.

use crate::dialect::Dialect;
use crate::frame::Framing;
use crate::limits::Limits;

/// What a session is made with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Config {
    /// The protocol rules: what is allowed, and which cancel and progress messages are used.
    pub dialect: Dialect,
    /// How much of everything the connection may use.
    pub limits: Limits,
    /// Message framing. `None` detects it from the first bytes, which suits the side that answers; what is sent
    /// before anything came goes out as lines.
    pub framing: Option<Framing>,
    /// What is done with what is not a message.
    pub role: Role,
    /// The peer has no way to answer: calls are refused. Notifications may still reach it.
    pub one_way: bool,
    /// Any number that the peer cannot guess: it seeds the hash of the peer's ids.
    pub seed: u64,
    /// The ids of our calls are higher than this. A peer that hears of several sessions in one place, such as a caller of
    /// several workers, must be able to tell their ids apart; 0 elsewhere.
    pub ids_above: u64,
}

/// Which side of a connection a session is on. Both may call; they differ in what they do with text that is not
/// a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Answers what is not a message with an error, as the specification asks of a server.
    #[default]
    Server,
    /// Never answers what is not a message: it is [reported](crate::Event::Report). Servers print banners and log lines
    /// where their answers should be, and one that prints what it reads would be answered for ever.
    Client,
}

/// How much a session holds, in bytes and in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// The peer's requests that are running.
    pub running: usize,
    /// The peer's requests that are waiting or running.
    pub requests: usize,
    /// Our calls that wait for an answer.
    pub calls: usize,
    /// Bytes of requests and notifications that wait for their turn.
    pub queued: usize,
    /// The peer's subscriptions.
    pub sinks: usize,
    /// Our subscriptions, also those that are being asked for or left.
    pub subscriptions: usize,
    /// Bytes that wait to be sent. Items that wait for their turn are not among them.
    pub unsent: usize,
    /// Bytes that came and are not a whole message yet.
    pub unread: usize,
    /// All memory that depends on what the peer does: buffers, tables, the queue, batches, and params of running
    /// requests, which the driver may keep.
    pub bytes: usize,
}
