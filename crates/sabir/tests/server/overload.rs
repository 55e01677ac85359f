//! When the server's memory is spent, nothing new is taken from those that hold it; nothing else suffers.

use std::time::Duration;

use sabir::{Connections, Limits};

use crate::client::{Client, within};
use crate::frames::{TEXT, frame};
use crate::open::{ADD, SUM, open};
use crate::server::router;

const MIB: usize = 1 << 20;

/// A stream and a WebSocket that hold something wait until there is memory again, and are not closed.
#[tokio::test]
async fn those_that_hold_memory_wait() {
    let limits = Limits {
        message_bytes: MIB,
        outbound_bytes: MIB,
        in_flight_bytes: MIB,
        queued_bytes: MIB,
        ..Limits::default()
    };
    let connections = Connections {
        connection_bytes: 2 * MIB,
        total_bytes: 8 * MIB,
        message: Duration::from_secs(3),
        ..Connections::default()
    };
    let router = router().method("keep", |_, _: (u64, String)| std::future::pending::<sabir::Result<()>>());
    let server = open("tcp", router, |server| server.limits(limits).connections(connections)).await;
    // Each holds a little: a call with large params that is not done.
    let params = "x".repeat(100_000);
    let keep = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"keep","params":[1, "{params}"]}}"#);
    let mut line = Client::connect(server.port).await;
    line.send(format!("{keep}\n")).await;
    let mut socket = Client::connect(server.port).await.upgrade("").await;
    socket.send(frame(TEXT, keep.as_bytes())).await;
    // Others spend the rest: large messages that do not end.
    let mut spenders = Vec::new();
    for _ in 0..16 {
        let mut spender = Client::connect(server.port).await;
        spender.send(format!("{{\"x\":\"{}", "x".repeat(600_000))).await;
        spenders.push(spender);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    line.send(format!("{ADD}\n")).await;
    socket.send(frame(TEXT, ADD.as_bytes())).await;
    // Whoever holds nothing is served.
    server.assert_serves().await;
    let early = tokio::time::timeout(Duration::from_millis(300), line.until("\n")).await;
    assert!(early.is_err(), "{early:?}");
    // Messages that cannot be read on are given up in time, and then there is memory again.
    assert_eq!(within(line.until("\n")).await, SUM);
    assert_eq!(within(socket.frame()).await, (TEXT, SUM.as_bytes().to_vec()));
    drop(spenders);
    server.stop().await;
}
