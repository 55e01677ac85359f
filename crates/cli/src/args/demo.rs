//! What `sabir demo` takes.

use clap::ValueEnum;
use sabir::Framing;

use super::{CONNECTION, MetricsArgs, ProtectionArgs, ServeTlsArgs, TelemetryArgs};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"add\",\"params\":[2,3]}' | sabir demo
  sabir demo --listen tcp://127.0.0.1:4000
  sabir demo --listen unix:/tmp/demo.sock --framing headers
  sabir demo --mcp
  sabir demo --mcp --listen http://127.0.0.1:8080/mcp --issuer https://login.example --scope greet=people
  sabir demo --listen http://127.0.0.1:8080/rpc --bearer secret
  sabir demo --listen https://127.0.0.1:8443 --tls-cert server.pem --tls-key server.key
  sabir demo --listen tcp://127.0.0.1:4000 --otlp http://127.0.0.1:4318 --metrics 9464

At tcp:// and unix: one port serves all: JSON-RPC in lines or with Content-Length headers, HTTP/1.1, HTTP/2 and
WebSocket, and with a certificate TLS of each. The first bytes of a connection decide. At http:// and ws:// it
serves HTTP and WebSocket only.

The methods: add, subtract, sum, get_data, echo, sleep, progress, work, tick, ask, fail, panic, notes, the
subscription subscribe_ticks, and the notifications update, notify_hello, notify_sum, log.")]
pub(crate) struct DemoArgs {
    /// Serve a Model Context Protocol server that has one of every feature instead
    #[arg(long)]
    pub(crate) mcp: bool,
    /// Also serve a toy chain, for clients of Ethereum, Substrate and Solana
    #[arg(long, conflicts_with = "mcp")]
    pub(crate) chain: bool,
    /// Serve at tcp://HOST:PORT, http://HOST:PORT/PATH, unix:PATH (on Windows pipe:NAME) or nats://HOST/SERVICE, not on stdin and stdout
    #[arg(long, value_name = "URL", help_heading = CONNECTION)]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) tls: ServeTlsArgs,
    /// Require this bearer token over HTTP and WebSocket; other connections are refused
    #[arg(long, value_name = "TOKEN", requires = "listen", value_parser = token, help_heading = CONNECTION)]
    pub(crate) bearer: Option<String>,
    #[command(flatten)]
    pub(crate) protection: ProtectionArgs,
    /// Allow calls from pages of this origin, such as https://app.example; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "listen", value_parser = origin, help_heading = CONNECTION)]
    pub(crate) allow_origin: Vec<String>,
    /// Accept requests to this host, such as demo.example; may be repeated
    #[arg(long, value_name = "HOST", requires = "listen", value_parser = host, help_heading = CONNECTION)]
    pub(crate) allow_host: Vec<String>,
    /// Message framing; auto detects it [default: lines, and auto with --listen]
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        help_heading = CONNECTION,
        hide_default_value = true,
        default_value = "lines",
        default_value_if("listen", clap::builder::ArgPredicate::IsPresent, "auto")
    )]
    pub(crate) framing: ServerFraming,
    #[command(flatten)]
    pub(crate) telemetry: TelemetryArgs,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ServerFraming {
    /// Whichever the peer uses
    Auto,
    /// One message per line
    Lines,
    /// Content-Length headers before each message, as in LSP
    Headers,
}

impl ServerFraming {
    pub(crate) fn known(self) -> Option<Framing> {
        match self {
            ServerFraming::Auto => None,
            ServerFraming::Lines => Some(Framing::Lines),
            ServerFraming::Headers => Some(Framing::Headers),
        }
    }
}

/// A name or an address, with a port or without.
fn host(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-.:[]".contains(c);
    match text.chars().all(plain) && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[') {
        true => Ok(text.to_owned()),
        false => Err("write it as demo.example or demo.example:8080".to_owned()),
    }
}

fn token(text: &str) -> Result<String, String> {
    match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(text.to_owned()),
        false => Err("a token is not empty, and has only visible ASCII characters".to_owned()),
    }
}

fn origin(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match rest.map(host) {
        Some(Ok(_)) => Ok(text.to_owned()),
        _ => Err("write it as https://app.example, without a path".to_owned()),
    }
}
