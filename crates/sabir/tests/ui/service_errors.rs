//! An error of a method that has no codes.

#[sabir::service]
trait Files {
    async fn size(&self, name: String) -> Result<u64, std::io::Error>;
}

enum Plain {}

#[sabir::service]
trait Underived {
    async fn size(&self, name: String) -> Result<u64, Plain>;
}

fn main() {}
