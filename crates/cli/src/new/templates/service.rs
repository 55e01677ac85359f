//! The methods of the service.

use sabir::{Ctx, ErrorObject, Router};

/// What `divide` takes, by name.
#[derive(serde::Deserialize)]
struct Divide {
    a: f64,
    b: f64,
}

async fn divide(_: Ctx, Divide { a, b }: Divide) -> sabir::Result<f64> {
    if b == 0.0 {
        return Err(ErrorObject::new(1, "a number cannot be divided by 0"));
    }
    Ok(a / b)
}

/// The service, for any transport.
pub fn router() -> Router {
    Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) }).method("divide", divide)
}
