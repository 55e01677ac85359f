//! A proxy: every connection has an upstream of its own, and messages go both ways unread.
//!
//! Run with `cargo run -q -p sabir-examples --bin proxy tcp://127.0.0.1:4100 sabir demo`, then
//! `sabir call tcp://127.0.0.1:4100 add 1 2`.

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use sabir::{Ctx, ErrorObject, Peer, RawJson, Router, transport};
use tokio::sync::OnceCell;

/// Params and results are passed on as the text that came. A call that is cancelled is dropped here, and dropping
/// it cancels it at the other end.
async fn forward(
    to: &Peer,
    ctx: &Ctx,
    method: String,
    params: Option<RawJson<'static>>,
) -> sabir::Result<RawJson<'static>> {
    if ctx.is_request() {
        // An error of the other side keeps its code, message and data.
        return to.call_raw(method, params).await.map_err(ErrorObject::from);
    }
    to.notify_raw(method, params).await?;
    Ok(RawJson::NULL)
}

/// The upstream of a connection: started with the first message, ended with the connection.
async fn upstream(client: &Peer, command: Command) -> sabir::Result<Peer> {
    let asked = client.clone();
    let back = Router::new().fallback(move |ctx, method, params| {
        let asked = asked.clone();
        async move { forward(&asked, &ctx, method, params).await }
    });
    let server = sabir::connect(transport::child(command)?, back).await?;
    let (client, ending) = (client.clone(), server.clone());
    tokio::spawn(async move {
        client.closed().await;
        ending.shutdown(Duration::from_secs(1)).await;
    });
    Ok(server)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let url = args.next().ok_or("usage: proxy URL COMMAND [ARG]...")?;
    let program = args.next().ok_or("usage: proxy URL COMMAND [ARG]...")?;
    let args: Vec<String> = args.collect();
    let router = Router::new().fallback(move |ctx: Ctx, method, params| {
        let mut command = Command::new(&program);
        command.args(&args);
        async move {
            let connected = ctx.peer().extension::<OnceCell<Peer>>();
            let server = connected.get_or_try_init(|| upstream(ctx.peer(), command)).await?;
            forward(server, &ctx, method, params).await
        }
    });
    let server = sabir::listen(&url, router).with_signals().await?;
    eprintln!("listening at {}", server.url());
    Ok(server.run().await?)
}
