//! A stream of bytes, cut into messages by lines or headers.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use sabir::Framing;
use sabir::transport::RawStreams;
use sabir_proto::{Cut, Deframer, FrameFault};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::Got;
use crate::detect::{Detected, Watch, WatchTap};
use crate::peer::PeerOptions;

/// How long a peer may take to read what it is sent.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) struct Stream {
    streams: RawStreams,
    framing: Framing,
    deframer: Deframer,
    watch: Watch,
    tap: WatchTap,
    unread: Vec<u8>,
    ready: VecDeque<Got>,
    ended: bool,
}

impl Stream {
    pub(super) fn new(streams: RawStreams, peer: &PeerOptions, watch: &Watch) -> Self {
        Stream {
            streams,
            framing: peer.framing,
            deframer: Deframer::new(Some(peer.framing), peer.max_size),
            watch: watch.clone(),
            tap: watch.tap(peer),
            unread: Vec::new(),
            ready: VecDeque::new(),
            ended: false,
        }
    }

    pub(super) async fn send(&mut self, text: &str) -> io::Result<()> {
        let framed = match self.framing {
            Framing::Headers => format!("Content-Length: {}\r\n\r\n{text}", text.len()),
            _ => format!("{text}\n"),
        };
        let write = async {
            self.streams.write.write_all(framed.as_bytes()).await?;
            self.streams.write.flush().await
        };
        // A peer that reads nothing must not block us.
        timeout(WRITE_TIMEOUT, write).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// The next message, whatever it is.
    pub(super) async fn next(&mut self) -> Got {
        loop {
            if self.mismatch().is_some() {
                return Got::End;
            }
            if let Some(got) = self.ready.pop_front() {
                return got;
            }
            if self.ended {
                return Got::End;
            }
            let mut chunk = [0; 16 << 10];
            let count = self.streams.read.read(&mut chunk).await.unwrap_or(0);
            self.tap.feed(&chunk[..count]);
            self.unread.extend_from_slice(&chunk[..count]);
            self.cut();
            if count == 0 {
                self.ended = true;
                // A last line need not have its end.
                if let Cut::Message { body, .. } = self.deframer.finish(&self.unread) {
                    self.ready.push_back(Got::Message(body.to_vec()));
                }
            }
        }
    }

    /// What the peer speaks, if that is not what was expected.
    pub(super) fn mismatch(&self) -> Option<Detected> {
        self.watch.found()
    }

    pub(super) async fn exit_reason(&mut self) -> Option<String> {
        self.streams.exit_reason().await
    }

    pub(super) async fn close(self) {
        self.streams.close().await;
    }

    fn cut(&mut self) {
        let mut done = 0;
        loop {
            match self.deframer.cut(&self.unread[done..]) {
                Cut::Message { body, used } => {
                    self.ready.push_back(Got::Message(body.to_vec()));
                    done += used;
                }
                Cut::Fault { fault, used, .. } => {
                    if let FrameFault::TooLarge { limit } = fault {
                        self.ready.push_back(Got::TooLarge { limit });
                    }
                    done += used;
                }
                Cut::More { used, .. } => {
                    done += used;
                    break;
                }
            }
        }
        self.unread.drain(..done);
    }
}
