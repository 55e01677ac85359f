//! jsonrpsee's client, subscribed to a server of ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream::{self, StreamExt};
use jsonrpsee_core::client::{ClientT, Subscription, SubscriptionClientT, SubscriptionCloseReason};
use jsonrpsee_core::params::ArrayParams;
use jsonrpsee_core::rpc_params;
use jsonrpsee_ws_client::{WsClient, WsClientBuilder};
use sabir::{ErrorObject, Feed, Router, SubscriptionIds, SubscriptionStyle};

use crate::{Outcome, Test, check, until};

const COUNT: SubscriptionStyle = SubscriptionStyle::new("subscribe_count", "count", "unsubscribe_count");

pub(crate) fn tests() -> Vec<Test> {
    vec![
        ("its client gets the items in order, from string ids and from numbers", Box::pin(items())),
        ("its client unsubscribes, once with true and then with false", Box::pin(unsubscribes())),
        ("its client drops a subscription, and the stream is dropped", Box::pin(drops())),
        ("its client is ended by an error notification", Box::pin(is_ended())),
        ("its client is refused with -32006 above the limit", Box::pin(too_many())),
        ("its client is refused by the handler", Box::pin(refused())),
        ("its client gets notifications of a method", Box::pin(by_method())),
        ("its client floods itself, and its calls are answered", Box::pin(flood())),
    ]
}

/// Counts as open until it is dropped.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A server, and how many of its streams are there.
async fn serving() -> Result<(WsClient, Arc<AtomicUsize>), Box<dyn std::error::Error>> {
    let open = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&open);
    let style = |name: &'static str| SubscriptionStyle::new(name, "item", "leave");
    let router = Router::new()
        .method("echo", |_, text: String| async move { Ok(text) })
        .method("tell", |ctx: sabir::Ctx, n: u64| async move {
            for i in 0..n {
                ctx.peer().notify("told", [i]).await?;
            }
            Ok(n)
        })
        .subscription(COUNT, |_, to: u64| async move { Ok(stream::iter(0..to)) })
        .subscription(
            SubscriptionStyle { ids: SubscriptionIds::Number, ..style("numbered") },
            |_, to: u64| async move { Ok(stream::iter(0..to)) },
        )
        .subscription(style("idle"), move |_, ()| {
            counted.fetch_add(1, Ordering::SeqCst);
            let open = Open(Arc::clone(&counted));
            async move {
                Ok(stream::pending::<u64>().map(move |n| {
                    let _ = &open;
                    n
                }))
            }
        })
        .try_subscription(style("fails"), |_, ()| async {
            Ok(stream::iter([Ok(1), Err(ErrorObject::new(8, "broken"))]))
        })
        .subscription(style("refuses"), |_, ()| async {
            Err::<Feed<stream::Empty<u64>>, _>(ErrorObject::new(7, "no"))
        })
        .subscription(style("floods"), |_, ()| async { Ok(stream::iter(0u64..)) });
    let server = sabir::listen("ws://127.0.0.1:0", router).await?;
    let url = server.url().to_string();
    tokio::spawn(server.run());
    Ok((WsClientBuilder::default().build(url).await?, open))
}

async fn follow(
    client: &WsClient,
    method: &str,
    params: ArrayParams,
) -> Result<Subscription<u64>, jsonrpsee_core::ClientError> {
    client
        .subscribe(method, params, if method == "subscribe_count" { "unsubscribe_count" } else { "leave" })
        .await
}

async fn items() -> Outcome {
    let (client, _) = serving().await?;
    for method in ["subscribe_count", "numbered"] {
        // Fewer than it keeps for a consumer.
        let mut numbers = follow(&client, method, rpc_params![1000]).await?;
        for n in 0..1000 {
            check(numbers.next().await.transpose()?, Some(n))?;
        }
    }
    Ok(())
}

async fn unsubscribes() -> Outcome {
    let (client, open) = serving().await?;
    let idle = follow(&client, "idle", rpc_params![]).await?;
    let jsonrpsee_core::client::SubscriptionKind::Subscription(id) = idle.kind().clone() else {
        return Err("it has no id".into());
    };
    check(open.load(Ordering::SeqCst), 1)?;
    check(client.request("leave", rpc_params![&id]).await?, true)?;
    check(open.load(Ordering::SeqCst), 0)?;
    check(client.request("leave", rpc_params![&id]).await?, false)?;
    let again = follow(&client, "idle", rpc_params![]).await?;
    again.unsubscribe().await?;
    until(|| open.load(Ordering::SeqCst) == 0).await;
    Ok(())
}

async fn drops() -> Outcome {
    let (client, open) = serving().await?;
    let mut all = Vec::new();
    for _ in 0..100 {
        all.push(follow(&client, "idle", rpc_params![]).await?);
    }
    check(open.load(Ordering::SeqCst), 100)?;
    drop(all);
    until(|| open.load(Ordering::SeqCst) == 0).await;
    let _left = follow(&client, "idle", rpc_params![]).await?;
    drop(client);
    until(|| open.load(Ordering::SeqCst) == 0).await;
    Ok(())
}

async fn is_ended() -> Outcome {
    let (client, _) = serving().await?;
    let mut items = follow(&client, "fails", rpc_params![]).await?;
    check(items.next().await.transpose()?, Some(1))?;
    // It throws the error away, and takes it for an end of the connection, which goes on.
    check(items.next().await.is_none(), true)?;
    check(matches!(items.close_reason(), Some(SubscriptionCloseReason::ConnectionClosed)), true)?;
    check(client.request::<String, _>("echo", rpc_params!["x"]).await?, "x".to_owned())
}

async fn too_many() -> Outcome {
    let (client, _) = serving().await?;
    let mut all = Vec::new();
    for _ in 0..1024 {
        all.push(follow(&client, "idle", rpc_params![]).await?);
    }
    match follow(&client, "idle", rpc_params![]).await {
        Err(jsonrpsee_core::ClientError::Call(error)) => {
            check((error.code(), error.message()), (-32006, "Too many subscriptions on the connection"))?;
        }
        other => return Err(format!("{other:?}").into()),
    }
    check(client.request::<String, _>("echo", rpc_params!["x"]).await?, "x".to_owned())
}

async fn refused() -> Outcome {
    let (client, _) = serving().await?;
    match follow(&client, "refuses", rpc_params![]).await {
        Err(jsonrpsee_core::ClientError::Call(error)) => check((error.code(), error.message()), (7, "no")),
        other => Err(format!("{other:?}").into()),
    }
}

async fn by_method() -> Outcome {
    let (client, _) = serving().await?;
    let mut told: Subscription<Vec<u64>> = client.subscribe_to_method("told").await?;
    check(client.request("tell", rpc_params![3]).await?, 3)?;
    for n in 0..3 {
        check(told.next().await.transpose()?, Some(vec![n]))?;
    }
    Ok(())
}

/// Its own queue overflows, and it unsubscribes by itself.
async fn flood() -> Outcome {
    let (client, _) = serving().await?;
    let mut flood = follow(&client, "floods", rpc_params![]).await?;
    for _ in 0..50 {
        check(client.request::<String, _>("echo", rpc_params!["x"]).await?, "x".to_owned())?;
    }
    let mut next = 0;
    while let Some(n) = flood.next().await {
        check(n?, next)?;
        next += 1;
    }
    check(matches!(flood.close_reason(), Some(SubscriptionCloseReason::Lagged)), true)
}
