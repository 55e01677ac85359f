//! Params to types.

use sabir::{ErrorCode, ErrorObject, JsonKind, RawJson, error_reason};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads params. Those that are absent, and empty objects and arrays, also fit types that want none.
#[inline]
pub(crate) fn read<P: DeserializeOwned>(params: Option<&RawJson<'_>>) -> Result<P, ErrorObject> {
    let read = match params {
        Some(params) => sabir::parse(params),
        None => serde_json::from_str("null"),
    };
    read.or_else(|_| read_again(params))
}

/// Tries what else absent params may stand for, and finds out what does not fit: that would cost too much to know
/// beforehand.
#[cold]
fn read_again<P: DeserializeOwned>(params: Option<&RawJson<'_>>) -> Result<P, ErrorObject> {
    #[derive(Serialize)]
    struct Data {
        reason: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    }
    let is_empty = |params: &RawJson<'_>| match params.kind() {
        JsonKind::Object => params.members().next().is_none(),
        JsonKind::Array => params.elements().next().is_none(),
        _ => false,
    };
    let other = match params {
        None => Some("{}"),
        Some(params) => is_empty(params).then_some("null"),
    };
    if let Some(read) = other.and_then(|text| serde_json::from_str(text).ok()) {
        return Ok(read);
    }
    let Some(params) = params else {
        return Err(ErrorObject::because(ErrorCode::INVALID_PARAMS, "params are missing"));
    };
    let mut text = serde_json::Deserializer::from_str(params.as_str());
    serde_path_to_error::deserialize(&mut text).map_err(|error| {
        let path = error.path().to_string();
        let path = (path != ".").then_some(path);
        let reason = error_reason(&error.into_inner());
        ErrorObject::standard(ErrorCode::INVALID_PARAMS).with_data(&Data { reason, path })
    })
}
