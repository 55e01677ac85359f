//! For tests of servers: clients that answer what they are told to, what went over the wire, and whether it kept to the
//! rules.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use sabir_mcp::testing::FakeClient;
//! use sabir_mcp::{McpCtx, McpServer, Tool};
//! use serde_json::json;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Name {
//!     name: String,
//! }
//!
//! let server = McpServer::new("greeter", "1.0.0").tool(Tool::new("greet", "Greets"), |ctx: McpCtx, ()| async move {
//!     let answer: Option<Name> = ctx.elicit("name", "Who are you?").await?;
//!     Ok(answer.map_or("Bye.".to_owned(), |answer| format!("Hello, {}!", answer.name)))
//! });
//! let fake = FakeClient::new().elicits([json!({"name": "Ann"})]);
//! let (transport, recording) = server.recorded();
//! let session = fake.client().connect(transport).await?;
//! assert_eq!(session.call("greet", ()).await?.text(), "Hello, Ann!");
//! assert_eq!(fake.asked(), ["Who are you?"]);
//! recording.assert_valid();
//! # Ok(())
//! # }
//! ```

mod fake_client;
#[cfg(feature = "auth")]
mod fake_issuer;
mod recording;
mod stable;

pub use fake_client::FakeClient;
#[cfg(feature = "auth")]
pub use fake_issuer::FakeIssuer;
pub use recording::Recording;
