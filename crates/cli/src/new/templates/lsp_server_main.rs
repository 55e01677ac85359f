//! Serves on standard input and output.

use sabir_lsp::Exit;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<Exit, sabir::Error> {
    project_name::server().serve(sabir::transport::stdio()).await
}
