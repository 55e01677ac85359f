//! What the functions of a server may return, and how it becomes a result.

use std::borrow::Cow;

use sabir::RawJson;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{McpResult, ToolError};
use crate::schema;
use crate::types::{Content, Contents, PromptMessage, PromptResult, ToolResult};

/// A value for programs: a tool's structured output, with a schema, or a resource in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// What a tool may return: a text, a number, [`Content`] or several, [`Json`] for structured output, or a
/// whole [`ToolResult`].
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    note = "return a text, a number, `Content`, `Vec<Content>`, `Json<T>` for structured output, or `ToolResult`"
)]
pub trait IntoToolResult: Send + 'static {
    /// A JSON Schema of the structured output, if there is one.
    fn output_schema() -> Option<RawJson<'static>> {
        None
    }

    /// The result.
    fn into_tool_result(self) -> McpResult<ToolResult>;
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> McpResult<ToolResult> {
        Ok(self)
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> McpResult<ToolResult> {
        Ok(ToolResult { content: self, ..ToolResult::default() })
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> McpResult<ToolResult> {
        vec![self].into_tool_result()
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> McpResult<ToolResult> {
        Ok(ToolResult::default())
    }
}

macro_rules! texts {
    ($($kind:ty)*) => {
        $(impl IntoToolResult for $kind {
            fn into_tool_result(self) -> McpResult<ToolResult> {
                Content::text(self).into_tool_result()
            }
        })*
    };
}

texts! { &'static str String Cow<'static, str> }

macro_rules! printed {
    ($($kind:ty)*) => {
        $(impl IntoToolResult for $kind {
            fn into_tool_result(self) -> McpResult<ToolResult> {
                Content::text(self.to_string()).into_tool_result()
            }
        })*
    };
}

printed! { bool char i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 }

impl<T: Serialize + JsonSchema + Send + 'static> IntoToolResult for Json<T> {
    fn output_schema() -> Option<RawJson<'static>> {
        Some(schema::output::<T>())
    }

    /// The same as text too, for clients that know nothing of structured output.
    fn into_tool_result(self) -> McpResult<ToolResult> {
        let json = RawJson::from_value(&self.0)?;
        Ok(ToolResult {
            content: vec![Content::text(json.as_str().to_owned())],
            structured_content: Some(json),
            ..ToolResult::default()
        })
    }
}

/// For tools that are methods: they may return any error that `?` takes.
impl<R: IntoToolResult, E: Into<ToolError> + Send + 'static> IntoToolResult for Result<R, E> {
    fn output_schema() -> Option<RawJson<'static>> {
        R::output_schema()
    }

    fn into_tool_result(self) -> McpResult<ToolResult> {
        self.map_err(Into::into)?.into_tool_result()
    }
}

/// What reading a resource may return: a text, bytes, [`Json`], or whole [`Contents`].
#[diagnostic::on_unimplemented(
    message = "a resource cannot be read as `{Self}`",
    note = "return a text, `Vec<u8>`, `Json<T>`, `Contents` or `Vec<Contents>`"
)]
pub trait IntoContents: Send + 'static {
    /// The contents of the resource at `uri`, which is listed with this type.
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> McpResult<Vec<Contents>>;
}

impl IntoContents for Vec<Contents> {
    fn into_contents(self, _: &str, _: Option<&str>) -> McpResult<Vec<Contents>> {
        Ok(self)
    }
}

impl IntoContents for Contents {
    fn into_contents(self, _: &str, _: Option<&str>) -> McpResult<Vec<Contents>> {
        Ok(vec![self])
    }
}

impl IntoContents for String {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> McpResult<Vec<Contents>> {
        Ok(vec![Contents::text(uri, mime_type.map(str::to_owned), self)])
    }
}

impl IntoContents for &'static str {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> McpResult<Vec<Contents>> {
        self.to_owned().into_contents(uri, mime_type)
    }
}

impl IntoContents for Vec<u8> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> McpResult<Vec<Contents>> {
        Ok(vec![Contents::blob(uri, mime_type.map(str::to_owned), self)])
    }
}

impl<T: Serialize + Send + 'static> IntoContents for Json<T> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> McpResult<Vec<Contents>> {
        let text = serde_json::to_string(&self.0)?;
        text.into_contents(uri, Some(mime_type.unwrap_or("application/json")))
    }
}

/// What a prompt may return: a text or [`Content`] of the user's, messages, or a whole [`PromptResult`].
#[diagnostic::on_unimplemented(
    message = "a prompt cannot return `{Self}`",
    note = "return a text, `Content`, `PromptMessage`, `Vec<PromptMessage>` or `PromptResult`"
)]
pub trait IntoPrompt: Send + 'static {
    /// The result.
    fn into_prompt(self) -> PromptResult;
}

impl IntoPrompt for PromptResult {
    fn into_prompt(self) -> PromptResult {
        self
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> PromptResult {
        PromptResult { messages: self, ..PromptResult::default() }
    }
}

impl IntoPrompt for PromptMessage {
    fn into_prompt(self) -> PromptResult {
        vec![self].into_prompt()
    }
}

impl IntoPrompt for Content {
    fn into_prompt(self) -> PromptResult {
        PromptMessage::user(self).into_prompt()
    }
}

impl IntoPrompt for String {
    fn into_prompt(self) -> PromptResult {
        Content::text(self).into_prompt()
    }
}

impl IntoPrompt for &'static str {
    fn into_prompt(self) -> PromptResult {
        Content::text(self).into_prompt()
    }
}
