//! The params of a request for one thing, by name or by URI: read where they lie.

use std::borrow::Cow;

use sabir::{JsonKind, RawJson};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::error::{invalid, unread};

pub(crate) struct TargetParams<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) arguments: Option<RawJson<'a>>,
    pub(crate) responses: Option<RawJson<'a>>,
    pub(crate) state: Option<RawJson<'a>>,
    /// It is to run as a task, in 2025-11-25.
    pub(crate) task: Option<RawJson<'a>>,
}

/// As they came. A member that comes twice is refused: others may have gone by its other value.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Members<'a> {
    #[serde(borrow, deserialize_with = "present")]
    name: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    uri: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    request_state: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    task: Option<&'a RawValue>,
}

/// `null` is there, too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> TargetParams<'a> {
    pub(crate) fn by_name(params: Option<&'a RawJson<'a>>) -> sabir::Result<Self> {
        let members = Members::read(params)?;
        TargetParams::new("name", members.name, &members)
    }

    pub(crate) fn by_uri(params: Option<&'a RawJson<'a>>) -> sabir::Result<Self> {
        let members = Members::read(params)?;
        TargetParams::new("uri", members.uri, &members)
    }

    fn new(naming: &str, name: Option<&'a RawValue>, members: &Members<'a>) -> sabir::Result<Self> {
        let arguments = members.arguments.map(RawJson::from);
        match arguments.as_ref().map(RawJson::kind) {
            None | Some(JsonKind::Object) => {}
            Some(found) => {
                return Err(invalid(format_args!("`arguments` must be an object, found {found}")));
            }
        }
        let name = name.ok_or_else(|| invalid(format_args!("`{naming}` is missing")))?;
        Ok(TargetParams {
            name: text(name).ok_or_else(|| invalid(format_args!("`{naming}` must be a string")))?,
            arguments,
            responses: members.input_responses.map(RawJson::from),
            state: members.request_state.map(RawJson::from),
            task: members.task.map(RawJson::from),
        })
    }
}

impl<'a> Members<'a> {
    fn read(params: Option<&'a RawJson<'a>>) -> sabir::Result<Self> {
        match params {
            Some(params) => sabir::parse(params).map_err(|error| unread(&error)),
            None => Ok(Members::default()),
        }
    }
}

/// A string, borrowed where it can be.
fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    let inner = value.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(value.get()).ok() } else { Some(Cow::Borrowed(inner)) }
}
