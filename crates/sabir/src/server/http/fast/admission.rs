//! Plain requests, answered at once where that can be done: no body to wait for, no future, no headers that
//! nobody asks for.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, Version};

use crate::server::budget::{MemoryBudget, Reservation};
use crate::server::http::body::Body;
use crate::server::http::caller::{HttpCaller, PeerAddress};
use crate::server::http::content::{self, Accepts};
use crate::server::http::fast::head::ParsedHead;
use crate::server::http::host_origin;
use crate::server::http::pending::PendingResponse;
use crate::server::http::request_body;
use crate::server::http::response::{Answer, Refusal};
use crate::server::http::service::HttpService;

/// A request whose sender may call. Its body is a message.
pub(crate) struct Admitted {
    caller: Arc<HttpCaller>,
    accepts: Accepts,
}

/// What becomes of a plain request.
pub(crate) enum Admission {
    Admitted(Admitted),
    /// It is not let in.
    Refused(Response<Bytes>),
    /// It is a case for [`HttpService::handle`].
    Other,
}

/// An answer that is not there yet.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// An answer that is, or may become, a stream. It belongs to this request, which is as it was but for its
/// body.
pub(crate) struct Streaming {
    pub(crate) response: Pin<Box<dyn Future<Output = Response<Body>> + Send>>,
    caller: Arc<HttpCaller>,
}

impl Streaming {
    /// The head of the request.
    pub(crate) fn head(&self) -> &[u8] {
        self.caller.head()
    }
}

/// An answer, or the wait for it.
pub(crate) enum Start {
    Answered(Answer),
    Answering(Answering),
    Streaming(Streaming),
}

impl HttpService {
    /// Whether there are requests here that can be answered by what follows.
    pub(crate) fn takes_plain(&self) -> bool {
        self.inner.http.speaks.http && self.inner.http.sessions.is_none()
    }

    /// Looks at a request of which the head has come, and of the body as much as is said. Nothing is refused
    /// that could be left to others.
    pub(crate) fn admit(
        &self,
        parsed: &ParsedHead<'_>,
        whole: bool,
        peer_address: &PeerAddress,
    ) -> Admission {
        let inner = &*self.inner;
        let accepts = Accepts::in_one(parsed.accept);
        let is_usual = !inner.stop.is_told()
            && inner.http.path.as_deref().is_none_or(|path| path.as_bytes() == parsed.path)
            && host_origin::is_host(&inner.http, parsed.host)
            && content::names_json(parsed.content_type)
            && !accepts.is_nothing()
            && parsed.length <= inner.config.limits.message_bytes;
        // Whoever may not call is told so before it has sent everything.
        if !is_usual || (inner.http.has_auth() && !whole) || inner.http.has_async_auth() {
            return Admission::Other;
        }
        let mut caller = HttpCaller::unread(parsed.keep(), peer_address.clone());
        if inner.http.has_auth() {
            match inner.identify_now(caller.parts()) {
                Ok(identity) => caller.identity = identity,
                Err(refusal) => return Admission::Refused(refusal.whole(Version::HTTP_11)),
            }
        }
        Admission::Admitted(Admitted { caller: Arc::new(caller), accepts })
    }

    /// Begins to answer. What is not done at once goes on in a future.
    pub(crate) fn start(
        &self,
        cx: &mut Context<'_>,
        admitted: Admitted,
        message: &[u8],
        budget: &Arc<MemoryBudget>,
    ) -> Start {
        let Admitted { caller, accepts } = admitted;
        let inner = &self.inner;
        let pending =
            PendingResponse::new(inner, message, Reservation::default(), Arc::clone(&caller), accepts);
        let pending = match pending.now(inner, cx, budget) {
            Ok(answer) => return Start::Answered(answer),
            Err(pending) => pending,
        };
        if pending.takes_events() {
            let response = Box::pin(pending.begins(Arc::clone(inner), Arc::clone(budget)));
            return Start::Streaming(Streaming { response, caller });
        }
        let mut answering: Answering = Box::pin(pending.whole(Arc::clone(inner), Arc::clone(budget)));
        // It hears of what it waits for from here on.
        match answering.as_mut().poll(cx) {
            Poll::Ready(answer) => Start::Answered(answer),
            Poll::Pending => Start::Answering(answering),
        }
    }

    /// How long a body may take to come.
    pub(crate) fn body_deadline(&self) -> Duration {
        request_body::deadline(&self.inner.http)
    }

    /// The answer to a body that took too long.
    pub(crate) fn too_slow() -> Response<Bytes> {
        Refusal::TOO_SLOW.whole(Version::HTTP_11)
    }

    /// The answer to a body or a result for which there is no memory.
    pub(crate) fn overloaded() -> Response<Bytes> {
        Refusal::OVERLOADED.whole(Version::HTTP_11)
    }

    /// The answer to a body that broke off.
    pub(crate) fn broken() -> Response<Bytes> {
        Refusal::BROKEN.whole(Version::HTTP_11)
    }
}
