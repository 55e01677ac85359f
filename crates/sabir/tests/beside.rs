//! What travels beside the arguments does not get among them, whichever way a method is made.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use sabir::{Ctx, Peer, RawJson, Router, describe, transport};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Strict {
    steps: u64,
}

#[sabir::service]
trait Walk {
    async fn walk(&self, steps: u64, progress: sabir::Progress<u64>) -> sabir::Result<u64>;
    async fn strictly(
        &self,
        #[serde(flatten)] strict: Strict,
        progress: sabir::Progress<u64>,
    ) -> sabir::Result<u64>;
}

struct Walker;

impl Walk for Walker {
    async fn walk(&self, steps: u64, progress: sabir::Progress<u64>) -> sabir::Result<u64> {
        progress.send(steps).await;
        Ok(steps)
    }

    async fn strictly(&self, strict: Strict, progress: sabir::Progress<u64>) -> sabir::Result<u64> {
        progress.send(strict.steps).await;
        Ok(strict.steps)
    }
}

async fn walk(ctx: Ctx, strict: Strict) -> sabir::Result<u64> {
    ctx.progress(strict.steps).await;
    Ok(strict.steps)
}

async fn client(router: Router, dialect: sabir::Dialect) -> Peer {
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far.dialect(dialect), router));
    sabir::connect(near.dialect(dialect), Router::new()).await.unwrap()
}

fn routers() -> Vec<(&'static str, Router)> {
    let methods = || {
        Router::new()
            .method("method", walk)
            .method(describe("described"), walk)
            .method_raw("raw", |ctx: Ctx, params| async move {
                let strict: Value = params.unwrap().parse()?;
                assert!(strict.get("_meta").is_some() || strict.get("workDoneToken").is_some());
                ctx.progress(2).await;
                Ok(RawJson::from_value(&2)?)
            })
            .method_borrowed("reading", |ctx: Ctx, params: Option<&RawJson<'_>>| {
                assert!(params.unwrap().as_str().contains("oken"));
                Ok(async move {
                    ctx.progress(2).await;
                    Ok(2)
                })
            })
            .fallback(|ctx: Ctx, _, params| async move {
                assert!(params.unwrap().as_str().contains("oken"));
                ctx.progress(2).await;
                Ok(RawJson::from_value(&2)?)
            })
    };
    let plain = || Walker.add_to(methods());
    vec![
        ("plain", plain()),
        ("layered", plain().layer(|_, next| next.run())),
        ("validated", plain().validate()),
        ("both", plain().layer(|_, next| next.run()).validate()),
    ]
}

#[tokio::test]
async fn whoever_asks_for_progress_gets_it() {
    for dialect in [sabir::MCP, sabir::LSP] {
        for (name, router) in routers() {
            let peer = client(router, dialect).await;
            for method in ["method", "described", "raw", "reading", "unknown", "walk", "strictly"] {
                let mut call = peer.call::<u64>(method, json!({"steps": 2}));
                assert_eq!(call.progress::<u64>().await, Some(2), "{method}, {name}");
                assert_eq!(call.await, Ok(2), "{method}, {name}");
            }
        }
    }
}

#[tokio::test]
async fn notifications_have_it_too() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&seen);
    let router = Router::new().method("note", move |ctx: Ctx, strict: Strict| {
        let meta = ctx.meta().map(ToString::to_string);
        log.lock().unwrap().push(format!("{} {meta:?}", strict.steps));
        async { Ok(()) }
    });
    let peer = client(router, sabir::PLAIN).await;
    peer.notify("note", json!({"steps": 1, "_meta": {"a": 1}})).await.unwrap();
    peer.notify("note", json!({"steps": 2})).await.unwrap();
    peer.notify("note", json!([3])).await.unwrap();
    let _ = peer.call::<()>("unknown", ()).await;
    assert_eq!(*seen.lock().unwrap(), [r#"1 Some("{\"a\":1}")"#, "2 None", "3 None"]);
}

#[tokio::test]
async fn what_is_flattened_is_offered_by_name_and_taken_so() {
    #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    struct Inner {
        b: i64,
    }
    #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    struct Outer {
        a: i64,
        #[serde(flatten)]
        inner: Inner,
    }
    #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    struct Plain {
        a: i64,
        inner: Inner,
    }
    #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(transparent)]
    struct Wrapped(Outer);
    for validates in [false, true] {
        let mut router = Router::new()
            .method(describe("flat"), |_, p: Outer| async move { Ok(p.a + p.inner.b) })
            .method_sync(describe("wrapped"), |_, Wrapped(p)| Ok(p.a + p.inner.b))
            .method_blocking(describe("threaded"), |_, p: Outer| Ok(p.a + p.inner.b))
            .method(describe("plain"), |_, p: Plain| async move { Ok(p.a + p.inner.b) });
        if validates {
            router = router.validate();
        }
        let document = serde_json::to_value(router.openrpc()).unwrap();
        let structure = |name: &str| {
            let methods = document["methods"].as_array().unwrap();
            let method = methods.iter().find(|method| method["name"] == name).unwrap();
            method["paramStructure"].as_str().unwrap().to_owned()
        };
        let peer = client(router, sabir::PLAIN).await;
        for method in ["flat", "wrapped", "threaded"] {
            assert_eq!(structure(method), "by-name", "{method}");
            assert_eq!(peer.call(method, json!({"a": 1, "b": 2})).await, Ok(3), "{method}");
            let error = peer.call::<i64>(method, (1, 2)).await.unwrap_err();
            assert!(error.to_string().starts_with("-32602"), "{error}");
        }
        // What is offered in both ways is taken in both ways.
        assert_eq!(structure("plain"), "either");
        assert_eq!(peer.call("plain", json!({"a": 1, "inner": {"b": 2}})).await, Ok(3));
        assert_eq!(peer.call("plain", json!([1, {"b": 2}])).await, Ok(3));
    }
}
