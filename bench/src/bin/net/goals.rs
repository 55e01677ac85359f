//! What Sabir is to reach on the network.

use sabir_bench::{Goal, Kind, Table};

use crate::measure::By;
use crate::protocol::Speaks;

/// Of the table of one protocol.
pub(crate) fn goals(speaks: Speaks, table: &Table<'_>) -> Vec<Goal> {
    let of = |name: &str, by: By| table.value_of(name, by as usize);
    let times = |by: By, name: &str, to: &str| Some(of(name, by)? / of(to, by)?);
    let least = table.best(&[Kind::ByHand, Kind::Complete], By::Idle as usize);
    let idle = |name| Some(of(name, By::Idle)? / least?);
    match speaks {
        Speaks::Http => {
            let ours = "sabir, HTTP";
            let to = |name| times(By::Many, ours, name);
            let cpu = |name| times(By::ManyCpu, ours, name);
            vec![
                Goal::at_least(1.0, "HTTP, 32 connections, times hyper by hand", to("hyper by hand")),
                Goal::at_least(1.3, "HTTP, 32 connections, times jsonrpsee", to("jsonrpsee, HTTP")),
                Goal::at_most(1.0, "HTTP, CPU of a call, times hyper by hand", cpu("hyper by hand")),
                Goal::at_most(1.0, "HTTP, idle bytes, times the leanest peer's", idle(ours)),
            ]
        }
        Speaks::WebSocket => {
            let ours = "sabir, WebSocket";
            let to = |name| times(By::Piped, ours, name);
            let cpu = |name| times(By::PipedCpu, ours, name);
            vec![
                Goal::at_least(
                    0.8,
                    "WebSocket, pipelined, times tungstenite by hand",
                    to("tungstenite by hand"),
                ),
                Goal::at_least(8.0, "WebSocket, pipelined, times jsonrpsee", to("jsonrpsee, WebSocket")),
                Goal::at_most(
                    1.25,
                    "WebSocket, CPU of a call, times tungstenite by hand",
                    cpu("tungstenite by hand"),
                ),
                Goal::at_most(1.0, "WebSocket, idle bytes, times the leanest peer's", idle(ours)),
            ]
        }
        Speaks::McpSession | Speaks::McpStateless => {
            let ours = table.best(&[Kind::Ours], By::Many as usize);
            let peer = table.best_peer(By::Many as usize);
            let held = table.best(&[Kind::Ours], By::Idle as usize);
            let ratio = |value: Option<f64>, to: Option<f64>| Some(value? / to?);
            vec![
                Goal::at_least(5.0, "MCP, 32 connections, times the better of rmcp's", ratio(ours, peer)),
                Goal::at_most(1.0, "MCP, idle bytes, times the leanest peer's", ratio(held, least)),
            ]
        }
        Speaks::Lines => {
            let ours = "sabir, lines";
            // "As fast" and "not measurable" leave room for what one run differs from the next.
            vec![
                Goal::at_least(0.9, "TCP, pipelined, times stdio", times(By::Piped, ours, "sabir, stdio")),
                Goal::at_most(
                    1.1,
                    "TCP, CPU of a pipelined call, times stdio",
                    times(By::PipedCpu, ours, "sabir, stdio"),
                ),
                Goal::at_least(
                    0.95,
                    "TCP, pipelined, detected, times fixed",
                    times(By::Piped, ours, "sabir, fixed lines"),
                ),
                Goal::at_most(
                    1.05,
                    "TCP, CPU of a fresh connection, detected, times fixed",
                    times(By::FreshCpu, ours, "sabir, fixed lines"),
                ),
                Goal::at_most(1.0, "TCP, idle bytes, times the leanest peer's", idle(ours)),
            ]
        }
    }
}
