//! By hand on TCP: a message a line, a tokio task for each connection, one write per burst of reads.

use std::io;

use sabir_bench_peers::request;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("serving on tcp://{}", listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(serve(socket));
    }
}

async fn serve(mut socket: TcpStream) -> io::Result<()> {
    let (input, mut output) = socket.split();
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let (mut line, mut out) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line).await? > 0 {
        if request(&line, &mut out)? {
            out.push(b'\n');
        }
        line.clear();
        if memchr::memchr(b'\n', input.buffer()).is_none() || out.len() >= 64 * 1024 {
            output.write_all(&out).await?;
            out.clear();
        }
    }
    Ok(())
}
