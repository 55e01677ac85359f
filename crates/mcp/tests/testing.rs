//! The kit for tests of servers.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use sabir_mcp::testing::FakeClient;
use sabir_mcp::{Json, McpCtx, McpRevision, McpServer, Sample, Started, Tool};
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
    match failed {
        Err(why) => {
            let told = why.downcast::<String>().unwrap();
            let marked = |mark| told.lines().filter(|line| line.starts_with(mark)).count();
            assert!(marked("- ") > 0 && marked("- ") == marked("+ ") && !told.contains("\\n"), "{told}");
        }
        Ok(()) => assert!(std::env::var_os("UPDATE").is_some()),
    }
}

/// A value that is not what its schema says.
#[derive(serde::Serialize, JsonSchema)]
struct Count {
    #[schemars(with = "u32")]
    n: &'static str,
}

#[tokio::test]
async fn the_schemas_that_a_server_lists_are_rules_too() {
    let server = McpServer::new("counter", "1.0.0")
        .tool(Tool::new("count", "Counts"), |_, ()| async { Ok(Json(Count { n: "x" })) });
    let (transport, recording) = server.recorded();
    let session = FakeClient::new().client().connect(transport).await.unwrap();
    session.tools().await.unwrap();
    session.call("count", ()).await.unwrap();
    let found: Vec<_> = recording.findings().iter().map(|finding| finding.rule.id).collect();
    assert_eq!(found, ["MCP017"]);
    assert!(std::panic::catch_unwind(|| recording.assert_valid()).is_err());
}

#[tokio::test]
async fn a_transcript_of_a_task_is_the_same_each_time() {
    let mut transcripts = Vec::new();
    for _ in 0..2 {
        let server = McpServer::new("worker", "1.0.0")
            .tool(Tool::new("work", "Works").task(), |_, ()| async { Ok("done") });
        let (transport, recording) = server.recorded();
        let session = FakeClient::new().client().connect(transport).await.unwrap();
        let Started::Task(task) = session.call("work", ()).start().await.unwrap() else { panic!() };
        let transcript = recording.transcript();
        assert!(
            transcript.contains(r#""taskId":"task-1""#) && !transcript.contains(task.id()),
            "{transcript}"
        );
        transcripts.push(transcript);
    }
    assert_eq!(transcripts[0], transcripts[1]);
}
