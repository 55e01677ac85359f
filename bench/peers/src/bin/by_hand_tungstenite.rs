//! By hand on WebSocket: tungstenite and `serde_json`, a task for each connection, and one flush for
//! all that came together.

use std::error::Error;

use futures_util::{FutureExt, SinkExt, StreamExt};
use sabir_bench_peers::request;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("serving on ws://{}", listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(serve(socket));
    }
}

async fn serve(socket: TcpStream) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut socket = tokio_tungstenite::accept_async(socket).await?;
    loop {
        let message = match socket.next().now_or_never() {
            Some(message) => message,
            // The next read has to wait, so what is ready goes out.
            None => {
                socket.flush().await?;
                socket.next().await
            }
        };
        match message {
            Some(Ok(Message::Text(text))) => {
                let mut out = Vec::with_capacity(64);
                if request(text.as_bytes(), &mut out)? {
                    socket.feed(Message::text(String::from_utf8(out)?)).await?;
                }
            }
            Some(Ok(_)) => (),
            Some(Err(e)) => return Err(e.into()),
            None => return Ok(()),
        }
    }
}
