//! The routes of a router, as a connection uses them: from method names to handlers.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use sabir_proto::{SubscriptionStyle, TraceContext};

use crate::handler::ctx::Ctx;
use crate::handler::spawned::Spawned;
use crate::handler::task::BoxTask;
use crate::handler::thread_pool::Pool;
#[cfg(feature = "tracing")]
use crate::router::client_spans::ClientSpans;
use crate::router::handlers::Handler;
use crate::router::layer::{Layer, Wrapped};
use crate::router::observe::{Observed, Observer};
#[cfg(feature = "tracing")]
use crate::router::propagate::Propagator;
use crate::router::subscription::Subscribing;

pub(crate) type ForwardTrace = Arc<dyn Fn(&Ctx) -> Option<TraceContext<'static>> + Send + Sync>;

#[derive(Clone, Default)]
pub(crate) struct Routes {
    /// The names are our own, so a plain fast hash will do.
    pub(crate) handlers: HashMap<Cow<'static, str>, Route, FixedState>,
    /// What takes methods without a handler, by the prefix of their names; the longest prefix first.
    pub(super) fallbacks: Vec<(Cow<'static, str>, Route)>,
    pub(super) layers: Vec<Arc<dyn Layer>>,
    /// Takes all calls once there are layers.
    pub(super) layered: Option<Route>,
    /// How many routes there are.
    pub(super) count: usize,
    pub(super) state: HashMap<TypeId, (&'static str, Arc<dyn Any + Send + Sync>)>,
    pub(super) observers: Vec<Observer>,
    /// Whether answers include the types of errors.
    pub(crate) exposes_exceptions: bool,
    /// The handlers of methods that subscribe, by their names, for more to be added.
    pub(super) subscribing: HashMap<Cow<'static, str>, Subscribing>,
    /// Where blocking handlers run.
    pub(crate) threads: Arc<Pool>,
    /// The spans of calls that go out.
    #[cfg(feature = "tracing")]
    pub(crate) client_spans: Option<Arc<dyn ClientSpans>>,
    /// Joins spans with those of other processes.
    #[cfg(feature = "tracing")]
    pub(crate) propagator: Option<Arc<dyn Propagator>>,
    /// Says in which trace calls stand that are passed on.
    pub(crate) forward_trace: Option<ForwardTrace>,
    /// Whether messages without a handler are passed on.
    pub(crate) forwards: bool,
    /// How subscriptions are written that are passed on, where it was said.
    pub(crate) forward_subscriptions: Vec<SubscriptionStyle>,
    /// Whether all handlers run beside their connections.
    pub(super) spawned: bool,
    /// What `rpc.discover` answers with.
    #[cfg(feature = "schema")]
    pub(crate) document: Option<Arc<Documented>>,
}

/// Makes a document when it is first asked for.
#[cfg(feature = "schema")]
type Documented = dyn Fn() -> Option<crate::RawJson<'static>> + Send + Sync;

/// Where a call goes.
#[derive(Clone)]
pub(crate) struct Route {
    /// A small number that no other route has.
    pub(crate) index: usize,
    pub(crate) handler: Arc<dyn Handler>,
    /// Of the routers that it was merged from, the outermost first. They are put around the handler when the
    /// router is used.
    pub(super) layers: Vec<Arc<dyn Layer>>,
    /// Whether it runs beside the connection, whatever the router that it was merged into says.
    pub(super) spawned: bool,
    /// Whether its result is a subscription that outlives the request.
    #[cfg(feature = "http")]
    pub(super) subscribes: bool,
    /// Whether its params are checked, whatever the router that it was merged into says.
    #[cfg(feature = "validate")]
    pub(crate) validates: bool,
}

impl Routes {
    pub(crate) fn route_to(&mut self, handler: Arc<dyn Handler>) -> Route {
        Route {
            index: self.next_index(),
            handler,
            layers: Vec::new(),
            spawned: false,
            #[cfg(feature = "http")]
            subscribes: false,
            #[cfg(feature = "validate")]
            validates: false,
        }
    }

    fn next_index(&mut self) -> usize {
        self.count += 1;
        self.count - 1
    }

    /// What `rpc.discover` answers with, if it does.
    #[cfg(feature = "nats")]
    pub(crate) fn document(&self) -> Option<crate::RawJson<'static>> {
        #[cfg(feature = "schema")]
        {
            self.document.as_ref()?()
        }
        #[cfg(not(feature = "schema"))]
        {
            None
        }
    }

    pub(crate) fn state<T: Any>(&self) -> Option<&T> {
        self.state.get(&TypeId::of::<T>())?.1.downcast_ref()
    }

    /// Where calls of a method go.
    #[inline]
    pub(crate) fn route(&self, method: &str) -> Option<&Route> {
        self.layered.as_ref().or_else(|| self.handler(method))
    }

    #[inline]
    pub(super) fn handler(&self, method: &str) -> Option<&Route> {
        self.handlers.get(method).or_else(|| self.fallback(method))
    }

    fn fallback(&self, method: &str) -> Option<&Route> {
        let (_, route) = self.fallbacks.iter().find(|(prefix, _)| method.starts_with(prefix.as_ref()))?;
        Some(route)
    }

    pub(crate) fn add_fallback(&mut self, prefix: Cow<'static, str>, route: Route) {
        self.fallbacks.retain(|(other, _)| *other != prefix);
        let place = self.fallbacks.partition_point(|(other, _)| other.len() > prefix.len());
        self.fallbacks.insert(place, (prefix, route));
    }

    /// Takes over everything of another router, with `prefix` before its names.
    pub(super) fn merge(&mut self, prefix: &str, other: Routes) {
        let (layers, spawned) = (other.layers, other.spawned);
        let adopt = |routes: &mut Routes, route: Route| {
            let layers = layers.iter().chain(&route.layers).map(Arc::clone).collect();
            Route { index: routes.next_index(), layers, spawned: spawned || route.spawned, ..route }
        };
        for (name, route) in other.handlers {
            let name = prefixed(prefix, name);
            check_name(&name);
            let route = adopt(self, route);
            let before = self.handlers.insert(name.clone(), route);
            assert!(before.is_none(), "both routers have a method `{name}`");
        }
        for (inner, route) in other.fallbacks {
            let prefix = prefixed(prefix, inner);
            let taken = self.fallbacks.iter().any(|(other, _)| *other == prefix);
            assert!(!taken, "both routers have a fallback for methods that begin with `{prefix}`");
            let route = adopt(self, route);
            self.add_fallback(prefix, route);
        }
        for (id, (name, state)) in other.state {
            let before = self.state.insert(id, (name, state));
            assert!(before.is_none(), "both routers have a state of type `{name}`");
        }
        self.observers.extend(other.observers);
        self.forwards |= other.forwards;
        self.forward_subscriptions.extend(other.forward_subscriptions);
        #[cfg(feature = "tracing")]
        {
            self.client_spans = self.client_spans.take().or(other.client_spans);
            self.propagator = self.propagator.take().or(other.propagator);
        }
    }

    /// Makes tasks of the handlers that are to be, and puts the layers of merged routers around their handlers.
    pub(super) fn wrapped(mut self) -> Self {
        let fallbacks = self.fallbacks.iter_mut().map(|(_, route)| route);
        for route in self.handlers.values_mut().chain(fallbacks) {
            if self.spawned || route.spawned {
                route.handler = Arc::new(Spawned(Arc::clone(&route.handler)));
            }
            if !route.layers.is_empty() {
                let layers = std::mem::take(&mut route.layers);
                route.handler = Arc::new(Wrapped::new(layers, Arc::clone(&route.handler)));
            }
        }
        self
    }

    /// Calls the observers.
    #[inline]
    pub(crate) fn tell(&self, event: &Observed<'_>) {
        for observer in &self.observers {
            observer(event);
        }
    }

    pub(crate) fn is_observed(&self) -> bool {
        !self.observers.is_empty()
    }

    /// Whether anybody wants to know of calls that go out.
    #[inline]
    pub(crate) fn watches_calls(&self) -> bool {
        #[cfg(feature = "tracing")]
        if self.client_spans.is_some() || self.propagator.is_some() {
            return true;
        }
        self.is_observed()
    }

    /// Whether calls of a method make subscriptions that outlive them.
    #[cfg(feature = "http")]
    pub(crate) fn subscribes(&self, method: &str) -> bool {
        let declared = |style: &SubscriptionStyle| {
            style.subscribe == method && style.end != sabir_proto::EndSignal::Response
        };
        self.handlers.get(method).is_some_and(|route| route.subscribes)
            || self.forward_subscriptions.iter().any(declared)
    }

    pub(crate) fn knows(&self, method: &str) -> bool {
        self.handlers.contains_key(method)
    }
}

/// # Panics
/// For names that the specification reserves.
pub(super) fn check_name(name: &str) {
    assert!(!name.starts_with("rpc."), "method names that begin with `rpc.` are reserved: `{name}`");
}

/// A name with a prefix.
pub(crate) fn prefixed(prefix: &str, name: Cow<'static, str>) -> Cow<'static, str> {
    if prefix.is_empty() { name } else { Cow::Owned(format!("{prefix}{name}")) }
}

impl std::fmt::Debug for Routes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Routes").field("methods", &self.handlers.keys()).finish_non_exhaustive()
    }
}

impl Route {
    pub(crate) fn task(&self) -> BoxTask {
        self.handler.task()
    }
}
