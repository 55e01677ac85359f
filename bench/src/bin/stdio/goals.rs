//! What Sabir is to reach on pipes.

use sabir_bench::{Goal, Table};

use crate::measure::By;

/// Of plain methods.
pub(crate) fn methods(plain: &Table<'_>) -> Vec<Goal> {
    let of = |name: &str, by: By| plain.value_of(name, by as usize);
    let ours = |by| of("sabir demo", by);
    let floor = |by: By| plain.floor(by as usize);
    let times = |value: Option<f64>, to: Option<f64>| Some(value? / to?);
    let to_floor = |by| times(ours(by), floor(by));
    let late = || Some(ours(By::Start)? - floor(By::Start)?);
    let to_peer = times(ours(By::Add), plain.best_peer(By::Add as usize));
    let to_dispatch = times(ours(By::Add), of("jsonrpsee dispatch", By::Add));
    let blocking = |by| times(of("sabir blocking", by), floor(by));
    let added =
        of("sabir proxy", By::P50).zip(of("sabir blocking", By::P50)).map(|(with, without)| with - without);
    vec![
        Goal::at_least(0.25, "add/s, times the floor", to_floor(By::Add)),
        Goal::at_least(10.0, "add/s, times the best complete peer", to_peer),
        Goal::at_least(4.0, "add/s, times jsonrpsee's dispatch", to_dispatch),
        Goal::at_most(0.35, "CPU, µs a request", ours(By::Cpu)),
        Goal::at_most(1.15, "ping-pong p50, times the floor", to_floor(By::P50)),
        Goal::at_least(0.25, "batch of 100, times the floor", to_floor(By::Batch)),
        Goal::at_least(0.5, "echo of 64 KiB, times the floor", to_floor(By::Echo64K)),
        Goal::at_least(0.5, "echo of 1 MiB, times the floor", to_floor(By::Echo1M)),
        Goal::at_most(8.0, "peak RSS, MiB", ours(By::Memory)),
        Goal::at_most(5.0, "start, ms after the floor", late()),
        Goal::at_least(0.35, "sabir blocking: add/s, times the floor", blocking(By::Add)),
        Goal::at_most(1.15, "sabir blocking: ping-pong p50, times the floor", blocking(By::P50)),
        Goal::at_least(1e6, "sabir spawned: add/s", of("sabir spawned", By::Add)),
        Goal::at_least(1e6, "sabir proxy: add/s", of("sabir proxy", By::Add)),
        Goal::at_most(15.0, "sabir proxy: p50, µs more than what is behind it", added),
    ]
}

/// Of MCP.
pub(crate) fn tools(table: &Table<'_>) -> Vec<Goal> {
    let ours = |by: By| table.value_of("sabir demo --mcp", by as usize);
    let times = |by: By, to: Option<f64>| Some(ours(by)? / to?);
    let to_peer = times(By::Add, table.best_peer(By::Add as usize));
    let to_floor = |by: By| times(by, table.floor(by as usize));
    let to_hand = times(By::Add, table.value_of("serde_json by hand, MCP", By::Add as usize));
    vec![
        Goal::at_least(10.0, "tools/call, calls a second, times the better of rmcp's", to_peer),
        Goal::at_least(1.0, "tools/call, calls a second, times serde_json by hand", to_hand),
        Goal::at_least(0.25, "tools/call, calls a second, times the floor", to_floor(By::Add)),
        Goal::at_most(1.15, "tools/call, ping-pong p50, times the floor", to_floor(By::P50)),
        Goal::at_most(12.0, "tools/call, peak RSS, MiB", ours(By::Memory)),
    ]
}

/// Of LSP.
pub(crate) fn hovers(table: &Table<'_>) -> Vec<Goal> {
    let ours = |by: By| table.value_of("sabir-lsp, hover", by as usize);
    let to_peer = || Some(ours(By::Add)? / table.best_peer(By::Add as usize)?);
    vec![
        Goal::at_least(3.0, "textDocument/hover, times the best complete peer", to_peer()),
        Goal::at_most(8.0, "textDocument/hover, peak RSS, MiB", ours(By::Memory)),
    ]
}
