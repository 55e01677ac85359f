//! The log on standard error: one line for each event, as text or as JSON.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use sabir_proto::{escape_controls, utc_timestamp};
use serde_json::{Map, json};

use super::span::{Log, Value};
use crate::args::LogFormat;

/// Lines that wait to be written.
const WAITING: usize = 4096;

/// How long the last lines may take.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Writes lines in a thread of its own: if nobody reads them, they are left out and counted, and nothing waits.
#[derive(Clone)]
pub(super) struct LogWriter(Arc<Inner>);

struct Inner {
    format: LogFormat,
    lines: Mutex<Option<SyncSender<String>>>,
    ended: Mutex<Receiver<()>>,
    omitted: AtomicU64,
}

impl LogWriter {
    pub(super) fn start(format: LogFormat) -> std::io::Result<Self> {
        let (lines, waiting) = sync_channel::<String>(WAITING);
        let (end, ended) = sync_channel(1);
        std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            while let Ok(line) = waiting.recv() {
                // Whoever has stopped reading the log does not stop the program.
                let _ = std::io::stderr().write_all(line.as_bytes());
            }
            let _ = end.send(());
        })?;
        let (lines, ended) = (Mutex::new(Some(lines)), Mutex::new(ended));
        Ok(LogWriter(Arc::new(Inner { format, lines, ended, omitted: AtomicU64::new(0) })))
    }

    pub(super) fn write(&self, log: &Log) {
        let omitted = self.0.omitted.swap(0, Ordering::Relaxed);
        let line = match self.0.format {
            LogFormat::Text => text(log, omitted),
            LogFormat::Json => json(log, omitted),
        };
        let lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.as_ref().is_some_and(|lines| lines.try_send(line).is_err()) {
            self.0.omitted.fetch_add(omitted + 1, Ordering::Relaxed);
        }
    }

    /// Waits until all is written, but not for ever.
    pub(super) fn finish(&self) {
        let lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner).take();
        if lines.is_some() {
            drop(lines);
            let _ = self.0.ended.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LAST_LINES);
        }
    }
}

/// `2026-11-17T23:40:52.123Z WARN sabir::rpc: message name=value`. What a peer chose cannot end the line, or reach a
/// terminal.
fn text(log: &Log, omitted: u64) -> String {
    let mut line =
        format!("{} {:>5} {}: {}", time(log.time), log.level, log.target, escape_controls(&log.message));
    for (name, value) in &log.attributes.0 {
        let _ = match value {
            Value::Text(text) if is_plain(text) => write!(line, " {name}={text}"),
            Value::Text(text) => write!(line, " {name}={}", escape_controls(&format!("{text:?}"))),
            Value::Number(number) => write!(line, " {name}={number}"),
            Value::Bool(value) => write!(line, " {name}={value}"),
        };
    }
    if omitted > 0 {
        let _ = write!(line, " omitted={omitted}");
    }
    line.push('\n');
    line
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && c != '"' && c != '=')
}

/// One object; what a peer chose is escaped beyond ASCII, too, as it may end up on a terminal.
fn json(log: &Log, omitted: u64) -> String {
    let fields: Map<_, _> =
        log.attributes.0.iter().map(|(name, value)| ((*name).to_owned(), value.json())).collect();
    let mut object = json!({
        "time": time(log.time),
        "level": log.level.as_str(),
        "target": log.target,
        "message": log.message,
        "fields": fields,
    });
    if let (Some((trace, span)), Some(object)) = (log.within, object.as_object_mut()) {
        object.insert("trace_id".to_owned(), format!("{trace:032x}").into());
        object.insert("span_id".to_owned(), format!("{span:016x}").into());
    }
    if let (1.., Some(object)) = (omitted, object.as_object_mut()) {
        object.insert("omitted".to_owned(), omitted.into());
    }
    let mut line = crate::json::compact(&object.to_string()).into_owned();
    line.push('\n');
    line
}

impl Value {
    fn json(&self) -> serde_json::Value {
        match self {
            Value::Text(text) => text.as_str().into(),
            Value::Number(number) => (*number).into(),
            Value::Bool(value) => (*value).into(),
        }
    }
}

/// A time in UTC, by RFC 3339, with milliseconds.
fn time(time: SystemTime) -> String {
    utc_timestamp(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(), 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::span::Attributes;

    fn hostile() -> Log {
        let mut attributes = Attributes::default();
        attributes.text("rpc.method", "a\n2026 ERROR forged\u{1b}[2J");
        attributes.set("count", Value::Number(3));
        attributes.text("code", "-32601");
        Log {
            time: SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_000_000_123),
            level: tracing::Level::WARN,
            target: "sabir::rpc".to_owned(),
            message: "bad\u{7}message".to_owned(),
            attributes,
            within: Some((1, 2)),
        }
    }

    #[test]
    fn what_a_peer_chose_stays_in_its_line() {
        let line = text(&hostile(), 2);
        let want = "2026-11-18T11:06:40.123Z  WARN sabir::rpc: bad\\u0007message \
                    rpc.method=\"a\\n2026 ERROR forged\\u{1b}[2J\" count=3 code=-32601 omitted=2\n";
        assert_eq!(line, want);
        let line = json(&hostile(), 0);
        assert!(line.ends_with('\n') && !line.trim_end().contains(|c: char| c.is_control()), "{line}");
        let read: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        assert_eq!(read["fields"]["rpc.method"], "a\n2026 ERROR forged\u{1b}[2J");
        assert_eq!(read["trace_id"], "00000000000000000000000000000001");
    }
}
