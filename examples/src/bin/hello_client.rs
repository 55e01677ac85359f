//! A client that starts a server and calls it.
//!
//! Run with `cargo build -p sabir-examples && cargo run -q -p sabir-examples --bin hello_client target/debug/hello_server`.

use std::error::Error;
use std::process::Command;

use sabir::{Router, transport};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let program = std::env::args().nth(1).ok_or("usage: hello_client PROGRAM")?;
    let peer = sabir::connect(transport::child(Command::new(program))?, Router::new()).await?;
    let sum: i64 = peer.call("add", (1, 2)).await?;
    eprintln!("1 + 2 = {sum}");
    Ok(())
}
