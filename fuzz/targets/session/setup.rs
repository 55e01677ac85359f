//! What a session can be made with.

use std::time::Duration;

use sabir_proto::{CallOptions, Config, Dialect, Framing, Limits, TraceContext};

const DIALECTS: [Dialect; 6] = [
    sabir_proto::PLAIN,
    sabir_proto::LSP,
    sabir_proto::MCP_2024_11_05,
    sabir_proto::MCP_2025_11_25,
    sabir_proto::MCP_2026_07_28,
    sabir_proto::LENIENT,
];

const FRAMINGS: [Option<Framing>; 4] =
    [Some(Framing::Lines), Some(Framing::Headers), Some(Framing::Whole), None];

pub(crate) fn config(dialect: u8, framing: u8, limits: u8) -> Config {
    Config {
        dialect: DIALECTS[dialect as usize % DIALECTS.len()],
        limits: small(limits),
        framing: FRAMINGS[framing as usize % FRAMINGS.len()],
        seed: 1,
        ..Config::default()
    }
}

/// Each bit brings one limit within reach.
fn small(bits: u8) -> Limits {
    let pick = |bit: u8, small: usize, large: usize| if bits & (1 << bit) != 0 { small } else { large };
    Limits {
        message_bytes: pick(0, 96, 2048),
        depth: 16,
        batch_len: pick(1, 2, 6),
        in_flight: pick(2, 1, 6),
        in_flight_bytes: pick(3, 16, 512),
        queued_bytes: pick(4, 160, 1024),
        calls: pick(5, 2, 8),
        high_water: pick(6, 64, 512),
        outbound_bytes: pick(7, 256, 2048),
        max_error_replies: pick(1, 3, 1 << 20) as u32,
        subscriptions: pick(2, 1, 4),
        subscription_items: pick(3, 1, 4),
        subscription_bytes: pick(4, 64, 512),
        stall: (bits & 1 != 0).then_some(Duration::from_secs(4)),
        idle: (bits & 2 != 0).then_some(Duration::from_secs(16)),
    }
}

pub(crate) fn call_options(bits: u8) -> CallOptions<'static> {
    let timed = |bit: u8, millis: u64| (bits & bit != 0).then_some(Duration::from_millis(millis));
    CallOptions {
        timeout: timed(1, 100),
        reset_on_progress: bits & 2 != 0,
        total_timeout: timed(4, 1000),
        progress: bits & 8 != 0,
        trace: (bits & 16 != 0).then(|| TraceContext {
            traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into(),
            tracestate: Some("a=b".into()),
            baggage: None,
        }),
        relay: bits & 32 != 0,
    }
}
