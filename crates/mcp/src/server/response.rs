//! Results as they go out: as they are in the legacy era, with what every result must have in the modern one.

use std::sync::Arc;

use sabir::{ErrorCode, ErrorObject};
use sabir_proto::serialize_text;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::McpRevision;
use crate::error::{ToolError, code};
use crate::extensions::TypedResult;
use crate::server::input_round::{InputRound, Questions};
use crate::server::one_text;
use crate::server::session::Caller;
use crate::server::{Core, McpCtx};
use crate::types::{Meta, ToolResult};

/// How long and by whom a result may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cache {
    /// For how many milliseconds. 0: not at all.
    pub ttl_ms: u64,
    /// By anybody, and not only for the one who asked.
    pub public: bool,
}

/// A result, or what has to be asked first.
pub(crate) enum Answer<T> {
    Legacy(T),
    /// Of either era, as the JSON that it is sent as.
    Written(String),
    Modern {
        core: Arc<Core>,
        body: T,
        meta: Option<Meta>,
        cached: bool,
    },
    Questions {
        core: Arc<Core>,
        questions: Questions,
    },
    /// Of a type that an extension adds. The legacy era has no types.
    Typed {
        core: Option<Arc<Core>>,
        result: Box<TypedResult>,
    },
}

/// What is needed of a request when its function is done. The function has the rest.
pub(crate) enum ResponseBuilder {
    Legacy(McpRevision),
    Modern { core: Arc<Core>, revision: McpRevision, round: Option<Arc<InputRound>> },
}

impl ResponseBuilder {
    pub(crate) fn of(ctx: &McpCtx) -> Self {
        match &ctx.caller {
            Caller::Legacy(_, revision) => ResponseBuilder::Legacy(*revision),
            Caller::Modern(modern) => {
                let (core, round) = (Arc::clone(&ctx.core), ctx.round.clone());
                ResponseBuilder::Modern { core, revision: modern.revision, round }
            }
        }
    }

    pub(crate) fn revision(&self) -> McpRevision {
        match self {
            ResponseBuilder::Legacy(revision) | ResponseBuilder::Modern { revision, .. } => *revision,
        }
    }

    pub(crate) fn answer<T>(self, body: T, meta: Option<Meta>, cached: bool) -> Answer<T> {
        match self {
            ResponseBuilder::Legacy(_) => Answer::Legacy(body),
            ResponseBuilder::Modern { core, .. } => Answer::Modern { core, body, meta, cached },
        }
    }

    /// What a tool has returned.
    pub(crate) fn tool_answer(self, mut result: ToolResult) -> Answer<ToolResult> {
        result.fit(self.revision());
        let info = match &self {
            ResponseBuilder::Legacy(_) => None,
            ResponseBuilder::Modern { core, .. } => Some(core.info.get()),
        };
        if let Some(text) = one_text::write(&result, info) {
            return Answer::Written(text);
        }
        let meta = self.take_meta(&mut result.meta);
        self.answer(result, meta, false)
    }

    /// In the modern era a result's own `_meta` is written with what every result has there.
    pub(crate) fn take_meta(&self, meta: &mut Option<Meta>) -> Option<Meta> {
        match self {
            ResponseBuilder::Legacy(_) => None,
            ResponseBuilder::Modern { .. } => meta.take(),
        }
    }

    /// What there is instead of a result: the questions that have to be answered first, or an error.
    pub(crate) fn fail<T>(self, failure: ToolError) -> sabir::Result<Answer<T>> {
        let failure = match failure {
            ToolError::Typed(result) => {
                let core = match self {
                    // The experimental tasks of 2025-11-25 are the one other result that the legacy era has.
                    ResponseBuilder::Legacy(_) if result.result_type == "task" => None,
                    ResponseBuilder::Legacy(revision) => {
                        let kind = &result.result_type;
                        return Err(ErrorObject::because(
                            ErrorCode::INTERNAL_ERROR,
                            format_args!(
                                "a result of the type `{kind}` cannot be told in {revision}: results have types from 2026-07-28 on"
                            ),
                        ));
                    }
                    ResponseBuilder::Modern { core, .. } => Some(core),
                };
                return Ok(Answer::Typed { core, result });
            }
            failure => failure,
        };
        match (&failure, self) {
            (ToolError::InputRequired, ResponseBuilder::Modern { core, round: Some(round), .. }) => {
                match round.questions(&core.settings) {
                    Some(questions) => Ok(Answer::Questions { core, questions }),
                    None => Err(failure.into_error()),
                }
            }
            (_, end) => Err(fit(failure.into_error(), end.revision())),
        }
    }
}

/// The modern era has no codes of its own for what the legacy one called an unknown resource and a page to visit.
fn fit(mut error: ErrorObject, revision: McpRevision) -> ErrorObject {
    if revision.is_modern() {
        error.code = match error.code {
            code::RESOURCE_NOT_FOUND => ErrorCode::INVALID_PARAMS,
            code::URL_ELICITATION_REQUIRED => ErrorCode::INTERNAL_ERROR,
            other => other,
        };
    }
    error
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a, T> {
    result_type: &'a str,
    #[serde(flatten)]
    body: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_scope: Option<&'static str>,
    #[serde(rename = "_meta")]
    meta: WireMeta<'a>,
}

#[derive(Serialize)]
struct WireMeta<'a> {
    #[serde(flatten)]
    own: Option<&'a Meta>,
    #[serde(rename = "io.modelcontextprotocol/serverInfo")]
    info: &'a RawValue,
}

impl<T: Serialize> Serialize for Answer<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Answer::Legacy(body) => body.serialize(serializer),
            Answer::Written(text) => serialize_text(text, serializer),
            Answer::Modern { core, body, meta, cached } => {
                let cache = cached.then_some(core.settings.cache);
                Wire {
                    result_type: "complete",
                    body,
                    ttl_ms: cache.map(|cache| cache.ttl_ms),
                    cache_scope: cache.map(|cache| if cache.public { "public" } else { "private" }),
                    meta: WireMeta { own: meta.as_ref(), info: &core.info },
                }
                .serialize(serializer)
            }
            Answer::Questions { core, questions } => Wire {
                result_type: "input_required",
                body: questions,
                ttl_ms: None,
                cache_scope: None,
                meta: WireMeta { own: None, info: &core.info },
            }
            .serialize(serializer),
            Answer::Typed { core: Some(core), result } => Wire {
                result_type: &result.result_type,
                body: &result.members,
                ttl_ms: None,
                cache_scope: None,
                meta: WireMeta { own: None, info: &core.info },
            }
            .serialize(serializer),
            Answer::Typed { core: None, result } => result.members.serialize(serializer),
        }
    }
}
