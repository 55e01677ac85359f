//! Listens at a URL: `tcp://`, `ws://` and `http://` are served at the same port.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), sabir::Error> {
    let url = std::env::args().nth(1).unwrap_or("http://127.0.0.1:8080".to_owned());
    sabir::listen(url, project_name::router()).await?.run().await
}
