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

/// As they came. A member that comes twice is refused: others may have gone by its other value.
#[derive(Default)]
struct Members<'a> {
    name: Option<RawJson<'a>>,
    uri: Option<RawJson<'a>>,
    arguments: Option<RawJson<'a>>,
    input_responses: Option<RawJson<'a>>,
    request_state: Option<RawJson<'a>>,
    task: Option<RawJson<'a>>,
}

impl<'a> TargetParams<'a> {
    pub(crate) fn by_name(params: Option<&'a RawJson<'a>>) -> sabir::Result<Self> {
        let mut members = Members::read(params)?;
        let name = members.name.take();
        TargetParams::new("name", name, members)
    }

    pub(crate) fn by_uri(params: Option<&'a RawJson<'a>>) -> sabir::Result<Self> {
        let mut members = Members::read(params)?;
        let uri = members.uri.take();
        TargetParams::new("uri", uri, members)
    }

    fn new(naming: &str, name: Option<RawJson<'a>>, members: Members<'a>) -> sabir::Result<Self> {
        match members.arguments.as_ref().map(RawJson::kind) {
            None | Some(JsonKind::Object) => {}
            Some(found) => {
                return Err(invalid(format_args!("`arguments` must be an object, found {found}")));
            }
        }
        let name = name.ok_or_else(|| invalid(format_args!("`{naming}` is missing")))?;
        Ok(TargetParams {
            name: text(name).ok_or_else(|| invalid(format_args!("`{naming}` must be a string")))?,
            arguments: members.arguments,
            responses: members.input_responses,
            state: members.request_state,
            task: members.task,
        })
    }
}

impl<'a> Members<'a> {
    fn read(params: Option<&'a RawJson<'a>>) -> sabir::Result<Self> {
        let mut members = Members::default();
        for (name, value) in params.into_iter().flat_map(RawJson::members) {
            let slot = match &*name {
                "name" => &mut members.name,
                "uri" => &mut members.uri,
                "arguments" => &mut members.arguments,
                "inputResponses" => &mut members.input_responses,
                "requestState" => &mut members.request_state,
                "task" => &mut members.task,
                _ => continue,
            };
            if slot.replace(value).is_some() {
                return Err(invalid(format_args!("duplicate field `{name}`")));
            }
        }
        Ok(members)
    }
}

/// A string, borrowed where it can be.
fn text(value: RawJson<'_>) -> Option<Cow<'_, str>> {
    match value.into_text() {
        Cow::Borrowed(text) => JsonStr::trusted(text)?.value(),
        Cow::Owned(text) => Some(Cow::Owned(JsonStr::trusted(&text)?.value()?.into_owned())),
    }
}
