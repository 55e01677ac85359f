//! A server over HTTP whose clients mean harm: sessions, event ids and headers that are forged, taken from others, or
//! huge; requests of one session that reach for another; storms of calls and cancels.

#![cfg(feature = "http")]
#![expect(clippy::unwrap_used, reason = "a test may")]

use std::time::Duration;

use sabir_mcp::{McpCtx, McpResult, McpServer, Tool};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Time for a stream that stays open to say something it should not.
const WHILE: Duration = Duration::from_millis(300);
/// Time in which anything that ends has ended.
const AT_LEAST_ONCE: Duration = Duration::from_secs(30);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Secret {
    secret: String,
}

fn server() -> McpServer {
    McpServer::new("target", "1.0.0")
        .tool("tell", |ctx: McpCtx, Secret { secret }| async move {
            ctx.log(sabir_mcp::LogLevel::Error, &secret).await;
            Ok(secret)
        })
        .tool(Tool::new("wait", "Never ends"), |_, ()| std::future::pending::<McpResult<()>>())
        .tool(Tool::new("one", "Is one"), |_, ()| async { Ok(1) })
}

struct Target {
    address: String,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let line =
            |line: &'_ str| line.split_once(": ").is_some_and(|(found, _)| found.eq_ignore_ascii_case(name));
        Some(self.head.lines().find(|found| line(found))?.split_once(": ")?.1)
    }

    /// The last message, of a body or of a stream of events.
    fn message(&self) -> Value {
        let data =
            self.body.lines().filter_map(|line| line.strip_prefix("data:")).rfind(|data| data.contains('{'));
        serde_json::from_str(data.unwrap_or(&self.body)).unwrap_or(Value::Null)
    }

    fn event_ids(&self) -> Vec<&str> {
        self.body.lines().filter_map(|line| line.strip_prefix("id:")).map(str::trim).collect()
    }
}

impl Target {
    async fn start() -> Self {
        let server = server().listen("http://127.0.0.1:0/mcp").await.unwrap();
        let address = server.url().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        tokio::spawn(server.run());
        Target { address }
    }

