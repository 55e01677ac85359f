//! A server on standard input and output whose handlers run inline, as tasks of the runtime, or on threads: what the
//! benchmarks compare.
//!
//! Run with `echo '{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}' | cargo run -p sabir --example handlers spawned`.

use std::hint::black_box;

use sabir::{RawJson, Result, Router, transport};

/// Keeps a core busy.
fn spin(rounds: u64) -> u64 {
    (0..rounds).fold(0, |sum: u64, n| black_box(sum.wrapping_mul(31).wrapping_add(n)))
}

#[tokio::main]
async fn main() -> std::result::Result<(), sabir::Error> {
    let router = match std::env::args().nth(1).as_deref() {
        Some("blocking") => Router::new()
            .method_blocking("add", |_, (a, b): (i64, i64)| Ok(a + b))
            .method_blocking("spin", |_, rounds: u64| Ok(spin(rounds))),
        kind => {
            let router = Router::new()
                .method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) })
                .method("spin", |_, rounds: u64| async move { Ok(spin(rounds)) });
            if kind == Some("spawned") { router.spawned() } else { router }
        }
    };
    let echo = |_, params: Option<RawJson<'static>>| async { Result::Ok(params.unwrap_or(RawJson::NULL)) };
    sabir::serve(transport::stdio(), router.method_raw("echo", echo)).await
}
