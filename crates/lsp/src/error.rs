//! The errors that LSP adds to JSON-RPC's.

use sabir::ErrorObject;
use serde::Serialize;

/// The error codes of LSP itself.
///
/// `-32800`, for a request that was cancelled, is [`ErrorCode::REQUEST_CANCELLED`](sabir::ErrorCode::REQUEST_CANCELLED);
/// it is answered by itself.
pub mod code {
    use sabir::ErrorCode;

    /// A request came before `initialize`.
    pub const SERVER_NOT_INITIALIZED: ErrorCode = ErrorCode(-32002);
    /// The document has changed, and the result would be of no use: see [`content_modified`](super::content_modified).
    pub const CONTENT_MODIFIED: ErrorCode = ErrorCode(-32801);
    /// The server has cancelled the request: see [`server_cancelled`](super::server_cancelled).
    pub const SERVER_CANCELLED: ErrorCode = ErrorCode(-32802);
    /// The request is right, and yet cannot be done. The message is shown to the user.
    pub const REQUEST_FAILED: ErrorCode = ErrorCode(-32803);
}

/// Answers a request whose document has changed meanwhile: `-32801`. [`LspCtx::check_current`](crate::LspCtx::check_current)
/// finds out.
pub fn content_modified() -> ErrorObject {
    ErrorObject::new(code::CONTENT_MODIFIED, "Content modified")
}

/// Answers a request for diagnostics that the server cannot compute now: `-32802`. The client asks again if
/// `retrigger` says so.
pub fn server_cancelled(retrigger: bool) -> ErrorObject {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        retrigger_request: bool,
    }
    ErrorObject::new(code::SERVER_CANCELLED, "Server cancelled")
        .with_data(&Data { retrigger_request: retrigger })
}
