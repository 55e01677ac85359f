//! A server on standard input and output.
//!
//! Run with `echo '{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}' | cargo run -q -p sabir-examples --bin hello_server`.

use sabir::{Ctx, Router, transport};

#[derive(serde::Deserialize)]
struct Greet {
    name: String,
}

async fn greet(_: Ctx, params: Greet) -> sabir::Result<String> {
    Ok(format!("hello, {}", params.name))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), sabir::Error> {
    let router =
        Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) }).method("greet", greet);
    sabir::serve(transport::stdio(), router).await
}
