//! A client of a process that it starts.
//!
//! Run with `cargo build -p sabir --examples && cargo run -p sabir --example client -- target/debug/examples/adder`.

use std::process::Command;

use sabir::{Router, transport};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = std::env::args().nth(1).ok_or("which program?")?;
    let peer = sabir::connect(transport::child(Command::new(program))?, Router::new()).await?;
    let sum: i64 = peer.call("add", (1, 2)).await?;
    eprintln!("1 + 2 = {sum}");
    Ok(())
}
