//! What is sent, and what it came to.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};

/// What a time of pipelined messages came to.
pub struct Load {
    pub messages: u64,
    pub time: Duration,
    pub server_cpu: Duration,
    pub own_cpu: Duration,
}

impl Load {
    pub fn per_second(&self) -> f64 {
        self.messages as f64 / self.time.as_secs_f64()
    }

    /// The server's CPU time for a message, in µs.
    pub fn cpu(&self) -> f64 {
        self.server_cpu.as_secs_f64() * 1e6 / self.messages as f64
    }

    /// The generator's.
    pub fn own_cpu(&self) -> f64 {
        self.own_cpu.as_secs_f64() * 1e6 / self.messages as f64
    }
}

/// Requests are sent round and round from here, a chunk a write. It holds several times what may be in
/// flight, so that no id is ever used by two open calls.
pub struct Ring {
    pub chunks: Vec<Vec<u8>>,
    /// Messages in each chunk.
    pub per_chunk: usize,
    /// Messages that may be unanswered.
    pub window: usize,
}

const CHUNKS_PER_WINDOW: usize = 4;
const WINDOWS_PER_RING: usize = 4;

impl Ring {
    /// Of messages that all have about the length of the first.
    pub fn new(window_bytes: usize, render: impl Fn(usize) -> Vec<u8>) -> Ring {
        let window = (window_bytes / render(0).len()).max(2);
        Ring::of(window, (window / CHUNKS_PER_WINDOW).max(1), render)
    }

    pub fn one_at_a_time(render: impl Fn(usize) -> Vec<u8>) -> Ring {
        Ring::of(1, 1, render)
    }

    fn of(window: usize, per_chunk: usize, render: impl Fn(usize) -> Vec<u8>) -> Ring {
        let chunk = |i| (0..per_chunk).flat_map(|j| render(i * per_chunk + j)).collect();
        let chunks = (0..CHUNKS_PER_WINDOW * WINDOWS_PER_RING).map(chunk).collect();
        Ring { chunks, per_chunk, window }
    }
}

/// Written by hand and not by `json!`, whose order of members no client would use.
pub fn add(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"add","params":[{id},30]}}"#)
}

/// The params of an echo: no escapes, as in most long texts.
pub fn echoed(size: usize) -> Value {
    json!(["0123456789abcdef".repeat(size / 16)])
}

/// What `add` must come to.
pub fn sum(id: usize) -> usize {
    id + 30
}

pub fn check_count(count: u64, want: u64) -> io::Result<()> {
    if count == want { Ok(()) } else { Err(io::Error::other(format!("{count} answers to {want} messages"))) }
}

pub fn wrong(wanted: &str, came: &Value) -> io::Error {
    let came: String = came.to_string().chars().take(200).collect();
    io::Error::other(format!("expected {wanted}, came {came}"))
}
