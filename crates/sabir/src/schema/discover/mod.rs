//! Everything that a router offers as one OpenRPC document.

mod params;
mod schemas;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, OnceLock};

use crate::router::Router;
use crate::router::handlers::Raw;
use crate::router::routes::{Routes, prefixed};
use crate::schema::describe::Description;
use crate::schema::openrpc::{self, Document, Info};
use crate::{ErrorCode, ErrorObject, RawJson};
pub(crate) use params::Shape;
pub(crate) use schemas::Schemas;

/// The name that the specification of OpenRPC gives to the method.
const DISCOVER: &str = "rpc.discover";

/// What is known of a router's methods beside their handlers.
#[derive(Debug, Clone, Default)]
pub(crate) struct MethodDocs {
    info: Option<Info>,
    descriptions: BTreeMap<Cow<'static, str>, Description>,
    #[cfg(feature = "validate")]
    validates: bool,
}

impl MethodDocs {
    /// A method was replaced by one that is not described.
    pub(crate) fn forget(&mut self, name: &str) {
        self.descriptions.remove(name);
    }

    /// Takes over what is known of another router's methods, with a prefix before their names. The router comes
    /// back with its checks noted where they belong: at its methods.
    pub(crate) fn merge(&mut self, prefix: &str, mut other: Router) -> Router {
        #[cfg(feature = "validate")]
        if other.docs.validates {
            for name in other.docs.descriptions.keys() {
                if let Some(route) = other.routes.handlers.get_mut(name) {
                    route.validates = true;
                }
            }
        }
        let docs = std::mem::take(&mut other.docs);
        if let Some(info) = docs.info {
            self.info.get_or_insert(info);
        }
        for (name, mut description) in docs.descriptions {
            description.name = prefixed(prefix, name);
            self.descriptions.insert(description.name.clone(), description);
        }
        other
    }

    /// The document for methods of these names. Those without a description take and give anything.
    fn document<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Document {
        let mut schemas = Schemas::new();
        let methods = names.into_iter().map(|name| match self.descriptions.get(name) {
            Some(description) => method(description, &mut schemas),
            None => method(&crate::describe(name.to_owned()), &mut schemas),
        });
        let mut methods: Vec<_> = methods.collect();
        let schemas = schemas.finish(&mut methods);
        Document {
            openrpc: openrpc::VERSION.to_owned(),
            info: self.info.clone().unwrap_or_else(|| Info::new("JSON-RPC service", "0.0.0")),
            methods,
            components: openrpc::Components { schemas },
        }
    }
}

impl Router {
    /// Describes a method that is there already, such as one of [`method_raw`](Router::method_raw).
    ///
    /// ```
    /// use sabir::{RawJson, Router, describe};
    ///
    /// let router = Router::new()
    ///     .method_raw("echo", |_, params| async { Ok(params.unwrap_or(RawJson::NULL)) })
    ///     .describe(describe("echo").doc("Gives the params back."));
    /// ```
    ///
    /// # Panics
    /// If there is no such method.
    #[must_use]
    pub fn describe(mut self, description: Description) -> Self {
        let name = description.name.clone();
        assert!(self.routes.handlers.contains_key(&name), "there is no method `{name}` to describe");
        self.docs.descriptions.insert(name, description);
        self
    }

    /// Names the whole, for the document that `rpc.discover` answers with.
    #[must_use]
    pub fn info(mut self, info: Info) -> Self {
        self.docs.info = Some(info);
        self
    }

    /// Names the whole, unless it has a name already.
    #[doc(hidden)]
    #[must_use]
    pub fn info_or(mut self, info: Info) -> Self {
        self.docs.info.get_or_insert(info);
        self
    }

    /// Checks the params of described methods against their schemas before the handlers see them. What does
    /// not fit is answered `-32602`; `data.violations` has the JSON Pointer and the reason of each violation.
    #[cfg(feature = "validate")]
    #[must_use]
    pub fn validate(mut self) -> Self {
        self.docs.validates = true;
        self
    }

    /// Everything that the router offers, as `rpc.discover` answers it.
    pub fn openrpc(&self) -> Document {
        self.docs.document(self.methods())
    }

    /// The routes with `rpc.discover` among them, and checks before the handlers, where these are wanted.
    pub(crate) fn published(mut self) -> Routes {
        #[cfg(feature = "validate")]
        {
            let all = self.docs.validates;
            for (name, description) in &self.docs.descriptions {
                if let Some(route) = self.routes.handlers.get_mut(name).filter(|route| all || route.validates)
                {
                    let handler = Arc::clone(&route.handler);
                    route.handler =
                        Arc::new(crate::schema::validate::Validated::new(handler, description.clone()));
                }
            }
        }
        if !self.docs.descriptions.is_empty() {
            let names: Vec<_> = self.methods().into_iter().map(str::to_owned).collect();
            let (docs, document) = (std::mem::take(&mut self.docs), OnceLock::new());
            let made = Arc::new(move || {
                let make = || RawJson::from_value(&docs.document(names.iter().map(String::as_str))).ok();
                let made: &Option<RawJson<'static>> = document.get_or_init(make);
                made.clone()
            });
            let answer = Arc::clone(&made);
            let answer = move || answer().ok_or_else(|| ErrorObject::standard(ErrorCode::INTERNAL_ERROR));
            let route = self.route(Raw(Arc::new(move |_, _| ready(answer()))));
            self.routes.document = Some(made);
            self.routes.handlers.insert(DISCOVER.into(), route);
        }
        self.routes
    }
}

fn method(description: &Description, schemas: &mut Schemas) -> openrpc::Method {
    let mut method = description.outline(&mut schemas.output);
    let shape = Shape::of(description, &mut schemas.input);
    method.param_structure = shape.structure();
    method.params = shape.into_contents();
    method
}
