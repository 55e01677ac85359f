//! Methods that a service cannot have.

#[sabir::service]
trait NotAsync {
    fn add(&self, a: i64) -> sabir::Result<i64>;
}

#[sabir::service]
trait Exclusive {
    async fn add(&mut self, a: i64) -> sabir::Result<i64>;
}

#[sabir::service]
trait NoSelf {
    async fn add(a: i64) -> sabir::Result<i64>;
}

#[sabir::service]
trait Generic {
    async fn add<T: serde::Serialize>(&self, a: T) -> sabir::Result<i64>;
}

#[sabir::service]
trait NoResult {
    async fn add(&self, a: i64) -> i64;
}

#[sabir::service]
trait Taken {
    async fn into_router(&self) -> sabir::Result<i64>;
}

#[sabir::service]
trait Twice {
    async fn add(&self) -> sabir::Result<i64>;
    #[rpc(name = "add")]
    async fn sum(&self) -> sabir::Result<i64>;
}

#[sabir::service(prefix = "rpc.")]
trait Reserved {
    async fn add(&self) -> sabir::Result<i64>;
}

#[sabir::service]
trait TakenByTheClient {
    async fn new(&self) -> sabir::Result<i64>;
}

#[sabir::service]
trait PeerOfTheClient {
    async fn peer(&self) -> sabir::Result<i64>;
}

#[sabir::service]
trait CloneOfTheClient {
    async fn clone(&self) -> sabir::Result<i64>;
}

#[sabir::service]
trait StreamInResult {
    async fn ticks(&self) -> sabir::Result<impl sabir::Stream<Item = u64>>;
}

#[sabir::service]
trait AsyncStream {
    async fn ticks(&self) -> impl sabir::Stream<Item = u64>;
}

#[sabir::service]
trait NoStream {
    fn ticks(&self) -> impl sabir::IntoFeed;
}

#[sabir::service]
trait NoItems {
    fn ticks(&self) -> impl sabir::Stream;
}

#[sabir::service]
trait TypedErrors {
    fn ticks(&self) -> impl sabir::Stream<Item = Result<u64, TicksError>>;
}

fn main() {}
