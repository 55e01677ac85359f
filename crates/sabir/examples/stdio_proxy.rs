//! A proxy on standard input and output in front of a process.
//!
//! Run with `cargo run -p sabir --example stdio_proxy COMMAND [ARG]...`.

use std::process::Command;

use sabir::transport;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let mut command = Command::new(args.next().ok_or("usage: stdio_proxy COMMAND [ARG]...")?);
    command.args(args);
    Ok(sabir::proxy(transport::stdio(), transport::child(command)?).await?)
}
