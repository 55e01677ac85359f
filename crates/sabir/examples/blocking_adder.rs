//! A server on standard input and output, without an async runtime.
//!
//! Run with `echo '{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}' | cargo run -p sabir --example blocking_adder`.

use sabir::{RawJson, Router, blocking};

fn main() -> Result<(), sabir::Error> {
    let router = Router::new()
        .method_sync("add", |_, (a, b): (i64, i64)| Ok(a + b))
        .method_raw("echo", |_, params| async { Ok(params.unwrap_or(RawJson::NULL)) });
    blocking::serve(blocking::stdio(), router)
}
