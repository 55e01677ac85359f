//! What is not a service at all.

#[sabir::service]
struct Math;

#[sabir::service]
trait Associated {
    type Number;
}

#[sabir::service]
trait Lifetime<'a> {}

#[sabir::service]
trait Constant<const N: usize> {}

#[sabir::service(name = "math")]
trait Named {}

#[sabir::service(rename_all = "lower")]
trait Spelt {}

fn main() {}
