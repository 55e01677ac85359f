//! Passes the bytes of two streams on to each other, and a copy of them to the queue.

use std::io;

use sabir_model::capture::Direction;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

use super::Duplex;
use super::send::Sends;
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

/// Until both sides have closed their end, or one breaks. `sends` is for what the page sends.
pub(super) async fn both(
    client: Duplex,
    server: Duplex,
    of: Both,
    queue: &Queue,
    sends: Option<&Sends>,
) -> io::Result<()> {
    let (from_client, to_client) = split(client);
    let (from_server, to_server) = split(server);
    let done = match sends {
        None => tokio::try_join!(
            carry(from_client, to_server, of[0], queue),
            carry(from_server, to_client, of[1], queue)
        ),
        Some(sends) => {
            let (injected, waiting) = (sends.add(of[0].connection), Waiting::default());
            tokio::try_join!(
                carry_in(from_client, to_server, of[0], queue, injected, &waiting),
                carry_out(from_server, to_client, of[1], queue, &waiting)
            )
        }
    };
    of.into_iter().for_each(|stream| queue.end(stream));
    done.map(drop)
}

/// What the client says, and in between what the page does.
async fn carry_in(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    stream: Stream,
    queue: &Queue,
    mut injected: Injected,
    waiting: &Waiting,
) -> io::Result<()> {
    let mut buffer = vec![0; SOCKET_BUFFER];
    let mut units = Units::new(stream.channel);
    loop {
        tokio::select! {
            count = from.read(&mut buffer) => {
                let count = count?;
                if count == 0 {
                    return to.shutdown().await;
                }
                let ticket = queue.ticket();
                let written = write(&mut to, &buffer[..count]).await;
                queue.push_copy(ticket, stream, &buffer[..count]);
                written?;
                units.pass(&buffer[..count], |_, _| {});
            }
            Some((own, tell)) = injected.recv(), if units.is_between() => {
                if let Some(framed) = waiting.begin(own, tell, &units) {
                    let ticket = queue.ticket();
                    let written = write(&mut to, &framed).await;
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
    mut to: impl AsyncWrite + Unpin,
    stream: Stream,
    queue: &Queue,
    waiting: &Waiting,
) -> io::Result<()> {
    let mut buffer = vec![0; SOCKET_BUFFER];
    let mut answers = Answers::new(stream.channel);
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            write(&mut to, answers.rest()).await?;
            return to.shutdown().await;
        }
        let ticket = queue.ticket();
        let written = write(&mut to, &answers.pass(&buffer[..count], waiting)).await;
        queue.push_copy(ticket, stream, &buffer[..count]);
        written?;
    }
}

async fn write(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes).await?;
    to.flush().await
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    stream: Stream,
    queue: &Queue,
) -> io::Result<()> {
    let mut buffer = vec![0; SOCKET_BUFFER];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        let ticket = queue.ticket();
        let written = write(&mut to, &buffer[..count]).await;
        queue.push(ticket, stream, &mut buffer, count);
        written?;
        // Whoever sends more than fits has more to send.
        if count == buffer.len() && count < BUFFER {
            buffer = vec![0; BUFFER];
        }
    }
}
