//! `async-lsp`, as in its `server_builder` example: the same layers (tracing aside, which only logs), one
//! thread, polled pipes.

use std::ops::ControlFlow;

use async_lsp::client_monitor::ClientProcessMonitorLayer;
use async_lsp::concurrency::ConcurrencyLayer;
use async_lsp::lsp_types::request::Request;
use async_lsp::lsp_types::{InitializeResult, notification, request};
use async_lsp::panic::CatchUnwindLayer;
use async_lsp::router::Router;
use async_lsp::server::LifecycleLayer;
use async_lsp::stdio::{PipeStdin, PipeStdout};
use serde_json::Value;
use tower::ServiceBuilder;

enum Add {}

impl Request for Add {
    type Params = [i64; 2];
    type Result = i64;
    const METHOD: &'static str = "add";
}

enum Echo {}

impl Request for Echo {
    type Params = Value;
    type Result = Value;
    const METHOD: &'static str = "echo";
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let (server, _) = async_lsp::MainLoop::new_server(|client| {
        let mut router = Router::new(());
        router
            .request::<request::Initialize, _>(|(), _| async { Ok(InitializeResult::default()) })
            .request::<Add, _>(|(), [a, b]| async move { Ok(a + b) })
            .request::<Echo, _>(|(), params| async move { Ok(params) })
            .notification::<notification::Initialized>(|(), _| ControlFlow::Continue(()));
        ServiceBuilder::new()
            .layer(LifecycleLayer::default())
            .layer(CatchUnwindLayer::default())
            .layer(ConcurrencyLayer::default())
            .layer(ClientProcessMonitorLayer::new(client))
            .service(router)
    });
    match server.run_buffered(PipeStdin::lock_tokio()?, PipeStdout::lock_tokio()?).await {
        // The benchmark closes the pipe without the farewell of LSP.
        Ok(()) | Err(async_lsp::Error::Eof) => Ok(()),
        Err(e) => Err(std::io::Error::other(e)),
    }
}
