//! The rules in which protocols on JSON-RPC differ, as plain data.
//!
//! A dialect decides what is allowed, and which cancel and progress messages are used. The results:
//!
//! | what came | [`PLAIN`] | [`LSP`] | [`MCP_2024_11_05`] | [`MCP_2025_03_26`] | later MCP | [`LENIENT`] |
//! |---|---|---|---|---|---|---|
//! | `jsonrpc` missing or not `"2.0"` | `-32600` | `-32600` | `-32600` | `-32600` | `-32600` | taken |
//! | `params: null` | `-32600` | as if absent | `-32600` | `-32600` | `-32600` | as if absent |
//! | `params` a string, number or boolean | `-32600` | `-32600` | `-32600` | `-32600` | `-32600` | `-32600` |
//! | `params` an array | taken | taken | `-32600` | `-32600` | `-32600` | taken |
//! | `id: null` in a request | answered | `-32600` | `-32600` | `-32600` | `-32600` | answered |
//! | `id` with a fraction | taken | `-32600` | `-32600` | `-32600` | `-32600` | taken |
//! | `id` a boolean, array or object | `-32600`, id null | same | same | same | same | same |
//! | a batch | taken | `-32600` | taken | taken | `-32600` | taken |
//! | an empty batch | `-32600` | `-32600` | `-32600` | `-32600` | `-32600` | `-32600` |
//! | a member of the envelope twice | `-32600` | `-32600` | `-32600` | `-32600` | `-32600` | `-32600` |
//! | `method` with `result` or `error` | `-32600` | `-32600` | `-32600` | `-32600` | `-32600` | `-32600` |
//! | `result` and `error` together | reported | reported | reported | reported | reported | taken if one is null |
//! | an error response without `id` | reported | reported | reported | reported | taken from 2025-11-25 | taken |
//! | a string id that spells one of our numbers | reported | reported | reported | reported | reported | taken |
//! | text that is not JSON | `-32700` | `-32700` | `-32700` | `-32700` | `-32700` | reported |
//! | members that nobody defined | ignored | ignored | ignored | ignored | ignored | ignored |
//!
//! *Reported* means that the application learns of it and the peer does not: what looks like a response is
//! never answered with an error.

use crate::revision::McpRevision;

/// What is allowed on a connection beyond the specification, and which extension messages are used.
///
/// Start from a constant and change what you need:
///
/// ```
/// use sabir_proto::{Dialect, PLAIN};
///
/// let no_batches = Dialect { batches: false, ..PLAIN };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// For people: `plain`, `lsp`, `mcp 2025-06-18`.
    pub name: &'static str,
    /// `jsonrpc` must be there and be `"2.0"`.
    pub version_required: bool,
    /// `params: null` counts as no params.
    pub null_params: bool,
    /// `params` may be an array.
    pub array_params: bool,
    /// A request may have the id null.
    pub null_ids: bool,
    /// A request's id may have a fraction.
    pub fractional_ids: bool,
    /// Batches may come, and may be sent.
    pub batches: bool,
    /// An error response may leave out its id; it then counts as null.
    pub errors_without_id: bool,
    /// Deviations of old servers are accepted: `result` beside `"error": null` and the reverse, and a
    /// number that comes back as a string.
    pub lenient_responses: bool,
    /// Text that is not JSON is reported to the application and not answered: log lines on a server's
    /// standard output.
    pub allow_non_json: bool,
    /// How a call of ours is cancelled.
    pub cancel: NotificationStyle,
    /// Whether the other cancel notification is understood, too.
    pub either_cancel: bool,
    /// How the progress of a call of ours is asked for.
    pub progress: NotificationStyle,
    /// Methods that may not be cancelled.
    pub never_cancelled: &'static [&'static str],
}

/// The two styles of cancel and progress notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotificationStyle {
    /// `$/cancelRequest {id}`, answered with `-32800`; `workDoneToken` and `$/progress {token, value}`.
    Dollar,
    /// `notifications/cancelled {requestId, reason}`, after which no answer is owed;
    /// `_meta.progressToken` and `notifications/progress {progressToken, progress, …}`.
    Notifications,
}

/// JSON-RPC 2.0 to the letter. Both cancel notifications are understood.
pub const PLAIN: Dialect = Dialect {
    name: "plain",
    version_required: true,
    null_params: false,
    array_params: true,
    null_ids: true,
    fractional_ids: true,
    batches: true,
    errors_without_id: false,
    lenient_responses: false,
    allow_non_json: false,
    cancel: NotificationStyle::Dollar,
    either_cancel: true,
    progress: NotificationStyle::Notifications,
    never_cancelled: &[],
};

/// The Language Server Protocol's base.
pub const LSP: Dialect = Dialect {
    name: "lsp",
    null_params: true,
    null_ids: false,
    fractional_ids: false,
    batches: false,
    either_cancel: false,
    progress: NotificationStyle::Dollar,
    ..PLAIN
};

/// The Model Context Protocol, first revision.
pub const MCP_2024_11_05: Dialect = Dialect {
    name: "mcp 2024-11-05",
    array_params: false,
    null_ids: false,
    fractional_ids: false,
    cancel: NotificationStyle::Notifications,
    either_cancel: false,
    never_cancelled: &["initialize"],
    ..PLAIN
};

/// MCP, the revision in which batches must be understood.
pub const MCP_2025_03_26: Dialect = Dialect { name: "mcp 2025-03-26", ..MCP_2024_11_05 };

/// MCP, from which batches are gone.
pub const MCP_2025_06_18: Dialect = Dialect { name: "mcp 2025-06-18", batches: false, ..MCP_2025_03_26 };

/// MCP, in which an error may leave out its id.
pub const MCP_2025_11_25: Dialect =
    Dialect { name: "mcp 2025-11-25", errors_without_id: true, ..MCP_2025_06_18 };

/// MCP, the stateless revision.
pub const MCP_2026_07_28: Dialect = Dialect { name: "mcp 2026-07-28", ..MCP_2025_11_25 };

/// The newest published revision of MCP.
pub const MCP: Dialect = MCP_2026_07_28;

/// For servers that deviate: accepts what can be understood, and ignores what is not JSON.
pub const LENIENT: Dialect = Dialect {
    name: "lenient",
    version_required: false,
    null_params: true,
    errors_without_id: true,
    lenient_responses: true,
    allow_non_json: true,
    ..PLAIN
};

impl Dialect {
    /// The dialect of an MCP revision such as `2025-06-18`.
    pub fn mcp(revision: &str) -> Option<Dialect> {
        McpRevision::parse(revision).map(McpRevision::dialect)
    }

    /// Whether calls of this method may be cancelled.
    #[inline]
    pub(crate) fn can_be_cancelled(&self, method: &str) -> bool {
        self.never_cancelled.iter().all(|never| *never != method)
    }
}

impl Default for Dialect {
    fn default() -> Self {
        PLAIN
    }
}
