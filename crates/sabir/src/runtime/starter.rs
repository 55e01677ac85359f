//! Starts handlers: what they know of their call, and their task.

use std::sync::{Arc, LazyLock};

use memchr::memmem::Finder;
use sabir_proto::{Origin, RequestKey};

use crate::handler::ctx::Ctx;
use crate::handler::task_pool::{Running, TaskPool};
use crate::peer::Peer;
#[cfg(feature = "http")]
use crate::runtime::caller::HttpCallers;
use crate::{ErrorObject, RawJson};

/// Nearly all notifications have none, which a plain search shows fastest.
static META: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"_meta\""));

/// Starts handlers. It has the parts of an engine that an event does not borrow from.
pub(super) struct Starter<'e> {
    pub(super) task_pool: &'e mut TaskPool,
    pub(super) peer: &'e Peer,
    #[cfg(feature = "http")]
    pub(super) callers: &'e HttpCallers,
}

impl Starter<'_> {
    #[inline]
    pub(super) fn request(
        &mut self,
        key: RequestKey,
        method: &str,
        params: Option<&RawJson<'_>>,
        meta: Option<RawJson<'_>>,
        origin: Origin,
    ) -> Result<Running, ErrorObject> {
        #[cfg(not(feature = "http"))]
        let _ = origin;
        let ctx = Ctx {
            peer: Peer { on_behalf_of: Some(key), ..self.peer.clone() },
            key: Some(key),
            meta: meta.map(|meta| Arc::new(meta.into_owned())),
            #[cfg(feature = "http")]
            caller: self.callers.of(origin),
        };
        self.task_pool.start(&self.peer.shared.routes, ctx, method, params)
    }

    #[inline]
    pub(super) fn notification(
        &mut self,
        method: &str,
        params: Option<&RawJson<'_>>,
    ) -> Result<Running, ErrorObject> {
        let routes = &self.peer.shared.routes;
        let has_meta = |raw: &&RawJson<'_>| META.find(raw.as_str().as_bytes()).is_some();
        let meta = params.filter(has_meta).and_then(|raw| raw.get("_meta"));
        let ctx = Ctx {
            peer: self.peer.clone(),
            key: None,
            meta: meta.map(|meta| Arc::new(meta.into_owned())),
            #[cfg(feature = "http")]
            caller: self.callers.of(Origin::NONE),
        };
        self.task_pool.start(routes, ctx, method, params)
    }
}
