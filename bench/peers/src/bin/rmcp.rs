//! rmcp with one tool on its `stdio`, or on its polled pipes (`rmcp pipes`).

use rmcp::ServiceExt;
use rmcp::transport::{stdio, stdio_pipes};
use sabir_bench_peers::adder::Adder;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = match std::env::args().nth(1).as_deref() {
        Some("pipes") => Adder.serve(stdio_pipes()).await?,
        _ => Adder.serve(stdio()).await?,
    };
    service.waiting().await?;
    Ok(())
}
