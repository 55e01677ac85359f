//! What a method does, takes and gives, in words and schemas.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use sabir_proto::{SubscriptionIds, SubscriptionStyle};

use crate::router::method::MethodName;
use crate::schema::openrpc;
use crate::schema::service::RpcError;

/// Makes a schema, with what it refers to left in the generator.
pub(crate) type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

type MakeErrors = fn(&mut SchemaGenerator) -> Vec<ErrorDescription>;

/// Describes a method, for [`Router::method`](crate::Router::method) and its like.
///
/// It takes the place of the name; the schemas come from the types of the handler.
///
/// ```
/// use sabir::{Router, describe};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Add {
///     a: i64,
///     /// Added to `a`.
///     b: i64,
/// }
///
/// let router = Router::new()
///     .method(describe("add").doc("Adds two numbers."), |_, p: Add| async move { Ok(p.a + p.b) });
///
/// let method = &router.openrpc().methods[0];
/// assert_eq!(method.summary.as_deref(), Some("Adds two numbers."));
/// assert_eq!(method.params[1].description.as_deref(), Some("Added to `a`."));
/// ```
///
/// As soon as one method is described, the router answers `rpc.discover` with the description of all.
pub fn describe(name: impl Into<Cow<'static, str>>) -> Description {
    Description {
        name: name.into(),
        doc: Cow::Borrowed(""),
        deprecated: false,
        names: &[],
        by_name: false,
        params: None,
        result: None,
        notification: false,
        progress: None,
        subscription: None,
        errors: Vec::new(),
        makes_errors: Vec::new(),
    }
}

/// The description of a method. [`describe`] begins one.
#[derive(Clone)]
pub struct Description {
    pub(crate) name: Cow<'static, str>,
    doc: Cow<'static, str>,
    deprecated: bool,
    names: &'static [&'static str],
    by_name: bool,
    params: Option<MakeSchema>,
    result: Option<MakeSchema>,
    notification: bool,
    progress: Option<MakeSchema>,
    subscription: Option<(SubscriptionStyle, MakeSchema)>,
    errors: Vec<ErrorDescription>,
    makes_errors: Vec<MakeErrors>,
}

/// An error that a method answers with, and the schema of its data.
#[derive(Debug, Clone)]
pub struct ErrorDescription {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: Cow<'static, str>,
    /// What `data` is, if there is any.
    pub data: Option<Schema>,
}

impl Description {
    /// What it does. The first paragraph is the summary.
    #[must_use]
    pub fn doc(mut self, doc: impl Into<Cow<'static, str>>) -> Self {
        self.doc = doc.into();
        self
    }

    /// It will go away.
    #[must_use]
    pub fn deprecated(mut self) -> Self {
        self.deprecated = true;
        self
    }

    /// The names of params that have none, since they are a tuple or a single value.
    #[must_use]
    pub fn names(mut self, names: &'static [&'static str]) -> Self {
        self.names = names;
        self
    }

    /// The type of the params, where the handler does not tell.
    #[must_use]
    pub fn params<P: JsonSchema>(mut self) -> Self {
        self.params = Some(P::json_schema);
        self
    }

    /// The type of the result, where the handler does not tell.
    #[must_use]
    pub fn result<R: JsonSchema>(mut self) -> Self {
        self.result = Some(SchemaGenerator::subschema_for::<R>);
        self
    }

    /// There is no result: it is meant to be notified, not called.
    #[must_use]
    pub fn notification(mut self) -> Self {
        self.notification = true;
        self
    }

    /// The type of the progress that it tells while it runs.
    #[must_use]
    pub fn progress<T: JsonSchema>(mut self) -> Self {
        self.progress = Some(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// It subscribes, in this style, to items of this type. Its result is the id of the subscription, unless said
    /// otherwise.
    #[must_use]
    pub fn subscription<T: JsonSchema>(mut self, style: &SubscriptionStyle) -> Self {
        self.subscription = Some((style.clone(), SchemaGenerator::subschema_for::<T>));
        self.result.get_or_insert(match style.ids {
            SubscriptionIds::Number => SchemaGenerator::subschema_for::<u64>,
            _ => SchemaGenerator::subschema_for::<String>,
        });
        self
    }

    /// An error that it answers with.
    #[must_use]
    pub fn error(mut self, code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        self.errors.push(ErrorDescription { code, message: message.into(), data: None });
        self
    }

    /// The errors that it answers with.
    #[must_use]
    pub fn errors<E: RpcError>(mut self) -> Self {
        self.makes_errors.push(E::describe);
        self
    }

    /// The schema of all params together, if it is known.
    pub(crate) fn make_params(&self) -> Option<MakeSchema> {
        self.params
    }

    /// Whether the params have names and no positions.
    pub(crate) fn is_by_name(&self) -> bool {
        self.by_name
    }

    pub(crate) fn by_name(mut self, by_name: bool) -> Self {
        self.by_name = by_name;
        self
    }

    pub(crate) fn param_names(&self) -> &'static [&'static str] {
        self.names
    }

    /// The method without its params, which need more thought.
    pub(crate) fn outline(&self, output: &mut SchemaGenerator) -> openrpc::Method {
        let (summary, description) = paragraphs(&self.doc);
        let result = match (self.notification, self.result) {
            (true, _) => None,
            (false, Some(make)) => Some(make(output).to_value()),
            (false, None) => Some(openrpc::any()),
        };
        let mut errors = self.errors.clone();
        errors.extend(self.makes_errors.iter().flat_map(|make| make(output)));
        openrpc::Method {
            name: self.name.to_string(),
            summary,
            description,
            deprecated: self.deprecated,
            result: result.map(|schema| openrpc::Content {
                name: "result".to_owned(),
                schema,
                ..openrpc::Content::default()
            }),
            error_data: errors
                .iter()
                .filter_map(|error| Some((error.code.to_string(), error.data.clone()?.to_value())))
                .collect(),
            errors: errors
                .iter()
                .map(|error| openrpc::Error { code: error.code, message: error.message.to_string() })
                .collect(),
            progress: self.progress.map(|make| make(output).to_value()),
            subscription: self.subscription.as_ref().map(|(style, make)| openrpc::Subscription {
                notification: style.notification.to_string(),
                unsubscribe: style.unsubscribe.to_string(),
                item: make(output).to_value(),
            }),
            ..openrpc::Method::default()
        }
    }
}

/// The first paragraph on one line, and the rest as it is.
fn paragraphs(doc: &str) -> (Option<String>, Option<String>) {
    let (first, rest) = doc.trim().split_once("\n\n").unwrap_or((doc.trim(), ""));
    let present = |text: String| (!text.is_empty()).then_some(text);
    (present(first.lines().map(str::trim).collect::<Vec<_>>().join(" ")), present(rest.trim().to_owned()))
}

impl<P: JsonSchema, R: JsonSchema> MethodName<P, R> for Description {
    fn into_name(self) -> Cow<'static, str> {
        self.name
    }

    fn into_description(mut self) -> (Cow<'static, str>, Option<Description>) {
        self.params.get_or_insert(P::json_schema);
        self.result.get_or_insert(SchemaGenerator::subschema_for::<R>);
        (self.name.clone(), Some(self))
    }
}

impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Description").field("name", &self.name).finish_non_exhaustive()
    }
}
