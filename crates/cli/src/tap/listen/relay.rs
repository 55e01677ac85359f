//! Passes the bytes of two streams on to each other, and a copy of them to the queue.

use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};

use sabir_model::capture::Direction;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

use super::send::Sends;
use super::socket::{End, LAST_WORDS, Socket};
use crate::tap::inject::{Answers, Injected, Units, Waiting};
use crate::tap::queue::{BUFFER, Channel, Queue, SOCKET_BUFFER, Stream};

/// Both directions of a connection.
pub(super) type Both = [Stream; 2];

/// Those of a connection of bytes.
pub(super) fn streams(connection: u64) -> Both {
    of(connection, Channel::Stream, 0)
}

/// Those of a WebSocket.
pub(super) fn frames(connection: u64, exchange: u64) -> Both {
    of(connection, Channel::Frames, exchange)
}

fn of(connection: u64, channel: Channel, exchange: u64) -> Both {
    [Direction::ToServer, Direction::ToClient].map(|direction| Stream {
        connection,
        direction,
        channel,
        exchange,
    })
}

/// Passes on until both sides have closed their end, or one is broken: then the other gets what it has said before, and is
/// broken, too. `sends` is for what the page sends.
pub(super) async fn both(
    client: End,
    server: End,
    of: Both,
    queue: &Queue,
    sends: Option<&Sends>,
) -> io::Result<()> {
    let moved = AtomicU64::new(0);
    let (from_client, to_client) = split(client.stream);
    let (from_server, to_server) = split(server.stream);
    let to_client = Output { to: to_client, socket: client.socket.as_ref(), moved: &moved };
    let to_server = Output { to: to_server, socket: server.socket.as_ref(), moved: &moved };
    let broken = match sends {
        None => {
            let inbound = pin!(carry(from_client, to_server, of[0], queue));
            let outbound = pin!(carry(from_server, to_client, of[1], queue));
            ended(inbound, outbound, &moved).await
        }
        Some(sends) => {
            let (injected, waiting) = (sends.add(of[0].connection), Waiting::default());
            let inbound = pin!(carry_in(from_client, to_server, of[0], queue, injected, &waiting));
            let outbound = pin!(carry_out(from_server, to_client, of[1], queue, &waiting));
            ended(inbound, outbound, &moved).await
        }
    };
    of.into_iter().for_each(|stream| queue.end(stream));
    let Some((side, error)) = broken else { return Ok(()) };
    let other = match side {
        Side::Client => server.socket,
        Side::Server => client.socket,
    };
    if let Some(other) = other {
        other.reset().await;
    }
    Err(error)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// Why one direction cannot go on.
enum Broken {
    From(io::Error),
    To(io::Error),
}

/// Waits for the end of both directions. Which side is broken, if one is.
async fn ended(
    inbound: Pin<&mut (impl Future<Output = Result<(), Broken>> + Send)>,
    outbound: Pin<&mut (impl Future<Output = Result<(), Broken>> + Send)>,
    moved: &AtomicU64,
) -> Option<(Side, io::Error)> {
    let inbound: Direct<'_> = inbound;
    let outbound: Direct<'_> = outbound;
    let (mut inbound, mut outbound) = (inbound, outbound);
    let (first, from, to, mut other) = tokio::select! {
        first = &mut inbound => (first, Side::Client, Side::Server, outbound),
        first = &mut outbound => (first, Side::Server, Side::Client, inbound),
    };
    match first {
        Err(Broken::From(error)) => Some((from, error)),
        Err(Broken::To(error)) => {
            // It may have said something before. Whoever does not take that cannot hold it up for ever.
            let mut before = moved.load(Ordering::Relaxed);
            while tokio::time::timeout(LAST_WORDS, &mut other).await.is_err() {
                let now = moved.load(Ordering::Relaxed);
                if std::mem::replace(&mut before, now) == now {
                    break;
                }
            }
            Some((to, error))
        }
        Ok(()) => match other.await {
            Ok(()) => None,
            Err(Broken::From(error)) => Some((to, error)),
            Err(Broken::To(error)) => Some((from, error)),
        },
    }
}

type Direct<'d> = Pin<&'d mut (dyn Future<Output = Result<(), Broken>> + Send + 'd)>;

/// Where one direction leads to.
struct Output<'o, W> {
    to: W,
    socket: Option<&'o Socket>,
    /// Counts bytes of both directions.
    moved: &'o AtomicU64,
}

impl<W: AsyncWrite + Unpin> Output<'_, W> {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let written = async {
            self.to.write_all(bytes).await?;
            self.to.flush().await
        };
        written.await.map_err(Broken::To)?;
        self.moved.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Nothing more comes this way.
    async fn finish(mut self) -> Result<(), Broken> {
        // Until then a reset, if there is one, could throw it away.
        if let Some(socket) = self.socket {
            socket.sent().await;
        }
        self.to.shutdown().await.map_err(Broken::To)
    }
}

/// What the client says, and in between what the page does.
async fn carry_in(
    mut from: impl AsyncRead + Unpin,
    mut to: Output<'_, impl AsyncWrite + Unpin>,
    stream: Stream,
    queue: &Queue,
    mut injected: Injected,
    waiting: &Waiting,
) -> Result<(), Broken> {
    let mut buffer = vec![0; SOCKET_BUFFER];
    let mut units = Units::new(stream.channel);
    loop {
        tokio::select! {
            count = from.read(&mut buffer) => {
                let count = count.map_err(Broken::From)?;
                if count == 0 {
                    return to.finish().await;
                }
                let ticket = queue.ticket();
                let written = to.write(&buffer[..count]).await;
                queue.push_copy(ticket, stream, &buffer[..count]);
                written?;
                units.pass(&buffer[..count], |_, _| {});
            }
            Some((own, tell)) = injected.recv(), if units.is_between() => {
                if let Some(framed) = waiting.begin(own, tell, &units) {
                    let ticket = queue.ticket();
                    let written = to.write(&framed).await;
                    queue.push_copy(ticket, stream, &framed);
                    written?;
                }
            }
        }
    }
}

/// What the server says, but for the answers to the page.
async fn carry_out(
    mut from: impl AsyncRead + Unpin,
    mut to: Output<'_, impl AsyncWrite + Unpin>,
    stream: Stream,
    queue: &Queue,
    waiting: &Waiting,
) -> Result<(), Broken> {
    let mut buffer = vec![0; SOCKET_BUFFER];
    let mut answers = Answers::new(stream.channel);
    loop {
        let count = match from.read(&mut buffer).await {
            Ok(count @ 1..) => count,
            ended => {
                to.write(answers.rest()).await?;
                ended.map_err(Broken::From)?;
                return to.finish().await;
            }
        };
        let ticket = queue.ticket();
        let written = to.write(&answers.pass(&buffer[..count], waiting)).await;
        queue.push_copy(ticket, stream, &buffer[..count]);
        written?;
    }
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: Output<'_, impl AsyncWrite + Unpin>,
    stream: Stream,
    queue: &Queue,
) -> Result<(), Broken> {
    let mut buffer = vec![0; SOCKET_BUFFER];
    loop {
        let count = from.read(&mut buffer).await.map_err(Broken::From)?;
        if count == 0 {
            return to.finish().await;
        }
        let ticket = queue.ticket();
        let written = to.write(&buffer[..count]).await;
        queue.push(ticket, stream, &mut buffer, count);
        written?;
        // Whoever sends more than fits has more to send.
        if count == buffer.len() && count < BUFFER {
            buffer = vec![0; BUFFER];
        }
    }
}
