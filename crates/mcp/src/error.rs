//! How things go wrong: for the model to read, or for the program.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use sabir::{ErrorCode, ErrorObject};
use serde::Serialize;

use crate::McpRevision;
use crate::extensions::TypedResult;
use crate::types::ClientCapabilities;

/// What the functions of a server return.
pub type McpResult<T> = Result<T, ToolError>;

/// Why a function of a server has no result.
///
/// `?` makes a [`ToolError::Failed`] of any error, of `anyhow::Error`, of `Box<dyn Error + Send + Sync>` and of texts:
/// what a tool cannot do is for the model to read. The text is the error's, followed by those of its sources. In
/// resources and prompts, where there is no model, it is answered as an internal error with the same text.
///
/// ```
/// use sabir_mcp::{McpCtx, McpResult};
///
/// async fn first_line(_: McpCtx, (): ()) -> McpResult<String> {
///     let text = std::fs::read_to_string("notes.txt")?;
///     Ok(text.lines().next().ok_or("the file is empty")?.to_owned())
/// }
/// ```
///
/// A `Box<dyn Error>` that is not `Send + Sync` cannot be converted by the same rule; use
/// `.map_err(|error| error.to_string())?`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ToolError {
    /// The tool could not do it: a result with `isError`, which the model reads.
    Failed(String),
    /// The request was wrong: a JSON-RPC error.
    Rpc(ErrorObject),
    /// The client has to be asked something first. The questions are in the [`McpCtx`](crate::McpCtx): pass it on
    /// with `?`, and the function is called again once they are answered.
    InputRequired,
    /// The answer is a result of a type that an extension adds.
    Typed(Box<TypedResult>),
}

impl ToolError {
    /// The tool could not do it, and says why to the model.
    pub fn new(why: impl fmt::Display) -> Self {
        ToolError::Failed(why.to_string())
    }

    /// The request was wrong: a JSON-RPC error with this code.
    pub fn rpc(code: impl Into<ErrorCode>, message: impl Into<String>) -> Self {
        ToolError::Rpc(ErrorObject::new(code, message.into()))
    }

    /// There is no such resource. Each revision's own code is sent.
    pub fn not_found(uri: impl AsRef<str>) -> Self {
        ToolError::Rpc(unknown_resource(uri.as_ref(), McpRevision::NEWEST_LEGACY))
    }

    /// The error that a request is answered with where there is no model to tell.
    pub(crate) fn into_error(self) -> ErrorObject {
        match self {
            ToolError::Failed(why) => ErrorObject::new(ErrorCode::INTERNAL_ERROR, why),
            ToolError::Rpc(error) => error,
            ToolError::InputRequired => {
                ErrorObject::because(ErrorCode::INTERNAL_ERROR, "nothing was asked, but an answer is wanted")
            }
            ToolError::Typed(result) => ErrorObject::because(
                ErrorCode::INTERNAL_ERROR,
                format_args!("a result of the type `{}` has no place here", result.result_type),
            ),
        }
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for ToolError {
    fn from(error: E) -> Self {
        let error = error.into();
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            let cause = error.to_string();
            // Many errors repeat their source in their own text.
            if !text.contains(&cause) {
                text = format!("{text}: {cause}");
            }
            source = error.source();
        }
        ToolError::Failed(text)
    }
}

impl From<TypedResult> for ToolError {
    fn from(result: TypedResult) -> Self {
        ToolError::Typed(Box::new(result))
    }
}

/// The error codes of MCP itself.
pub mod code {
    use sabir::ErrorCode;

    /// There is no such resource, up to 2025-11-25. Later it is `-32602`.
    pub const RESOURCE_NOT_FOUND: ErrorCode = ErrorCode(-32002);
    /// A page must be visited first, in 2025-11-25.
    pub const URL_ELICITATION_REQUIRED: ErrorCode = ErrorCode(-32042);
    /// A header of the HTTP request says something else than its body. From 2026-07-28 on.
    pub const HEADER_MISMATCH: ErrorCode = ErrorCode(-32020);
    /// The client lacks a capability. From 2026-07-28 on.
    pub const MISSING_CAPABILITY: ErrorCode = ErrorCode(-32021);
    /// The server does not speak the revision. From 2026-07-28 on.
    pub const UNSUPPORTED_REVISION: ErrorCode = ErrorCode(-32022);
}

/// The reason may repeat what a client sent, of any length: it is cut.
pub(crate) fn invalid(reason: impl fmt::Display) -> ErrorObject {
    ErrorObject::because(ErrorCode::INVALID_PARAMS, shown(&reason.to_string()))
}

/// What a call names or fills in does not fit. The message says why, too: many programs show nothing else.
pub(crate) fn unfit(reason: impl fmt::Display) -> ErrorObject {
    let reason = reason.to_string();
    let mut error = invalid(&reason);
    error.message = format!("{}: {}", error.message, start_of(&reason, SHOWN / 2)).into();
    error
}

/// Params of whose members some do not fit.
pub(crate) fn unread(error: &serde_json::Error) -> ErrorObject {
    invalid(reason(error))
}

/// Why something was not read. The position is left out.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    shown(&sabir::error_reason(error)).into_owned()
}

/// Bytes of what a client sent that an error repeats.
const SHOWN: usize = 512;

/// As much of a text as an answer repeats: what answers junk is small.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    start_of(text, SHOWN)
}

fn start_of(text: &str, most: usize) -> Cow<'_, str> {
    let Some(end) = (text.len() > most).then(|| (0..=most).rfind(|at| text.is_char_boundary(*at))) else {
        return Cow::Borrowed(text);
    };
    Cow::Owned(format!("{}…", &text[..end.unwrap_or_default()]))
}

pub(crate) fn not_found() -> ErrorObject {
    ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND)
}

/// The reason repeats no more than [`shown`] of what came.
pub(crate) fn header_mismatch(reason: impl fmt::Display) -> ErrorObject {
    #[derive(Serialize)]
    struct Data {
        reason: String,
    }
    ErrorObject::new(code::HEADER_MISMATCH, "Header mismatch").with_data(Data { reason: reason.to_string() })
}

pub(crate) fn unsupported_revision(requested: &str) -> ErrorObject {
    #[derive(Serialize)]
    struct Data<'a> {
        supported: Vec<McpRevision>,
        requested: Cow<'a, str>,
    }
    ErrorObject::new(code::UNSUPPORTED_REVISION, "Unsupported protocol version")
        .with_data(Data { supported: McpRevision::modern().collect(), requested: shown(requested) })
}

pub(crate) fn missing_capability(required: &ClientCapabilities) -> ErrorObject {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data<'a> {
        required_capabilities: &'a ClientCapabilities,
    }
    ErrorObject::new(code::MISSING_CAPABILITY, "Missing required client capability")
        .with_data(Data { required_capabilities: required })
}

pub(crate) fn unknown_resource(uri: &str, revision: McpRevision) -> ErrorObject {
    #[derive(Serialize)]
    struct Data<'a> {
        uri: Cow<'a, str>,
    }
    let code = if revision.is_modern() { ErrorCode::INVALID_PARAMS } else { code::RESOURCE_NOT_FOUND };
    ErrorObject::new(code, "Resource not found").with_data(Data { uri: shown(uri) })
}
