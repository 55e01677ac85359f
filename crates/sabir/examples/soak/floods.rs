//! More of what a hostile client may do: floods of frames, and connections that only stay.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::attacks::{call, dial, hold, post, send};

const HANDSHAKE: &[u8] =
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Sends this again and again while what comes back is dropped.
async fn flood(stream: TcpStream, first: &[u8], again: &[u8]) {
    let (mut read, mut write) = stream.into_split();
    let again = again.repeat(8192usize.div_ceil(again.len()));
    let reading = async { while read.read(&mut [0; 1 << 14]).await.is_ok_and(|count| count > 0) {} };
    let writing = async {
        let mut sent = write.write_all(first).await;
        while sent.is_ok() {
            sent = write.write_all(&again).await;
        }
    };
    tokio::select! {
        () = reading => {}
        () = writing => {}
    }
}

/// Calls that follow one another. The revision is one that needs no session.
pub(crate) async fn pipelined(address: SocketAddr) {
    let Some(stream) = dial(address).await else { return };
    let work = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"work\"}";
    flood(stream, b"", post("Mcp-Protocol-Version: none\r\n", work).as_bytes()).await;
}

pub(crate) async fn http2_frames(address: SocketAddr) {
    let ping = b"\0\0\x08\x06\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let settings = b"\0\0\0\x04\0\0\0\0\0";
    let headers = [PREFACE, b"\0\0\x03\x01\0\0\0\0\x01\x83\x86\x84"].concat();
    let continuation = b"\0\0\0\x09\0\0\0\0\x01";
    let (Some(one), Some(two), Some(three)) = (dial(address).await, dial(address).await, dial(address).await)
    else {
        return;
    };
    tokio::join!(
        flood(one, PREFACE, ping),
        flood(two, PREFACE, settings),
        flood(three, &headers, continuation)
    );
}

pub(crate) async fn websocket_frames(address: SocketAddr) {
    let (Some(one), Some(two)) = (dial(address).await, dial(address).await) else { return };
    let ping = [&[0x89, 0xFD, 0, 0, 0, 0][..], &[0; 125]].concat();
    let first = [HANDSHAKE, &[0x01, 0x80, 0, 0, 0, 0]].concat();
    tokio::join!(flood(one, HANDSHAKE, &ping), flood(two, &first, &[0x00, 0x81, 0, 0, 0, 0, b' ']));
}

/// As many connections as there may be, from addresses that are not the honest client's.
async fn fill(address: SocketAddr, said: &[u8]) {
    let mut held = Vec::new();
    for number in 0..4200u32 {
        let Ok(socket) = TcpSocket::new_v4() else { return };
        let from = Ipv4Addr::new(127, 0, 0, 2 + (number % 3) as u8);
        if socket.bind((from, 0).into()).is_err() {
            return;
        }
        let connecting = timeout(Duration::from_millis(200), socket.connect(address));
        if let Ok(Ok(mut stream)) = connecting.await {
            send(&mut stream, said).await;
            held.push(stream);
        }
    }
    hold(held).await;
}

pub(crate) async fn silent_websockets(address: SocketAddr) {
    fill(address, HANDSHAKE).await;
}

pub(crate) async fn sleepers_that_stay(address: SocketAddr) {
    fill(address, call(1, "sleep", "4000000000000").as_bytes()).await;
}

/// Opens a session, asks for streams of it, and calls what answers by streams that are left unread.
pub(crate) async fn streams(address: SocketAddr) {
    let Some(mut stream) = dial(address).await else { return };
    let open = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}";
    send(&mut stream, post("Accept: application/json\r\n", open).as_bytes()).await;
    let mut answer = vec![0; 4096];
    let Ok(Ok(count)) = timeout(Duration::from_secs(1), stream.read(&mut answer)).await else { return };
    let answer = String::from_utf8_lossy(&answer[..count]).to_ascii_lowercase();
    let Some(id) = answer.split("mcp-session-id: ").nth(1).and_then(|rest| rest.split("\r\n").next()) else {
        return;
    };
    let headers = format!("Mcp-Session-Id: {id}\r\nAccept: text/event-stream\r\n");
    let mut held = vec![stream];
    for number in 0..256 {
        let Some(mut stream) = dial(address).await else { continue };
        let request = match number % 2 {
            0 => format!("GET / HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"),
            _ => post(&headers, call(number, "big", "1000000").trim_end()),
        };
        send(&mut stream, request.as_bytes()).await;
        held.push(stream);
    }
    hold(held).await;
}

/// Many connections that send this for as long as the server takes it, and read nothing.
async fn unread(address: SocketAddr, first: &'static [u8], again: Vec<u8>) {
    let mut senders = tokio::task::JoinSet::new();
    let again = std::sync::Arc::new(again);
    for _ in 0..400 {
        let again = std::sync::Arc::clone(&again);
        senders.spawn(async move {
            let Some(mut stream) = dial(address).await else { return };
            let mut sent = stream.write_all(first).await;
            while sent.is_ok() {
                sent = stream.write_all(&again).await;
            }
        });
    }
    while senders.join_next().await.is_some() {}
}

/// Twenty kilobytes that ask for as many errors as a batch may have entries.
fn numbers() -> String {
    format!("[{}1]", "1,".repeat(9998))
}

pub(crate) async fn junk_batches(address: SocketAddr) {
    unread(address, b"", (numbers() + "\n").into_bytes()).await;
}

pub(crate) async fn junk_batches_with_headers(address: SocketAddr) {
    let batch = numbers();
    unread(address, b"", format!("Content-Length: {}\r\n\r\n{batch}", batch.len()).into_bytes()).await;
}

pub(crate) async fn junk_batches_by_http(address: SocketAddr) {
    unread(address, b"", post("", &numbers()).into_bytes()).await;
}

pub(crate) async fn junk_batches_by_websocket(address: SocketAddr) {
    let batch = numbers();
    let length = (batch.len() as u16).to_be_bytes();
    unread(address, HANDSHAKE, [&[0x81, 0xFE][..], &length, &[0; 4], batch.as_bytes()].concat()).await;
}

pub(crate) async fn junk_lines(address: SocketAddr) {
    unread(address, b"", b"1\n".repeat(9999)).await;
}

pub(crate) async fn refused_batches(address: SocketAddr) {
    let batch = |entry: fn(usize) -> String| {
        let entries: Vec<String> = (0..9999).map(|id| entry(id).trim_end().to_owned()).collect();
        format!("[{}]\n", entries.join(","))
    };
    let unknown = batch(|id| call(id, "nothing", ""));
    let equal = batch(|_| call(1, "add", "1,2"));
    let wrong = batch(|id| call(id, "add", "\"x\""));
    unread(address, b"", (unknown + &equal + &wrong).into_bytes()).await;
}
