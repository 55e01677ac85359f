//! Finds messages in the copy of a stream, by what the stream is.

mod cutter;
mod frames;
mod other_events;

use std::fmt;

use cutter::{Cutter, LARGEST};
use frames::Frames;
pub(super) use frames::{Closing, Head, frame_head, unmask};
use other_events::OtherEvents;
use sabir::sse::{Event, Parser};

use super::queue::Channel;

/// A message, or why there is none.
pub(super) enum Found<'b> {
    Message(&'b [u8]),
    /// Something that is worth a note.
    Note(String),
    /// One side ends a WebSocket, with a code and a reason.
    Closing(String),
    /// Something cannot be recorded.
    Missing(String),
}

/// The decoder of one stream.
pub(super) enum Decoder {
    Cut(Box<Cutter>),
    /// A body is one message.
    Whole {
        body: Vec<u8>,
        is_lost: bool,
    },
    Events(Parser, Box<OtherEvents>),
    Frames(Frames),
}

impl Decoder {
    pub(super) fn new(channel: Channel) -> Self {
        match channel {
            Channel::Stream => Decoder::Cut(Box::default()),
            Channel::Stderr => Decoder::Cut(Box::new(Cutter::lines())),
            Channel::Body => Decoder::Whole { body: Vec::new(), is_lost: false },
            Channel::Events => Decoder::Events(Parser::new(LARGEST), Box::default()),
            Channel::Frames => Decoder::Frames(Frames::default()),
        }
    }

    /// Takes the next bytes, and hands out what is whole. `room` is memory that the streams take turns with.
    pub(super) fn pass(&mut self, bytes: &[u8], room: &mut Vec<u8>, mut take: impl FnMut(Found<'_>)) {
        match self {
            Decoder::Cut(cutter) => cutter.pass(bytes, room, |cut| take(found(cut))),
            Decoder::Whole { body, is_lost } if body.len() + bytes.len() > LARGEST => {
                *body = Vec::new();
                *is_lost = true;
            }
            Decoder::Whole { body, .. } => body.extend_from_slice(bytes),
            Decoder::Events(parser, others) => {
                others.pass(bytes, &mut take);
                parser.feed(bytes);
                while let Some(event) = parser.next() {
                    match event {
                        Event::Data(data) if data.trim_ascii().is_empty() => {}
                        Event::Data(data) => take(Found::Message(&data)),
                        _ => {
                            take(Found::Missing("an event is too large to be recorded".to_owned()));
                        }
                    }
                }
            }
            Decoder::Frames(frames) => frames.pass(bytes, room, &mut take),
        }
    }

    /// Bytes of messages that are not whole yet, as far as that is known.
    pub(super) fn held(&self) -> usize {
        match self {
            Decoder::Cut(cutter) => cutter.held(),
            Decoder::Whole { body, .. } => body.len(),
            Decoder::Events(parser, _) => parser.held(),
            Decoder::Frames(frames) => frames.held(),
        }
    }

    /// Bytes are missing.
    pub(super) fn gap(&mut self) {
        match self {
            Decoder::Cut(cutter) => cutter.gap(),
            Decoder::Whole { body, is_lost } => {
                *body = Vec::new();
                *is_lost = true;
            }
            Decoder::Events(parser, others) => {
                *parser = Parser::new(LARGEST);
                **others = OtherEvents::default();
            }
            Decoder::Frames(frames) => frames.gap(),
        }
    }

    /// How a WebSocket has ended on this side, as far as that was seen. `None` if it is none.
    pub(super) fn closing(&self) -> Option<Closing> {
        match self {
            Decoder::Frames(frames) => Some(frames.closing()),
            _ => None,
        }
    }

    /// The stream has ended, perhaps in the middle of a message.
    pub(super) fn finish(&mut self, mut take: impl FnMut(Found<'_>)) {
        match self {
            Decoder::Cut(cutter) => cutter.finish(|cut| take(found(cut))),
            Decoder::Whole { is_lost: true, .. } => {
                take(Found::Missing("a body is not whole, and so not recorded".to_owned()));
            }
            Decoder::Whole { body, .. } if body.trim_ascii().is_empty() => {}
            Decoder::Whole { body, .. } => take(Found::Message(body)),
            Decoder::Events(..) | Decoder::Frames(_) => {}
        }
    }
}

fn found(cut: Result<&[u8], sabir_proto::FrameFault>) -> Found<'_> {
    match cut {
        Ok(body) => Found::Message(body),
        Err(fault) => Found::Missing(fault.to_string()),
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Decoder::Cut(_) => "Cut",
            Decoder::Whole { .. } => "Whole",
            Decoder::Events(..) => "Events",
            Decoder::Frames(_) => "Frames",
        })
    }
}
