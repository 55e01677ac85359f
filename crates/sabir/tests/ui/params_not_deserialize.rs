use sabir::{Ctx, Router};

struct Pair {
    a: i64,
    b: i64,
}

async fn add(_: Ctx, pair: Pair) -> sabir::Result<i64> {
    Ok(pair.a + pair.b)
}

fn main() {
    let _ = Router::new().method("add", add);
}
