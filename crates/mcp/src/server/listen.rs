//! `subscriptions/listen`: changes of the catalog, and what extensions add, on one open request.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::task::Poll;

use sabir::RawJson;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

use super::McpCtx;
use super::extensions::declared_by_client;
use super::limits::Usage;
use super::response::{Answer, ResponseBuilder};
use super::routes::{Params, read};
use super::subscribers::{Change, Interests};
use super::tasks;
use crate::error::unread;
use crate::extensions::Answering;
use crate::extensions::ListenField;
use crate::types::Meta;

type Notifications = mpsc::Receiver<(Cow<'static, str>, RawJson<'static>)>;

pub(super) fn listen(
    ctx: McpCtx,
    params: Params<'_>,
) -> sabir::Result<impl Future<Output = sabir::Result<Answer<Meta>>> + use<>> {
    #[derive(Deserialize)]
    struct Listen {
        notifications: RawJson<'static>,
    }
    let Listen { notifications: asked } = read(params)?;
    let mut interests: Interests = asked.parse().map_err(|error| unread(&error))?;
    let capabilities = ctx.core.catalog.lists().capabilities();
    interests.tools_list_changed &= capabilities.tools.is_some();
    interests.prompts_list_changed &= capabilities.prompts.is_some();
    interests.resources_list_changed &= capabilities.resources.is_some();
    if capabilities.resources.is_none() {
        interests.resource_subscriptions.clear();
    }
    let usage = ctx.rpc.peer().extension::<Usage>();
    let listening = usage.listen(&interests.resource_subscriptions, &ctx.core.settings.limits)?;
    let fields = extension_fields(&ctx, &asked)?;
    let mut changes = ctx.core.catalog.subscribers().subscribe();
    Ok(async move {
        let _listening = listening;
        let mut acknowledged = serde_json::to_value(&interests)?;
        let mut feeds = Vec::new();
        for (name, field) in fields {
            match field.await {
                Ok(field) => {
                    acknowledged[name] = field.acknowledged;
                    feeds.push(field.notifications);
                }
                Err(failure) => return ResponseBuilder::of(&ctx).fail(failure),
            }
        }
        let id = ctx.rpc.id().await.and_then(|id| serde_json::from_str(id.text()).ok()).unwrap_or_default();
        let meta = Meta::from_iter([("io.modelcontextprotocol/subscriptionId".to_owned(), id)]);
        let acknowledged = json!({"_meta": meta, "notifications": acknowledged});
        ctx.tell("notifications/subscriptions/acknowledged", acknowledged).await?;
        let ending = ctx.rpc.peer().closing();
        let mut ending = std::pin::pin!(ending);
        let mut expiry = std::pin::pin!(expiry(&ctx));
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                Some((method, params)) = next(&mut feeds) => {
                    tell_of_extension(&ctx, method, &params, &meta).await?;
                    continue;
                }
                () = &mut ending => break,
                () = &mut expiry => break,
            };
            let told = match change {
                Ok(change) if interests.wants(&change) => vec![change],
                Ok(_) => continue,
                Err(RecvError::Lagged(_)) => interests.all(),
                Err(RecvError::Closed) => break,
            };
            for change in told {
                let params = match &change {
                    Change::Resource(uri) => json!({"_meta": meta, "uri": uri}),
                    _ => json!({"_meta": meta}),
                };
                ctx.tell(change.method(), params).await?;
            }
        }
        Ok(ResponseBuilder::of(&ctx).answer(Meta::new(), Some(meta), false))
    })
}

/// Waits until the caller's token is no longer taken.
#[cfg(feature = "auth")]
async fn expiry(ctx: &McpCtx) {
    match ctx.caller().and_then(|caller| caller.ends) {
        Some(ends) => tokio::time::sleep_until(ends.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(not(feature = "auth"))]
async fn expiry(_: &McpCtx) {
    std::future::pending().await
}

/// The fields of extensions that are asked for, and what is to be told of each.
fn extension_fields(
    ctx: &McpCtx,
    asked: &RawJson<'_>,
) -> sabir::Result<Vec<(&'static str, Answering<ListenField>)>> {
    let mut found = Vec::new();
    if let Some(asked) = asked.get(tasks::LISTEN_FIELD).filter(|_| ctx.core.offers_tasks()) {
        declared_by_client(ctx, crate::types::TASKS_EXTENSION)?;
        found.push((tasks::LISTEN_FIELD, tasks::listen(ctx.clone(), asked.into_owned())));
    }
    for extension in &ctx.core.settings.extensions {
        for (name, function) in &extension.fields {
            let Some(asked) = asked.get(name) else { continue };
            if extension.mutual {
                declared_by_client(ctx, &extension.name)?;
            }
            found.push((*name, function(ctx.clone(), asked.into_owned())));
        }
    }
    Ok(found)
}

/// The next notification of any extension. `None` once there are none to come.
async fn next(feeds: &mut Vec<Notifications>) -> Option<(Cow<'static, str>, RawJson<'static>)> {
    std::future::poll_fn(|context| {
        let mut at = 0;
        while let Some(feed) = feeds.get_mut(at) {
            match feed.poll_recv(context) {
                Poll::Ready(Some(told)) => return Poll::Ready(Some(told)),
                Poll::Ready(None) => drop(feeds.swap_remove(at)),
                Poll::Pending => at += 1,
            }
        }
        if feeds.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}

async fn tell_of_extension(
    ctx: &McpCtx,
    method: Cow<'static, str>,
    params: &RawJson<'_>,
    subscription: &Meta,
) -> sabir::Result<()> {
    let mut params: BTreeMap<String, RawJson<'static>> = params.parse()?;
    let mut meta: Meta = params.get("_meta").and_then(|own| own.parse().ok()).unwrap_or_default();
    meta.extend(subscription.clone());
    params.insert("_meta".to_owned(), RawJson::from_value(&meta)?);
    ctx.tell(method, params).await
}
