//! What a client says twice over HTTP in the modern era: in the body of a request, and in its headers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderName, HeaderValue};
use sabir::{RawJson, Transport};

use crate::McpRevision;
use crate::headers::{self, ParamHeader};
use crate::server::PROTOCOL_VERSION;
use crate::types::Tool;

/// The headers with which a client repeats over HTTP what it says in a request of the modern era, where servers and
/// proxies look for it. [`McpClient::connect`](crate::McpClient::connect) adds them by itself.
///
/// Which arguments of which tools travel in headers is known once the tools have been listed.
#[derive(Clone, Default)]
pub struct McpHeaders {
    tools: Arc<Mutex<HashMap<String, Vec<ParamHeader>>>>,
    /// Somebody has looked: it is HTTP.
    posted: Arc<std::sync::atomic::AtomicBool>,
}

impl McpHeaders {
    /// Remembers what tools ask for. Those that ask in a wrong way are left out, where it matters.
    pub(super) fn learn(&self, tools: Vec<Tool>) -> Vec<Tool> {
        if !self.posted.load(std::sync::atomic::Ordering::Relaxed) {
            return tools;
        }
        let mut known = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        // A server may name its tools anew each time.
        known.clear();
        let mut fit = |tool: &Tool| match ParamHeader::of(&tool.input_schema) {
            Ok(asked) => {
                known.insert(tool.name.clone(), asked);
                true
            }
            Err(_) => false,
        };
        tools.into_iter().filter(|tool| fit(tool)).collect()
    }

    /// Has a transport send them with what is posted.
    pub fn add_to(&self, transport: Transport) -> Transport {
        let told = self.clone();
        transport.on_post(move |message, headers| {
            told.posted.store(true, std::sync::atomic::Ordering::Relaxed);
            for (name, value) in told.of(message) {
                if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(&value)) {
                    headers.insert(name, value);
                }
            }
        })
    }

    fn of(&self, message: &RawJson<'_>) -> Vec<(String, String)> {
        let text = |value: Option<RawJson<'_>>| value.and_then(|value| value.parse::<String>().ok());
        let params = message.get("params");
        let version = params.as_ref().and_then(|params| text(params.get("_meta")?.get(PROTOCOL_VERSION)));
        let Some((version, method)) = version.zip(text(message.get("method"))) else { return Vec::new() };
        if !McpRevision::parse(&version).is_none_or(McpRevision::is_modern) {
            return Vec::new();
        }
        let known = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let name = params.as_ref().and_then(|params| text(params.get("name")));
        let asked = name.filter(|_| method == "tools/call").and_then(|name| known.get(&name));
        headers::write(&version, &method, params.as_ref(), asked.map_or(&[], Vec::as_slice))
    }
}

impl std::fmt::Debug for McpHeaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpHeaders").finish_non_exhaustive()
    }
}
