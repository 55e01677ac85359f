//! `tower-lsp-server`, as in its `stdio` example, with the two methods as custom ones.

use serde_json::Value;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{InitializeParams, InitializeResult};
use tower_lsp_server::{LanguageServer, LspService, Server};

struct Backend;

impl LanguageServer for Backend {
    async fn initialize(&self, _: InitializeParams) -> Result<InitializeResult> {
        Ok(InitializeResult::default())
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}

impl Backend {
    async fn add(&self, [a, b]: [i64; 2]) -> Result<i64> {
        Ok(a + b)
    }

    async fn echo(&self, params: Value) -> Result<Value> {
        Ok(params)
    }
}

#[tokio::main]
async fn main() {
    let (service, socket) = LspService::build(|_| Backend)
        .custom_method("add", Backend::add)
        .custom_method("echo", Backend::echo)
        .finish();
    Server::new(tokio::io::stdin(), tokio::io::stdout(), socket).serve(service).await;
}
