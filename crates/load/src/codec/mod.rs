//! Messages as bytes, and bytes as messages.

mod http;
mod websocket;

pub(crate) use http::Http;
use sabir_proto::{Cut, Deframer, Framing};
pub(crate) use websocket::WebSocket;

/// How messages are delimited on a stream of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// One message per line.
    Lines,
    /// `Content-Length` headers before each message.
    Headers,
    /// Frames of WebSocket, on a connection that was upgraded.
    WebSocket,
}

/// What is next in the bytes that came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Message(&'a [u8]),
    /// This is to be sent back, as it is.
    Reply(Vec<u8>),
    /// It was skipped, and why.
    Fault(String),
    /// It means nothing.
    Nothing,
    /// More bytes are needed.
    More,
    /// The peer has closed the connection.
    End,
}

/// The state of a connection that has one.
pub(crate) enum Coder {
    Stream { framing: Framing, deframer: Box<Deframer> },
    WebSocket(Box<WebSocket>),
}

impl Coder {
    pub(crate) fn new(codec: Codec, max_size: usize) -> Coder {
        let stream =
            |framing| Coder::Stream { framing, deframer: Box::new(Deframer::new(Some(framing), max_size)) };
        match codec {
            Codec::Lines => stream(Framing::Lines),
            Codec::Headers => stream(Framing::Headers),
            Codec::WebSocket => Coder::WebSocket(Box::new(WebSocket::new(max_size))),
        }
    }

    /// Appends what `write` appends, as one message.
    pub(crate) fn encode(&mut self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        match self {
            Coder::Stream { framing: Framing::Headers, .. } => {
                let mut body = Vec::new();
                write(&mut body);
                out.extend_from_slice(b"Content-Length: ");
                out.extend_from_slice(itoa::Buffer::new().format(body.len()).as_bytes());
                out.extend_from_slice(b"\r\n\r\n");
                out.append(&mut body);
            }
            Coder::Stream { .. } => {
                write(out);
                out.push(b'\n');
            }
            Coder::WebSocket(frames) => {
                let mut body = Vec::new();
                write(&mut body);
                frames.text(out, &body);
            }
        }
    }

    /// What is next, and how many bytes it takes.
    pub(crate) fn next<'a>(&'a mut self, bytes: &'a [u8]) -> (Piece<'a>, usize) {
        match self {
            Coder::Stream { deframer, .. } => match deframer.cut(bytes) {
                Cut::Message { body, used } => (Piece::Message(body), used),
                Cut::Fault { fault, used, .. } => (Piece::Fault(fault.to_string()), used),
                Cut::More { used, .. } => (Piece::More, used),
            },
            Coder::WebSocket(frames) => frames.next(bytes),
        }
    }
}
