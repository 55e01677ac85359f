//! What the runner's `#!` lines say.

use std::time::Duration;

use sabir_proto::{
    CallOptions, Config, Dialect, Framing, LENIENT, LSP, Line, PLAIN, RawJson, TraceContext, transcript,
};

/// `30s`, in the notation's own way.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    match transcript(&format!("~ {text}")).next() {
        Some(Ok(Line::Time(time))) => Ok(time),
        _ => Err(format!("`{text}` is not a duration")),
    }
}

/// The words of a `#! session` line.
pub(crate) fn config(words: &str) -> Result<Config, String> {
    let mut config = Config { framing: Some(Framing::Lines), ..Config::default() };
    for word in words.split_whitespace() {
        let (name, value) = word.split_once('=').ok_or(format!("`{word}` is not a setting"))?;
        let number = || value.parse::<usize>().map_err(|e| format!("{word}: {e}"));
        let limits = &mut config.limits;
        match name {
            "dialect" => config.dialect = dialect(value)?,
            "framing" => {
                config.framing = match value {
                    "lines" => Some(Framing::Lines),
                    "headers" => Some(Framing::Headers),
                    "whole" => Some(Framing::Whole),
                    "detect" => None,
                    _ => return Err(format!("unknown framing `{value}`")),
                }
            }
            "message_bytes" => limits.message_bytes = number()?,
            "depth" => limits.depth = number()? as u8,
            "batch_len" => limits.batch_len = number()?,
            "in_flight" => limits.in_flight = number()?,
            "in_flight_bytes" => limits.in_flight_bytes = number()?,
            "queued_bytes" => limits.queued_bytes = number()?,
            "calls" => limits.calls = number()?,
            "high_water" => limits.high_water = number()?,
            "outbound_bytes" => limits.outbound_bytes = number()?,
            "subscriptions" => limits.subscriptions = number()?,
            "subscription_items" => limits.subscription_items = number()?,
            "subscription_bytes" => limits.subscription_bytes = number()?,
            "complaints" => limits.max_error_replies = number()? as u32,
            "stall" => limits.stall = Some(duration(value)?),
            "idle" => limits.idle = Some(duration(value)?),
            _ => return Err(format!("unknown setting `{name}`")),
        }
    }
    Ok(config)
}

fn dialect(name: &str) -> Result<Dialect, String> {
    match name {
        "plain" => Ok(PLAIN),
        "lsp" => Ok(LSP),
        "lenient" => Ok(LENIENT),
        _ => name.strip_prefix("mcp-").and_then(Dialect::mcp).ok_or(format!("unknown dialect `{name}`")),
    }
}

/// A call as a `#! call` line has it.
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) params: Option<RawJson<'static>>,
    pub(crate) options: CallOptions<'static>,
}

pub(crate) fn call(words: &str) -> Result<Call, String> {
    let (method, rest) = words.split_once(' ').unwrap_or((words, ""));
    let mut call = Call { method: method.to_owned(), params: None, options: CallOptions::default() };
    for word in rest.split_whitespace() {
        match word.split_once('=') {
            _ if word.starts_with(['[', '{']) => {
                call.params = Some(RawJson::new(word.to_owned()).map_err(|e| e.to_string())?);
            }
            Some(("timeout", value)) => call.options.timeout = Some(duration(value)?),
            Some(("total", value)) => call.options.total_timeout = Some(duration(value)?),
            Some(("trace", value)) => {
                let traceparent = value.to_owned().into();
                call.options.trace = Some(TraceContext { traceparent, ..TraceContext::default() });
            }
            None if word == "reset" => call.options.reset_on_progress = true,
            None if word == "progress" => call.options.progress = true,
            _ => return Err(format!("unknown word `{word}`")),
        }
    }
    Ok(call)
}
