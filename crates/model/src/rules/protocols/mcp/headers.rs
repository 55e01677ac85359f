//! What a request over HTTP says twice from 2026-07-28 on: in its headers and in its body. Only headers that were recorded are
//! looked at.

use super::stateless::VERSION;
use crate::json_path::text_at;
use crate::rules::engine::finding::quoted;
use crate::rules::engine::session::CheckContext;
use crate::rules::table::MCP024;

/// What stands in the place of a secret: it says nothing.
const HIDDEN: &str = "[redacted]";

pub(super) fn request(context: &mut CheckContext<'_>, method: &str, params: Option<&str>) {
    let record = context.location.record;
    let Some(exchange) = record.exchange.as_ref().filter(|exchange| exchange.head.is_some()) else { return };
    let said = |path: &[&str]| text_at(params?, path);
    let member = named(method).unwrap_or_default();
    let repeated = [
        ("MCP-Protocol-Version", context.part(&["params", "_meta", VERSION]), said(&["_meta", VERSION])),
        ("Mcp-Method", context.part(&["method"]), Some(method.into())),
        ("Mcp-Name", context.part(&["params", member]), said(&[member]).filter(|_| !member.is_empty())),
    ];
    for (name, part, said) in repeated {
        // Without the value the message breaks another rule, or there is nothing to repeat.
        let Some(said) = said.filter(|said| *said != HIDDEN) else { continue };
        let what = match exchange.header(&name.to_ascii_lowercase()) {
            None => format!("the header {name} is missing"),
            Some(value) if value.contains(HIDDEN) || decoded(value).as_deref() == Some(&*said) => continue,
            Some(value) => {
                format!("the header {name} is {}, and the message says {}", quoted(value), quoted(&said))
            }
        };
        context.add(&MCP024, part, what);
    }
}

/// The member of the params that `Mcp-Name` repeats.
fn named(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// A value that is not plain ASCII travels in base64. `None` if it is not valid.
fn decoded(value: &str) -> Option<String> {
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    let (mut held, mut bits) = (0_u32, 0);
    let mut bytes = Vec::with_capacity(inner.len() / 4 * 3);
    for digit in inner.trim_end_matches('=').bytes() {
        let six = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_base64_are_read() {
        for (value, want) in [
            ("plain", Some("plain")),
            ("=?base64?w7w=?=", Some("ü")),
            ("=?base64?bGluZQpicmVhaw==?=", Some("line\nbreak")),
            ("=?base64?*?=", None),
            ("=?base64?/w==?=", None),
        ] {
            assert_eq!(decoded(value).as_deref(), want, "{value}");
        }
    }
}
