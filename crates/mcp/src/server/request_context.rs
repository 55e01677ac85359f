//! The beginning of every request: which era it is of, who calls, and whether it may.

use std::sync::Arc;

use sabir::RawJson;

use crate::error::{invalid, not_found};
#[cfg(feature = "http")]
use crate::headers;
use crate::server::session::{Caller, Modern, PROTOCOL_VERSION, Session};
use crate::server::{Core, McpCtx};

/// In which eras a method exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Eras {
    Legacy,
    Modern,
    Both,
}

/// What a handler of a request is given.
pub(crate) fn request_context(
    core: &Arc<Core>,
    rpc: sabir::Ctx,
    method: &str,
    eras: Eras,
    params: Option<&RawJson<'_>>,
) -> sabir::Result<McpCtx> {
    let caller = match modern(&rpc, method, params)? {
        Some(modern) => Caller::Modern(modern),
        None => legacy(&rpc, eras)?,
    };
    match (&caller, eras) {
        (Caller::Modern(_), Eras::Legacy) | (Caller::Legacy(..), Eras::Modern) => Err(not_found()),
        _ => Ok(McpCtx { rpc, core: Arc::clone(core), caller, round: None, task: None, task_asked: None }),
    }
}

/// What a request of the modern era says of itself; `None` if it is of the legacy one.
pub(crate) fn modern(
    rpc: &sabir::Ctx,
    method: &str,
    params: Option<&RawJson<'_>>,
) -> sabir::Result<Option<Modern>> {
    let version = rpc.meta().and_then(|meta| Some((meta, meta.get(PROTOCOL_VERSION)?)));
    let Some((meta, version)) = version else {
        return match says_modern(rpc) {
            true => Err(invalid(format_args!("`params._meta` must have `{PROTOCOL_VERSION}`"))),
            false => Ok(None),
        };
    };
    agree(rpc, &version, method, params)?;
    Modern::read(meta, &version).map(Some)
}

fn legacy(rpc: &sabir::Ctx, eras: Eras) -> sabir::Result<Caller> {
    let session = rpc.peer().extension::<Session>();
    match session.agreed().map(|agreed| agreed.revision) {
        Some(revision) => Ok(Caller::Legacy(session, revision)),
        None if eras == Eras::Modern => {
            Err(invalid(format_args!("`params._meta` must have `{PROTOCOL_VERSION}`")))
        }
        None => Err(invalid(format_args!(
            "`initialize` must come first, or `params._meta` must have `{PROTOCOL_VERSION}`"
        ))),
    }
}

/// Whether the HTTP request is of the modern era, whatever its body says.
#[cfg(feature = "http")]
fn says_modern(rpc: &sabir::Ctx) -> bool {
    let version = header(rpc, headers::PROTOCOL_VERSION);
    version.and_then(|version| crate::McpRevision::parse(&version)).is_some_and(crate::McpRevision::is_modern)
}

#[cfg(not(feature = "http"))]
fn says_modern(_: &sabir::Ctx) -> bool {
    false
}

/// The headers must say what the body says.
#[cfg(feature = "http")]
fn agree(
    rpc: &sabir::Ctx,
    version: &RawJson<'_>,
    method: &str,
    params: Option<&RawJson<'_>>,
) -> sabir::Result<()> {
    if rpc.http().is_none() {
        return Ok(());
    }
    let version: String = version.parse().unwrap_or_default();
    headers::check(|name| header(rpc, name), &version, method, params)
}

#[cfg(not(feature = "http"))]
fn agree(_: &sabir::Ctx, _: &RawJson<'_>, _: &str, _: Option<&RawJson<'_>>) -> sabir::Result<()> {
    Ok(())
}

#[cfg(feature = "http")]
pub(crate) fn header(rpc: &sabir::Ctx, name: &str) -> Option<String> {
    let mut values = rpc.http()?.headers.get_all(name).iter();
    let mut all = String::from_utf8_lossy(values.next()?.as_bytes()).into_owned();
    // One that comes twice says what HTTP takes it for: a list, which is not what the body says.
    for value in values {
        all.push_str(", ");
        all.push_str(&String::from_utf8_lossy(value.as_bytes()));
    }
    Some(all)
}
