//! A type that has no schema.

#[derive(serde::Serialize, serde::Deserialize)]
struct Secret;

#[sabir::service]
trait Keeper {
    async fn keep(&self, secret: Secret) -> sabir::Result<()>;
}

fn main() {}
