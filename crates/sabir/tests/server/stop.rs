//! A server that is stopped answers what it is asked already.

use std::sync::Arc;
use std::time::Duration;

use sabir::{Http, Router, Sessions};
use tokio::sync::watch;

use crate::client::{Client, within};
use crate::frames::{TEXT, frame};
use crate::open::open;
use crate::server::router;

/// How many handlers run, and whether those that are held may end.
#[derive(Clone)]
pub(crate) struct Running {
    count: Arc<watch::Sender<usize>>,
    released: Arc<watch::Sender<bool>>,
}

impl Running {
    pub(crate) fn new() -> Self {
        Running { count: Arc::new(watch::channel(0).0), released: Arc::new(watch::channel(false).0) }
    }

    /// One more, until what this returns is dropped.
    pub(crate) fn begin(&self) -> Run {
        self.count.send_modify(|count| *count += 1);
        Run(self.clone())
    }

    /// Whether those that are held may end.
    pub(crate) fn release(&self, released: bool) {
        self.released.send_replace(released);
    }

    /// Waits until so many run.
    pub(crate) async fn reaches(&self, wanted: usize) {
        within(self.count.subscribe().wait_for(|&count| count == wanted)).await.unwrap();
    }
}

pub(crate) struct Run(Running);

impl Drop for Run {
    fn drop(&mut self) {
        self.0.count.send_modify(|count| *count -= 1);
    }
}

/// A router whose method `hold` is counted, and ends when it is released.
pub(crate) fn holding() -> (Router, Running) {
    let running = Running::new();
    let counting = running.clone();
    let router = router().method("hold", move |_, (): ()| {
        let run = counting.begin();
        async move {
            let _ = run.0.released.subscribe().wait_for(|released| *released).await;
            Ok("held")
        }
    });
    (router, running)
}

/// Calls over every kind of connection, each with a connection of its own. Its place is the id of the call.
async fn call_everywhere(port: u16, method: &str) -> Vec<Client> {
    let mut session = Client::connect(port).await;
    session.post("", r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#).await;
    let head = session.head().await;
    session.body(&head).await;
    let session_id = format!("Mcp-Session-Id: {}\r\n", head.header("mcp-session-id").unwrap());
    let mut clients = Vec::new();
    for kind in ["lines", "headers", "WebSocket", "JSON", "events", "session", "session events"] {
        let id = clients.len();
        let call = &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
        let mut client = Client::connect(port).await;
        let stateless = "MCP-Protocol-Version: 2026-07-28\r\n";
        match kind {
            "lines" => client.send(format!("{call}\n")).await,
            "headers" => client.send(format!("Content-Length: {}\r\n\r\n{call}", call.len())).await,
            "WebSocket" => {
                client = client.upgrade("").await;
                client.send(frame(TEXT, call.as_bytes())).await;
            }
            "JSON" => client.post_accepting("application/json", stateless, call).await,
            "events" => client.post_accepting("text/event-stream", stateless, call).await,
            "session" => {
                client.post_accepting("application/json, text/event-stream", &session_id, call).await
            }
            _ => client.post_accepting("text/event-stream, application/json;q=0.1", &session_id, call).await,
        }
        clients.push(client);
    }
    clients
}

#[tokio::test]
async fn what_is_open_is_answered_and_then_it_ends() {
    for (grace, answered) in [(15_000, true), (100, false)] {
        let (router, running) = holding();
        let sessions = Sessions { stateless: &["2026-07-28"], ..Sessions::opened_by("initialize") };
        let server = open("tcp", router, |server| {
            server.http(Http::new().sessions(sessions)).grace(Duration::from_millis(grace))
        })
        .await;
        let clients = call_everywhere(server.port, "hold").await;
        // Connections that do nothing do not keep it.
        let mut silent = Client::connect(server.port).await;
        let mut half = Client::connect(server.port).await;
        half.send("POST / HTTP/1.1\r\nHost: loc").await;
        running.reaches(clients.len()).await;
        server.stopper.stop();
        // By now every connection has been told.
        assert_eq!(silent.rest().await, "");
        running.release(answered);
        for (id, mut client) in clients.into_iter().enumerate() {
            let got = client.rest().await;
            assert_eq!(got.contains(&format!("\"id\":{id},\"result\":\"held\"")), answered, "{id}: {got}");
        }
        assert!(!half.rest().await.contains(" 200 "));
        let port = server.port;
        server.stop().await;
        running.reaches(0).await;
        assert!(tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err());
    }
}
