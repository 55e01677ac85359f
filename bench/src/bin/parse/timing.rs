//! Timing on a machine that does other things too: the runners take turns, many times, and the best
//! turn of each is what it costs when nothing interferes.

use std::time::{Duration, Instant};

use serde::Serialize;

const ROUNDS: usize = 40;
const TURN: Duration = Duration::from_micros(1500);

/// Nanoseconds per call.
#[derive(Clone, Copy, Serialize)]
pub struct Cost {
    pub min: f64,
    pub median: f64,
}

/// What each runner costs per call.
pub fn interleaved(runners: &mut [&mut dyn FnMut()]) -> Vec<Cost> {
    let calls: Vec<u32> = runners.iter_mut().map(|run| calls_per_turn(*run)).collect();
    let mut turns = vec![Vec::with_capacity(ROUNDS); runners.len()];
    for _ in 0..ROUNDS {
        for ((run, &calls), turns) in runners.iter_mut().zip(&calls).zip(&mut turns) {
            turns.push(turn(*run, calls).as_nanos() as f64 / f64::from(calls));
        }
    }
    turns.iter_mut().map(|turns| cost(turns)).collect()
}

fn calls_per_turn(run: &mut dyn FnMut()) -> u32 {
    let mut calls = 1;
    while turn(run, calls) < TURN && calls < 1 << 24 {
        calls *= 2;
    }
    calls
}

fn turn(run: &mut dyn FnMut(), calls: u32) -> Duration {
    let start = Instant::now();
    for _ in 0..calls {
        run();
    }
    start.elapsed()
}

fn cost(turns: &mut [f64]) -> Cost {
    turns.sort_by(f64::total_cmp);
    Cost { min: turns[0], median: turns[turns.len() / 2] }
}
