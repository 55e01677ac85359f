//! Results as they go out: as they are in the legacy era, with what every result must have in the modern one.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::Core;
use super::round::Questions;
use crate::types::Meta;

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
    Modern { core: Arc<Core>, body: T, meta: Option<Meta>, cached: bool },
    Questions { core: Arc<Core>, questions: Questions },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a, T> {
    result_type: &'static str,
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
        }
    }
}
