//! The params of a request for one thing, by name or by URI: read where they lie.

use std::borrow::Cow;

use sabir::{JsonKind, RawJson};
use sabir_proto::JsonStr;

use crate::error::invalid;

pub(crate) struct TargetParams<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) arguments: Option<RawJson<'a>>,
    pub(crate) responses: Option<RawJson<'a>>,
    pub(crate) state: Option<RawJson<'a>>,
    /// It is to run as a task, in 2025-11-25.
    pub(crate) task: Option<RawJson<'a>>,
}

impl<'a> TargetParams<'a> {
    pub(crate) fn by_name(params: Option<&'a RawJson<'a>>) -> sabir::Result<Self> {
        TargetParams::read("name", params)
    }

    pub(crate) fn by_uri(params: Option<&'a RawJson<'a>>) -> sabir::Result<Self> {
        TargetParams::read("uri", params)
    }

    /// Each member as it came. One that comes twice is refused: others may have gone by its other value.
    fn read(naming: &str, params: Option<&'a RawJson<'a>>) -> sabir::Result<Self> {
        let (mut name, mut uri) = (None, None);
        let (mut arguments, mut responses, mut state, mut task) = (None, None, None, None);
        if let Some(params) = params {
            for (member, value) in params.members() {
                let slot = match &*member {
                    "name" => &mut name,
                    "uri" => &mut uri,
                    "arguments" => &mut arguments,
                    "inputResponses" => &mut responses,
                    "requestState" => &mut state,
                    "task" => &mut task,
                    _ => continue,
                };
                if slot.replace(value).is_some() {
                    return Err(invalid(format_args!("duplicate field `{member}`")));
                }
            }
        }
        match arguments.as_ref().map(RawJson::kind) {
            None | Some(JsonKind::Object) => {}
            Some(found) => {
                return Err(invalid(format_args!("`arguments` must be an object, found {found}")));
            }
        }
        let named = if naming == "uri" { uri } else { name };
        let named = named.ok_or_else(|| invalid(format_args!("`{naming}` is missing")))?;
        let name = text(named).ok_or_else(|| invalid(format_args!("`{naming}` must be a string")))?;
        Ok(TargetParams { name, arguments, responses, state, task })
    }
}

/// A string, borrowed where it can be.
fn text(value: RawJson<'_>) -> Option<Cow<'_, str>> {
    match value.into_text() {
        Cow::Borrowed(text) => JsonStr::trusted(text)?.value(),
        Cow::Owned(text) => Some(Cow::Owned(JsonStr::trusted(&text)?.value()?.into_owned())),
    }
}
