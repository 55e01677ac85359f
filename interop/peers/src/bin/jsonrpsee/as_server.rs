//! jsonrpsee's server, which our client subscribes to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jsonrpsee_core::SubscriptionError;
use jsonrpsee_core::server::{
    PendingSubscriptionSink, RpcModule, SubscriptionCloseResponse, SubscriptionMessage,
};
use jsonrpsee_server::{RandomStringIdProvider, ServerBuilder, ServerConfig, ServerHandle};
use jsonrpsee_types::ErrorObjectOwned;
use sabir::{CallError, Lag, Peer, Router, SubscriptionEnd, SubscriptionStyle, transport};
use serde_json::value::to_raw_value;

use crate::{Outcome, Test, check, until};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("its server sends items in order, from string ids and from numbers", Box::pin(items())),
        ("its server is unsubscribed from, once with true and then with false", Box::pin(unsubscribes())),
        ("its server hears of 1000 subscriptions that are dropped", Box::pin(drops())),
        ("its server ends with an error notification, or with a last item", Box::pin(ends())),
        ("its server refuses with -32006 above the limit", Box::pin(too_many())),
        ("its server refuses, and forgets to accept", Box::pin(refuses())),
        ("its server is stopped", Box::pin(stops())),
        ("its server floods, and a consumer that lags is told", Box::pin(flood())),
    ]
}

fn style(name: &'static str) -> SubscriptionStyle {
    let [subscribe, item, unsubscribe] = match name {
        "count" => ["subscribe_count", "count", "unsubscribe_count"],
        "idle" => ["subscribe_idle", "idle", "unsubscribe_idle"],
        "fails" => ["subscribe_fails", "fails", "unsubscribe_fails"],
        "last" => ["subscribe_last", "last", "unsubscribe_last"],
        "rejects" => ["subscribe_rejects", "rejects", "unsubscribe_rejects"],
        _ => ["subscribe_forgets", "forgets", "unsubscribe_forgets"],
    };
    SubscriptionStyle::new(subscribe, item, unsubscribe)
}

fn item(value: u64) -> Result<SubscriptionMessage, SubscriptionError> {
    Ok(to_raw_value(&value)?.into())
}

struct Served {
    peer: Peer,
    /// Handlers of `idle` that run.
    open: Arc<AtomicUsize>,
    handle: ServerHandle,
}

async fn serving(text_ids: bool) -> Result<Served, Box<dyn std::error::Error>> {
    let open = Arc::new(AtomicUsize::new(0));
    let mut module = RpcModule::from_arc(Arc::clone(&open));
    let methods = |name| {
        let style = style(name);
        let name = |text: std::borrow::Cow<'static, str>| match text {
            std::borrow::Cow::Borrowed(name) => name,
            std::borrow::Cow::Owned(_) => unreachable!("the names are constants"),
        };
        (name(style.subscribe), name(style.notification), name(style.unsubscribe))
    };
    let (subscribe, notification, unsubscribe) = methods("count");
    module.register_subscription(
        subscribe,
        notification,
        unsubscribe,
        |params, pending: PendingSubscriptionSink, _, _| async move {
            let to: u64 = params.one().map_err(|error| SubscriptionError::from(error.to_string()))?;
            let sink = pending.accept().await?;
            for n in 0..to {
                sink.send(item(n)?).await?;
            }
            sink.closed().await;
            Ok::<_, SubscriptionError>(())
        },
    )?;
    let (subscribe, notification, unsubscribe) = methods("idle");
    module.register_subscription(
        subscribe,
        notification,
        unsubscribe,
        |_, pending: PendingSubscriptionSink, open: Arc<AtomicUsize>, _| async move {
            let sink = pending.accept().await?;
            open.fetch_add(1, Ordering::SeqCst);
            sink.closed().await;
            open.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, SubscriptionError>(())
        },
    )?;
    let (subscribe, notification, unsubscribe) = methods("fails");
    module.register_subscription(
        subscribe,
        notification,
        unsubscribe,
        |_, pending: PendingSubscriptionSink, _, _| async move {
            pending.accept().await?.send(item(1)?).await?;
            Err::<(), SubscriptionError>("broken".into())
        },
    )?;
    let (subscribe, notification, unsubscribe) = methods("last");
    module.register_subscription(
        subscribe,
        notification,
        unsubscribe,
        |_, pending: PendingSubscriptionSink, _, _| async move {
            // Without its sink it is gone: the item that follows has an id that was good until then.
            let _sink = pending.accept().await;
            match item(7) {
                Ok(last) => SubscriptionCloseResponse::Notif(last),
                Err(error) => SubscriptionCloseResponse::NotifErr(error),
            }
        },
    )?;
    let (subscribe, notification, unsubscribe) = methods("rejects");
    module.register_subscription(
        subscribe,
        notification,
        unsubscribe,
        |_, pending: PendingSubscriptionSink, _, _| async move {
            pending.reject(ErrorObjectOwned::owned(9, "not you", None::<()>)).await;
        },
    )?;
    let (subscribe, notification, unsubscribe) = methods("forgets");
    module.register_subscription(
        subscribe,
        notification,
        unsubscribe,
        |_, _: PendingSubscriptionSink, _, _| async {},
    )?;
    let config = ServerConfig::builder();
    let config = if text_ids { config.set_id_provider(RandomStringIdProvider::new(16)) } else { config };
    let server = ServerBuilder::new().set_config(config.build()).build("127.0.0.1:0").await?;
    let url = format!("ws://{}", server.local_addr()?);
    let handle = server.start(module);
    let peer = sabir::connect(transport::url(url), Router::new()).await?;
    Ok(Served { peer, open, handle })
}

