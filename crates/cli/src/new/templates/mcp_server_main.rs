//! Serves on standard input and output.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), sabir::Error> {
    project_name::server().serve(sabir::transport::stdio()).await
}
