//! jsonrpsee's own server, as its documentation does it: `jsonrpsee_net http`, `jsonrpsee_net ws`.

use jsonrpsee::RpcModule;
use jsonrpsee::server::{Server, ServerConfig};
use jsonrpsee::types::ErrorObjectOwned;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // By default it takes a hundred.
    let config = ServerConfig::builder().max_connections(4096);
    let scheme = std::env::args().nth(1);
    let config = match scheme.as_deref() {
        Some("http") => config.http_only(),
        Some("ws") => config.ws_only(),
        _ => return Err("expected http or ws".into()),
    };
    let mut module = RpcModule::new(());
    module.register_async_method("add", |params, _, _| async move {
        let [a, b]: [i64; 2] = params.parse()?;
        Ok::<_, ErrorObjectOwned>(a + b)
    })?;
    let server = Server::builder().set_config(config.build()).build("127.0.0.1:0").await?;
    eprintln!("serving on {}://{}", scheme.unwrap_or_default(), server.local_addr()?);
    server.start(module).stopped().await;
    Ok(())
}
