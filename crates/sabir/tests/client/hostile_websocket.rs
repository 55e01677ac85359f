//! A WebSocket server that breaks the protocol: every call ends, with the reason, and nothing piles up.

use std::time::Duration;

use sabir::{CallError, Cause, Limits, Peer, Router, SendError, transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::script::within;

const LIMIT: usize = 100_000;

/// What a server does once the first message of the client has come.
type Play = fn(TcpStream) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Reads the head of a request, and returns the key in it.
async fn handshake(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
    derive_accept_key(key.as_bytes())
}

/// A client of a server that shakes hands, waits for the first call, and then plays.
async fn connect(play: Play) -> Peer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let accept = handshake(&mut stream).await;
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.read_u8().await.unwrap();
        play(stream).await;
    });
    let limits = Limits { message_bytes: LIMIT, ..Limits::default() };
    sabir::connect(transport::url(format!("ws://{address}/")).limits(limits), Router::new()).await.unwrap()
}

fn call(peer: &Peer) -> impl Future<Output = Result<i64, CallError>> + use<> {
    let call = peer.call::<i64>("add", (1, 2)).timeout(Duration::from_secs(5));
    call.into_future()
}

/// Sends this, and keeps the connection.
async fn hold(mut stream: TcpStream, bytes: Vec<u8>) {
    let _ = stream.write_all(&bytes).await;
    while stream.read(&mut [0; 1024]).await.is_ok_and(|count| count > 0) {}
}

/// Sends this again and again, and reads nothing.
async fn flood(mut stream: TcpStream, first: &[u8], again: &[u8]) {
    let again = again.repeat(8192usize.div_ceil(again.len()));
    if stream.write_all(first).await.is_ok() {
        while stream.write_all(&again).await.is_ok() {}
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_named() {
    // Only its head comes: that says how large it is.
    let announced: Play = |stream| {
        let mut head = vec![0x81, 127];
        head.extend((LIMIT as u64 + 1).to_be_bytes());
        Box::pin(hold(stream, head))
    };
    // In fragments, none of which is too large.
    let endless: Play = |stream| {
        Box::pin(async move {
            let mut fragment = vec![0x00, 126];
            fragment.extend(1000u16.to_be_bytes());
            fragment.extend([b' '; 1000]);
            flood(stream, &[0x01, 0x00], &fragment).await;
        })
    };
    for play in [announced, endless] {
        let peer = connect(play).await;
        let Err(CallError::Undelivered(lost)) = within(call(&peer)).await else { panic!("it is too large") };
        assert_eq!(lost.too_large, Some(LIMIT));
        assert_eq!(lost.to_string(), "the answer is larger than 100 kB");
        // With several calls, any of them may be meant.
        let peer = connect(play).await;
        let (one, other) = within(async { tokio::join!(call(&peer), call(&peer)) }).await;
        for ended in [one, other] {
            let Err(CallError::Undelivered(lost)) = ended else { panic!("it is too large: {ended:?}") };
            assert_eq!(lost.too_large, Some(LIMIT));
            assert!(lost.to_string().starts_with("an answer, to this call or to another one"), "{lost}");
        }
        let Err(CallError::NotSent(SendError::Closed(Cause::Lost(lost)))) = within(call(&peer)).await else {
            panic!("the connection has ended")
        };
        assert_eq!(lost.reason(), "a message was larger than 100 kB");
    }
}

/// What is not the protocol ends the connection, and the reason names what is wrong.
#[tokio::test]
async fn wrong_frames_end_the_connection() {
    let plays: [(&str, Play); 9] = [
        ("a masked frame", |stream| Box::pin(hold(stream, vec![0x81, 0x80, 0, 0, 0, 0]))),
        ("a reserved bit", |stream| Box::pin(hold(stream, vec![0xC1, 0x02, b'{', b'}']))),
        ("a reserved opcode", |stream| Box::pin(hold(stream, vec![0x83, 0x00]))),
        ("a continuation of nothing", |stream| Box::pin(hold(stream, vec![0x80, 0x00]))),
        ("a text within another", |stream| Box::pin(hold(stream, vec![0x01, 0x00, 0x81, 0x00]))),
        ("half a ping", |stream| Box::pin(hold(stream, vec![0x09, 0x00]))),
        ("a long ping", |stream| Box::pin(hold(stream, [&[0x89, 126, 0, 126][..], &[0; 126]].concat()))),
        ("no UTF-8", |stream| Box::pin(hold(stream, vec![0x81, 0x01, 0xFF]))),
        ("binary", |stream| Box::pin(hold(stream, vec![0x82, 0x02, b'{', b'}']))),
    ];
    for (name, play) in plays {
        let peer = connect(play).await;
        let ended = within(call(&peer)).await;
        let Err(CallError::Closed(Cause::Lost(lost))) = ended else { panic!("{name}: {ended:?}") };
        assert!(!lost.reason().is_empty(), "{name}");
        // It says goodbye for a second at most, though the other side does not.
        within(peer.shutdown(Duration::ZERO)).await;
    }
}

/// A server that says that it closes, and then keeps the connection.
#[tokio::test]
async fn a_close_without_an_end_is_an_end() {
    for close in [&b"\x88\x00"[..], b"\x88\x02\x03\xE8", b"\x88\x05\x03\xF3bye"] {
        let peer = match close.len() {
            2 => connect(|stream| Box::pin(hold(stream, b"\x88\x00".to_vec()))).await,
            4 => connect(|stream| Box::pin(hold(stream, b"\x88\x02\x03\xE8".to_vec()))).await,
            _ => connect(|stream| Box::pin(hold(stream, b"\x88\x05\x03\xF3bye".to_vec()))).await,
        };
        let ended = within(call(&peer)).await;
        assert!(matches!(ended, Err(CallError::Closed(Cause::Lost(_)))), "{ended:?}");
        within(peer.closed()).await;
    }
}

/// What never ends and says nothing is ended by the caller's own deadline, while its thread has time for others.
#[tokio::test]
async fn floods_leave_time_for_others() {
    let plays: [(&str, Play); 4] = [
        ("pings", |stream| {
            Box::pin(async move { flood(stream, b"", &[&b"\x89\x7D"[..], &[0; 125]].concat()).await })
        }),
        ("pongs", |stream| Box::pin(async move { flood(stream, b"", b"\x8A\x00").await })),
        ("empty fragments", |stream| Box::pin(async move { flood(stream, b"\x01\x00", b"\x00\x00").await })),
        ("empty messages", |stream| Box::pin(async move { flood(stream, b"", b"\x81\x00").await })),
    ];
    for (name, play) in plays {
        let peer = connect(play).await;
        let call = peer.call::<i64>("add", (1, 2)).timeout(Duration::from_millis(300));
        assert_eq!(within(call).await, Err(CallError::TimedOut), "{name}");
        within(peer.shutdown(Duration::ZERO)).await;
    }
}

/// Before there is a connection: every wrong answer to the handshake is an error, and none is waited for without end.
#[tokio::test]
async fn handshakes_that_are_none_fail() {
    let endless = format!("HTTP/1.1 101 Switching Protocols\r\nX: {}", "x".repeat(1 << 20));
    let wrong = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n";
    let moved = "HTTP/1.1 301 Moved Permanently\r\nLocation: ws://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    for answer in [endless.as_str(), wrong, moved, "HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n"] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = answer.to_owned();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            handshake(&mut stream).await;
            hold(stream, answer.into_bytes()).await;
        });
        let url = transport::url(format!("ws://{address}/"));
        within(sabir::connect(url, Router::new())).await.unwrap_err();
    }
}
