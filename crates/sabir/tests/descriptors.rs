//! A server without descriptors. The limit is that of the process: this file has one test.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sabir::{Connections, Router};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

const CLIENTS: usize = 24;

/// Descriptors that the server has for them.
const LEFT: u64 = 8;

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn idle_connections_make_room_when_no_descriptor_is_left() {
    let told = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&told);
    let connections = Connections { evict_after: Duration::from_millis(20), ..Connections::default() };
    let router = Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) });
    let server = sabir::listen("tcp://127.0.0.1:0", router).connections(connections);
    let server = server.on_accept_error(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let server = server.await.unwrap();
    let address = server.url().strip_prefix("tcp://").unwrap().parse().unwrap();
    tokio::spawn(server.run());
    let sockets: Vec<TcpSocket> = (0..CLIENTS).map(|_| TcpSocket::new_v4().unwrap()).collect();
    let highest = sockets.iter().map(AsRawFd::as_raw_fd).max().unwrap() as u64;
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(highest + 1 + LEFT), ..limit }).unwrap();
    // Each of them stays once it is answered.
    let mut clients = tokio::task::JoinSet::new();
    for socket in sockets {
        clients.spawn(async move {
            let mut client = socket.connect(address).await.unwrap();
            let call = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\",\"params\":[1,2]}\n";
            client.write_all(call).await.unwrap();
            let mut answer = [0; 36];
            client.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":3}\n");
            client
        });
    }
    let answered =
        tokio::time::timeout(LONG, clients.join_all()).await.expect("idle connections keep others out");
    assert_eq!(answered.len(), CLIENTS);
    assert_eq!(told.load(Ordering::Relaxed), 1, "once in a while");
}
