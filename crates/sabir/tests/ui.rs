//! What the compiler says of wrong handlers and calls must be readable.
//!
//! `TRYBUILD=overwrite cargo test -p sabir --test ui` writes down what it says now.

#[test]
fn wrong_handlers_and_calls_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
