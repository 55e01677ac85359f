//! A client never answers what is not a message: a server that prints what it reads is not talked to for ever.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sabir::{Dialect, LENIENT, LSP, MCP, PLAIN, Router, transport};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

/// Calls a server that prints each line that it reads, changed by `say`. How many lines it got, and how many
/// reports the client made.
async fn lines_sent(dialect: Dialect, say: fn(&str) -> String) -> (usize, usize) {
    let (client, server) = tokio::io::duplex(1 << 16);
    let heard = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&heard);
    tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(server);
        let mut lines = BufReader::new(reader).lines();
        writer.write_all(b"starting up ...\n{\"ready\":true}\n[]\n[1]\n").await.unwrap();
        while let Ok(Some(line)) = lines.next_line().await {
            // A storm ends here.
            if counted.fetch_add(1, Ordering::Relaxed) > 100 {
                break;
            }
            writer.write_all(say(&line).as_bytes()).await.unwrap();
            writer.write_all(b"\n").await.unwrap();
        }
    });
    let reports = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reports);
    let (reader, writer) = tokio::io::split(client);
    let transport = transport::streams(reader, writer).dialect(dialect).on_report(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let peer = sabir::connect(transport, Router::new()).await.unwrap();
    let call = peer.call::<i64>("add", serde_json::json!({})).timeout(Duration::from_millis(500));
    assert!(call.await.is_err());
    (heard.load(Ordering::Relaxed), reports.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn a_server_that_echoes_hears_little() {
    let echoes: [fn(&str) -> String; 4] = [
        |line| line.to_owned(),
        |line| format!("got: {line}"),
        |line| format!("{{\"id\":7,\"got\":{line}}}"),
        |line| format!("[{{\"got\":{line}}}]"),
    ];
    for dialect in [PLAIN, LSP, MCP, LENIENT] {
        for echo in echoes {
            let (heard, reports) = lines_sent(dialect, echo).await;
            // The call, its cancel, and an answer to each of those where they come back as they are.
            assert!(heard <= 4, "{heard} lines were sent, {}", dialect.name);
            assert!(reports >= 4, "{reports} reports, {}", dialect.name);
        }
    }
}

/// A server answers it, as the specification asks.
#[tokio::test]
async fn a_server_answers_what_is_no_message() {
    let (mut client, server) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(server);
    tokio::spawn(sabir::serve(transport::streams(reader, writer), Router::new()));
    client.write_all(b"hello\n").await.unwrap();
    let mut line = String::new();
    BufReader::new(client).read_line(&mut line).await.unwrap();
    assert!(line.contains("-32700"), "{line}");
}
