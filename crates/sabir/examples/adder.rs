//! A server on standard input and output.
//!
//! Run with `echo '{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}' | cargo run -p sabir --example adder`.

use sabir::{Router, transport};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), sabir::Error> {
    let router = Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) });
    sabir::serve(transport::stdio().with_signals(), router).await
}
