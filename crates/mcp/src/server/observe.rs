//! Reports requests to observers, for metrics.

use std::sync::Arc;

use sabir::{Next, RawJson, Router, Side};

use super::Core;
use super::session::{PROTOCOL_VERSION, Session};
use crate::McpRevision;
use crate::operation::{CALL_TOOL, Ending, OTHER, Observer, target};

/// The router with an observer around each of its calls.
pub(super) fn wrap(router: Router, core: &Arc<Core>, observer: &Observer) -> Router {
    let (core, observer) = (Arc::clone(core), Arc::clone(observer));
    router.layer(move |ctx, next| observed(Arc::clone(&core), Arc::clone(&observer), ctx, next))
}

async fn observed(
    core: Arc<Core>,
    observer: Observer,
    ctx: sabir::Ctx,
    next: Next,
) -> sabir::Result<RawJson<'static>> {
    let method = if next.is_known() { next.method().to_owned() } else { OTHER.to_owned() };
    let target = target(&method, next.params()).filter(|name| is_offered(&core, &method, name));
    if !ctx.is_request() {
        return next.run().await;
    }
    let ending = Ending::new(vec![observer], Side::Theirs, method, target, revision(&ctx));
    let outcome = next.run().await;
    // The first request is what agrees on it.
    ending.end(revision(&ctx), outcome.as_ref().map_err(|error| error.code.0.to_string()));
    outcome
}

/// Whether there is such a tool or prompt: a stranger could ask for anything.
pub(super) fn is_offered(core: &Core, method: &str, name: &str) -> bool {
    let lists = core.catalog.lists();
    match method {
        CALL_TOOL => lists.tools.get(name).is_some(),
        "prompts/get" => lists.prompts.get(name).is_some(),
        _ => false,
    }
}

/// The revision of a request, as far as it is known.
pub(super) fn revision(ctx: &sabir::Ctx) -> Option<McpRevision> {
    let said = ctx.meta().and_then(|meta| meta.get(PROTOCOL_VERSION)?.parse::<String>().ok());
    match said {
        Some(said) => McpRevision::parse(&said),
        None => ctx.peer().extension::<Session>().agreed().map(|agreed| agreed.revision),
    }
}
