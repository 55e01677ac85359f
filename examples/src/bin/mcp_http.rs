//! An MCP server over Streamable HTTP, and a client of it.
//!
//! Run with `cargo run -q -p sabir-examples --bin mcp_http http://127.0.0.1:8080/mcp`, and give this URL to any MCP
//! client. Without a URL it calls itself, and ends.

use std::error::Error;

use sabir::{Stopper, transport};
use sabir_mcp::{McpClient, McpCtx, McpResult, McpServer, ToolError};

/// Counts the words of a text
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct WordCount {
    /// The text to count in
    text: String,
}

async fn word_count(_: McpCtx, WordCount { text }: WordCount) -> McpResult<usize> {
    match text.split_whitespace().count() {
        0 => Err(ToolError::new("there is no word in this text")),
        count => Ok(count),
    }
}

fn listen(url: &str) -> sabir::ServerBuilder {
    McpServer::new("words", "1.0.0").tool("word_count", word_count).listen(url)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(url) = std::env::args().nth(1) {
        return Ok(listen(&url).with_signals().await?.run().await?);
    }
    let server = listen("http://127.0.0.1:0/mcp").await?;
    let (url, stopper): (String, Stopper) = (server.url().to_owned(), server.stopper());
    let running = tokio::spawn(server.run());

    let client = McpClient::new("me", "1.0.0").connect(transport::url(&url)).await?;
    let counted = client.call("word_count", serde_json::json!({"text": "to be or not to be"})).await?;
    eprintln!("{} words", counted.text());
    let failed = client.call("word_count", serde_json::json!({"text": ""})).await?;
    eprintln!("the tool failed: {}", failed.text());

    stopper.stop();
    running.await??;
    Ok(())
}
