//! Passes the bytes of two streams on to each other, and a copy of them to the queue.

use std::io;

use sabir_model::capture::Direction;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

use super::Duplex;
use crate::tap::queue::{Channel, Queue, SOCKET_BUFFER, Stream};

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

/// Until both sides have closed their end, or one breaks.
pub(super) async fn both(client: Duplex, server: Duplex, of: Both, queue: &Queue) -> io::Result<()> {
    let (from_client, to_client) = split(client);
    let (from_server, to_server) = split(server);
    let done = tokio::try_join!(
        carry(from_client, to_server, of[0], queue),
        carry(from_server, to_client, of[1], queue)
    );
    of.into_iter().for_each(|stream| queue.end(stream));
    done.map(drop)
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
        let written = async {
            to.write_all(&buffer[..count]).await?;
            to.flush().await
        };
        let written = written.await;
        queue.push(ticket, stream, &mut buffer, count);
        written?;
    }
}
