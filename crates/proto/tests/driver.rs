//! The example driver serves over a real socket.

#![allow(clippy::unwrap_used, dead_code)]

#[path = "../examples/tcp_server.rs"]
mod tcp_server;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

fn exchange(sent: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || tcp_server::serve(&listener));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(sent.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut got = String::new();
    stream.read_to_string(&mut got).unwrap();
    got
}

#[test]
fn lines_are_served_to_the_last_one() {
    let sent = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\",\"params\":[1,2]}\n\
                [{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"add\",\"params\":[\"x\"]},{\"jsonrpc\":\"2.0\",\"method\":\"add\"}]";
    let want = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":3}\n\
                [{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32602,\"message\":\"Invalid params\",\
                \"data\":{\"reason\":\"invalid type: string \\\"x\\\", expected i64 at line 1 column 4\"}}}]\n";
    assert_eq!(exchange(sent), want);
}

#[test]
fn headers_are_detected() {
    let body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\",\"params\":[1,2]}";
    let got = exchange(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    assert_eq!(got, "Content-Length: 35\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":3}");
}