async fn items() -> Outcome {
    for text_ids in [false, true] {
        let Served { peer, handle: _handle, .. } = serving(text_ids).await?;
        let mut numbers = peer.subscribe::<u64>(style("count"), 10_000).lag(Lag::Wait).await?;
        check(numbers.id().as_str().is_some(), text_ids)?;
        for n in 0..10_000 {
            check(numbers.next().await, Some(Ok(n)))?;
        }
    }
    Ok(())
}

async fn unsubscribes() -> Outcome {
    let Served { peer, open, handle: _handle } = serving(true).await?;
    let mut idle = peer.subscribe::<u64>(style("idle"), ()).await?;
    until(|| open.load(Ordering::SeqCst) == 1).await;
    check(idle.unsubscribe().await, true)?;
    check(idle.end(), Some(SubscriptionEnd::Unsubscribed))?;
    let id = idle.id().as_str().unwrap_or_default().to_owned();
    check(peer.call::<bool>("unsubscribe_idle", [id]).await?, false)?;
    let mut again = peer.subscribe::<u64>(style("idle"), ()).await?;
    check(again.unsubscribe().await, true)?;
    until(|| open.load(Ordering::SeqCst) == 0).await;
    Ok(())
}

async fn drops() -> Outcome {
    let Served { peer, open, handle: _handle } = serving(true).await?;
    let mut all = Vec::new();
    for _ in 0..1000 {
        all.push(peer.subscribe::<u64>(style("idle"), ()).await?);
    }
    until(|| open.load(Ordering::SeqCst) == 1000).await;
    drop(all);
    until(|| open.load(Ordering::SeqCst) == 0).await;
    Ok(())
}

async fn ends() -> Outcome {
    let Served { peer, handle: _handle, .. } = serving(true).await?;
    let mut fails = peer.subscribe::<u64>(style("fails"), ()).await?;
    check(fails.next().await, Some(Ok(1)))?;
    check(fails.next().await, None)?;
    let end = fails.end();
    let told = matches!(&end, Some(SubscriptionEnd::Error(error)) if error.to_string().contains("broken"));
    check(told.then_some(()).ok_or(end), Ok(()))?;
    let mut last = peer.subscribe::<u64>(style("last"), ()).await?;
    check(last.next().await, Some(Ok(7)))
}

async fn too_many() -> Outcome {
    let Served { peer, handle: _handle, .. } = serving(true).await?;
    let mut all = Vec::new();
    for _ in 0..1024 {
        all.push(peer.subscribe::<u64>(style("idle"), ()).await?);
    }
    let refused =
        peer.subscribe::<u64>(style("idle"), ()).await.map(|_| ()).map_err(|error| error.to_string());
    let text = "-32006: Too many subscriptions on the connection";
    check(refused.is_err_and(|error| error.starts_with(text)), true)
}

async fn refuses() -> Outcome {
    let Served { peer, handle: _handle, .. } = serving(true).await?;
    for (name, code) in [("rejects", 9), ("forgets", -32603)] {
        match peer.subscribe::<u64>(style(name), ()).await.map(|_| ()) {
            Err(CallError::Error(error)) => check((name, error.code.0), (name, code))?,
            other => return Err(format!("{name}: {other:?}").into()),
        }
    }
    Ok(())
}

async fn stops() -> Outcome {
    let Served { peer, handle, .. } = serving(true).await?;
    let mut idle = peer.subscribe::<u64>(style("idle"), ()).await?;
    handle.stop()?;
    check(idle.next().await, None)?;
    let end = idle.end();
    check(matches!(end, Some(SubscriptionEnd::Disconnected(_))).then_some(()).ok_or(end), Ok(()))
}

async fn flood() -> Outcome {
    let Served { peer, handle: _handle, .. } = serving(true).await?;
    let mut numbers =
        peer.subscribe::<u64>(style("count"), 100_000).capacity(16).lag(Lag::DropOldest).await?;
    let (mut seen, mut lost) = (0, 0);
    while seen + lost < 100_000 {
        match numbers.next().await {
            Some(Ok(n)) => {
                check(n, seen + lost)?;
                seen += 1;
            }
            Some(Err(sabir::SubscriptionError::Lagged(count))) => lost += count,
            other => return Err(format!("{other:?} after {seen} and {lost}").into()),
        }
    }
    check(seen > 0, true)?;
    // By default it is left.
    let mut left = peer.subscribe::<u64>(style("count"), 100_000).capacity(16).await?;
    while left.next().await.is_some() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let end = left.end();
    check(matches!(end, Some(SubscriptionEnd::Lagged(_))).then_some(()).ok_or(end), Ok(()))
}
