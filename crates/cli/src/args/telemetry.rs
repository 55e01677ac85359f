//! Options for telemetry: where it goes, and what is logged.

use std::net::{Ipv4Addr, SocketAddr};

use clap::ValueEnum;

use crate::telemetry::LogFilter;

const TELEMETRY: &str = "Telemetry";

// Traces, metrics and logs. Not a doc comment: clap would show it as the command's own.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TelemetryArgs {
    /// Send traces, metrics and logs to an OpenTelemetry collector, such as http://127.0.0.1:4318 [env: OTEL_*]
    #[arg(long, value_name = "URL", help_heading = TELEMETRY)]
    pub(crate) otlp: Option<String>,
    /// Log to standard error: a level, or a list such as info,sabir::rpc=debug [env: SABIR_LOG, RUST_LOG]
    #[arg(long, value_name = "FILTER", help_heading = TELEMETRY)]
    pub(crate) log: Option<LogFilter>,
    /// The form of the log: text or json
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        default_value = "text",
        hide_possible_values = true,
        help_heading = TELEMETRY
    )]
    pub(crate) log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

// Metrics to be fetched.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct MetricsArgs {
    /// Serve metrics for Prometheus at /metrics of this address, such as 127.0.0.1:9464 or 9464
    #[arg(long, value_name = "ADDRESS", value_parser = address, help_heading = TELEMETRY)]
    pub(crate) metrics: Option<SocketAddr>,
}

/// A port alone is one of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        Err(_) => text.parse().map_err(|_| "write it as 127.0.0.1:9464, [::1]:9464 or 9464".to_owned()),
    }
}
