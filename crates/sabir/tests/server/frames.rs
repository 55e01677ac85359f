//! WebSocket by hand, so that frames can be wrong.

use crate::client::Client;

pub(crate) const HANDSHAKE: &str = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
    Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

pub(crate) const TEXT: u8 = 0x81;
pub(crate) const BINARY: u8 = 0x82;
pub(crate) const CLOSE: u8 = 0x88;
pub(crate) const PING: u8 = 0x89;
pub(crate) const PONG: u8 = 0x8A;

/// A frame as clients send it. The mask is all zeros, which is as good as any.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = start(first, payload.len());
    frame.extend_from_slice(payload);
    frame
}

/// A frame before its payload.
pub(crate) fn start(first: u8, length: usize) -> Vec<u8> {
    let mut frame = vec![first];
    match u16::try_from(length) {
        Ok(length @ 0..=125) => frame.push(0x80 | length as u8),
        Ok(length) => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&length.to_be_bytes());
        }
        Err(_) => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame
}

impl Client {
    /// Makes a WebSocket of the connection.
    pub(crate) async fn upgrade(mut self, headers: &str) -> Self {
        self.send(HANDSHAKE.replace("\r\n\r\n", &format!("\r\n{headers}\r\n"))).await;
        let head = self.head().await;
        assert_eq!(head.status(), 101, "{}", head.text);
        self
    }

    /// The next frame: its first byte, and its payload. Zero at the end of the connection.
    pub(crate) async fn frame(&mut self) -> (u8, Vec<u8>) {
        let [first, length] = self.bytes(2).await[..] else { return (0, Vec::new()) };
        let length = match length {
            126 => self.bytes(2).await.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte)),
            127 => self.bytes(8).await.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte)),
            short => usize::from(short),
        };
        (first, self.bytes(length).await)
    }

    /// The code with which the other side closes, past everything else; `None` if it ends without one.
    pub(crate) async fn close_code(&mut self) -> Option<u16> {
        loop {
            match self.frame().await {
                (CLOSE, reason) => return Some(u16::from_be_bytes([reason[0], reason[1]])),
                (0, _) => return None,
                _ => {}
            }
        }
    }
}
