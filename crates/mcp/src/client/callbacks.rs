//! What a client does when its server asks or tells: by requests in the legacy era, by questions in a result in
//! the modern one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use sabir::{ErrorCode, ErrorObject, RawJson, Router};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::extensions::{OnNotification, OnRequest, ResolveResult};
use crate::Change;
use crate::types::{ClientCapabilities, Elicit, ElicitResult, LogMessage, Meta, Root, Sample, Sampled};

/// Answers a question by its method and its params.
type AnsweringAny = Arc<
    dyn Fn(
            String,
            Option<RawJson<'static>>,
        ) -> Pin<Box<dyn Future<Output = sabir::Result<RawJson<'static>>> + Send>>
        + Send
        + Sync,
>;

type Answering<Q, A> = Arc<dyn Fn(Q) -> Pin<Box<dyn Future<Output = sabir::Result<A>> + Send>> + Send + Sync>;

#[derive(Clone, Default)]
pub(super) struct Callbacks {
    pub(super) sample: Option<Answering<Sample, Sampled>>,
    pub(super) elicit: Option<Answering<Elicit, ElicitResult>>,
    pub(super) roots: Option<Arc<[Root]>>,
    pub(super) log: Option<Arc<dyn Fn(LogMessage) + Send + Sync>>,
    pub(super) change: Option<Arc<dyn Fn(Change) + Send + Sync>>,
    pub(super) question: Option<AnsweringAny>,
    /// What is offered beside that.
    pub(super) offered: ClientCapabilities,
    /// Extensions that are declared.
    pub(super) extensions: Option<Meta>,
    pub(super) result_types: HashMap<String, Arc<ResolveResult>>,
    pub(super) requests: HashMap<Cow<'static, str>, Arc<OnRequest>>,
    pub(super) notifications: Vec<(Cow<'static, str>, Arc<OnNotification>)>,
    /// Servers may answer with tasks.
    pub(super) tasks: bool,
}

impl Callbacks {
    /// What is answered decides what is offered.
    pub(super) fn capabilities(&self) -> ClientCapabilities {
        let offered = self.offered.clone();
        ClientCapabilities {
            roots: self.roots.as_ref().map(|_| Meta::new()).or(offered.roots),
            sampling: self.sample.as_ref().map(|_| Meta::new()).or(offered.sampling),
            elicitation: self.elicit.as_ref().map(|_| Meta::new()).or(offered.elicitation),
            extensions: self.extensions.clone().or(offered.extensions),
            ..offered
        }
    }

    /// Answers what a server asks.
    pub(super) async fn answer(
        &self,
        method: &str,
        params: Option<&RawJson<'_>>,
    ) -> sabir::Result<RawJson<'static>> {
        if let Some(answer) = self.requests.get(method) {
            return answer(params.map_or(RawJson::NULL, |params| params.clone().into_owned())).await;
        }
        match (method, &self.sample, &self.elicit, &self.roots) {
            ("sampling/createMessage", Some(sample), ..) => {
                Ok(RawJson::from_value(&sample(read(params)?).await?)?)
            }
            ("elicitation/create", _, Some(elicit), _) => {
                Ok(RawJson::from_value(&elicit(read(params)?).await?)?)
            }
            ("roots/list", .., Some(roots)) => Ok(RawJson::from_value(&json!({"roots": **roots}))?),
            ("ping", ..) => Ok(RawJson::from_value(&json!({}))?),
            _ => match &self.question {
                Some(question) => {
                    question(method.to_owned(), params.map(|params| params.clone().into_owned())).await
                }
                None => Err(ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND)),
            },
        }
    }

    /// The requests and notifications of a server.
    pub(super) fn router(&self) -> Router {
        let mut router = Router::new();
        let own = ["ping", "sampling/createMessage", "elicitation/create", "roots/list"].map(Cow::Borrowed);
        let added = self.requests.keys().filter(|method| !own.contains(method));
        for method in own.iter().chain(added) {
            let (callbacks, name) = (self.clone(), method.clone());
            router = router.method_raw(method.clone(), move |_, params| {
                let (callbacks, name) = (callbacks.clone(), name.clone());
                async move { callbacks.answer(&name, params.as_ref()).await }
            });
        }
        if let Some(log) = self.log.clone() {
            router = router.method_sync("notifications/message", move |_, message: LogMessage| {
                log(message);
                Ok(())
            });
        }
        for (method, told) in &self.notifications {
            let told = Arc::clone(told);
            router = router.method_raw(method.clone(), move |_, params| {
                told(params.unwrap_or(RawJson::NULL));
                std::future::ready(Ok(RawJson::NULL))
            });
        }
        for change in [Change::Tools, Change::Prompts, Change::Resources, Change::Resource(String::new())] {
            let Some(tell) = self.change.clone() else { continue };
            router = router.method_sync(change.method(), move |_, params: Value| {
                tell(match &change {
                    Change::Resource(_) => {
                        #[derive(Deserialize)]
                        struct Updated {
                            uri: String,
                        }
                        let Updated { uri } = serde_json::from_value(params)?;
                        Change::Resource(uri)
                    }
                    list => list.clone(),
                });
                Ok(())
            });
        }
        router
    }
}

fn read<T: DeserializeOwned>(params: Option<&RawJson<'_>>) -> sabir::Result<T> {
    serde_json::from_str(params.map_or("{}", RawJson::as_str))
        .map_err(|error| ErrorObject::because(ErrorCode::INVALID_PARAMS, error))
}

impl std::fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.capabilities().fmt(f)
    }
}
