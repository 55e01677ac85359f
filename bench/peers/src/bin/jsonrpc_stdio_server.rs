//! `jsonrpc-stdio-server` (parity), as in its own example.

use jsonrpc_stdio_server::ServerBuilder;
use jsonrpc_stdio_server::jsonrpc_core::{IoHandler, Params, Value};

#[tokio::main]
async fn main() {
    let mut io = IoHandler::default();
    io.add_sync_method("add", |params: Params| {
        let [a, b]: [i64; 2] = params.parse()?;
        Ok(Value::from(a + b))
    });
    io.add_sync_method("echo", |params: Params| Ok(Value::from(params)));
    ServerBuilder::new(io).build().await;
}
