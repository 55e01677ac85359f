//! rmcp with one tool, as in its documentation: on its `stdio`, or on its polled pipes (`rmcp pipes`).

use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::{stdio, stdio_pipes};
use rmcp::{ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

struct Adder;

#[tool_router]
impl Adder {
    #[tool(description = "The sum of two integers")]
    async fn add(&self, Parameters(Sum { a, b }): Parameters<Sum>) -> String {
        (a + b).to_string()
    }
}

#[tool_handler]
impl ServerHandler for Adder {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = match std::env::args().nth(1).as_deref() {
        Some("pipes") => Adder.serve(stdio_pipes()).await?,
        _ => Adder.serve(stdio()).await?,
    };
    service.waiting().await?;
    Ok(())
}