    /// Sends a request, and reads what comes until the end, or for a while if there is none.
    async fn send(&self, method: &str, headers: &[(&str, &str)], body: &str, wait: Duration) -> Answer {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let mut text = format!("{method} /mcp HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        if !headers.iter().any(|(name, _)| *name == "accept") {
            text.push_str("accept: application/json, text/event-stream\r\n");
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if method == "POST" {
            text.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        text.push_str(body);
        // The server may refuse the head before it has read all of it.
        let _ = stream.write_all(text.as_bytes()).await;
        let mut bytes = Vec::new();
        let _ = timeout(wait, stream.read_to_end(&mut bytes)).await;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    async fn post(&self, headers: &[(&str, &str)], message: &Value) -> Answer {
        self.send("POST", headers, &message.to_string(), AT_LEAST_ONCE).await
    }

    /// Opens a session of the legacy era.
    async fn session(&self) -> String {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = self.post(&[], &request(0, "initialize", params)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.post(&[("mcp-session-id", &id)], &initialized).await.status, 202);
        id
    }

    /// An honest client finds all as it was.
    async fn still_serves(&self, session: &str) {
        let call = request(1_000_000, "tools/call", json!({"name": "one"}));
        let answer = self.post(&[("mcp-session-id", session)], &call).await;
        assert_eq!(answer.message()["result"]["content"][0]["text"], "1", "{} {}", answer.head, answer.body);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is made for `json!`")]
fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[tokio::test]
async fn a_session_that_was_not_given_out_is_none() {
    let target = Target::start().await;
    let honest = target.session().await;
    let list = request(1, "tools/list", json!({}));
    let flipped: String = honest
        .chars()
        .enumerate()
        .map(|(at, c)| if at == 0 { if c == '0' { '1' } else { '0' } } else { c })
        .collect();
    let huge = "a".repeat(4000);
    for forged in ["x", "0", "null", "../../etc/passwd", "' or 1=1 --", &honest[1..], &flipped, &huge] {
        let answer = target.post(&[("mcp-session-id", forged)], &list).await;
        assert_eq!(answer.status, 404, "{forged}: {}", answer.body);
        assert!(answer.body.len() < 1000, "{} bytes", answer.body.len());
        let stream = target
            .send("GET", &[("mcp-session-id", forged), ("accept", "text/event-stream")], "", WHILE)
            .await;
        assert_eq!(stream.status, 404, "{forged}");
        assert_eq!(target.send("DELETE", &[("mcp-session-id", forged)], "", AT_LEAST_ONCE).await.status, 404);
    }
    // Two of them are none: which would it be?
    let both = target.post(&[("mcp-session-id", &honest), ("mcp-session-id", "x")], &list).await;
    assert!((400..500).contains(&both.status), "{}", both.head);
    target.still_serves(&honest).await;
}

#[tokio::test]
async fn event_ids_of_others_give_nothing_away() {
    let target = Target::start().await;
    let (victim, thief) = (target.session().await, target.session().await);
    let call = request(1, "tools/call", json!({"name": "tell", "arguments": {"secret": "the-secret"}}));
    let told = target.post(&[("mcp-session-id", &victim)], &call).await;
    assert!(told.body.contains("the-secret"), "{}", told.body);
    let seen: Vec<String> = told.event_ids().into_iter().map(str::to_owned).collect();
    let huge = "9".repeat(4000);
    let guesses =
        ["0", "1", "-1", "0-0", "1-0", "18446744073709551615", "99999999999999999999999", "\u{1}", &huge];
    for id in seen.iter().map(String::as_str).chain(guesses) {
        let headers =
            [("mcp-session-id", thief.as_str()), ("accept", "text/event-stream"), ("last-event-id", id)];
        let stream = target.send("GET", &headers, "", WHILE).await;
        assert!(!stream.body.contains("the-secret"), "{id}: {}", stream.body);
        assert!(stream.status == 200 || (400..500).contains(&stream.status), "{id}: {}", stream.head);
    }
    target.still_serves(&victim).await;
    target.still_serves(&thief).await;
}

#[tokio::test]
async fn a_session_is_opened_once() {
    let target = Target::start().await;
    let session = target.session().await;
    let again = json!({"protocolVersion": "2024-11-05", "capabilities": {}});
    for _ in 0..20 {
        let answer =
            target.post(&[("mcp-session-id", &session)], &request(1, "initialize", again.clone())).await;
        assert!(answer.message()["error"].is_object(), "{} {}", answer.head, answer.body);
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(target.post(&[("mcp-session-id", &session)], &initialized).await.status, 202);
    }
    target.still_serves(&session).await;
}

#[tokio::test]
async fn one_session_cannot_cancel_the_calls_of_another() {
    let target = Target::start().await;
    let (victim, thief) = (target.session().await, target.session().await);
    let wait = request(7, "tools/call", json!({"name": "wait"})).to_string();
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    let headers = [("mcp-session-id", victim.as_str())];
    let waiting = target.send("POST", &headers, &wait, Duration::from_secs(1));
    let attack = async {
        for session in [&thief, "", "x"] {
            let _ = target.post(&[("mcp-session-id", session)], &cancel).await;
            // By the modern era, without a session.
            let modern = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "notifications/cancelled")];
            let _ = target.post(&modern, &cancel).await;
        }
    };
    let (answer, ()) = tokio::join!(waiting, attack);
    assert!(!answer.body.contains("result") && !answer.body.contains("error"), "it ended: {}", answer.body);
    target.still_serves(&victim).await;
}

#[tokio::test]
async fn headers_that_say_something_else_than_the_body_are_refused() {
    let target = Target::start().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = request(1, "tools/call", json!({"name": "one", "_meta": meta}));
    let version = ("mcp-protocol-version", "2026-07-28");
    let right = [version, ("mcp-method", "tools/call"), ("mcp-name", "one")];
    assert_eq!(target.post(&right, &call).await.status, 200);
    let huge = "a".repeat(4000);
    for wrong in [
        vec![("mcp-protocol-version", "2025-11-25"), right[1], right[2]],
        vec![("mcp-protocol-version", "2099-01-01"), right[1], right[2]],
        vec![version, ("mcp-method", "tools/list"), right[2]],
        vec![version, right[1], ("mcp-name", "wait")],
        vec![version, right[1], ("mcp-name", &huge)],
        vec![version, right[1], ("mcp-name", "=?base64?b25l")],
        vec![version, right[1]],
        vec![version],
        vec![version, right[1], right[2], ("mcp-name", "wait")],
        vec![version, right[1], right[2], ("mcp-method", "tools/list")],
    ] {
        let answer = target.post(&wrong, &call).await;
        assert_eq!(answer.status, 400, "{wrong:?}: {}", answer.body);
        assert!(answer.body.len() < 2000, "{} bytes", answer.body.len());
    }
}

#[tokio::test]
async fn a_storm_of_calls_and_cancels_leaves_the_rest_alone() {
    let target = Target::start().await;
    let (honest, storm) = (target.session().await, target.session().await);
    for round in 0..40 {
        for id in round * 10..round * 10 + 10 {
            let headers = [("mcp-session-id", storm.as_str())];
            let wait = request(id, "tools/call", json!({"name": "wait"})).to_string();
            let cancel =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
            // Nothing is waited for: the connection is dropped under the call.
            let _ = target.send("POST", &headers, &wait, Duration::from_millis(5)).await;
            let _ = target.post(&headers, &cancel).await;
        }
    }
    target.still_serves(&honest).await;
    target.still_serves(&storm).await;
}

#[tokio::test]
async fn deep_and_large_arguments_are_answered() {
    let target = Target::start().await;
    let session = target.session().await;
    for depth in [100, 1000, 100_000] {
        let deep = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"tell","arguments":{{"secret":{deep}}}}}}}"#
        );
        let answer = target.send("POST", &[("mcp-session-id", &session)], &body, AT_LEAST_ONCE).await;
        let message = answer.message();
        let refused = message["error"].is_object() || message["result"]["isError"] == true;
        assert!(refused && answer.body.len() < 4000, "{depth}: {} {}", answer.head, answer.body.len());
    }
    let large = "x".repeat(8 << 20);
    let call = request(2, "tools/call", json!({"name": "one", "arguments": {"unknown": large}}));
    let answer = target.post(&[("mcp-session-id", &session)], &call).await;
    assert!((200..500).contains(&answer.status) && answer.body.len() < 4000, "{}", answer.head);
    target.still_serves(&session).await;
}
