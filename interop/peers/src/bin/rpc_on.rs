//! A server that rpc-websockets subscribes to in its own way: `rpc.on` and `rpc.off`. Each event comes as a notification
//! of JSON-RPC, which its client takes as well as its own. Prints its URL.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sabir::{Ctx, ErrorCode, ErrorObject, RawJson, Router};
use serde_json::json;
use tokio::task::AbortHandle;

#[derive(Default)]
struct Feeds(Mutex<HashMap<String, AbortHandle>>);

async fn subscribe(
    ctx: Ctx,
    method: String,
    params: Option<RawJson<'static>>,
) -> sabir::Result<RawJson<'static>> {
    let name = params.as_ref().and_then(|params| params.parse::<(String,)>().ok()).map(|(name,)| name);
    let feeds = ctx.peer().extension::<Feeds>();
    let mut feeds = feeds.0.lock().unwrap_or_else(PoisonError::into_inner);
    match (method.as_str(), name.as_deref()) {
        ("rpc.on", Some("feed")) => {
            let peer = ctx.peer().clone();
            let feed = tokio::spawn(async move {
                for n in 0u64.. {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    if peer.notify("feed", [n]).await.is_err() {
                        return;
                    }
                }
            });
            feeds.insert("feed".to_owned(), feed.abort_handle()).inspect(AbortHandle::abort);
        }
        ("rpc.off", Some("feed")) => drop(feeds.remove("feed").inspect(AbortHandle::abort)),
        ("rpc.on" | "rpc.off", _) => {
            return Err(ErrorObject::because(ErrorCode::INVALID_PARAMS, "there is only `feed`"));
        }
        _ => return Err(ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND)),
    }
    Ok(RawJson::from_value(&json!({"feed": "ok"}))?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = sabir::listen("ws://127.0.0.1:0", Router::new().fallback(subscribe)).await?;
    println!("{}", server.url());
    server.run().await?;
    Ok(())
}
