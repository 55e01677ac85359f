//! A proxy: each connection has a server of its own behind it, and messages go both ways unread.
//!
//! Run with `cargo run -q -p sabir-examples --bin proxy tcp://127.0.0.1:4100 sabir demo`, then
//! `sabir call tcp://127.0.0.1:4100 add 1 2`. With `stdio:` in place of the URL it serves standard input and output, and
//! `--headers` before it is for servers with `Content-Length` headers, on both sides.

use std::error::Error;
use std::process::Command;

use sabir::{Ctx, Framing, Router, transport};

const USAGE: &str = "usage: proxy [--headers] URL COMMAND [ARG]...";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).peekable();
    let framing = match args.next_if(|arg| arg == "--headers") {
        Some(_) => Framing::Headers,
        None => Framing::Lines,
    };
    let (url, program) = (args.next().ok_or(USAGE)?, args.next().ok_or(USAGE)?);
    let args: Vec<String> = args.collect();
    let server = move || {
        let mut command = Command::new(&program);
        command.args(&args);
        transport::child(command).map(|child| child.framing(framing))
    };

    if url == "stdio:" {
        return Ok(sabir::proxy(transport::stdio().framing(framing), server()?).await?);
    }
    let router = Router::new()
        .method("proxy.health", |_, ()| async { Ok("well") }) // answered here
        .forward_each(move |_: &Ctx| std::future::ready(server())); // everything else
    let server = sabir::listen(&url, router).with_signals().await?;
    eprintln!("listening at {}", server.url());
    Ok(server.run().await?)
}
