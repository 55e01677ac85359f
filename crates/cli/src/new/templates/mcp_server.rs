//! What the server offers.

use std::sync::{Mutex, PoisonError};

use sabir_mcp::{McpServer, Resource};

/// Notes that the model can take and read.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

#[derive(Clone, Copy, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Order {
    Oldest,
    Newest,
}

#[sabir_mcp::tools]
impl Notes {
    /// Takes a note
    #[tool]
    async fn add(
        &self,
        /// What to remember
        text: String,
    ) -> Result<String, &'static str> {
        if text.trim().is_empty() {
            // The model reads this.
            return Err("a note must not be empty");
        }
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push(text);
        Ok(format!("note {}", notes.len()))
    }

    /// Lists all notes
    #[tool(read_only)]
    async fn list(
        &self,
        /// Which come first
        order: Option<Order>,
    ) -> String {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if order == Some(Order::Newest) {
            notes.reverse();
        }
        notes.join("\n")
    }
}

/// The server, for any transport.
pub fn server() -> McpServer {
    McpServer::new("project-name", env!("CARGO_PKG_VERSION"))
        .instructions("Takes notes.")
        .tools(Notes::default())
        .resource(Resource::new("help://notes", "help"), |_| async { Ok("A note is a line of text.") })
}
