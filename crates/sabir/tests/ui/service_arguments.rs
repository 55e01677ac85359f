//! Arguments that cannot come from a message.

#[sabir::service]
trait Borrowed {
    async fn greet(&self, name: &str) -> sabir::Result<String>;
}

#[sabir::service]
trait Pattern {
    async fn add(&self, (a, b): (i64, i64)) -> sabir::Result<i64>;
}

#[sabir::service]
trait Impl {
    async fn add(&self, numbers: impl Iterator<Item = i64>) -> sabir::Result<i64>;
}

#[sabir::service]
trait Untold {
    async fn log(&self, progress: sabir::Progress<u64>);
}

#[sabir::service]
trait Unknown {
    async fn add(&self, #[rpc(optional)] a: i64) -> sabir::Result<i64>;
}

fn main() {}
