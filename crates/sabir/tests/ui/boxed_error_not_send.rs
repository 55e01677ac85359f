use std::error::Error;

use sabir::{Ctx, Router};

fn read() -> Result<i64, Box<dyn Error>> {
    Ok(1)
}

async fn handler(_: Ctx, (): ()) -> sabir::Result<i64> {
    Ok(read()?)
}

fn main() {
    let _ = Router::new().method("read", handler);
}
