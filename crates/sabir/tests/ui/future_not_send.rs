use std::rc::Rc;

use sabir::{Ctx, Router};

async fn add(ctx: Ctx, (a, b): (i64, i64)) -> sabir::Result<i64> {
    let sum = Rc::new(a + b);
    ctx.progress(1).await;
    Ok(*sum)
}

fn main() {
    let _ = Router::new().method("add", add);
}
