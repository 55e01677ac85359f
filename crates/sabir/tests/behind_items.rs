//! How much a slow subscriber has to read before it gets the answer to a call: what the kernel has taken cannot be
//! overtaken.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod fixture;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use fixture::{LONG, listening};
use socket2::{Domain, Socket, Type};

/// What may be in front of an answer: the peer's own buffer, what the kernel has of it, and what the session has handed on.
const MOST: usize = 1 << 20;

/// A client whose own buffer is small.
fn dial(address: &str) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(128 * 1024).unwrap();
    socket.connect(&address.parse::<SocketAddr>().unwrap().into()).unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    socket.into()
}

#[test]
fn an_answer_does_not_wait_behind_much() {
    let server = listening("tcp://127.0.0.1:0");
    let mut client = dial(server.url.split_once("://").unwrap().1);
    let mut buffer = vec![0; 64 * 1024];
    for id in 10..110 {
        let subscribe =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"flood_wait\",\"params\":[10000]}}\n");
        client.write_all(subscribe.as_bytes()).unwrap();
    }
    // The kernel's buffer grows with what goes through it.
    let mut read = 0;
    while read < 8 << 20 {
        read += client.read(&mut buffer).unwrap();
    }
    // Long enough for all buffers to be full.
    std::thread::sleep(Duration::from_millis(500));
    client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"add\",\"params\":[1,2]}\n").unwrap();
    let answer = b"\"id\":2,\"result\":3}";
    let (mut before, mut tail) = (0, Vec::new());
    loop {
        let count = client.read(&mut buffer).unwrap();
        assert!(count > 0, "the connection has ended");
        tail.extend_from_slice(&buffer[..count]);
        if tail.windows(answer.len()).any(|part| part == answer) {
            break;
        }
        before += count;
        tail.drain(..tail.len().saturating_sub(answer.len()));
    }
    eprintln!("{} KiB of items before the answer", before / 1024);
    assert!(before < MOST, "{} KiB of items before the answer", before / 1024);
}
