//! Methods called in memory, and handlers called as functions.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sabir::{CallError, Ctx, ErrorObject, Next, Observed, Router, describe};

#[derive(Debug, PartialEq)]
struct User(&'static str);

async fn whoami(ctx: Ctx, (): ()) -> sabir::Result<String> {
    let User(name) = ctx.identity().ok_or("who are you?")?;
    Ok((*name).to_owned())
}

async fn admins_only(ctx: Ctx, next: Next) -> sabir::Result<sabir::RawJson<'static>> {
    match ctx.identity() {
        Some(User("admin")) => next.run().await,
        _ => Err(ErrorObject::new(403, "for admins only")),
    }
}

fn code<T: std::fmt::Debug>(outcome: Result<T, CallError>) -> i64 {
    match outcome.unwrap_err() {
        CallError::Error(error) => error.code.0,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_call_goes_through_everything() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Age {
        #[schemars(range(max = 150))]
        age: u32,
    }
    let ended = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ended);
    let admin = Router::new().method("reset", |_, ()| async { Ok(true) }).layer(admins_only);
    let router = Router::new()
        .method("whoami", whoami)
        .method(describe("age"), |_, p: Age| async move { Ok(p.age) })
        .validate()
        .nest("admin.", admin)
        .observe(move |event| {
            if let Observed::CallEnded { .. } = event {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
    assert_eq!(router.call::<String>("whoami", ()).identity(User("Ada")).await.as_deref(), Ok("Ada"));
    assert_eq!(code(router.call::<String>("whoami", ()).await), -32603);
    // An identity of another type is none.
    assert_eq!(code(router.call::<String>("whoami", ()).identity("Ada").await), -32603);
    assert_eq!(router.call::<bool>("admin.reset", ()).identity(User("admin")).await, Ok(true));
    assert_eq!(code(router.call::<bool>("admin.reset", ()).identity(User("Ada")).await), 403);
    let age = |age: u32| router.call::<u32>("age", serde_json::json!({ "age": age }));
    assert_eq!(age(36).await, Ok(36));
    assert_eq!(code(age(151).await), -32602);
    assert_eq!(code(router.call::<()>("none", ()).await), -32601);
    assert_eq!(ended.load(Ordering::SeqCst), 8);
}

#[tokio::test]
async fn a_handler_can_call_back() {
    let router = Router::new().method("ask", |ctx: Ctx, question: String| async move {
        Ok(ctx.peer().call::<String>("answer", question).await?)
    });
    let caller =
        Router::new().method("answer", |_, question: String| async move { Ok(format!("{question}!")) });
    assert_eq!(router.call::<String>("ask", "why").caller(caller).await.as_deref(), Ok("why!"));
    assert_eq!(code(router.call::<String>("ask", "why").await), -32601);
    // It can be spawned, and many can be made at once.
    let calls = (0..10).map(|n| {
        let router = Router::new().method("n", move |_, ()| async move { Ok(n) });
        tokio::spawn(async move { router.call::<usize>("n", ()).await })
    });
    for (n, call) in calls.enumerate() {
        assert_eq!(call.await.unwrap(), Ok(n));
    }
}

#[tokio::test]
async fn a_handler_is_a_function() {
    let ctx = Ctx::for_test().identity(User("Bob")).state(7u8).build();
    assert_eq!(*ctx.state::<u8>(), 7);
    assert_eq!(whoami(ctx.clone(), ()).await.as_deref().ok(), Some("Bob"));
    assert!(whoami(Ctx::for_test().build(), ()).await.is_err());
    // What needs the caller does not hang.
    ctx.progress(1).await;
    ctx.cancelled().await;
    assert!(ctx.peer().call::<()>("x", ()).await.unwrap_err().connection_end().is_some());
    assert!(ctx.peer().notify("x", ()).await.is_err());
}
