use sabir::Router;

async fn add((a, b): (i64, i64)) -> sabir::Result<i64> {
    Ok(a + b)
}

fn main() {
    let _ = Router::new().method("add", add);
}
