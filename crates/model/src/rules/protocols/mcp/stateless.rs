//! What the stateless revision, 2026-07-28, asks of each message, and the keys of `_meta`.

use sabir_proto::JsonKind;

use super::headers;
use super::params::Params;
use crate::json_path::{Object, kind, members, string};
use crate::rules::engine::calls::Side;
use crate::rules::engine::finding::quoted;
use crate::rules::engine::session::CheckContext;
use crate::rules::table::*;

pub(super) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Keys under MCP's own prefix that it has defined.
const DEFINED: [&str; 8] = [
    VERSION,
    CAPABILITIES,
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/serverInfo",
    "io.modelcontextprotocol/logLevel",
    "io.modelcontextprotocol/subscriptionId",
    "io.modelcontextprotocol/related-task",
    "io.modelcontextprotocol/tasks",
];

pub(super) fn request(context: &mut CheckContext<'_>, method: &str, params: &Params<'_>) {
    if context.from == Side::Server {
        context.add(
            &MCP020,
            method,
            format!("the server sends the request {}: it may not send any", quoted(method)),
        );
        return;
    }
    for key in [VERSION, CAPABILITIES] {
        if params.in_meta(key).is_none() {
            let part = params.meta.or(params.text).unwrap_or(context.entry);
            context.add(&MCP018, part, format!("`_meta` has no `{key}`"));
        }
    }
    headers::request(context, method, params.text);
}

pub(super) fn result(context: &mut CheckContext<'_>, result: &str, members: &Object<'_>) {
    match members.get("resultType") {
        None => context.add(&MCP019, result, "the result has no `resultType`"),
        Some(found) => {
            let known = matches!(string(found).as_deref(), Some("complete" | "input_required" | "task"));
            if !known {
                context.add(&MCP019, found, format!("{} is not a type of result", quoted(found)));
            }
        }
    }
}

pub(crate) fn error(context: &mut CheckContext<'_>, code: i64) {
    let part = context.part(&["error", "code"]);
    match code {
        -32022..=-32020 => {}
        -32002 | -32042 => context.add(&MCP021, part, format!("{code} is retired")),
        -32099..=-32020 => {
            context.add(&MCP021, part, format!("{code} is MCP's own, and it has not defined it"))
        }
        -32019..=-32000 => {
            let what = format!("{code} has no fixed meaning, and is not for new uses");
            context.add_as(&MCP021, Severity::Warning, part, what);
        }
        _ => {}
    }
}

/// A key is an optional prefix of labels, with a slash behind it, and a name.
pub(crate) fn meta_keys(context: &mut CheckContext<'_>, meta: &str) {
    if kind(meta) != JsonKind::Object {
        return context.add(&MCP022, meta, format!("`_meta` must be an object, found {}", kind(meta)));
    }
    for (key, value) in members(meta) {
        let what = match key.rsplit_once('/') {
            _ if DEFINED.contains(&&*key) => continue,
            None if is_name(&key) => continue,
            Some((prefix, name)) if prefix.split('.').all(is_label) && (name.is_empty() || is_name(name)) => {
                let reserved = prefix
                    .split('.')
                    .nth(1)
                    .is_some_and(|label| matches!(label, "modelcontextprotocol" | "mcp"));
                if !reserved {
                    continue;
                }
                format!("the prefix of {} is reserved", quoted(&key))
            }
            _ => format!("{} is not a key: it needs labels, a slash and a name", quoted(&key)),
        };
        context.add(&MCP022, value, what);
    }
}

fn is_label(label: &str) -> bool {
    label.starts_with(|c: char| c.is_ascii_alphabetic())
        && label.ends_with(|c: char| c.is_ascii_alphanumeric())
        && label.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c))
}
