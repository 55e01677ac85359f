//! `-v`: the steps to a server, how long each takes, and the heads of HTTP.

use std::sync::Mutex;
use std::time::Instant;

use sabir::transport::Step;

use crate::print::Printer;

/// Shows each step. The values of `secret` headers, which the user gave, are not shown.
pub(crate) fn shown(printer: &Printer, secret: Vec<String>) -> impl Fn(&Step<'_>) + Send + Sync + 'static {
    let (printer, last) = (printer.clone(), Mutex::new(Instant::now()));
    move |step| {
        let took = {
            let mut last = last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            std::mem::replace(&mut *last, Instant::now()).elapsed()
        };
        let ms = format!("{:.1} ms", took.as_secs_f64() * 1e3);
        let headers = |sign: char, headers: &sabir::http::HeaderMap| {
            for (name, value) in headers {
                let is_secret = secret.iter().any(|secret| secret.eq_ignore_ascii_case(name.as_str()));
                let value = match is_secret {
                    true => "…".to_owned(),
                    false => String::from_utf8_lossy(value.as_bytes()).into_owned(),
                };
                printer.note(&format!("{sign} {name}: {value}"));
            }
        };
        match step {
            Step::Resolved { host } => printer.note(&format!("* resolved {host} in {ms}")),
            Step::Connected { address } => printer.note(&format!("* connected to {address} in {ms}")),
            Step::Secured { version, cipher, protocol } => {
                let over = protocol.map_or_else(String::new, |protocol| format!(", {protocol}"));
                printer.note(&format!("* {version}, {cipher}{over} in {ms}"));
            }
            Step::Request { method, uri, headers: sent } => {
                printer.note(&format!("> {method} {uri}"));
                headers('>', sent);
            }
            Step::Response { version, status, headers: came } => {
                printer.note(&format!("< {version:?} {status} in {ms}"));
                headers('<', came);
            }
            _ => {}
        }
    }
}
