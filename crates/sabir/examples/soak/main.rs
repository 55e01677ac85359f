//! Attacks on a live server, while an honest client measures its worst latency, and the server's memory is watched.
//!
//! Run with `cargo run --release -p sabir --features http --example soak -- [SECONDS [TEXT]]`: about five minutes unless
//! told otherwise, and of the attacks only those with the text in their name. It prints a table, and fails if a bound is
//! broken. Everything stays on the loopback interface.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // It is a program for people who look at it.

mod attacks;
mod floods;
mod honest;
mod server;

use std::process::ExitCode;
use std::time::Duration;

use attacks::Attack;
use honest::Honest;
use server::Process;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long the honest client may ever wait for an answer.
const LATENCY: Duration = Duration::from_secs(2);

/// MiB that a server may hold with all attacks at once.
const ALL: usize = 1024;

#[tokio::main]
async fn main() -> ExitCode {
    server::raise_descriptor_limit();
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("serve") {
        server::serve().await;
        return ExitCode::SUCCESS;
    }
    let seconds: u64 = argument.and_then(|seconds| seconds.parse().ok()).unwrap_or(300);
    let text = std::env::args().nth(2).unwrap_or_default();
    let chosen = || attacks::ALL.iter().filter(|attack| attack.name.contains(&text));
    let each = Duration::from_secs(seconds) / (chosen().count() as u32 + 1);
    println!("| attack | worst latency | honest calls | memory | bound |");
    println!("|---|---|---|---|---|");
    let mut is_broken = false;
    for attack in chosen() {
        is_broken |= run(attack.name, &[*attack], each, attack.bound).await;
    }
    let all: Vec<Attack> = chosen().copied().collect();
    is_broken |= run("all of them at once", &all, each, ALL).await;
    if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Runs attacks on a server of their own. Whether a bound is broken.
async fn run(name: &str, attacks: &[Attack], time: Duration, bound: usize) -> bool {
    let process = Process::start();
    let target = process.target;
    let honest = Honest::start(target.plain);
    let mut running = JoinSet::new();
    for attack in attacks {
        running.spawn((attack.run)(target));
    }
    // Attacks that are done begin again: what they hold is let go then.
    let _ = timeout(time, async {
        while let Some(done) = running.join_next().await {
            let _ = done;
            if running.is_empty() {
                tokio::time::sleep(Duration::from_millis(500)).await;
                attacks.iter().for_each(|attack| drop(running.spawn((attack.run)(target))));
            }
        }
    })
    .await;
    let seen = honest.stop().await;
    running.shutdown().await;
    let memory = process.peak_memory();
    let is_broken = memory > bound || seen.worst > LATENCY || seen.failures > 0 || seen.calls == 0;
    let verdict = if is_broken { "BROKEN" } else { "kept" };
    let worst = seen.worst.as_secs_f64() * 1000.0;
    println!(
        "| {name} | {worst:.1} ms | {}, {} failed | {memory} MiB | {bound} MiB, {verdict} |",
        seen.calls, seen.failures
    );
    is_broken
}
