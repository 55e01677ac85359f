//! What a protected server keeps for a caller belongs to the identity that a token has proved: tasks and request states are
//! found by a renewed token, and by nobody else's.

#![cfg(feature = "auth")]
#![expect(clippy::unwrap_used, reason = "a test may")]

mod protected;
mod site;

use protected::{Answer, Target, authority, claims, header};
use sabir_mcp::{McpCtx, McpResult, McpServer, ResourceServer, Tool};
use serde_json::{Value, json};
use site::{Key, Site, clock, with};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sure {
    sure: bool,
}

/// A server that two issuers vouch to, and their tokens.
struct Bank {
    target: Target,
    key: Key,
    site: Site,
    other_key: Key,
    other: Site,
}

impl Bank {
    async fn open() -> Self {
        let (key, other_key) = (Key::new(), Key::new());
        let site = authority(vec![key.jwk(Some("one"))]).await;
        let other = authority(vec![other_key.jwk(Some("one"))]).await;
        let auth = ResourceServer::new(protected::RESOURCE).clock(clock);
        let auth = auth.issuer(&site.url).issuer(&other.url).start().await.unwrap();
        let server = McpServer::new("bank", "1.0.0")
            .tool(Tool::new("wait", "Waits").task(), |_, ()| std::future::pending::<McpResult<String>>())
            .tool(Tool::new("pay", "Pays"), |ctx: McpCtx, ()| async move {
                ctx.remember(&true)?;
                let answer: Option<Sure> = ctx.elicit("sure", "Really?").await?;
                Ok(if answer.is_some_and(|answer| answer.sure) { "paid" } else { "kept" })
            });
        Bank { target: Target::serve(server, &auth).await, key, site, other_key, other }
    }

    /// The header of a token with these claims.
    fn token(&self, change: &Value) -> String {
        format!("Bearer {}", self.key.sign(&header(), &with(claims(&self.site.url), change)))
    }

    /// The callers, and whether they are Ada with the client that began.
    fn callers(&self) -> [(&'static str, String, bool); 5] {
        let other = format!("Bearer {}", self.other_key.sign(&header(), &claims(&self.other.url)));
        [
            ("the same token", self.token(&json!({})), true),
            ("a renewed token", self.token(&json!({"jti": "2", "scope": "mcp more"})), true),
            ("another user", self.token(&json!({"sub": "eve"})), false),
            ("another client", self.token(&json!({"client_id": "other"})), false),
            ("the same name at another issuer", other, false),
        ]
    }
}

fn parsed(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {}", answer.body))
}

/// The code of an error, or 0 for a result.
fn code(answer: &Answer) -> i64 {
    parsed(answer)["error"]["code"].as_i64().unwrap_or(0)
}

#[tokio::test]
async fn a_task_belongs_to_an_identity() {
    let bank = Bank::open().await;
    let ada = bank.token(&json!({}));
    let created = bank.target.task("wait", &[("authorization", &ada)]).await;
    let id = parsed(&created)["result"]["taskId"].as_str().unwrap().to_owned();
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    for (who, token, is_ada) in bank.callers() {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            // A stranger who could cancel it would end it for those who come later.
            let params = json!({"taskId": id, "inputResponses": {}});
            let headers = [("authorization", token.as_str())];
            if method == "tasks/cancel" && is_ada {
                continue;
            }
            let answer = bank.target.modern(method, &id, params, &tasks, &headers).await;
            assert_eq!(code(&answer), if is_ada { 0 } else { -32602 }, "{who}, {method}: {}", answer.body);
        }
    }
}

/// A session cannot be taken over, but one of one's own could ask for the tasks of others, by their ids or by a list.
#[tokio::test]
async fn a_task_of_2025_belongs_to_an_identity() {
    let bank = Bank::open().await;
    let ada = bank.token(&json!({}));
    let session = open_session(&bank, &ada).await;
    let call = json!({"name": "wait", "arguments": {}, "task": {}});
    let created = ask(&bank, &ada, &session, "tools/call", call).await;
    let id = parsed(&created)["result"]["task"]["taskId"].as_str().unwrap().to_owned();
    for (who, token, is_ada) in bank.callers() {
        let session = open_session(&bank, &token).await;
        let got = ask(&bank, &token, &session, "tasks/get", json!({"taskId": id})).await;
        assert_eq!(code(&got), if is_ada { 0 } else { -32602 }, "{who}: {}", got.body);
        let listed = ask(&bank, &token, &session, "tasks/list", json!({})).await;
        let count = parsed(&listed)["result"]["tasks"].as_array().unwrap().len();
        assert_eq!(count, usize::from(is_ada), "{who}: {}", listed.body);
    }
}

async fn open_session(bank: &Bank, token: &str) -> String {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let opened = ask(bank, token, "", "initialize", params).await;
    assert_eq!(opened.status, 200, "{}", opened.body);
    opened.header("mcp-session-id").to_owned()
}

async fn ask(bank: &Bank, token: &str, session: &str, method: &str, params: Value) -> Answer {
    let mut headers = vec![("authorization", token)];
    if !session.is_empty() {
        headers.extend([("mcp-session-id", session), ("mcp-protocol-version", "2025-11-25")]);
    }
    bank.target.post(&headers, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await
}

#[tokio::test]
async fn a_request_state_belongs_to_an_identity() {
    let bank = Bank::open().await;
    let ada = bank.token(&json!({}));
    let elicits = json!({"elicitation": {}});
    let call = json!({"name": "pay", "arguments": {}});
    let asked = bank.target.modern("tools/call", "pay", call, &elicits, &[("authorization", &ada)]).await;
    let state = parsed(&asked)["result"]["requestState"].as_str().unwrap().to_owned();
    for (who, token, is_ada) in bank.callers() {
        let answers = json!({"sure": {"action": "accept", "content": {"sure": true}}});
        let call = json!({"name": "pay", "arguments": {}, "requestState": state, "inputResponses": answers});
        let headers = [("authorization", token.as_str())];
        let answer = bank.target.modern("tools/call", "pay", call, &elicits, &headers).await;
        match is_ada {
            true => assert!(answer.body.contains("paid"), "{who}: {}", answer.body),
            false => assert_eq!(code(&answer), -32602, "{who}: {}", answer.body),
        }
    }
}
