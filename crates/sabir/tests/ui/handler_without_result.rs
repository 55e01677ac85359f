use sabir::{Ctx, Router};

async fn add(_: Ctx, (a, b): (i64, i64)) -> i64 {
    a + b
}

fn main() {
    let _ = Router::new().method("add", add);
}
