//! Routers put together: whose layers see what, in which order.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use sabir::{CallError, Ctx, ErrorObject, Next, Peer, RawJson, Router, describe, transport};

async fn client(router: Router) -> Peer {
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, router));
    sabir::connect(near, Router::new()).await.unwrap()
}

type Log = Arc<Mutex<Vec<String>>>;

/// A layer that writes down what it sees.
fn logging(log: &Log, name: &'static str) -> impl Fn(Ctx, Next) -> BoxFuture + Send + Sync + 'static {
    let log = Arc::clone(log);
    move |_, next| {
        log.lock().unwrap().push(format!("{name} {}", next.method()));
        Box::pin(next.run())
    }
}

type BoxFuture = std::pin::Pin<Box<dyn Future<Output = sabir::Result<RawJson<'static>>> + Send>>;

fn taken(log: &Log) -> String {
    std::mem::take(&mut *log.lock().unwrap()).join(", ")
}

/// A method that says in which router it is.
fn saying(what: &'static str) -> Router {
    Router::new().method(what, move |_, ()| async move { Ok(what) })
}

async fn said(peer: &Peer, method: &'static str) -> Result<String, i64> {
    peer.call(method, ()).await.map_err(|error| match error {
        CallError::Error(error) => error.code.0,
        other => panic!("{other}"),
    })
}

#[tokio::test]
async fn layers_wrap_the_methods_of_their_router_from_the_outside_in() {
    let log = Log::default();
    let inner = saying("c").layer(logging(&log, "innermost"));
    let middle = Router::new().layer(logging(&log, "first")).merge(saying("b")).merge(inner);
    let middle = middle.layer(logging(&log, "second"));
    let router = saying("a").merge(middle).layer(logging(&log, "outer")).merge(saying("d"));
    let peer = client(router).await;
    for (method, want) in [
        ("a", "outer a"),
        ("b", "outer b, first b, second b"),
        ("c", "outer c, first c, second c, innermost c"),
        ("d", "outer d"),
    ] {
        assert_eq!(said(&peer, method).await.as_deref(), Ok(method));
        assert_eq!(taken(&log), want);
    }
    // Only the outermost router can know that a method does not exist.
    assert_eq!(said(&peer, "none").await, Err(-32601));
    assert_eq!(taken(&log), "outer none");
}

#[tokio::test]
async fn a_layer_around_one_method_needs_no_layer_around_all() {
    let refuse = |_: Ctx, _: Next| async { Err(ErrorObject::new(403, "no")) };
    let peer = client(saying("open").merge(saying("closed").layer(refuse))).await;
    assert_eq!(said(&peer, "open").await.as_deref(), Ok("open"));
    assert_eq!(said(&peer, "closed").await, Err(403));
    // Also as notifications, in batches, and many times over: its task is used again.
    let mut batch = peer.batch();
    let calls: Vec<_> = (0..3).map(|_| batch.call::<String>("closed", ())).collect();
    batch.send().unwrap();
    for call in calls {
        assert!(call.await.is_err());
    }
}

#[tokio::test]
async fn nested_names_have_their_prefix_and_fallbacks_keep_to_it() {
    let log = Log::default();
    let fallback = |name: &'static str| {
        move |_: Ctx, method: String, _: Option<RawJson<'static>>| async move {
            Ok(RawJson::from_value(&format!("{name} {method}"))?)
        }
    };
    let deep = saying("x").fallback(fallback("deep")).layer(logging(&log, "deep"));
    let admin = saying("x").fallback(fallback("admin")).nest("deep.", deep);
    let router = Router::new().fallback(fallback("root")).nest("admin.", admin).nest("other.", saying("x"));
    assert_eq!(router.methods(), ["admin.deep.x", "admin.x", "other.x"]);
    let peer = client(router).await;
    for (method, want) in [
        ("x", "root x"),
        ("admin.x", "x"),
        ("admin.y", "admin admin.y"),
        ("admin", "root admin"),
        ("admin.deep.x", "x"),
        ("admin.deep.y", "deep admin.deep.y"),
        ("other.x", "x"),
        ("other.y", "root other.y"),
    ] {
        assert_eq!(said(&peer, method).await.as_deref(), Ok(want), "{method}");
    }
    assert_eq!(taken(&log), "deep admin.deep.x, deep admin.deep.y");
}

#[tokio::test]
async fn what_a_router_knows_of_its_methods_comes_along() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Age {
        #[schemars(range(max = 150))]
        age: u32,
    }
    let log = Log::default();
    let add = |router: Router| router.method(describe("set"), |_, p: Age| async move { Ok(p.age) });
    let checked = add(Router::new()).validate().layer(logging(&log, "before the check"));
    let unchecked = add(Router::new());
    let router = Router::new().state(7u8).nest("checked.", checked).nest("free.", unchecked);
    let document = router.openrpc();
    let names: Vec<_> = document.methods.iter().map(|method| method.name.as_str()).collect();
    assert_eq!(names, ["checked.set", "free.set"]);
    assert_eq!(document.methods[0].params[0].name, "age");

    let peer = client(router).await;
    let set = |method: &'static str| peer.call::<u32>(method, serde_json::json!({"age": 200}));
    assert_eq!(set("free.set").await, Ok(200));
    assert!(matches!(set("checked.set").await, Err(CallError::Error(error)) if error.code.0 == -32602));
    assert_eq!(taken(&log), "before the check checked.set");
    let document: serde_json::Value = peer.call("rpc.discover", ()).await.unwrap();
    assert_eq!(document["methods"][1]["name"], "free.set");
}

#[tokio::test]
async fn state_and_observers_are_shared() {
    let seen = Arc::new(Mutex::new(0));
    let count = Arc::clone(&seen);
    let part = Router::new()
        .state(5i64)
        .observe(move |event| {
            if let sabir::Observed::CallEnded { .. } = event {
                *count.lock().unwrap() += 1;
            }
        })
        .method("five", |ctx: Ctx, ()| async move { Ok(*ctx.state::<i64>()) });
    let router = part
        .clone()
        .merge(saying("a"))
        .merge(Router::new().method("also five", |ctx: Ctx, ()| async move { Ok(*ctx.state::<i64>()) }));
    let peer = client(router).await;
    assert_eq!(peer.call::<i64>("five", ()).await, Ok(5));
    assert_eq!(peer.call::<i64>("also five", ()).await, Ok(5));
    peer.call::<()>("a", ()).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), 3);
}

fn panic_of(run: impl FnOnce() -> Router + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(run).unwrap_err();
    panic.downcast_ref::<String>().cloned().unwrap()
}

#[test]
fn what_cannot_be_told_apart_is_refused_at_once() {
    assert_eq!(panic_of(|| saying("x").merge(saying("x"))), "both routers have a method `x`");
    assert_eq!(
        panic_of(|| Router::new().state(1u8).merge(Router::new().state(2u8))),
        "both routers have a state of type `u8`",
    );
    let fallback = || Router::new().fallback(|_, _, _| async { Ok(RawJson::NULL) });
    assert_eq!(
        panic_of(move || fallback().merge(fallback())),
        "both routers have a fallback for methods that begin with ``",
    );
    let reserved = panic_of(|| Router::new().nest("rpc.", saying("x")));
    assert!(reserved.contains("reserved"), "{reserved}");
    let reserved = panic_of(|| Router::new().nest("r", saying("pc.x")));
    assert!(reserved.contains("reserved"), "{reserved}");
}
