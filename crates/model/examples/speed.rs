//! How fast a file is checked, on one core.
//!
//! Run with `cargo run --release -p sabir-model --example speed -- FILE [PROFILE]`.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Instant;

use sabir_model::capture::Reader;
use sabir_model::rules::{Checker, Profile};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("which file?")?;
    let profile: Profile = args.next().as_deref().unwrap_or("jsonrpc").parse()?;
    let bytes = std::fs::metadata(&path)?.len() as f64;

    let start = Instant::now();
    let mut reader = Reader::open(&path)?;
    while reader.next()?.is_some() {}
    let reading = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let mut reader = Reader::open(&path)?;
    let mut checker = Checker::new(profile);
    let mut found = 0;
    while let Some(record) = reader.next()? {
        found += checker.check(&record).count();
    }
    found += checker.finish().count();
    let checking = start.elapsed().as_secs_f64();

    println!(
        "{} messages, {found} findings: read at {:.0} MB/s, checked at {:.0} MB/s",
        checker.messages(),
        bytes / 1e6 / reading,
        bytes / 1e6 / checking
    );
    Ok(())
}
