//! Sessions are limited by who opens them, and so is what a session has open.

use sabir::{Denied, Http, Sessions};

use crate::client::Client;
use crate::open::{Open, open};
use crate::server::router;
use crate::stop::holding;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#;
const ADD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;

/// A server that knows its callers by a header.
async fn open_by_name(sessions: Sessions) -> Open {
    let http = Http::new().sessions(sessions).auth(|parts| {
        let name = parts.headers.get("x-user").and_then(|name| name.to_str().ok());
        name.map(str::to_owned).ok_or(Denied::forbidden())
    });
    open("http", router(), |server| server.http(http)).await
}

/// Opens a session over a connection that is kept: the status, and a header that names both.
async fn initialize(client: &mut Client, user: &str) -> (u16, String) {
    client.post(&format!("X-User: {user}\r\n"), INITIALIZE).await;
    let head = client.head().await;
    client.body(&head).await;
    let id = head.header("mcp-session-id").unwrap_or_default();
    (head.status(), format!("X-User: {user}\r\nMcp-Session-Id: {id}\r\n"))
}

/// Whether a session can still be used.
async fn lives(client: &mut Client, session: &str) -> bool {
    client.post(session, ADD).await;
    client.answer().await.0 == 200
}

#[tokio::test]
async fn who_opens_many_sessions_loses_only_its_own() {
    let sessions = Sessions { most: 8, per_caller: 6, ..Sessions::opened_by("initialize") };
    let server = open_by_name(sessions).await;
    let mut client = Client::connect(server.port).await;
    let (_, honest) = initialize(&mut client, "honest").await;
    let (_, other) = initialize(&mut client, "other").await;
    let mut opened = Vec::new();
    for _ in 0..40 {
        let (status, session) = initialize(&mut client, "greedy").await;
        assert_eq!(status, 200);
        opened.push(session);
    }
    assert!(lives(&mut client, &honest).await && lives(&mut client, &other).await);
    let mut alive = 0;
    for session in &opened {
        alive += usize::from(lives(&mut client, session).await);
    }
    assert_eq!(alive, 6);
    assert!(lives(&mut client, opened.last().unwrap()).await);
    // Everything is full: one more makes room among those of whoever has the most.
    let (status, late) = initialize(&mut client, "late").await;
    assert_eq!(status, 200);
    for session in [&honest, &other, &late] {
        assert!(lives(&mut client, session).await);
    }
    server.stop().await;
}

/// Without a name, the address is what tells callers apart.
#[tokio::test]
async fn an_address_has_so_many_sessions() {
    let sessions = Sessions { most: 100, per_caller: 3, ..Sessions::opened_by("initialize") };
    let server = open("http", router(), |server| server.http(Http::new().sessions(sessions))).await;
    let mut client = Client::connect(server.port).await;
    let mut opened = Vec::new();
    for _ in 0..10 {
        opened.push(initialize(&mut client, "any").await.1);
    }
    let mut alive = Vec::new();
    for session in &opened {
        alive.push(lives(&mut client, session).await);
    }
    assert_eq!(alive.iter().filter(|alive| **alive).count(), 3);
    assert_eq!(alive[7..], [true; 3]);
    server.stop().await;
}

/// A call goes on when its connection is lost, and it counts until it is answered.
#[tokio::test]
async fn calls_whose_connection_has_left_count() {
    let (router, running) = holding();
    let sessions = Sessions { streams: 4, ..Sessions::opened_by("initialize") };
    let server = open("http", router, |server| server.http(Http::new().sessions(sessions))).await;
    let (_, session) = initialize(&mut Client::connect(server.port).await, "any").await;
    for number in 0..4 {
        let mut client = Client::connect(server.port).await;
        client.post(&session, &format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"hold"}}"#)).await;
        running.reaches(number + 1).await;
        drop(client);
    }
    let mut client = Client::connect(server.port).await;
    client.post(&session, ADD).await;
    assert_eq!(client.answer().await.0, 429);
    running.release(true);
    running.reaches(0).await;
    assert!(lives(&mut client, &session).await);
    server.stop().await;
}
