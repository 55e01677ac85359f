//! The tools, called in memory by a client of each era.

use sabir_mcp::{McpClient, McpRevision, McpSession};
use serde_json::json;

async fn connected(revision: McpRevision) -> McpSession {
    let client = McpClient::new("test", "1.0.0").revision(revision);
    client.connect(project_name::server().in_memory()).await.expect("the server answers")
}

#[tokio::test]
async fn notes_are_taken_and_listed() {
    for revision in [McpRevision::NEWEST_LEGACY, McpRevision::NEWEST] {
        let server = connected(revision).await;
        for text in ["milk", "bread"] {
            server.call("add", json!({"text": text})).await.expect("a note is taken");
        }
        let listed = server.call("list", json!({"order": "newest"})).await.expect("notes are listed");
        assert_eq!(listed.text(), "bread\nmilk");
    }
}

#[tokio::test]
async fn an_empty_note_is_refused() {
    let server = connected(McpRevision::NEWEST).await;
    let refused = server.call("add", json!({"text": " "})).await.expect("the model reads why");
    assert!(refused.is_error);
}
