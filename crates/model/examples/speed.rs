//! How fast traffic is checked, on one core, and in how much memory.
//!
//! Run with `cargo run --release -p sabir-model --example speed -- FILE [PROFILE]`, or `-` for standard input. Where
//! others use the machine too, the figure by CPU time is the one to go by.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::time::Instant;

use sabir_model::capture::Reader;
use sabir_model::rules::{Checker, Profile};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("which file?")?;
    let profile: Profile = args.next().as_deref().unwrap_or("jsonrpc").parse()?;
    if path == "-" {
        return check(io::stdin().lock(), profile);
    }
    let watch = Watch::start();
    let mut input = Counted { input: File::open(&path)?, bytes: 0 };
    let mut reader = Reader::new(&mut input)?;
    while reader.next()?.is_some() {}
    println!("read at    {}", watch.speed(input.bytes));
    check(File::open(&path)?, profile)
}

fn check(input: impl Read, profile: Profile) -> Result<(), Box<dyn Error>> {
    let watch = Watch::start();
    let mut input = Counted { input, bytes: 0 };
    let mut reader = Reader::new(&mut input)?;
    let format = reader.format();
    let mut checker = Checker::new(profile);
    let mut found = 0;
    while let Some(record) = reader.next()? {
        found += checker.check(&record).count();
    }
    found += checker.finish().count();
    println!("checked at {}", watch.speed(input.bytes));
    let messages = checker.messages();
    let (megabytes, each) = (input.bytes as f64 / 1e6, input.bytes / messages.max(1));
    println!("{megabytes:.0} MB of {format}, {messages} messages of {each} bytes, {found} findings");
    if let Some(peak) = peak_memory() {
        println!("peak memory {peak}");
    }
    Ok(())
}

/// Wall and CPU time.
struct Watch {
    wall: Instant,
    cpu: Option<f64>,
}

impl Watch {
    fn start() -> Self {
        Watch { wall: Instant::now(), cpu: cpu() }
    }

    fn speed(&self, bytes: u64) -> String {
        let megabytes = bytes as f64 / 1e6;
        let wall = format!("{:.0} MB per second by the wall", megabytes / self.wall.elapsed().as_secs_f64());
        match (self.cpu, cpu()) {
            (Some(start), Some(end)) => {
                format!("{:.0} MB per second of CPU, {wall}", megabytes / (end - start))
            }
            _ => wall,
        }
    }
}

/// Seconds that the thread has computed for, in user and system mode, as Linux tells it.
fn cpu() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = told.split(' ').next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// As Linux tells it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_owned())
}

struct Counted<R> {
    input: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}
