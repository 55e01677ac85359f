//! Finds out whether a peer is an MCP server, a language server, or neither, when no profile is given.

use std::time::Duration;

use sabir::Framing;
use sabir_model::capture::Direction;
use sabir_model::rules::{Profile, Revision};
use sabir_proto::{Incoming, LENIENT, Limits, Message, decode};
use tokio::time::{Instant, timeout_at};

use super::probes::{ProbeBuilder, START, answered_id};
use super::wire::{Got, Wire, WireTarget};
use crate::exit::Failure;

/// Messages that are looked at.
const MOST_MESSAGES: usize = 100;

/// An open connection, and what was said on it.
pub(super) struct Identified {
    pub(super) wire: Wire,
    /// The session is open: its first request was answered as the profile says.
    pub(super) is_open: bool,
    pub(super) said: Vec<(Direction, Vec<u8>)>,
}

/// What a peer is asked as, by the way its messages are delimited.
pub(super) fn guess(framing: Framing) -> Profile {
    match framing {
        Framing::Headers => Profile::Lsp,
        _ => Profile::Mcp(None),
    }
}

/// Opens a connection and asks the peer to open a session. `target` has the guessed profile, and gets the right one.
pub(super) async fn identify(
    target: &mut WireTarget,
    method: &str,
    timeout: Duration,
) -> Result<Identified, Failure> {
    let deadline = Instant::now() + timeout;
    let (wire, answer, said) = ask(target, method, deadline).await?;
    let is_http = matches!(wire, Wire::Post(_));
    match answer {
        Answer::Opens => return Ok(Identified { said, ..Identified::new(wire).open() }),
        // What was said over HTTP was said as a client of MCP.
        Answer::Other if !is_http => {
            target.profile = Profile::JsonRpc;
            return Ok(Identified { said, ..Identified::new(wire) });
        }
        Answer::Other | Answer::None => {}
    }
    if is_http && matches!(wire.status(), Some(400 | 404 | 405)) {
        // The first revision has another way to use HTTP.
        target.profile = Profile::Mcp(Some(Revision::V2024_11_05));
        if let Ok((wire, Answer::Opens, said)) = ask(target, method, deadline).await {
            return Ok(Identified { said, ..Identified::new(wire).open() });
        }
    }
    wire.close().await;
    target.profile = Profile::JsonRpc;
    Ok(Identified::new(target.open().await?))
}

impl Identified {
    /// A connection on which nothing was said.
    pub(super) fn new(wire: Wire) -> Self {
        Identified { wire, is_open: false, said: Vec::new() }
    }

    fn open(self) -> Self {
        Identified { is_open: true, ..self }
    }
}

/// What came of asking.
enum Answer {
    /// The session is open.
    Opens,
    /// The request was refused, or answered by something else.
    Other,
    /// None came in time, the connection ended, or HTTP brought no message.
    None,
}

/// With what was said.
type Probed = (Wire, Answer, Vec<(Direction, Vec<u8>)>);

async fn ask(target: &WireTarget, method: &str, deadline: Instant) -> Result<Probed, Failure> {
    let mut wire = target.open().await?;
    let builder = ProbeBuilder { profile: target.profile, method: method.to_owned(), params: None };
    let Some((request, _)) = builder.opening() else { return Ok((wire, Answer::None, Vec::new())) };
    let mut said = vec![(Direction::ToServer, request.clone().into_bytes())];
    let _ = wire.send(&request).await;
    let limits = Limits { message_bytes: target.peer.max_size, ..Limits::default() };
    while said.len() < MOST_MESSAGES && !wire.is_idle() {
        let Ok(Got::Message(text)) = timeout_at(deadline, wire.next()).await else { break };
        let answer = match decode(&text, &LENIENT, &limits) {
            Ok(Incoming::One(message)) if answered_id(&text).is_some_and(|id| id.text() == START) => {
                Some(matches!(message, Ok(Message::Response(response))
                    if response.outcome.as_ref().is_ok_and(|result| result.get("capabilities").is_some())))
            }
            _ => None,
        };
        said.push((Direction::ToClient, text));
        match answer {
            Some(true) => return Ok((wire, Answer::Opens, said)),
            Some(false) => return Ok((wire, Answer::Other, said)),
            None => {}
        }
    }
    Ok((wire, Answer::None, said))
}
