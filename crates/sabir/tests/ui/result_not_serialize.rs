use sabir::{Ctx, Router};

struct Sum(i64);

async fn add(_: Ctx, (a, b): (i64, i64)) -> sabir::Result<Sum> {
    Ok(Sum(a + b))
}

fn main() {
    let _ = Router::new().method("add", add);
}
