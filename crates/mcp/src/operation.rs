//! What observers are told of requests: which, how they ended, and how long they took.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sabir::{RawJson, Side};

use crate::McpRevision;

/// What stands for a method that nobody knows: strangers must not make up names.
pub(crate) const OTHER: &str = "_OTHER";
pub(crate) const CALL_TOOL: &str = "tools/call";

/// A request that has ended, with what OpenTelemetry's conventions have for metrics of MCP
/// (`mcp.server.operation.duration`, `mcp.client.operation.duration`). [`McpServer::observe`](crate::McpServer::observe) and
/// [`McpClient::observe`](crate::McpClient::observe) report it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct McpOperation<'a> {
    /// Who has asked.
    pub side: Side,
    /// The method (`mcp.method.name`), or `_OTHER` if the server does not have the one that was asked for.
    pub method: &'a str,
    /// The tool (`gen_ai.tool.name`) or the prompt, if the server has it.
    pub target: Option<&'a str>,
    /// The revision that is spoken (`mcp.protocol.version`), once that is known.
    pub revision: Option<McpRevision>,
    /// How it failed (`error.type`): the code of an error, `tool_error` if a tool says that it has failed, `timeout`,
    /// `cancelled` or `_OTHER`.
    pub error_type: Option<&'a str>,
    /// How long it took. For a client that is all rounds of a request, questions of the server included.
    pub took: Duration,
}

pub(crate) type Observer = Arc<dyn Fn(&McpOperation<'_>) + Send + Sync>;

/// A request on its way to its end. Dropped before that, it was cancelled.
pub(crate) struct Ending {
    observers: Vec<Observer>,
    side: Side,
    method: String,
    target: Option<String>,
    revision: Option<McpRevision>,
    start: Instant,
    error_type: Option<String>,
}

impl Ending {
    pub(crate) fn new(
        observers: Vec<Observer>,
        side: Side,
        method: String,
        target: Option<String>,
        revision: Option<McpRevision>,
    ) -> Self {
        let error_type = Some("cancelled".to_owned());
        Ending { observers, side, method, target, revision, start: Instant::now(), error_type }
    }

    /// It has ended in a result, or in an error of this type.
    pub(crate) fn end(mut self, revision: Option<McpRevision>, outcome: Result<&RawJson<'_>, String>) {
        self.revision = revision;
        self.error_type = match outcome {
            Ok(result) if is_tool_error(&self.method, result) => Some("tool_error".to_owned()),
            Ok(_) => None,
            Err(error_type) => Some(error_type),
        };
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let operation = McpOperation {
            side: self.side,
            method: &self.method,
            target: self.target.as_deref(),
            revision: self.revision,
            error_type: self.error_type.as_deref(),
            took: self.start.elapsed(),
        };
        self.observers.iter().for_each(|observer| observer(&operation));
    }
}

/// Whether the result of a tool says that it has failed.
pub(crate) fn is_tool_error(method: &str, result: &RawJson<'_>) -> bool {
    method == CALL_TOOL && result.get("isError").is_some_and(|is_error| is_error.as_str() == "true")
}

/// The tool or prompt that a request names.
pub(crate) fn target(method: &str, params: Option<&RawJson<'_>>) -> Option<String> {
    match method {
        CALL_TOOL | "prompts/get" => params?.get("name")?.parse().ok(),
        _ => None,
    }
}
