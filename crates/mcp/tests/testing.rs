//! The kit for tests of servers.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use sabir_mcp::testing::FakeClient;
use sabir_mcp::{McpCtx, McpRevision, McpServer, Sample, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

fn server() -> McpServer {
    McpServer::new("poet", "1.0.0").tool(Tool::new("rhyme", "Rhymes"), |ctx: McpCtx, ()| async move {
        let Some(Name { name }) = ctx.elicit("name", "Who are you?").await? else {
            return Ok("Nobody.".into());
        };
        let verse =
            ctx.sample("verse", Sample { max_tokens: 9, ..Sample::new(format!("Rhyme on {name}")) }).await?;
        Ok(format!("{} ({} roots)", verse.text(), ctx.roots("roots").await?.len()))
    })
}

#[tokio::test]
async fn a_fake_client_answers_as_it_is_told_and_keeps_to_the_rules() {
    for &revision in &[McpRevision::V2025_11_25, McpRevision::V2026_07_28] {
        let fake = FakeClient::new()
            .elicits([json!({"name": "Ann"}), Value::Null])
            .samples(["can"])
            .roots(["file:///a"]);
        let (transport, recording) = server().recorded();
        let session = fake.client().revision(revision).connect(transport).await.unwrap();
        assert_eq!(session.call("rhyme", ()).await.unwrap().text(), "can (1 roots)", "{revision}");
        assert_eq!(session.call("rhyme", ()).await.unwrap().text(), "Nobody.", "{revision}");
        assert_eq!(fake.asked(), ["Who are you?", "Rhyme on Ann", "Who are you?"], "{revision}");
        session.close(Duration::from_secs(1)).await;
        recording.assert_valid();
    }
}

#[tokio::test]
async fn a_transcript_is_compared_with_a_file() {
    let (transport, recording) = server().recorded();
    let session = FakeClient::new().client().connect(transport).await.unwrap();
    assert!(session.call("unknown", ()).await.is_err());
    let transcript = recording.transcript();
    assert!(transcript.lines().any(|line| line.contains("there is no tool `unknown`")), "{transcript}");
    let path = std::env::temp_dir().join(format!("sabir-golden-{}.rpc", std::process::id()));
    std::fs::write(&path, &transcript).unwrap();
    recording.assert_golden(&path);
    std::fs::write(&path, transcript.replace("unknown", "known")).unwrap();
    let failed = std::panic::catch_unwind(|| recording.assert_golden(&path));
    std::fs::remove_file(&path).unwrap();
    assert!(failed.is_err() || std::env::var_os("UPDATE").is_some());
}
