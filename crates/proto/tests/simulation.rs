//! Two sessions over a hostile link, in virtual time, from a seed.
//!
//! Each seed draws its own mix of framing, dialect, tight limits, faults, idle times and ways to drive a session
//! (swarm testing), so that rare combinations come up. Commands come at any time, not only after input. Whatever happens, for each session on its own:
//!
//! - every call ends exactly once, and every request is answered exactly once;
//! - no notification is answered, and no two notification handlers run at once;
//! - what is sent is whole, valid frames;
//! - no timeout, stall or idle time is over before its time, whenever the command came that started it;
//! - limits hold at all times, and memory with them;
//! - every subscription ends exactly once, on both sides; no item comes before its response or behind its end, nor,
//!   where items wait for a peer that reads slowly, is any missing;
//! - once it is over, its tables are empty;
//! - and where the link was honest, each answer belongs to its call, a message that is refused as a whole ends its
//!   calls where no other can be meant, and nothing else waits for ever.
//!
//! `SABIR_SEED=7 cargo test -p sabir-proto --test simulation` plays one seed and prints its transcript;
//! `SABIR_SEEDS=1000000` plays that many, on `SABIR_THREADS=2` threads.

#![allow(clippy::unwrap_used)]

#[path = "simulation/audit.rs"]
mod audit;
#[path = "simulation/clocks.rs"]
mod clocks;
#[path = "simulation/handlers.rs"]
mod handlers;
#[path = "simulation/link.rs"]
mod link;
#[path = "simulation/log.rs"]
mod log;
#[path = "simulation/map.rs"]
mod map;
#[path = "simulation/peer.rs"]
mod peer;
#[path = "simulation/random.rs"]
mod random;
#[path = "simulation/subscriptions.rs"]
mod subscriptions;
#[path = "simulation/world.rs"]
mod world;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use world::World;

/// Enough to meet every fault many times over, and few enough for every test run.
const SEEDS: u64 = 4000;

/// Seeds that failed once.
const FAILED: [u64; 2] = [
    // The auditor took an oversize answer with a damaged byte in a name for something that is owed an error.
    101_199_445,
    4_007_643_584,
];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

/// Plays a seed. What is said of it, in one line for each thing that happened.
fn play(seed: u64) -> Vec<String> {
    let mut world = World::new(seed, true);
    let outcome = catch_unwind(AssertUnwindSafe(|| world.run()));
    let log = world.log.lines();
    if let Err(cause) = outcome {
        let alone = number("SABIR_SEED").is_some();
        let shown = if alone { 0 } else { log.len().saturating_sub(60) };
        eprintln!("{}", log[shown..].join("\n"));
        eprintln!("\nseed {seed} fails; to see all of it:");
        eprintln!("SABIR_SEED={seed} cargo test -p sabir-proto --test simulation -- --nocapture\n");
        std::panic::resume_unwind(cause);
    }
    log
}

/// Plays many seeds, and keeps no log of them. One that fails is played again, with its log.
fn play_all(seeds: Range<u64>, threads: u64) {
    let next = AtomicU64::new(seeds.start);
    let play_next = || {
        while let seed = next.fetch_add(1, Ordering::Relaxed)
            && seed < seeds.end
        {
            if catch_unwind(|| World::new(seed, false).run()).is_err() {
                next.store(seeds.end, Ordering::Relaxed);
                play(seed);
                panic!("seed {seed} fails only if no log is kept of it");
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(play_next);
        }
    });
}

#[test]
fn every_seed_holds() {
    if let Some(seed) = number("SABIR_SEED") {
        println_all(&play(seed));
        return;
    }
    for seed in FAILED {
        play(seed);
    }
    let first = number("SABIR_FIRST_SEED").unwrap_or(1);
    let seeds = first..first + number("SABIR_SEEDS").unwrap_or(SEEDS);
    play_all(seeds, number("SABIR_THREADS").unwrap_or(1));
}

#[test]
fn the_same_seed_gives_the_same_transcript() {
    for seed in [1, 2, 3, 50, 51, 52, 1000] {
        assert_eq!(play(seed), play(seed), "seed {seed}");
    }
}

/// Every fault and every way to end must come up, or the simulation proves less than it says.
#[test]
fn the_seeds_meet_everything() {
    let mut met = std::collections::BTreeMap::new();
    for seed in 1..=1500 {
        for line in play(seed) {
            let what =
                line.split_once("! ").map_or("", |(_, event)| event.split([':', '`']).next().unwrap_or(""));
            *met.entry(what.trim().to_owned()).or_insert(0u32) += 1;
        }
    }
    for wanted in [
        "request",
        "notified",
        "cancelled by the peer",
        "progress",
        "result",
        "error",
        "refused as a whole",
        "timed out",
        "unanswered",
        "undelivered",
        "malformed",
        "no answer",
        "refused",
        "not json",
        "invalid",
        "frame",
        "duplicate id",
        "overloaded",
        "dropped",
        "late reply",
        "unknown reply",
        "peer error",
        "closed, ended",
        "closed, shutdown",
        "closed, stalled",
        "closed, idle",
        "closed, lost",
        "closed, lagged",
        "subscribed",
        "not subscribed",
        "item",
        "item, paused",
        "room",
        "sink closed, Unsubscribed",
        "sink closed, Lagged",
        "sink closed, Disconnected",
        "subscription finished",
        "subscription failed",
        "subscription lagged",
        "subscription disconnected",
        "unsubscribed, true",
        "unsubscribed, false",
        "not unsubscribed",
    ] {
        assert!(met.contains_key(wanted), "no seed meets `{wanted}`; met: {met:#?}");
    }
}

#[allow(clippy::print_stdout)]
fn println_all(lines: &[String]) {
    for line in lines {
        println!("{line}");
    }
}
